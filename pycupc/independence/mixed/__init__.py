"""The tests of numbers and categories together: micd's ``mixCItest`` and its kin (docs/howto/data.md).

data.py          several imputations of such a table
mix_ci_test.py   the tests of one table, one at a time and literally; mix_mi_test.py: of several imputations
cells.py         the log-likelihoods, compiled, from sums that models share; likelihood.py: of a table with gaps
models.py        the models of tests, each evaluated once for all threads; decisions.py: tests in a walk
test.py          the tests with their data
family.py        all that the program must know about them
"""
