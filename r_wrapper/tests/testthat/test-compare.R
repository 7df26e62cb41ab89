# cu_compare(): the report and the numbers as they reach R. That they are right is tested on the Python side.

test_that("a result equals itself, and pcalg's", {
  skip_if_no_pcalg()
  skip_if_no_python()
  S <- small_problem()
  for (args in list(list(), list(conservative = TRUE), list(m.max = 1))) {
    found <- do.call(cu_compare, c(list("pycupc", "pcalg-stable", S, 0.05, p = 8), args))
    expect_true(found$equal)
    expect_output(print(found), "pycupc and pcalg-stable are equal")
  }
  fit <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 8)
  expect_true(cu_compare(fit, fit)$equal)
  expect_true(cu_compare(fit, cu_pc(S, pcalg::gaussCItest, 0.05, p = 8, sepset = "sparse"))$equal)
})

test_that("stable.fast keeps other separating sets and counts", {
  skip_if_no_pcalg()
  skip_if_no_python()
  found <- cu_compare("pycupc", "pcalg-stable.fast", small_problem(), 0.05, p = 8, skeleton = TRUE)
  expect_false(found$equal)
  expect_true(found$parts[["skeleton"]])
  expect_false(found$parts[["numbers of tests"]])
  expect_identical(nrow(found$differences), 0L)
})

test_that("with identical columns stable and stable.fast differ, and the columns are named", {
  skip_if_no_pcalg()
  skip_if_no_python()
  set.seed(2)
  X <- matrix(rnorm(200 * 6), 200)
  X[, 2] <- X[, 1] + X[, 2]
  X[, 3] <- X[, 1] - X[, 2] + X[, 3]
  X <- cbind(X, X[, 1])
  S <- list(C = stats::cor(X), n = 200)
  labels <- c(paste0("V", 1:6), "copy")
  found <- cu_compare("pycupc", "pcalg-stable.fast", S, 0.05, labels = labels, skeleton = TRUE)
  expect_false(found$equal)
  expect_match(found$text, "Exactly collinear columns of the data: V1 = copy")
  expect_gt(nrow(found$differences), 0)
  expect_true(all(found$differences$condition > 1e12))
  expect_true(cu_compare("pycupc", "pcalg-stable", S, 0.05, labels = labels)$equal)
})

test_that("what cannot be compared is an R error", {
  skip_if_no_pcalg()
  skip_if_no_python()
  S <- small_problem()
  fit <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 8)
  expect_error(cu_compare(fit, 3), "`b` must be a pcAlgo object or one of")
  expect_error(cu_compare(fit, "tetrad", S, 0.05, p = 8), "a method must be one of")
  expect_error(cu_compare(fit, "pcalg-stable"), "needs `suffStat`, `alpha`, and `labels` or `p`")
  expect_error(cu_compare(fit, cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8])), "by other names")
})
