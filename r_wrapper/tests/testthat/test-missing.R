# The tests of missing values by name, and a user's test that answers many at a time.

x <- as.matrix(datasets::mtcars[, c("mpg", "disp", "hp", "drat", "wt")])
complete <- list(C = stats::cor(x), n = nrow(x))
gaps <- x
gaps[cbind(1:8, c(1:4, 1:4))] <- NA
codes <- (x > rep(apply(x, 2, stats::median), each = nrow(x))) + 0L
factors <- as.data.frame(lapply(as.data.frame(codes), factor, levels = 0:1))

# Graph, counts and sets.
core <- function(fit) list(methods::as(fit@graph, "matrix"), fit@n.edgetests, fit@sepset)

test_that("without gaps, and with equal imputations, the tests are pcalg's", {
  skip_if_no_pcalg()
  same <- core(cu_pc(complete, "gaussCItest", 0.1, p = 5))
  expect_identical(core(cu_pc(x, "gaussCItwd", 0.1, p = 5)), same)
  expect_identical(core(cu_pc(c(rep(list(complete$C), 3), complete$n), "gaussMItest", 0.1, p = 5)), same)
  of_codes <- cu_pc(list(dm = codes, nlev = rep(2, 5), adaptDF = FALSE), "disCItwd", 0.1, p = 5, m.max = 0)
  expect_identical(core(of_codes), core(cu_pc(list(dm = codes, adaptDF = FALSE), "disCItest", 0.1, p = 5, m.max = 0)))
})

test_that("gaps and imputations change the answer, and micd's functions are recognised", {
  skip_if_no_pcalg()
  few <- cu_pc(gaps, "gaussCItwd", 0.1, p = 5)
  by_hand <- function(x, y, S, data) {
    rows <- stats::complete.cases(data[, c(x, y, S)])
    pcalg::gaussCItest(x, y, S, list(C = stats::cor(data[rows, ]), n = sum(rows)))
  }
  one_by_one <- cu_pc(gaps, by_hand, 0.1, p = 5)
  expect_identical(core(few)[1:2], core(one_by_one)[1:2])
  expect_equal(few@pMax, one_by_one@pMax)
  home <- structure(new.env(), name = "micd")
  home$disMItest <- function(x, y, S, suffStat) stop("not called")
  environment(home$disMItest) <- home
  other <- factors
  other$wt[1:6] <- rev(other$wt[1:6])
  expect_s4_class(cu_pc(list(factors, other), home$disMItest, 0.1, p = 5), "pcAlgo")
})

test_that("numbers and factors together: mixCItest by name", {
  skip_if_no_pcalg()
  both <- data.frame(x, gear = factor(datasets::mtcars$gear), am = factor(datasets::mtcars$am))
  expect_identical(core(cu_pc(as.data.frame(x), "mixCItest", 0.1)), core(cu_pc(as.data.frame(x), "gaussCItest", 0.1)))
  found <- cu_skeleton(both, "mixCItest", 0.05, quirks = TRUE)
  p <- vapply(0:1, function(k) found@pMax[1, 6 + k], 0)
  expect_true(all(p > 0 & p < 1) && length(found@n.edgetests) > 1)
  counts <- cu_stability(both, n_resamples = 4, scheme = "subsample", indepTest = "mixCItest", seed = 1, quirks = TRUE)
  expect_identical(counts$n_tests[, 1] > 20, rep(TRUE, 4))
  expect_gt(nrow(cu_stability(gaps, n_resamples = 2, indepTest = "gaussCItwd", seed = 1)$pairs), 0)
  both$am[3] <- NA
  expect_error(cu_pc(both, "mixCItest"), "`suffStat` must be complete and finite for mixCItest; it is not in \"am\"")
  expect_error(cu_pc(cbind(both, s = letters[1:4]), "mixCItest"),
    "neither is \"s\" \\(4 different values, such as \"a\"\\)")
})

