# cu_cstar(): the same ranking as a plain loop of cu_pc() and cu_ida() over the resamples.

observations <- function() {
  set.seed(5)
  X <- matrix(stats::rnorm(700), 100, dimnames = list(NULL, paste0("v", 1:7)))
  for (j in 2:7) X[, j] <- X[, j] + 0.8 * X[, max(1, j - 1 - j %% 2)]
  X
}

test_that("pi and the effects are those of a loop of cu_pc() and cu_ida()", {
  skip_if_no_pcalg()
  X <- observations()
  found <- cu_cstar(X, effects = "v7", q = c(1, 3), n_resamples = 6, alpha = 0.05, seed = 3)
  rows_of <- cu_stability(X, n_resamples = 6, alpha = 0.05, seed = 3, scheme = "subsample")
  chosen <- lapply(1:6, function(i) {
    rows <- cu_rows(rows_of, i)
    C <- stats::cor(X[rows, ])
    fit <- cu_pc(list(C = C, n = length(rows)), pcalg::gaussCItest, 0.05, labels = colnames(X))
    least <- sapply(1:6, function(x) {
      values <- suppressWarnings(cu_ida(x, 7, C, fit))
      values[which.min(abs(values))]
    })
    first <- utils::head(order(-abs(least)), 3)
    stats::setNames(least[first], colnames(X)[first])[abs(least[first]) > 0]
  })
  all <- unlist(chosen)
  ranking <- as.data.frame(found)
  expect_setequal(ranking$cause, names(all))
  expect_equal(ranking$pi, as.vector(table(names(all))[ranking$cause]) / 6)
  expect_equal(ranking$value, as.vector(tapply(all, names(all), stats::median)[ranking$cause]))
  expect_equal(ranking$pcer, ifelse(ranking$pi > 0.5, pmin(1, 0.25 / (2 * ranking$pi - 1)), NA))
  expect_false(is.unsorted(ranking$median_rank))
  expect_equal(found[c("q", "n_pairs", "n", "seed", "scheme")],
    list(q = c(1L, 3L), n_pairs = 6, n = 100, seed = 3, scheme = "subsample"))
  expect_output(print(found), "ranking of 6 pairs on 6 resamples .subsample. of 100 observations, seed 3")
})

test_that("set.seed() repeats it, positions are names, and wrong arguments have their errors", {
  skip_if_no_python()
  X <- observations()
  set.seed(1)
  found <- cu_cstar(X, causes = 1:3, effects = c("v4", "v5"), n_resamples = 4)
  set.seed(1)
  again <- cu_cstar(X, c("v1", "v2", "v3"), 4:5, n_resamples = 4, checkpoint = tempfile())
  expect_equal(found, again)
  expect_setequal(found$ranking$effect, c("v4", "v5"))
  expect_error(cu_cstar(X, effects = "v9"), "`effects` must be names in `labels`, or positions from 1 to 7")
  expect_error(cu_cstar(X, q = 0, n_resamples = 2), "q must be different numbers from 1 to 42")
  expect_error(cu_cstar(X, q = "a"), "`q` must be one or more whole numbers")
  expect_error(cu_cstar(X, alpha = c(0.1, 0.2)), "`alpha` must be one number in \\[0, 1\\]")
  expect_error(cu_cstar(X, standardize = NA), "`standardize` must be TRUE or FALSE")
})
