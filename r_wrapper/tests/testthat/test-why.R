# cu_why() and as.data.frame(): why an edge is there or not, and all edges.

named_problem <- function() {
  S <- small_problem()
  dimnames(S$C) <- list(letters[1:8], letters[1:8])
  S
}

test_that("the edges are a data frame, with what set the arrows, for pcalg's object as well", {
  skip_if_no_pcalg()
  S <- named_problem()
  for (variant in variants) {
    args <- c(list(S, pcalg::gaussCItest, 0.05, labels = letters[1:8]), variant)
    fit <- do.call(cu_pc, args)
    edges <- as.data.frame(fit, suffStat = S)
    expect_identical(names(edges), c("from", "to", "type", "pMax", "r", "set_by"))
    expect_identical(edges$r, S$C[cbind(edges$from, edges$to)])
    m <- methods::as(fit@graph, "matrix")
    expect_identical(nrow(edges), sum(m != 0 & upper.tri(m) | t(m) != 0 & upper.tri(m)))
    forward <- m[cbind(edges$from, edges$to)]
    backward <- m[cbind(edges$to, edges$from)]
    expect_identical(edges$type, ifelse(forward == 2, "bidirected", ifelse(backward == 0, "directed", "undirected")))
    expect_identical(edges$pMax, fit@pMax[cbind(match(edges$from, letters), match(edges$to, letters))])
    expect_identical(nzchar(edges$set_by), edges$type != "undirected")
    expect_true(all(grepl("^(collider|R[123]) ", edges$set_by[edges$type != "undirected"])))
    theirs <- as.data.frame(do.call(pcalg::pc, args), suffStat = S)
    expect_identical(theirs[c("r", "set_by")], edges[c("r", "set_by")])
    expect_identical(as.data.frame(fit)$r, edges$r)
    expect_identical(is.na(as.data.frame(bare(fit))$r), rep(TRUE, nrow(edges)))
  }
  expect_gt(sum(edges$type == "directed"), 0)
  sparse <- cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8], sepset = "sparse", pMax = FALSE)
  full <- as.data.frame(cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8]))
  full$pMax <- NA_real_
  expect_identical(as.data.frame(sparse), full)
  skeleton <- as.data.frame(cu_skeleton(S, pcalg::gaussCItest, 0.05, labels = letters[1:8]))
  expect_identical(unique(skeleton$type), "undirected")
  empty <- as.data.frame(cu_pc(list(C = diag(3), n = 9), pcalg::gaussCItest, 0.05, p = 3))
  expect_identical(dim(empty), c(0L, 6L))
})

