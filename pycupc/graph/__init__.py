"""A graph on variables, and what can be done with any of them.

sparse.py                     `SparseGraph`, the representation that all parts share
pairs.py                      `Pairs`: fixed gaps and fixed edges; the graph with which a run begins
lists.py                      `Lists` of variables, in one array
knowledge.py, constraints.py  tiers, required and forbidden arrows: by name, and by number
cycles.py                     directed cycles
sepset.py                     `SepSets`, the separating sets of pairs without an edge
named.py                      `NamedGraph`: labels, look-up, pictures; exports.py, its base: tables and the formats of
                              other programs
drawing/                      pictures
explorer/                     the page that shows a graph in the browser
"""
