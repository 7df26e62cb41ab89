"""The experiments: each takes the parsed arguments and writes one raw JSON file."""
