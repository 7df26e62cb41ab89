"""The conditional-independence tests: one family in each folder, and the parts that all of them share.

families.py    all families, and `choose`, which says which of them fits a table; registry.py, what a family is;
               choice.py, the arguments and the answer of `choose`
base.py        a test with its data, and the questions that an engine is asked about it
custom.py      a user's function, or object that answers many tests at a time
rcot.py        such an object, for nonlinear dependence; compiled_rcot.py, its compiled half
deciding.py    one test in compiled code, whichever its family; tails.py, the upper tail of F there
p_values.py    the p-values of a result, whatever the test
gaussian/      partial correlations, the default
discrete/      G^2 tests of categories
mixed/         tests of numbers and categories together
missing/       tests of data with gaps, and of imputations
kernel/        the kernel-based test, for dependence of any form

A `family.py` describes the family of its folder.
"""
