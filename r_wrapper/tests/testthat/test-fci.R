# cu_fci() and cu_rfci() beside pcalg's fci() and rfci().

# Data of a random graph of which two variables are hidden.
hidden_data <- function(seed, p = 9, n = 250) {
  set.seed(seed)
  X <- pcalg::rmvDAG(n, pcalg::randomDAG(p, 0.4))[, -(1:2)]
  list(C = cor(X), n = n)
}

expect_same_pag <- function(ours, theirs) {
  expect_equal(ours@pMax, theirs@pMax, tolerance = 1e-8)
  ours@pMax <- theirs@pMax
  ours@call <- theirs@call
  expect_identical(bare(ours), theirs)
}

# cu_fci() or cu_rfci(), without its messages.
quietly <- function(f, ...) suppressMessages(f(..., progress = FALSE))

test_that("cu_fci() returns pcalg's object", {
  skip_if_no_pcalg()
  variants <- list(
    list(p = 7), list(labels = letters[1:7]), list(p = 7, doPdsep = FALSE), list(p = 7, conservative = TRUE),
    list(p = 7, maj.rule = TRUE), list(p = 7, m.max = 1, type = "anytime"), list(p = 7, type = "adaptive"),
    list(p = 7, pdsep.max = 3), list(p = 7, biCC = TRUE), list(p = 7, selectionBias = FALSE),
    list(p = 7, rules = rep(c(TRUE, FALSE), 5)), list(p = 7, jci = "12", selectionBias = FALSE, contextVars = c(1, 2)),
    list(p = 7, fixedGaps = outer(1:7, 1:7, function(i, j) i + j == 5)),
    list(p = 7, fixedEdges = outer(1:7, 1:7, function(i, j) i + j == 9))
  )
  for (i in seq_along(variants)) {
    args <- c(list(hidden_data(i), pcalg::gaussCItest, 0.05), variants[[i]])
    expect_same_pag(do.call(quietly, c(list(cu_fci), args)), do.call(pcalg::fci, args))
  }
})

test_that("sets of Possible-D-SEP with several members are double with biCC, as in pcalg", {
  skip_if_no_pcalg()
  found <- 0
  for (seed in 1:12) {
    args <- list(hidden_data(seed, 11, 200), pcalg::gaussCItest, 0.4, p = 9, biCC = TRUE, maj.rule = seed %% 2 == 0)
    theirs <- do.call(pcalg::fci, args)
    expect_same_pag(do.call(quietly, c(list(cu_fci), args)), theirs)
    found <- found + any(vapply(unlist(theirs@sepset, recursive = FALSE), is.double, NA))
  }
  expect_gt(found, 0)
})

test_that("cu_rfci() returns pcalg's object", {
  skip_if_no_pcalg()
  variants <- list(
    list(p = 10), list(labels = letters[1:10]), list(p = 10, maj.rule = TRUE), list(p = 10, m.max = 1),
    list(p = 10, rules = rep(c(TRUE, FALSE), 5))
  )
  for (i in seq_along(variants)) {
    args <- c(list(hidden_data(i, 12), pcalg::gaussCItest, 0.05), variants[[i]])
    expect_same_pag(do.call(quietly, c(list(cu_rfci), args)), do.call(pcalg::rfci, args))
  }
})

test_that("a user's test and discrete data give pcalg's object", {
  skip_if_no_pcalg()
  S <- hidden_data(3)
  own <- function(x, y, S, suffStat) pcalg::gaussCItest(x, y, S, suffStat)
  expect_same_pag(quietly(cu_fci, S, own, 0.05, p = 7), pcalg::fci(S, own, 0.05, p = 7))
  set.seed(4)
  dm <- matrix(sample(0:1, 1200, TRUE), 200)
  dm[, 2] <- (dm[, 1] + dm[, 2] * rbinom(200, 1, 0.2)) %% 2
  dm[, 4] <- (dm[, 2] + dm[, 3] * rbinom(200, 1, 0.3)) %% 2
  D <- list(dm = dm, nlev = rep(2, 6), adaptDF = FALSE)
  expect_same_pag(quietly(cu_fci, D, pcalg::disCItest, 0.05, p = 6), pcalg::fci(D, pcalg::disCItest, 0.05, p = 6))
})

test_that("the call, and observations in place of a list", {
  skip_if_no_pcalg()
  S <- hidden_data(5)
  fit <- quietly(cu_fci, S, pcalg::gaussCItest, alpha = 0.05, p = 7)
  expect_s4_class(fit, "fciAlgo")
  set.seed(6)
  X <- pcalg::rmvDAG(300, pcalg::randomDAG(8, 0.4))[, -1]
  colnames(X) <- letters[1:7]
  args <- list(list(C = cor(X), n = 300), pcalg::gaussCItest, 0.01, labels = letters[1:7])
  expect_identical(suppressMessages(cu_fci(X, progress = FALSE))@amat, do.call(pcalg::fci, args)@amat)
  bare <- suppressMessages(cu_rfci(X, alpha = 0.05, progress = FALSE, pMax = FALSE))
  expect_identical(bare@call[[1]], quote(cu_rfci))
  expect_identical(bare@pMax, matrix(NA_real_, 1, 1))
})

