# cu_cstar(): the ranking of pycupc.cstar(), which Python's tests compare with a plain loop, and R's own additions.

observations <- function() {
  set.seed(5)
  X <- matrix(stats::rnorm(700), 100, dimnames = list(NULL, paste0("v", 1:7)))
  for (j in 2:7) X[, j] <- X[, j] + 0.8 * X[, max(1, j - 1 - j %% 2)]
  X
}

test_that("the ranking is that of Python for the same seed", {
  skip_if_no_python()
  X <- observations()
  found <- cu_cstar(X, effects = "v7", q = c(1, 3), n_resamples = 6, alpha = 0.05, seed = 3, m.max = 2)
  main <- reticulate::py_run_string("
import numpy
import pycupc

def ranking(rows, labels):
    data, options = numpy.array(rows), {'n_resamples': 6, 'alpha': 0.05, 'random_state': 3, 'm_max': 2}
    found = pycupc.cstar(data, effects='v7', q=[1, 3], labels=labels, **options)
    return {name: values.tolist() for name, values in found.columns().items()}
", convert = FALSE)
  rows <- lapply(seq_len(nrow(X)), function(i) as.list(unname(X[i, ])))
  theirs <- as.data.frame(reticulate::py_to_r(main$ranking(rows, as.list(colnames(X)))))
  theirs$pcer[is.nan(theirs$pcer)] <- NA
  expect_equal(as.data.frame(found), theirs)
  expect_equal(found[c("q", "n_pairs", "n", "seed", "scheme")],
    list(q = c(1L, 3L), n_pairs = 6, n = 100, seed = 3, scheme = "subsample"))
  expect_output(print(found), "ranking of 6 pairs on 6 resamples .subsample. of 100 observations, seed 3")
})

test_that("set.seed() repeats it, positions are names, and wrong arguments have their errors", {
  skip_if_no_python()
  X <- observations()
  set.seed(1)
  found <- cu_cstar(X, causes = 1:3, effects = c("v4", "v5"), n_resamples = 4)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(found, 3, main = "CStaR"), found)
  expect_error(plot(found, 0), "`n` must be a number of pairs, at least 1; got 0")
  set.seed(1)
  again <- cu_cstar(X, c("v1", "v2", "v3"), 4:5, n_resamples = 4, checkpoint = tempfile())
  expect_equal(found, again)
  expect_setequal(found$ranking$effect, c("v4", "v5"))
  expect_error(cu_cstar(X, effects = "v9"), "`effects` must be names of variables, or positions from 1 to 7")
  expect_error(cu_cstar(X, q = 0, n_resamples = 2), "q must be different numbers from 1 to 42")
  expect_error(cu_cstar(X, c("v1", "v1")), "`causes` has \"v1\" more than once")
  expect_error(cu_cstar(X, q = "a"), "`q` must be one or more whole numbers")
  expect_error(cu_cstar(X, alpha = c(0.1, 0.2)), "`alpha` must be one number in \\[0, 1\\]")
  expect_error(cu_cstar(X, standardize = NA), "`standardize` must be TRUE or FALSE")
})
