"""Pruning before the tests of a long level: pairs that bounds decide are no targets of the tests
(docs/contracts/pruning.md).

device_bounded_walk.py      levels 3 and 4: a walk over the conditioning sets of each row, with bounds
device_branch_and_bound.py  levels from 5 on: a search for the first separating set of each ordered pair
outcome.py                  the outcome of either on the device, and its check by the CPU
"""
