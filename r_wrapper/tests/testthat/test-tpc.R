# cu_tpc() against tpc::tpc().

same_object <- function(ours, theirs) {
  ours@call <- theirs@call <- quote(tpc())
  expect_equal(bare(ours), theirs, tolerance = 1e-6)
  expect_identical(ours@graph, theirs@graph)
}

test_that("cu_tpc() returns the object of tpc()", {
  skip_if_no_pcalg()
  skip_if_not_installed("tpc", "1.0")
  data <- new.env()
  utils::data("dat_sim", package = "tpc", envir = data)
  labels <- colnames(data$dat_sim)
  forbidden <- matrix(FALSE, 9, 9)
  forbidden[1, 3] <- forbidden[3, 1] <- forbidden[5, 2] <- TRUE
  base <- list(list(C = stats::cor(data$dat_sim), n = nrow(data$dat_sim)), pcalg::gaussCItest, 0.01, labels = labels)
  tiers <- rep(1:3, each = 3)
  cases <- list(
    list(), list(tiers = tiers), list(tiers = tiers, forbEdges = forbidden, m.max = 1),
    list(tiers = tiers, context.all = "A1", conservative = TRUE, maj.rule = FALSE),
    list(tiers = tiers, context.tier = 1)
  )
  for (case in cases) {
    same_object(do.call(cu_tpc, c(base, case)), do.call(tpc::tpc, c(base, case)))
  }
})

test_that("a user's own test is called in the order of tpc()", {
  skip_if_no_pcalg()
  skip_if_not_installed("tpc", "1.0")
  recorded <- function(tpc) {
    calls <- character()
    test <- function(x, y, S, seed) {
      calls <<- c(calls, paste(x, y, paste(S, collapse = ",")))
      ((sum(2^(S - 1)) * 7919 + (x - 1) * 104729 + (y - 1) * 1299709 + seed * 15485863) %% 997) / 997
    }
    fit <- tpc(5, test, 0.9, p = 6, tiers = c(1, 2, 1, 2, 3, 1))
    list(fit, calls)
  }
  ours <- recorded(cu_tpc)
  theirs <- recorded(tpc::tpc)
  same_object(ours[[1]], theirs[[1]])
  expect_identical(ours[[2]], theirs[[2]])
})

test_that("arguments of cu_tpc() are checked", {
  stat <- list(C = diag(4), n = 50)
  refused <- function(text, ...) expect_error(cu_tpc(stat, "gaussCItest", 0.05, p = 4, ...), text, fixed = TRUE)
  refused("`tiers` must be a number for each of the 4 variables", tiers = 1:3)
  refused("`context.all` must be names of variables", context.all = "z")
  refused("`context.all` must be in the first tier; \"2\" is not", tiers = c(1, 2, 1, 1), context.all = 2)
  refused("`context.all` and `context.tier` both have \"1\"", context.all = 1, context.tier = 1)
  refused("Dimensions of the dataset and forbEdges do not agree", forbEdges = diag(3))
  refused("`forbEdges` must not hold NA", forbEdges = diag(c(0, NA, 0, 0)))
  refused("`forbEdges` must hold TRUE and FALSE, not character", forbEdges = matrix("FALSE", 4, 4))
  refused("choose one of `conservative` and `maj.rule`", conservative = TRUE)
})

test_that("a user's test may return NA in the rule, as in tpc", {
  skip_if_no_pcalg()
  skip_if_not_installed("tpc", "1.0")
  own <- function(x, y, S, suffStat) {
    p <- pcalg::gaussCItest(x, y, S, suffStat)
    if (p > 0.2 && p < 0.6) NA else p
  }
  for (seed in 1:4) {
    args <- list(small_problem(8, 60, seed), own, 0.05, p = 8, tiers = rep(1:2, c(2, 6)))
    same_object(suppressMessages(do.call(cu_tpc, args)), do.call(tpc::tpc, args))
  }
})

