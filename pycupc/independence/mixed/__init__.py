"""The test of numbers and categories together: micd's ``mixCItest`` (docs/howto/data.md).

mix_ci_test.py   the test, one at a time and literally
likelihood.py    the same, compiled
family.py        the test with its data
"""
