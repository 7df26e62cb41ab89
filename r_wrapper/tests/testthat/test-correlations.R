test_that("cu_suffStat() has the correlations of ranks, and pcalg's form", {
  skip_if_no_python()
  set.seed(1)
  x <- exp(matrix(stats::rnorm(400), 80, dimnames = list(NULL, letters[1:5])))
  expect_equal(cu_suffStat(x), list(C = stats::cor(x), n = 80L), tolerance = 1e-12)
  of_ranks <- function(method, factor) sin(factor * stats::cor(x, method = method)) / sin(factor)
  expect_equal(cu_suffStat(x, "spearman")$C, of_ranks("spearman", pi / 6), tolerance = 1e-12)
  expect_equal(cu_suffStat(x, "kendall")$C, of_ranks("kendall", pi / 2), tolerance = 1e-12)
  expect_equal(dim(cu_suffStat(cbind(x, x[, 1] > 1), "latent")$C), c(6L, 6L))
  expect_error(cu_suffStat(x, "rank"), "should be one of")
  expect_error(cu_suffStat(x, nearest = NA), "`nearest` must be TRUE or FALSE")
})

test_that("cu_suffStat() has pairwise-complete correlations, and cu_pc() takes their n by their rule", {
  skip_if_no_python()
  set.seed(2)
  x <- matrix(stats::rnorm(400), 80, dimnames = list(NULL, letters[1:5]))
  x[, 2] <- x[, 1] + x[, 2]
  x[stats::runif(400) < 0.2] <- NA
  there <- !is.na(x)
  for (rule in c("mean", "min", "harmonic")) {
    S <- cu_suffStat(x, missing = "pairwise", n.rule = rule)
    expect_equal(S$C, stats::cor(x, use = "pairwise"), tolerance = 1e-12)
    expect_equal(S$n[upper.tri(S$n)], crossprod(there)[upper.tri(S$n)])
    given <- cu_plain("skeleton", S, "gaussCItest", 0.5, labels = letters[1:5], m.max = 1)
    test <- function(x, y, S, suffStat) {
      n <- suffStat$n[c(x, y, S), c(x, y, S)]
      n <- n[upper.tri(n)]
      n <- switch(rule, mean = mean(n), min = min(n), harmonic = length(n) / sum(1 / n))
      P <- solve(suffStat$C[c(x, y, S), c(x, y, S)])
      2 * stats::pnorm(-sqrt(n - length(S) - 3) * abs(atanh(-P[1, 2] / sqrt(P[1, 1] * P[2, 2]))))
    }
    by_hand <- cu_plain("skeleton", S, test, 0.5, labels = letters[1:5], m.max = 1)
    expect_equal(given$pMax, by_hand$pMax, tolerance = 1e-9)
  }
  expect_error(cu_suffStat(x), "missing")
  expect_error(cu_suffStat(x, "kendall", missing = "pairwise"), "pearson")
  S$n_rule <- "max"
  expect_error(cu_plain("skeleton", S, "gaussCItest", 0.5, labels = letters[1:5]), "n_rule must be one of")
})
