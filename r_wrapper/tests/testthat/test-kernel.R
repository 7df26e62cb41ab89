# The kernel-based test by name, which Python's registry brings.

x <- local({
  set.seed(1)
  z <- rnorm(250)
  data.frame(z = z, a = cos(2 * z) + 0.3 * rnorm(250), b = z^2 + 0.3 * rnorm(250))
})

test_that("KCI sees what correlations do not", {
  answer <- cu_plain("pc", x, "KCI", 0.01, progress = FALSE)
  expect_identical(sort(paste(answer$graph$from, answer$graph$to)), c("1 2", "1 3", "2 1", "3 1"))
  expect_gt(answer$pMax[2, 3], 0.01)
  found <- cu_stability(x, indepTest = "KCI", alpha = 0.01, n_resamples = 2, seed = 1, progress = FALSE)
  expect_equal(found$n_resamples, 2)
})

test_that("KCI needs a table of numbers", {
  expect_error(cu_plain("pc", list(C = cor(x), n = 250), "KCI", 0.01, p = 3), "must be a table")
  x$a[1] <- NA
  expect_error(cu_plain("pc", x, "KCI", 0.01), "must be complete and finite")
})
