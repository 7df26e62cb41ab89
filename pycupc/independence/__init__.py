"""The conditional-independence tests: one family in each folder, and the parts that all of them share.

p_values.py    the p-values of a result, whatever the test
untested.py    removed pairs whose test lacked observations
gaussian/      partial correlations, the default
discrete/      G^2 tests of categories
"""