test_that("the reason of an edge or of its absence is told, with names or positions", {
  skip_if_no_pcalg()
  S <- named_problem()
  fit <- cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8])
  edges <- as.data.frame(fit)
  k <- which(edges$type == "directed")[[1]]
  kept <- cu_why(fit, edges$from[k], edges$to[k], S)
  expect_s3_class(kept, "cu_why")
  expect_identical(kept$status, "kept")
  expect_identical(paste(kept$arrow, collapse = " "), edges$set_by[k])
  expect_equal(kept$p, edges$pMax[k], tolerance = 1e-9)
  expect_lt(kept$margin, 0)
  expect_output(print(kept), "^[a-h] and [a-h]: edge; the largest p-value of its .* its arrow was set by .*")
  without <- cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8], pMax = FALSE)
  expect_equal(cu_why(without, edges$from[k], edges$to[k], S)$p, kept$p, tolerance = 1e-9)
  expect_match(cu_why(bare(without), edges$from[k], edges$to[k])$text, "tests is not known")
  m <- methods::as(fit@graph, "matrix")
  at <- which(m == 0 & t(m) == 0 & upper.tri(m), arr.ind = TRUE)[1, ]
  removed <- cu_why(fit, at[[1]], at[[2]], S)
  expect_identical(removed, cu_why(fit, letters[at[1]], letters[at[2]], S))
  expect_identical(removed$status, "removed")
  set <- c(cu_sepset(fit, at[[1]], at[[2]]), cu_sepset(fit, at[[2]], at[[1]]))
  expect_identical(removed$S, letters[set])
  expect_gte(removed$margin, 0)
  expect_match(removed$text, "no edge, independent .*\\|r\\| = ")
  expect_identical(cu_why(fit, at[[1]], at[[2]]), removed) # the object keeps the correlations
  expect_no_match(cu_why(bare(fit), at[[1]], at[[2]])$text, "|r|", fixed = TRUE)
  gaps <- matrix(FALSE, 8, 8)
  gaps[1, 2] <- gaps[2, 1] <- TRUE
  gap <- cu_pc(S, pcalg::gaussCItest, 0.05, labels = letters[1:8], fixedGaps = gaps)
  expect_match(cu_why(gap, "a", "b")$text, "fixedGaps or what is known excludes it")
  expect_error(cu_why(fit, "a", "a"), "must be different variables; got \"a\" twice")
  expect_error(cu_why(fit, "a", "zz"), "names of variables or positions from 1 to 8; got \"zz\"")
  expect_error(cu_why(3, 1, 2), "must be a result of cu_pc")
  for (alpha in list("a", 7, NA, c(0.1, 0.2))) expect_error(cu_why(fit, 1, 2, S, alpha), "`alpha` must be one number")
  turned <- list(C = S$C[8:1, 8:1], n = S$n)
  expect_message(cu_why(fit, 1, 2, turned), "column names of `suffStat\\$C` in another order")
  expect_error(cu_why(fit, 1, 2, 3), "`suffStat` must be a list with `C`")
  X <- matrix(stats::rnorm(80), 10)
  X[3, 1] <- NA
  expect_error(cu_why(fit, 1, 2, X), "`suffStat` must be complete and finite")
})

test_that("an object keeps its evidence: no test is made again, and no edge oriented again", {
  skip_if_no_pcalg()
  S <- named_problem()
  args <- list(S, pcalg::gaussCItest, 0.05, labels = letters[1:8])
  file <- tempfile()
  on.exit(unlink(file))
  for (variant in variants) {
    fit <- do.call(cu_pc, c(args, variant))
    again <- do.call(cu_pc, c(args, variant, list(numCores = 2)))
    again@call <- fit@call
    expect_identical(again, fit)
    reasons <- as.data.frame(bare(fit), suffStat = S)
    expect_identical(as.data.frame(fit), reasons)
    fit@call <- quote(cu_pc(S, gaussCItest, 0.05)) # do.call() put the function, whose environment changes, there
    saveRDS(fit, file)
    expect_identical(readRDS(file), fit)
    expect_identical(as.data.frame(readRDS(file)), reasons)
    theirs <- bare(fit)
    theirs@call <- quote(pc(S))
    expect_identical(class(all.equal(fit, theirs)), "character")
    expect_length(all.equal(fit, theirs), 1L)
    expect_true(all.equal(fit, bare(fit)))
    expect_true(all.equal(bare(fit), fit))
  }
  majority <- cu_tpc(S, "gaussCItest", 0.05, labels = letters[1:8], tiers = rep(1:2, 4))
  found <- as.data.frame(majority)
  expect_identical(nzchar(found$set_by), found$type == "directed")
  hidden <- cu_rfci(S, "gaussCItest", 0.2, labels = letters[1:8], progress = FALSE)
  expect_identical(nzchar(as.data.frame(hidden)$set_by), substring(as.data.frame(hidden)$edge, 3) != "o")
  level <- 0.3
  expect_identical(cu_why(cu_pc(S, "gaussCItest", level, p = 8), 1, 2)$cutoff,
    cu_why(cu_pc(S, "gaussCItest", 0.3, p = 8), 1, 2)$cutoff) # the call does not say the number
  expect_output(print(fit), "Object of class 'pcAlgo'")
  expect_false(any(grepl("cu_evidence", capture.output(print(fit)))))
})

