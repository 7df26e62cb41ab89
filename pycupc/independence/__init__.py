"""The conditional-independence tests: one family in each folder, and the parts that all of them share.

base.py        a test with its data, and the questions that an engine is asked about it
custom.py      a user's function, or object that answers many tests at a time
rcot.py        such an object, for nonlinear dependence; compiled_rcot.py, its compiled half
p_values.py    the p-values of a result, whatever the test
gaussian/      partial correlations, the default
discrete/      G^2 tests of categories

The class of a family is in its `family.py`.
"""
