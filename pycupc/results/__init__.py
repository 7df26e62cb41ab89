"""The result of a run: graph, separating sets, p-values and evidence, with files and exports for other programs.

pcalgo.py, causal_graph.py    `PcAlgo`, and the DAGs behind it
named_graph.py                what every graph on named variables can do
evidence.py                   levels, removals and p-values; discrete_evidence.py, those of discrete data;
                              p_matrix.py, the p-values of all pairs
kept.py, why.py               the tests that a kept edge survived; the reason for an edge or its absence
untested.py                   removed pairs of discrete data whose test lacked observations
arrays.py, npz.py, checks.py  a result as arrays, as a file, and the checks of such a file
exports.py                    tables and formats of other programs; evidence_table.py, the separating sets
explored.py                   what the explorer shows
"""