test_that("numbers and factors with gaps, or imputed, by name", {
  skip_if_no_pcalg()
  both <- data.frame(x, gear = factor(datasets::mtcars$gear), am = factor(datasets::mtcars$am))
  same <- core(cu_pc(both, "mixCItest", 0.1))
  for (test in c("mixCItwd", "flexCItest")) expect_identical(core(cu_pc(both, test, 0.1)), same)
  expect_identical(core(cu_pc(list(dat = both), "flexCItest", 0.1, labels = names(both))), same)
  for (test in c("mixMItest", "flexMItest")) {
    expect_identical(core(cu_pc(rep(list(both), 3), test, 0.1, labels = names(both))), same)
  }
  expect_identical(core(cu_pc(list(datlist = rep(list(both), 2)), "flexMItest", 0.1, labels = names(both))), same)
  both$wt[3:8] <- NA
  both$am[9] <- NA
  for (test in c("mixCItwd", "flexCItwd")) expect_gt(sum(suppressWarnings(cu_pc(both, test, 0.1))@n.edgetests), 21)
  expect_gt(nrow(cu_stability(both, n_resamples = 2, indepTest = "mixCItwd", seed = 1)$pairs), 0)
  way <- "complete and finite for mixCItest; it is not in \"wt\", \"am\"; .*, or take \"mixCItwd\""
  expect_error(cu_pc(both, "mixCItest"), way)
  both$mpg[1] <- Inf
  expect_error(cu_pc(both, "mixCItwd"), "must be finite; it is not in \"mpg\"")
  expect_error(cu_pc(list(both, both[-1]), "mixMItest", 0.1, p = 7), "the same rows and the same columns")
  expect_error(cu_pc(both, "mixMItest", 0.1, p = 7), "a list of M data frames of numbers and factors")
})

test_that("n may be a matrix, the mean of which over the pairs of a test counts", {
  skip_if_no_pcalg()
  n <- matrix(32, 5, 5)
  same <- core(cu_pc(complete, "gaussCItest", 0.1, p = 5))
  expect_identical(core(cu_pc(list(C = complete$C, n = n), "gaussCItest", 0.1, p = 5)), same)
  n[1, 2] <- n[2, 1] <- 7
  pair <- cu_skeleton(list(C = complete$C, n = n), "gaussCItest", 0.1, p = 5, m.max = 0)
  expect_equal(pair@pMax[1, 2], pcalg::gaussCItest(1, 2, NULL, list(C = complete$C, n = 7)))
  n[1, 2] <- 8
  expect_error(cu_pc(list(C = complete$C, n = n), "gaussCItest", 0.1, p = 5), "symmetric")
})

test_that("an attribute \"batch\" is called for many tests at a time", {
  skip_if_no_pcalg()
  calls <- 0
  test <- function(x, y, S, suffStat) stop("not called")
  attr(test, "batch") <- function(x, y, S, suffStat) {
    calls <<- calls + 1
    vapply(seq_along(x), function(i) pcalg::gaussCItest(x[i], y[i], S[i, ], suffStat), 0)
  }
  together <- cu_pc(complete, test, 0.1, p = 5)
  expect_identical(core(together), core(cu_pc(complete, "gaussCItest", 0.1, p = 5)))
  expect_lt(calls, sum(together@n.edgetests) / 3)
  attr(test, "batch") <- function(x, y, S, suffStat) rep(NA, length(x))
  expect_equal(cu_pc(complete, test, 0.1, p = 5)@n.edgetests, 10) # they count as independent
  attr(test, "batch") <- function(x, y, S, suffStat) rep(2, length(x))
  expect_error(cu_pc(complete, test, 0.1, labels = letters[1:5]), "got 2.0 for 1 .a., 2 .b. given")
  attr(test, "batch") <- function(x, y, S, suffStat) 0.5
  expect_error(cu_pc(complete, test, 0.1, p = 5), "must return 10 p-values")
})

test_that("wrong data have their own sentence", {
  skip_if_no_pcalg()
  expect_error(cu_pc(list(complete$C, 32), "gaussMItest", 0.1, p = 5), "at least 2 imputations")
  expect_error(cu_pc(x, "gaussMItest", 0.1, p = 5), "a list of M correlation matrices")
  expect_error(cu_pc(list(factors, factors[-1, ]), "disMItest", 0.1, p = 5), "the same rows and the same columns")
  expect_error(cu_pc(list(factors, factors[5:1]), "disMItest", 0.1, p = 5), "the same rows and the same columns")
  other <- as.data.frame(x)[5:1]
  expect_error(cu_pc(list(as.data.frame(x), other), "gaussMItest", 0.1, p = 5), "the same rows and the same columns")
  expect_error(cu_pc(list(complete$C, stats::cor(other), 32), "gaussMItest", 0.1, p = 5), "the same columns")
  relevelled <- factors
  levels(relevelled$wt) <- c("1", "0")
  expect_error(cu_pc(list(factors, relevelled), "disMItest", 0.1, p = 5), "the same levels")
  expect_error(cu_pc(gaps[, -1], "gaussCItwd", 0.1, p = 5), "a table of 5 columns")
  expect_error(cu_pc(cbind(as.data.frame(gaps[, -1]), z = "1"), "gaussCItwd", 0.1, p = 5),
    "numeric for gaussCItwd, and is not in \"z\" .*; for categories use indepTest = \"disCItwd\"")
  expect_error(cu_pc(gaps, "disCItwd", 0.1, p = 5), "`suffStat` must hold categories for a discrete test")
})