test_that("wrong arguments are refused", {
  skip_if_no_pcalg()
  S <- hidden_data(7)
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, rules = TRUE), "`rules` must be 10 values")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, contextVars = 8), "`contextVars` must be positions")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, pdsep.max = -1), "`pdsep.max` must be")
  expect_error(cu_rfci(S, pcalg::gaussCItest, 0.05, p = 7, skel.method = "original"), "depends on the order")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, type = "anytime"), "finite m.max, got m.max = Inf")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, type = "adaptive", m.max = 2), "needs m.max = Inf")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, jci = "1"), "it needs selectionBias = FALSE")
  expect_error(cu_fci(S, pcalg::gaussCItest, 0.05, p = 7, conservative = TRUE, maj.rule = TRUE), "either conservative")
})

test_that("cu_compare() compares two fciAlgo objects", {
  skip_if_no_pcalg()
  S <- hidden_data(8)
  strict <- pcalg::fci(S, pcalg::gaussCItest, 0.001, p = 7)
  loose <- pcalg::fci(S, pcalg::gaussCItest, 0.2, p = 7)
  expect_true(cu_compare(strict, strict)$equal)
  found <- cu_compare(strict, loose)
  expect_false(found$equal)
  expect_match(found$text, "strict and loose differ in: skeleton", fixed = TRUE)
  expect_named(found$parts[7], "Possible-D-SEP")
  other <- strict
  other@amat[which(other@amat != 0)[1]] <- 4 - other@amat[which(other@amat != 0)[1]]
  alike <- "must both be results of fci() or rfci(), or neither"
  expect_error(cu_compare(strict, "pycupc", S, alpha = 0.1, p = 7), alike, fixed = TRUE)
})

test_that("cu_why() and as.data.frame() tell which tests removed edges, and what set the marks", {
  skip_if_no_pcalg()
  mark <- c("o", ">", "-")
  removed <- c(fci = 0, rfci = 0)
  for (seed in c(9, 4)) {
    S <- hidden_data(seed, 13, 200)
    args <- list(S, pcalg::gaussCItest, 0.2, labels = letters[1:11])
    skeleton <- methods::as(do.call(pcalg::skeleton, c(args, method = "stable"))@graph, "matrix")
    for (method in c("fci", "rfci")) {
      fit <- do.call(quietly, c(list(list(fci = cu_fci, rfci = cu_rfci)[[method]]), args))
      edges <- as.data.frame(fit)
      theirs <- do.call(getExportedValue("pcalg", method), args)
      expect_equal(as.data.frame(theirs, suffStat = S), edges, tolerance = 1e-8)
      expect_identical(edges$r, unname(S$C[cbind(match(edges$from, letters), match(edges$to, letters))]))
      at <- cbind(match(edges$from, letters), match(edges$to, letters))
      expect_identical(nrow(edges), sum(fit@amat != 0) %/% 2L)
      expect_identical(substring(edges$edge, 3), mark[fit@amat[at]])
      expect_identical(edges$pMax, pmax(fit@pMax[at], fit@pMax[at[, 2:1]]))
      known <- nzchar(edges$set_by)
      expect_identical(known, known & fit@amat[at] != 1)
      if (method == "fci") expect_identical(known, fit@amat[at] != 1)
      gone <- which(skeleton != 0 & fit@amat == 0 & upper.tri(skeleton), arr.ind = TRUE)
      removed[method] <- removed[method] + nrow(gone)
      for (k in seq_len(nrow(gone))) {
        why <- cu_why(fit, gone[k, 1], gone[k, 2], S, alpha = 0.2)
        expect_identical(why$stage, if (method == "fci") "possible-d-sep" else "rfci")
        test <- match(c(why$x, why$y, why$S), letters)
        expect_identical(sort(test[-(1:2)]), sort(fit@sepset[[gone[k, 1]]][[gone[k, 2]]]))
        expect_equal(why$p, pcalg::gaussCItest(test[1], test[2], test[-(1:2)], S), tolerance = 1e-6)
      }
      there <- which(upper.tri(skeleton) & skeleton == 0 & fit@pMax > -Inf, arr.ind = TRUE)
      expect_null(cu_why(fit, there[1, 1], there[1, 2])$stage)
    }
    majority <- do.call(quietly, c(list(cu_fci), args, maj.rule = TRUE)) # which changes sets
    removed_pairs <- which(skeleton != 0 & majority@amat == 0 & upper.tri(skeleton), arr.ind = TRUE)
    for (k in seq_len(nrow(removed_pairs))) {
      expect_identical(cu_why(majority, removed_pairs[k, 1], removed_pairs[k, 2])$stage, "possible-d-sep")
    }
    kept <- as.data.frame(majority, suffStat = S, alpha = 0.2)
    expect_identical(nzchar(kept$set_by), substring(kept$edge, 3) != "o")
  }
  expect_true(all(removed > 0))
  why <- cu_why(fit, edges$from[1], edges$to[1])
  expect_identical(why$symbol, edges$edge[1])
  expect_match(why$text, paste(edges$from[1], edges$edge[1], edges$to[1]), fixed = TRUE)
  expect_error(cu_why(fit, 1, 1), "must be different")
})
