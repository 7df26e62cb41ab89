# Tests of discrete data: pcalg's answers, slot by slot, with quirks = TRUE.

draw_codes <- function(p, n, levels) {
  hidden <- stats::runif(n)
  codes <- vapply(seq_len(p), function(j) {
    pmin(floor((0.5 * hidden + 0.5 * stats::runif(n)) * levels[j]), levels[j] - 1)
  }, numeric(n))
  codes[1, ] <- 0
  codes
}

same_slots <- function(ours, theirs) {
  expect_identical(ours@graph, theirs@graph)
  expect_identical(ours@sepset, theirs@sepset)
  expect_identical(as.numeric(ours@n.edgetests), as.numeric(theirs@n.edgetests))
  expect_identical(ours@max.ord, theirs@max.ord)
  expect_equal(ours@pMax, theirs@pMax, tolerance = 1e-8)
}

test_that("disCItest and binCItest give pcalg's object", {
  skip_if_no_pcalg()
  set.seed(1)
  for (case in 1:6) {
    p <- 7
    binary <- case %% 2 == 0
    levels <- if (binary) rep(2, p) else sample(2:4, p, TRUE)
    data <- list(dm = draw_codes(p, c(60, 400, 1500)[1 + case %% 3], levels), nlev = levels, adaptDF = case > 3)
    test <- if (binary) pcalg::binCItest else pcalg::disCItest
    args <- list(data, test, alpha = 0.05, p = p)
    ours <- suppressWarnings(do.call(cu_pc, c(args, quirks = !binary)))
    same_slots(ours, suppressWarnings(do.call(pcalg::pc, args)))
    ours <- suppressWarnings(do.call(cu_skeleton, c(args, quirks = !binary)))
    same_slots(ours, suppressWarnings(do.call(pcalg::skeleton, c(args, method = "stable"))))
  }
})

test_that("the tests are known by name, and a data frame will do", {
  skip_if_no_python()
  set.seed(2)
  dm <- as.data.frame(draw_codes(5, 300, c(2, 3, 2, 3, 2)))
  data <- list(dm = dm, nlev = c(2, 3, 2, 3, 2), adaptDF = FALSE)
  ask <- function(data, ...) suppressWarnings(cu_plain("skeleton", data, "disCItest", 0.05, ...)) # few rows
  expect_identical(ask(data, labels = names(dm))$graph, ask(list(dm = as.matrix(dm), adaptDF = FALSE), p = 5)$graph)
})

test_that("a warning says where pcalg may answer otherwise", {
  skip_if_no_python()
  set.seed(3)
  data <- list(dm = draw_codes(6, 2000, rep(3, 6)), nlev = rep(3, 6), adaptDF = TRUE)
  expect_warning(
    expect_warning(cu_plain("skeleton", data, "disCItest", alpha = 0.05, p = 6), "quirks = TRUE gives pcalg's answer"),
    "15 pairs count as independent without a test"
  )
  data$adaptDF <- FALSE
  expect_silent(cu_plain("skeleton", data, "disCItest", alpha = 0.05, p = 6))
})

test_that("degrees of freedom can be those of what occurs", {
  skip_if_no_python()
  set.seed(4)
  cause <- sample(0:3, 300, TRUE, c(0.9, 0.08, 0.01, 0.01))
  dm <- cbind(cause, pmin(3, cause + rbinom(300, 1, 0.1)), draw_codes(2, 300, c(8, 8)))
  edges <- function(...) {
    data <- list(dm = dm, nlev = c(4, 4, 8, 8), adaptDF = FALSE, ...)
    suppressWarnings(cu_plain("skeleton", data, "disCItest", alpha = 0.05, p = 4))$graph # few rows
  }
  expect_identical(edges(df = "pcalg"), edges())
  expect_false(identical(edges(df = "observed"), edges()))
  expect_error(edges(df = "all"), "`suffStat$df` must be \"pcalg\" or \"observed\"", fixed = TRUE)
})