# A column as haven::read_sav() makes it, with codes that the file calls missing.
from_spss <- function(x, na_values = NULL, na_range = NULL) {
  class <- c("haven_labelled_spss", "haven_labelled", "vctrs_vctr", typeof(x))
  structure(x, class = class, na_values = na_values, na_range = na_range, labels = c("no answer" = 999))
}

test_that("codes that SPSS calls missing are missing, whether haven is loaded or not", {
  skip_if_no_python()
  set.seed(7)
  a <- stats::rnorm(60)
  X <- data.frame(a = a, b = a + stats::rnorm(60), c = stats::rnorm(60))
  gaps <- X
  gaps$a[1:5] <- gaps$b[3:9] <- gaps$c[8] <- NA
  coded <- X
  coded$a[1:5] <- 999
  coded$b[3:9] <- 98:104
  coded$c[8] <- -9
  coded$a <- from_spss(coded$a, 999)
  coded$b <- from_spss(coded$b, na_range = c(98, Inf))
  coded$c <- from_spss(coded$c, na_values = c(-9, -8), na_range = c(500, 600))
  expect_identical(without_missing_codes(coded), gaps)
  wrong <- "must be complete and finite .* not in \"a\", \"b\""
  expect_error(cu_plain("pc", coded, "gaussCItest"), paste("`suffStat`", wrong))
  expect_error(cu_stability(coded, n_resamples = 2, indepTest = "gaussCItest"), paste("`x`", wrong))
  same <- c("graph", "n.edgetests", "pMax", "sepset")
  expect_message(by_default <- cu_plain("pc", coded, alpha = 0.05), "values are missing in 3 of 3 columns")
  expect_identical(by_default[same], cu_plain("pc", gaps, "gaussCItwd", 0.05)[same])
  expect_identical(cu_plain("pc", coded, "gaussCItwd", 0.05)[same], cu_plain("pc", gaps, "gaussCItwd", 0.05)[same])
  expect_identical(cu_suffStat(coded, missing = "pairwise"), cu_suffStat(gaps, missing = "pairwise"))
  cells <- function(X) data.frame(lapply(X, function(v) as.integer(v > 0)))
  levels <- cells(gaps)
  spss <- levels
  spss$a[is.na(spss$a)] <- 9L
  spss$a <- from_spss(spss$a, 9)
  S <- function(dm) list(dm = dm, nlev = c(2, 2, 2), adaptDF = FALSE)
  expect_identical(cu_plain("pc", S(spss), "disCItwd", 0.05, p = 3)[same],
    cu_plain("pc", S(levels), "disCItwd", 0.05, p = 3)[same])
  expect_error(cu_plain("pc", spss, "disCItest"), "must not hold NA; it does in \"a\"")
  words <- from_spss(rep(c("yes", "no", "?"), 20), "?")
  expect_identical(without_missing_codes(data.frame(w = 1:60, v = words))$v, rep(c("yes", "no", NA), 20))
  skip_if_not_installed("haven")
  labelled_spss <- getExportedValue("haven", "labelled_spss")
  made <- labelled_spss(c(1, 2, 98, 99), na_values = 99, na_range = c(90, 98))
  expect_identical(without_missing_codes(data.frame(v = made))$v, c(1, 2, NA, NA))
})