test_that("the evidence is of use as far as it agrees with the object", {
  skip_if_no_pcalg()
  S <- named_problem()
  ask <- function(fit) as.data.frame(fit)[c("from", "to", "type", "set_by")]
  fit <- cu_pc(S, "gaussCItest", 0.05, labels = letters[1:8], conservative = TRUE)
  edges <- ask(fit)
  expect_true(any(edges$type == "directed"))
  turned <- fit
  cell <- edges[edges$type == "directed", ][1, ]
  m <- methods::as(fit@graph, "matrix")
  m[cell$to, cell$from] <- 1 # an edge that is now undirected has no reason, the others keep theirs
  turned@graph <- methods::as(m, "graphNEL")
  now <- ask(turned)
  expect_identical(now$set_by[now$from == cell$from & now$to == cell$to], "")
  expect_identical(sum(nzchar(now$set_by)), sum(nzchar(edges$set_by)) - 1L)
  m[cell$from, cell$to] <- m[cell$to, cell$from] <- 0 # another skeleton: as an object of pcalg
  turned@graph <- methods::as(m, "graphNEL")
  expect_identical(nrow(ask(turned)), nrow(edges) - 1L)
  damaged <- fit
  attr(damaged, "cu_evidence")$bytes <- attr(fit, "cu_evidence")$bytes[1:500]
  expect_message(found <- ask(damaged), "the evidence that the object keeps is not used, since the bytes .* damaged")
  expect_identical(found, ask(bare(fit)))
  random <- 0
  for (seed in c(1, 25)) { # R's generator draws some of the graphs, whose arrows have no reasons then
    drawn <- cu_pc(small_problem(n = 60, seed = seed), "gaussCItest", 0.2, labels = letters[1:8], u2pd = "rand")
    bytes <- attr(drawn, "cu_evidence")$bytes
    if (!grepl("\"orientation\": \"random\"", rawToChar(bytes[seq_len(which(bytes == 10)[1])]))) next
    random <- random + 1
    expect_false(any(nzchar(ask(drawn)$set_by)))
  }
  expect_gt(random, 0)
})

test_that("the observations are used without alpha in the call, and too few of them are said", {
  skip_if_no_pcalg()
  set.seed(1)
  X <- matrix(stats::rnorm(36), 6) %*% matrix(stats::rnorm(36), 6)
  expect_match(cu_why(suppressMessages(cu_pc(X)), 1, 3, X)$text, "\\|r\\| = ")
  fit <- cu_pc(X, alpha = 0.9)
  text <- utils::combn(6, 2, function(pair) cu_why(fit, pair[1], pair[2], X)$text)
  expect_match(text, "not enough data: the test given \\{.*\\} needs 7 observations, there are 6", all = FALSE)
})

test_that("verbose tells of colliders, rules and triples", {
  skip_if_no_python()
  ask <- function(...) capture.output(cu_plain("pc", named_problem(), alpha = 0.05, labels = letters[1:8], ...))
  expect_true(any(grepl("^collider: [a-h] -> [a-h] <- [a-h], because ", ask(verbose = TRUE))))
  expect_true(any(grepl("^triple [a-h] - [a-h] - [a-h]: ", ask(verbose = TRUE, maj.rule = TRUE))))
  expect_false(any(grepl("^collider|^triple", ask(maj.rule = TRUE))))
})

test_that("an argument may have the name of a function of base in the call", {
  skip_if_no_pcalg()
  order <- 1
  rank <- rep(TRUE, 10)
  pag <- cu_fci(named_problem(), pcalg::gaussCItest, 0.05, p = 8, selectionBias = FALSE, jci = "1",
    contextVars = order, rules = rank)
  expect_s3_class(as.data.frame(pag), "data.frame")
})

test_that("a graph of pcalg without tests is listed, and not compared as if it had some", {
  skip_if_no_pcalg()
  S <- named_problem()
  utils::capture.output(pag <- pcalg::fciPlus(S, pcalg::gaussCItest, 0.05, labels = letters[1:8]))
  edges <- as.data.frame(pag)
  expect_equal(nrow(edges), sum(pag@amat != 0) / 2)
  expect_true(all(is.na(edges$pMax)))
  expect_error(cu_compare(pag, pag), "`a` is a graph without separating sets, as cu_consensus\\(\\) and pcalg::fciPlus")
})

