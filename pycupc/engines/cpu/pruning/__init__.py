"""Pruning: bounds that answer tests without making them. The idea, its proof and its figures: docs/PRUNING.md.

plan.py               which rows of a level are pruned, and how
side.py               tasks for them, the merging of their outcomes, and random tests in the mode "checked"
rows.py, row_work.py  levels 2 to 5: the walk over a row, where a bound skips most pairs of last members
pairs.py              levels from 5 on: whether a set separates a pair, and the first that does
search.py             the search through families of sets that this takes
bound.py              the bound of a family
pair_work.py          named arrays of the search
minimum.py            the smallest |z| of an edge that stays, when somebody asks for it
"""
