# cu_example(): the example data, and their true graphs.

test_that("the data are those of Python, and cu_pc() finds the true graph", {
  skip_if_no_pcalg()
  x <- cu_example()
  expect_identical(dim(x), c(1500L, 15L))
  truth <- cu_example("greenhouse", truth = TRUE)
  expect_identical(dimnames(truth), list(names(x), names(x)))
  expect_equal(truth["sunshine", "light"], 2.5)
  expect_identical(sum(truth != 0), 19L)
  found <- methods::as(cu_pc(x, alpha = 0.01)@graph, "matrix")
  cpdag <- methods::as(pcalg::dag2cpdag(methods::as((truth != 0) * 1, "graphNEL")), "matrix")
  expect_true(all((found != 0) == (cpdag != 0)))
  hidden <- cu_fci(x[names(x) != "sunshine"], alpha = 0.01)@amat
  expect_identical(c(hidden["light", "temperature"], hidden["temperature", "light"]), c(2, 2))
})

test_that("other examples are there by name", {
  skip_if_no_python()
  expect_identical(dim(cu_example("cell_nuclei")), c(569L, 30L))
  sprinkler <- cu_example("sprinkler")
  expect_true(all(vapply(sprinkler, is.factor, NA)))
  expect_identical(sum(cu_example("sprinkler", truth = TRUE)), 5)
  expect_error(cu_example("cell_nuclei", truth = TRUE), "nobody knows the true graph")
  expect_error(cu_example("iris"), "`name` must be one of \"greenhouse\", \"cell_nuclei\", \"sprinkler\"; got")
  expect_error(cu_example(truth = NA), "`truth` must be TRUE or FALSE")
})
