library(testthat)
library(pycupc)

test_check("pycupc")