test_that("a data frame without a test gets the one that fits, said once", {
  skip_if_no_python()
  numbers <- as.data.frame(x)
  same <- c("graph", "n.edgetests", "pMax", "sepset", "untested")
  both <- transform(numbers, gears = c("three", "more")[1 + (datasets::mtcars$gear > 3)])
  both$gears <- as.character(both$gears)
  texts <- transform(as.data.frame(lapply(factors, function(v) c("low", "high")[v])), wt = factors$wt == "1")
  gapped <- texts
  gapped$mpg[3] <- NA
  cases <- list(
    list(as.data.frame(gaps), "gaussCItwd", "missing in 4 of 5 columns, .* \\(indepTest = \"gaussCItwd\"\\)"),
    list(both, "mixCItest", "1 of 6 columns hold words \\(gears\\), .* \\(indepTest = \"mixCItest\"\\)"),
    list(texts, "disCItest", "holds categories, .* \\(indepTest = \"disCItest\"\\)"),
    list(gapped, "disCItwd", "holds categories; values are missing in 1 of 5 columns, .*indepTest = \"disMItest\"")
  )
  for (case in cases) {
    data <- case[[1]]
    said <- testthat::capture_messages(found <- suppressWarnings(cu_plain("pc", data, alpha = 0.1)))
    expect_length(grep("columns|categories", said), 1)
    expect_match(paste(said, collapse = ""), case[[3]])
    named <- suppressMessages(suppressWarnings(cu_plain("pc", with_factors(data), case[[2]], 0.1)))
    expect_identical(found[same], named[same])
  }
  expect_message(cu_stability(both, n_resamples = 2, seed = 1), "numbers and categories together runs")
  expect_silent(found <- cu_plain("pc", numbers, alpha = 0.1))
  expect_identical(found[same], cu_plain("pc", numbers, "gaussCItest", 0.1)[same])
  expect_error(cu_plain("pc", texts, "gaussCItest"), "must be numeric for gaussCItest")
  both$mpg[1] <- NA
  expect_message(suppressWarnings(cu_plain("pc", both)), "in 1 of 6 columns, .*indepTest = \"mixCItwd\".*or na.omit")
  numbers$made <- Sys.Date()
  expect_error(cu_plain("pc", numbers), "must be numeric for gaussCItest, and is not in \"made\"")
})

test_that("cu_why() knows the test that was chosen", {
  skip_if_no_pcalg()
  data <- transform(as.data.frame(x), am = c("a", "b")[1 + datasets::mtcars$am])
  expect_message(fit <- cu_pc(data, alpha = 0.1), "mixCItest")
  expect_silent(found <- cu_why(fit, "mpg", "am", data))
  named <- cu_pc(with_factors(data), "mixCItest", 0.1, labels = names(data))
  expect_identical(found$text, cu_why(named, "mpg", "am", with_factors(data))$text)
})

test_that("columns of a data frame that are no variables, units and marks are read as in a file", {
  skip_if_no_pcalg()
  set.seed(6)
  n <- 60
  z <- round(abs(matrix(rnorm(3 * n), n) %*% rbind(c(1, 1, 0), c(0, 1, 1), c(0, 0, 1))) + 1, 2)
  plain <- data.frame(y = z[, 2], z = z[, 3], dose = z[, 1])
  x <- data.frame(id = seq_len(n), plain, who = paste("patient", seq_len(n)), stringsAsFactors = FALSE)
  x$dose <- paste(z[, 1], "mg")
  said <- capture_messages(fit <- cu_pc(x))
  left <- "left out, since no variables: id counts the rows (1, 2, 3, ...); who names the rows (60 different"
  expect_match(said, left, fixed = TRUE, all = FALSE)
  expect_match(said, "(to keep: factor() of \"id\", \"who\", or indepTest)", fixed = TRUE, all = FALSE)
  expect_match(said, "read as numbers, without their unit: dose in mg (such as", fixed = TRUE, all = FALSE)
  want <- cu_pc(plain)
  expect_identical(graph::nodes(fit@graph), names(plain))
  expect_identical(fit@pMax, want@pMax)
  for (call in list(cu_skeleton, cu_tpc, cu_rfci)) expect_message(call(x), "without their unit: dose in mg")
  expect_message(stab <- cu_stability(x, n_resamples = 2), "id counts the rows")
  expect_identical(stab$labels, names(plain))
  expect_no_message(why <- cu_why(fit, "y", "z", suffStat = x))
  kept <- suppressMessages(cu_pc(transform(x[-1], who = factor(rep(who[1:6], 10)))))
  expect_identical(graph::nodes(kept@graph), names(x)[-1])

  x <- cbind(plain, w = as.character(plain$dose), stringsAsFactors = FALSE)
  x$w[c(2, 7)] <- "?"
  expect_message(fit <- cu_pc(x), "taken for missing values, beside numbers: '?' in w (2 rows)", fixed = TRUE)
  x$w <- as.numeric(replace(x$w, x$w == "?", NA))
  expect_identical(fit@pMax, suppressMessages(cu_pc(x))@pMax)

  x$w <- rep(c("5 mg", "2 g"), n / 2)
  expect_error(cu_pc(x), "w holds numbers in different units .*leave the column out: x\\[setdiff\\(names\\(x\\), c")
  expect_error(cu_pc(data.frame(a = paste("n", 1:20), b = rnorm(20))), "needs at least 2 columns.*a names the rows")
})
