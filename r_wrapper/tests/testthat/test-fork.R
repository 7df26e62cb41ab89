# R processes that fork themselves, and computations inside a test of another one.

skip_if_no_fork <- function() if (.Platform$OS.type == "windows") skip("Windows has no fork")

small <- small_problem()
small_answer <- function() cu_plain("pc", small, alpha = 0.05, p = 8)[c("graph", "n.edgetests", "sepset", "pMax")]

# More variables, so that p-values are computed in threads, too.
large <- small_problem(p = 420, n = 100)
large_answer <- function() cu_plain("pc", large, alpha = 0.001, p = 420)[c("graph", "n.edgetests", "pMax")]

test_that("forks of a process that has computed compute as well", {
  skip_if_no_python()
  skip_if_no_fork()
  for (answer in list(small_answer, large_answer)) {
    here <- answer()
    setTimeLimit(elapsed = 300, transient = TRUE)
    there <- parallel::mclapply(1:4, function(i) answer(), mc.cores = 2L)
    setTimeLimit()
    for (one in there) expect_identical(one, here)
  }
  job <- parallel::mcparallel(small_answer())
  expect_identical(parallel::mccollect(job)[[1]], small_answer())
})

test_that("cu_stability() runs in a fork", {
  skip_if_no_python()
  skip_if_no_fork()
  set.seed(1)
  X <- matrix(stats::rnorm(200 * 5), 200)
  shares <- function(i) as.data.frame(cu_stability(X, alpha = 0.05, n_resamples = 4, seed = 1, progress = FALSE))
  here <- shares(0)
  expect_identical(parallel::mclapply(1:2, shares, mc.cores = 2L), list(here, here))
})

test_that("future::plan(\"multicore\") works", {
  skip_if_no_python()
  skip_if_no_fork()
  skip_if_not_installed("future")
  if (!future::supportsMulticore()) skip("future does not fork here")
  here <- small_answer()
  old <- future::plan("multicore", workers = 2L)
  on.exit(future::plan(old))
  jobs <- lapply(1:3, function(i) future::future(small_answer(), seed = TRUE))
  for (job in jobs) expect_identical(future::value(job), here)
})

test_that("a test may compute with cu_plain() itself, and a failure there reaches it", {
  skip_if_no_python()
  here <- small_answer()
  inside <- NULL
  test <- function(x, y, S, suffStat) {
    if (is.null(inside)) inside <<- small_answer()
    failure <- tryCatch(cu_plain("pc", suffStat, alpha = 0.05, p = 8, engine = "abacus"), error = conditionMessage)
    if (!grepl("abacus", failure)) stop("no failure inside")
    z <- suffStat$C[x, y]
    2 * stats::pnorm(-sqrt(suffStat$n - 3) * abs(atanh(z)))
  }
  outer <- cu_plain("pc", small, test, 0.05, p = 8, m.max = 0)
  expect_identical(inside, here)
  expect_identical(outer$graph, cu_plain("pc", small, alpha = 0.05, p = 8, m.max = 0)$graph)
})
