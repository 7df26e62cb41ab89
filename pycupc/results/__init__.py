"""The result of a run: graph, separating sets, p-values and evidence, with files and exports for other programs."""
