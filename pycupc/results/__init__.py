"""The result of a run: graph, p-values and evidence, with files, and the comparison of two results.

pcalgo.py, causal_graph.py     `PcAlgo`, and the DAGs behind it
level_summary.py               the summary of a level
explanation.py                 the reason for an edge or its absence; the tests that a kept edge survived
serialisation.py, npz.py       a result as arrays, as a file, and the checks of such a file
explored.py                    `TestedGraph`, a graph with the tests behind its edges; what the explorer shows
comparison.py, differences.py  where two results differ, and why
"""
