"""The result of a run: graph, p-values and evidence, with files, and the comparison of two results.

pcalgo.py, causal_graph.py     `PcAlgo`, and the DAGs behind it
methods.py                     what every part knows of a method; facts_in_texts.py, of 0.2.0 and of R's objects
base.py                        `TestedResult` and `TestedGraph`, the bases of results
summary.py                     the levels and notes in a summary; why a graph is no CPDAG
explanation.py                 the reason for an edge or its absence; evidence.py, the tests behind it
schema.py                      the arrays and facts of a result, one row each, and their checks
serialisation.py, pag_arrays.py   a result as these arrays, and back
stored.py, npz.py              a result as a file, and as the bytes that R's objects keep
edge_columns.py                the columns of edges, one row each, and of separating sets
explorer_content.py            what the explorer shows of a result
comparison.py, differences.py  where two results differ, and why
"""