test_that("cu_why() and as.data.frame() know what was known, and a graph that lost all edges is tpc's", {
  skip_if_no_pcalg()
  data <- list(C = matrix(c(1, 0.5, 0.3, 0.5, 1, 0.5, 0.3, 0.5, 1), 3), n = 500)
  fit <- cu_tpc(data, pcalg::gaussCItest, 0.05, labels = c("a", "b", "c"), tiers = c(1, 1, 2))
  edges <- as.data.frame(fit, suffStat = data)
  expect_identical(edges$set_by[edges$to == "c"], "tier b c")
  expect_match(cu_why(fit, "b", "c", data)$text, "its arrow follows from the tiers")
  expect_match(cu_why(fit, "a", "b", data)$text, "its 2 tests") # c is in a later tier
  forbidden <- matrix(FALSE, 3, 3)
  forbidden[2, 3] <- forbidden[1, 2] <- TRUE
  lost <- cu_tpc(data, pcalg::gaussCItest, 0.05, labels = c("a", "b", "c"), tiers = c(1, 1, 2), forbEdges = forbidden)
  expect_match(cu_why(lost, "b", "c")$text, "excludes both of its directions")
  fit <- cu_skeleton(data, pcalg::gaussCItest, 0.05, labels = c("a", "b", "c"), tiers = c(1, 1, 2))
  expect_match(cu_why(fit, "a", "b", data)$text, "its 2 tests")
  skip_if_not_installed("tpc", "1.0")
  pair <- list(list(C = data$C[1:2, 1:2], n = 500), pcalg::gaussCItest, 0.05, p = 2, tiers = 1:2)
  never <- matrix(c(FALSE, FALSE, TRUE, FALSE), 2)
  same_object(do.call(cu_tpc, c(pair, list(forbEdges = never))), do.call(tpc::tpc, c(pair, list(forbEdges = never))))
})

test_that("cu_skeleton() with tiers and context variables is the skeleton of tpc", {
  skip_if_no_pcalg()
  skip_if_not_installed("tpc", "1.0")
  set.seed(2)
  X <- matrix(stats::rnorm(4000), 200) %*% (diag(20) + matrix(stats::rbinom(400, 1, 0.15) * 0.7, 20))
  base <- list(list(C = stats::cor(X), n = 200), pcalg::gaussCItest, 0.05, p = 20)
  gaps <- matrix(FALSE, 20, 20)
  gaps[1, 4] <- gaps[4, 1] <- TRUE
  theirs <- getFromNamespace("tskeleton", "tpc")
  for (case in list(list(tiers = rep(1:4, 5)), list(tiers = rep(1:2, 10), fixedGaps = gaps, m.max = 1))) {
    same_object(do.call(cu_skeleton, c(base, case)), do.call(theirs, c(base, case)))
  }
  known <- list(tiers = rep(1:2, each = 10), context.all = 1, context.tier = "12", forbEdges = gaps)
  ours <- do.call(cu_skeleton, c(base, known))
  theirs <- do.call(tpc::tpc, c(base, known))
  expect_identical(ours@n.edgetests, theirs@n.edgetests)
  expect_equal(ours@pMax, theirs@pMax, tolerance = 1e-6)
  expect_error(do.call(cu_skeleton, c(base, list(tiers = 1:3))), "`tiers` must be a number for each of the 20")
})

test_that("a variable whose tier is NA may be in any", {
  skip_if_no_pcalg()
  set.seed(4)
  x <- matrix(rnorm(1800), 300) %*% (diag(6) + upper.tri(diag(6)) / 2)
  colnames(x) <- letters[1:6]
  tiers <- c(3, NA, 1, 2, NA, 1)
  fit <- cu_tpc(x, tiers = tiers)
  amat <- methods::as(fit@graph, "matrix") > 0
  against <- outer(tiers, tiers, ">") & !is.na(outer(tiers, tiers))
  expect_false(any(amat & against))
  expect_true(any(amat[, c(2, 5)]))
  one <- cu_tpc(x, tiers = c(NA, 1, NA, NA, NA, NA))
  expect_identical(methods::as(one@graph, "matrix"), methods::as(cu_tpc(x)@graph, "matrix"))
  expect_error(cu_tpc(x, tiers = rep(NA_real_, 6)), "NA for one without a tier")
  expect_error(cu_tpc(x, tiers = tiers, context.tier = "b"), "variables that have a tier; \"b\" has none")
  expect_s4_class(cu_skeleton(x, tiers = tiers, context.all = "b"), "pcAlgo")
})
