# Errors about data and arguments, in R's terms: its names, positions from 1, and the way out.

X <- data.frame(a = c(1.5, 2, 4, 3, 7, 5), b = c(2, 1, 3.5, 5, 4, 9), c = c(1, 0, 0, 1, 1, 0))
gaps <- replace(X, 2, c(NA, X$b[-1]))
codes <- data.frame(a = c(0, 1, 0, 1, NA, 1), b = c(0, 1, 1, 1, 0, 1), c = c(1, 1, 0, 0, 1, 0))

test_that("tables without rows, and columns without names, are refused by the name of their argument", {
  skip_if_no_python()
  for (test in c("gaussCItest", "gaussCItwd", "disCItest", "disCItwd", "mixCItest")) {
    expect_error(cu_plain("pc", X[0, ], test), "`suffStat` must have at least 2 rows, the observations; got 0")
  }
  S <- list(dm = as.matrix(codes)[1, , drop = FALSE], nlev = c(2, 2, 2), adaptDF = FALSE)
  expect_error(cu_plain("pc", S, "disCItest", 0.05, p = 3), "`suffStat\\$dm` must have at least 2 rows")
  for (f in list(cu_stability, cu_cstar, cu_suffStat)) expect_error(f(X[1, ]), "`x` must have at least 2 rows.*got 1")
  named <- stats::setNames(X, c("a", "", "c"))
  expect_error(cu_plain("pc", named), "each variable must have a name; number 2 has none")
  expect_error(cu_stability(named), "each variable must have a name; number 2 has none")
  expect_error(cu_pc("data.csv"), "`suffStat` must be the observations, a matrix or data frame.*\"data.csv\"")
})

test_that("data with NA are refused with the way out", {
  skip_if_no_python()
  way <- "not in \"b\"; indepTest = \"gaussCItwd\" takes NA"
  expect_error(cu_plain("pc", gaps, "gaussCItest"), way)
  expect_error(cu_stability(gaps, indepTest = "gaussCItest"), way)
  expect_error(cu_plain("pc", as.matrix(gaps)), way)
  expect_error(cu_suffStat(gaps), "not in \"b\"; missing = \"pairwise\" takes NA")
  expect_error(cu_cstar(gaps), "not in \"b\"; leave such rows out, or impute")
  expect_error(cu_plain("pc", gaps, "mixCItest"), "not in \"b\"; leave such rows out, or impute")
  ways <- "\"disCItwd\" leaves out .*\"disMItest\" takes imputations"
  expect_error(cu_plain("pc", codes, "disCItest"), paste0("must not hold NA; it does in \"a\"; indepTest = ", ways))
  expect_error(cu_plain("pc", list(dm = codes, adaptDF = FALSE), "disCItest", 0.05, p = 3), ways)
  expect_error(cu_plain("pc", list(gaps, gaps), "gaussMItest", 0.05, p = 3), "must hold imputations without NA")
  same <- c("graph", "pMax", "n.edgetests")
  by_list <- cu_plain("pc", list(dm = codes, nlev = c(2, 2, 2), adaptDF = FALSE), "disCItwd", 0.05, names(codes))
  expect_identical(cu_plain("pc", codes, "disCItwd", 0.05)[same], by_list[same])
  expect_s3_class(cu_stability(codes, indepTest = "disCItwd", n_resamples = 2, seed = 1), "cu_stability")
})

test_that("an ExpressionSet, whose columns are samples, is refused with the way out", {
  skip_if_no_python()
  skip_if_not_installed("Biobase")
  set <- getExportedValue("Biobase", "ExpressionSet")(assayData = t(as.matrix(X)))
  told <- "must have a column for each variable; an object of class ExpressionSet .* give t\\(exprs\\("
  expect_error(cu_plain("pc", set), told)
  expect_error(cu_plain("pc", set, "gaussCItest", 0.05, p = 3), told)
  for (f in list(cu_stability, cu_cstar, cu_suffStat)) expect_error(f(set), told)
})

test_that("other arguments are named as in R", {
  skip_if_no_python()
  x <- as.matrix(X)
  expect_error(cu_cstar(x, q = 7), "q must be different numbers from 1 to 6, the number of candidate pairs, got 7$")
  expect_error(cu_cstar(x, q = integer(0)), "`q` must be one or more whole numbers; got integer of length 0")
  expect_error(cu_cstar(x, causes = character(0)), "`causes` must be one variable or several; got character")
  expect_error(cu_suffStat(X, "kendall", missing = "pairwise"),
    "missing = \"pairwise\" goes with correlation = \"pearson\" only, got \"kendall\"")
  expect_error(cu_plain("pc", X, threads = 0), "`threads` must be a whole number of at least 1; got 0")
  expect_error(cu_plain("pc", X, engine = NA), "`engine` must be the name of an engine; got NA")
  expect_error(cu_sepset(list(), 1, 2), "`fit` must be a result of cu_plain\\(\\)")
  expect_error(cu_bound(structure(list(1), class = "cu_cstar"), 0.9), "got an object of class cu_cstar")
  apart <- data.frame(a = c(1:4, NA, NA), b = c(NA, NA, NA, NA, 1:2), c = X$a)
  S <- suppressMessages(cu_suffStat(apart, missing = "pairwise"))
  expect_message(
    expect_message(cu_plain("pc", S, alpha = 0.1, labels = letters[1:3]), "C has NaN.* independent: a, b"),
    "2 pairs count as independent without a test"
  )
})
