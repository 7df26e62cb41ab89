"""The result of a run: graph, p-values and evidence, with files, and the comparison of two results.

pcalgo.py, causal_graph.py     `PcAlgo`, and the DAGs behind it
methods.py                     what every part knows of a method; facts_in_texts.py, of 0.2.0 and of R's objects
base.py                        `TestedResult` and `TestedGraph`, the bases of results
level_summary.py               the summary of a level
explanation.py                 the reason for an edge or its absence; evidence.py, the tests behind it
serialisation.py, npz.py       a result as arrays, as a file, and the checks of such a file
explorer_content.py            what the explorer shows of a result
tables.py                      the table of its separating sets
comparison.py, differences.py  where two results differ, and why
"""
