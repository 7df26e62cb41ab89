"""What a run found: graph, separating sets, p-values and evidence, on disk and in the forms other programs read."""
