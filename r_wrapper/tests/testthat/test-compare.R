# cu_compare(): the report and the numbers as they reach R. That they are right is tested on the Python side.

test_that("a result equals itself, and pcalg's", {
  skip_if_no_pcalg()
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

test_that("a skeleton is compared with a method's skeleton", {
  skip_if_no_pcalg()
  S <- small_problem()
  fits <- lapply(list(cu_skeleton, pcalg::skeleton), function(f) f(S, pcalg::gaussCItest, 0.05, p = 8))
  for (fit in fits) {
    expect_true(cu_compare(fit, "pcalg-stable", S, 0.05, p = 8)$equal)
    expect_true(cu_compare("pycupc", fit, S, 0.05, p = 8)$equal)
  }
  fast <- pcalg::skeleton(S, pcalg::gaussCItest, 0.05, p = 8, method = "stable.fast")
  expect_true(cu_compare(fast, "pcalg-stable", S, 0.05, p = 8)$parts[["graph"]])
  oriented <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 8)
  expect_false(cu_compare(fit, oriented)$parts[["graph"]]) # two objects are compared as they are
  expect_true(cu_compare(oriented, "pcalg-stable", S, 0.05, p = 8)$equal)
})

test_that("a difference under the conservative or majority rule is explained by the sets that the tests found", {
  skip_if_no_pcalg()
  S <- small_problem(p = 12, n = 100, seed = 3)
  labels <- paste0("v", 1:12)
  gauss <- pcalg::gaussCItest
  gaps <- abs(outer(1:12, 1:12, "-")) == 7
  expected <- cu_compare(cu_skeleton(S, gauss, 0.05, labels, fixedGaps = gaps),
    cu_skeleton(S, gauss, 0.2, labels, fixedGaps = gaps), S)$differences
  expect_gt(sum(expected$level > 0), 3)
  expected$removed_by <- NULL
  changed <- 0
  for (rule in c("conservative", "maj.rule")) {
    run <- function(f, alpha, ...) {
      args <- list(S, gauss, alpha, labels = labels, fixedGaps = gaps, ...)
      args[[rule]] <- TRUE
      fit <- do.call(f, args)
      fit@call <- as.call(c(quote(pc), args[rule])) # without the data
      fit
    }
    compare <- function(...) {
      args <- list(..., suffStat = S, labels = labels, fixedGaps = gaps)
      args[[rule]] <- TRUE
      found <- do.call(cu_compare, args)$differences
      found$removed_by <- NULL
      found
    }
    fit <- run(cu_pc, 0.05)
    other <- run(cu_pc, 0.2)
    expect_identical(compare(fit, other), expected)
    expect_identical(compare(fit, run(cu_pc, 0.2, sepset = "sparse")), expected)
    expect_equal(compare(fit, "pcalg-stable", alpha = 0.2), expected, tolerance = 1e-6)
    expect_equal(compare("pycupc", run(cu_pc, 0.2), alpha = 0.05), expected, tolerance = 1e-6)
    theirs <- run(pcalg::pc, 0.05)
    expect_true(cu_compare(fit, theirs)$equal)
    changed <- changed + !identical(compare(theirs, other), expected) # pcalg's object holds the changed sets only
  }
  expect_gt(changed, 0) # else no set was changed, and nothing was tested
})

test_that("the methods are given another indepTest", {
  skip_if_no_pcalg()
  set.seed(1)
  dag <- pcalg::randomDAG(6, 0.5)
  S <- list(dm = (pcalg::rmvDAG(500, dag) > 0) + 0L, adaptDF = FALSE)
  expect_true(cu_compare("pycupc", "pcalg-stable", S, 0.05, p = 6, indepTest = pcalg::binCItest)$equal)
  fit <- cu_pc(S, pcalg::binCItest, 0.05, p = 6)
  expect_true(cu_compare(fit, "pcalg-stable", S, 0.05, p = 6, indepTest = pcalg::binCItest)$equal)
  other <- cu_pc(S, pcalg::binCItest, 1e-9, p = 6)
  expect_false(cu_compare(other, "pcalg-stable", S, 0.05, p = 6, indepTest = pcalg::binCItest)$equal)
  gauss <- small_problem()
  expect_true(cu_compare("pycupc", "pcalg-stable", gauss, 0.05, p = 8, indepTest = pcalg::gaussCItest)$equal)
  expect_error(cu_compare("pycupc", "pcalg-stable", S, 0.05, p = 6, indepTest = "noTest"), "`indepTest` must be")
})

test_that("columns that are nearly the same are not called exactly collinear", {
  skip_if_no_pcalg()
  S <- small_problem()
  S$C[2, ] <- S$C[, 2] <- S$C[, 1]
  S$C[1, 2] <- S$C[2, 1] <- 0.999999999999997
  S$C[2, 2] <- 1
  found <- cu_compare("pycupc", cu_pc(S, pcalg::gaussCItest, 1e-9, p = 8), S, 0.05, p = 8)
  expect_match(found$text, "collinear up to rounding: 1 with 2")
  expect_false(grepl("xactly", found$text))
})

test_that("stable.fast keeps other separating sets and counts", {
  skip_if_no_pcalg()
  found <- cu_compare("pycupc", "pcalg-stable.fast", small_problem(), 0.05, p = 8, skeleton = TRUE)
  expect_false(found$equal)
  expect_true(found$parts[["skeleton"]])
  expect_false(found$parts[["numbers of tests"]])
  expect_identical(nrow(found$differences), 0L)
})

test_that("with identical columns stable and stable.fast differ, and the columns are named", {
  skip_if_no_pcalg()
  set.seed(2)
  X <- matrix(rnorm(200 * 6), 200)
  X[, 2] <- X[, 1] + X[, 2]
  X[, 3] <- X[, 1] - X[, 2] + X[, 3]
  X <- cbind(X, X[, 1])
  S <- list(C = stats::cor(X), n = 200)
  labels <- c(paste0("V", 1:6), "copy")
  found <- cu_compare("pycupc", "pcalg-stable.fast", S, 0.05, labels = labels, skeleton = TRUE)
  expect_false(found$equal)
  expect_match(found$text, "Columns collinear up to rounding: V1 with copy.")
  expect_gt(nrow(found$differences), 0)
  expect_true(all(found$differences$condition > 1e12))
  expect_true(cu_compare("pycupc", "pcalg-stable", S, 0.05, labels = labels)$equal)
})

test_that("what cannot be compared is an R error", {
  skip_if_no_pcalg()
  S <- small_problem()
  fit <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 8)
  X <- matrix(stats::rnorm(400), 50)
  expect_true(cu_compare("pycupc", "pcalg-stable", X, 0.05, p = 8)$equal) # observations, as cu_pc() takes them
  expect_error(cu_compare(fit, 3), "`b` must be a pcAlgo or fciAlgo object, or one of")
  expect_error(cu_compare(fit, "tetrad", S, 0.05, p = 8), "a method must be one of")
  if (!requireNamespace("micd", quietly = TRUE)) {
    expect_error(cu_compare("pycupc", "pcalg-stable", X, 0.05, p = 8, indepTest = "gaussCItwd"),
      "`indepTest` = \"gaussCItwd\" needs the package micd for the method \"pcalg-stable\": install.packages")
  }
  expect_error(cu_compare("pycupc", "pcalg-stable", X, 0.05, p = 8, indepTest = "KCI"),
    "`indepTest` must be a test of pcalg or micd for the method \"pcalg-stable\"; got \"KCI\", which only pycupc has")
  expect_true(cu_compare("pycupc", "pycupc", X[, 1:3], 0.05, p = 3, indepTest = "KCI")$equal)
  expect_error(cu_compare(fit, cu_fci(S, pcalg::gaussCItest, 0.05, p = 8)),
    "`a` and `b` must both be results of fci\\(\\) or rfci\\(\\), or neither; got an object of class pcAlgo and")
  expect_error(cu_compare(fit, "pcalg-stable"), "needs `suffStat`, `alpha`, and `labels` or `p`")
  expect_error(cu_compare(fit, cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8])), "by other names")
})
