"""The experiments: each takes the arguments of the command and yields its measurements, a dictionary per line."""
