"""Pruning: bounds that answer tests without making them. The idea, its proof and its figures:
docs/contracts/pruning.md.

plan.py                 which rows of a level are pruned, and how
pruned_sides.py         their items, and what follows when all of them are done
bounded_walk.py         levels 2 to 5: the walk over a row, where a bound skips most pairs of last members
bounded_walk_arrays.py  its named arrays
branch_and_bound.py     levels from 5 on: whether a set separates a pair, and the first that does
branch.py               the outcome of a node: no set of it separates the pair, one does, or there are smaller nodes
bound.py                the bound of a node
node.py                 nodes, and the other named arrays of a search
delta.py                the proof about the matrix of a row on which bounds rely
largest_p_values.py     the smallest |z| of an edge that stays, when somebody asks for it

Each has its twin of the same name in kernels/pruning/, but for plan.py and pruned_sides.py, whose part the host has
there (engines/gpu/pruning/).
"""