test_that("bad discrete data are refused in R's terms", {
  skip_if_no_python()
  dm <- matrix(c(0, 1, 1, 0, 1, 0), 3)
  run <- function(..., test = "disCItest") cu_plain("skeleton", list(...), test, alpha = 0.05, p = 2)
  expect_error(run(dm = dm, nlev = c(2, 2)), "adaptDF")
  expect_error(run(nlev = c(2, 2), adaptDF = FALSE), "dm")
  expect_error(run(dm = dm[, c(1, 2, 1)], adaptDF = FALSE), "2 columns")
  expect_error(run(dm = dm + 0.5, adaptDF = FALSE), "whole numbers")
  expect_error(run(dm = dm - 1, nlev = c(2, 2), adaptDF = FALSE), "negative codes in 1, 2")
  expect_error(run(dm = 2 * dm, adaptDF = FALSE, test = "binCItest"), "below nlev")
  dm[1, 1] <- NA
  expect_error(run(dm = dm, adaptDF = FALSE), "NAs are not allowed")
})

test_that("texts are categories as factor() has them", {
  skip_if_no_pcalg()
  set.seed(5)
  texts <- c("01", "1", "1e3", "1000")
  first <- sample(4, 600, TRUE)
  x <- data.frame(a = texts[first], b = texts[ifelse(runif(600) < 0.7, first, sample(4, 600, TRUE))],
    c = sample(c("no", "yes"), 600, TRUE))
  codes <- vapply(x, function(column) as.integer(factor(column)), integer(600)) - 1L
  wanted <- pcalg::skeleton(list(dm = codes, nlev = c(4, 4, 2), adaptDF = FALSE), pcalg::disCItest, alpha = 0.05,
    labels = names(x), method = "stable")
  same_slots(cu_skeleton(x, "disCItest", alpha = 0.05), wanted)
  x[] <- lapply(x, factor)
  same_slots(cu_skeleton(x, "disCItest", alpha = 0.05), wanted)
})

test_that("marks of missing values, names and numbers with a unit are no categories", {
  skip_if_no_python()
  set.seed(6)
  n <- 60
  x <- data.frame(pay = as.character(sample(100:500, n)), league = sample(c("N", "A"), n, TRUE), hits = rnorm(n),
    sex = sample(c("f", "m"), n, TRUE))
  x$pay[c(3, 9)] <- "*"
  factors <- x
  factors[c("pay", "league", "sex")] <- lapply(x[c("pay", "league", "sex")], factor)
  said <- "numbers in these columns: pay \\('\\*'\\)\\. If it means a missing value: na.strings = c\\(\"\\*\"\\)"
  run <- function(x, test) cu_plain("skeleton", x, test, alpha = 0.05, labels = names(x))
  expect_error(run(factors, "mixCItest"), said)
  expect_error(run(x[c("pay", "league")], "disCItest"), said)
  expect_error(run(factors[c("pay", "league")], "disCItest"), said)
  two <- list(factors[-3], factors[-3])
  expect_error(cu_plain("skeleton", two, "disMItest", alpha = 0.05, labels = names(factors)[-3]), said)
  expect_error(cu_stability(x[c("pay", "league")], indepTest = "disCItest", n_resamples = 2), said)
  for (texts in list(paste(round(rnorm(n), 2), "mg"), paste("patient", seq_len(n)))) {
    x$pay <- texts
    factors$pay <- factor(texts)
    expect_error(run(x[c("pay", "sex")], "disCItest"), "pay \\(\\d+ different values in 60 rows, such as ")
    expect_error(run(factors, "mixCItest"), "pay \\(\\d+ different values in 60 rows, such as ")
  }
  x$pay <- sample(c("?", "low", "high"), n, TRUE)
  expect_message(run(x[c("pay", "sex")], "disCItest"), "'\\?' is a category of pay; if it means a missing value")
  factors$pay <- factor(sample(c("a", "b"), n, TRUE), c("a", "b", paste("never", 1:50))) # levels that do not occur
  expect_type(run(factors, "mixCItest"), "list")
})

test_that("a message names the test for codes where nobody chose the Gaussian test", {
  skip_if_no_pcalg()
  set.seed(7)
  x <- as.data.frame(matrix(sample(3, 600, TRUE), 200))
  said <- "every column of the data holds few whole numbers.*: indepTest = \"disCItest\"; if not: .* = \"gaussCItest\""
  for (run in list(cu_pc, cu_skeleton, cu_fci)) {
    expect_message(run(x, alpha = 0.05), said)
    expect_silent(run(x, "gaussCItest", alpha = 0.05))
  }
  expect_message(cu_stability(x, n_resamples = 2, seed = 1), said)
  expect_silent(cu_stability(x, indepTest = "gaussCItest", n_resamples = 2, seed = 1))
  x$V4 <- rnorm(200)
  expect_silent(cu_pc(x, alpha = 0.05))
})