# Two factors of 10 levels, whose test needs 810 observations, and one that copies the first.
rare_levels <- function(n = 300) {
  set.seed(1)
  a <- sample(10L, n, TRUE)
  data.frame(a = factor(a), b = factor(sample(10L, n, TRUE)), copy = factor(a > 5L))
}

test_that("a pair that was not tested is said to lack data, with a warning as in pcalg, and for its object too", {
  skip_if_no_pcalg()
  X <- rare_levels()
  S <- list(dm = data.matrix(X) - 1, nlev = c(10, 10, 2), adaptDF = FALSE)
  said <- "1 pair counts as independent without a test: not enough data \\(n = 300, up to 810 observations needed\\)"
  expect_warning(fit <- cu_pc(X, "disCItest"), said)
  expect_warning(cu_skeleton(S, pcalg::disCItest, 0.01, labels = names(X)), said)
  expect_warning(cu_fci(X, "disCItest"), said)
  expect_warning(cu_plain("pc", X, "disCItest"), said)
  expect_warning(theirs <- pcalg::pc(S, pcalg::disCItest, 0.01, labels = names(X)), "too small")
  lacks <- "a and b: no edge, not enough data: the test without conditioning needs 810 observations, there are 300"
  for (why in list(cu_why(fit, "a", "b"), cu_why(fit, 1, 2, X), cu_why(theirs, "a", "b", S))) {
    expect_match(why$text, lacks)
    expect_identical(list(why$needed, why$n, why$p), list(810L, 300, 1))
  }
  unsure <- cu_why(theirs, "a", "b")
  expect_match(unsure$text, "independent .* or not tested for lack of data, where p is 1, too: `suffStat` decides")
  expect_match(cu_why(theirs, "b", "copy", S)$text, "independent without conditioning .*p = 0.\\d+\\)$")
  expect_no_warning(cu_pc(X[c("a", "copy")], "disCItest"))
})

test_that("variables that were never observed together are said to be so", {
  skip_if_no_pcalg()
  set.seed(2)
  X <- matrix(stats::rnorm(240), 60, dimnames = list(NULL, letters[1:4]))
  X[1:30, 1] <- X[31:60, 2] <- NA
  told <- "a and b: no edge, not enough data: .* its variables were never observed together"
  expect_message(fit <- cu_pc(X, "gaussCItwd", alpha = 0.1), "1 pair counts as independent without a test.*n = 0")
  expect_match(cu_why(fit, "a", "b")$text, told)
  expect_match(cu_why(fit, "a", "b", X)$text, told)
  expect_message(codes <- cu_pc(list(dm = (X > 0) + 0, nlev = rep(2, 4), adaptDF = FALSE), "disCItwd", 0.1, p = 4))
  expect_match(cu_why(codes, 1, 2)$text, "1 and 2: no edge, not enough data: .* never observed together")
  S <- suppressMessages(cu_suffStat(X, missing = "pairwise"))
  pairwise <- suppressMessages(cu_pc(S, pcalg::gaussCItest, 0.1, labels = letters[1:4]))
  expect_match(cu_why(pairwise, "a", "b")$text, told)
  expect_match(cu_why(pairwise, "a", "b", S)$text, told)
})

test_that("the data of discrete tests give the reasons of arrows after the conservative rule", {
  skip_if_no_pcalg()
  set.seed(3)
  a <- sample(0:1, 2000, TRUE)
  b <- sample(0:1, 2000, TRUE)
  X <- data.frame(a = a, b = b, y = ifelse(stats::runif(2000) < 0.1, 1L - (a | b), (a | b) + 0L))
  fit <- cu_pc(X, "binCItest", conservative = TRUE)
  edges <- as.data.frame(fit, suffStat = X)
  expect_identical(edges$type, rep("directed", 2))
  expect_match(edges$set_by, "^collider ")
})
