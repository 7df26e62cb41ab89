# Building the S4 object and taking it apart, and the sparse form of the separating sets.

test_that("sets of all sizes are laid out in their cells", {
  s <- list(p = 4L, x = c(1L, 2L, 4L), y = c(2L, 4L, 1L), length = c(1L, 2L, 0L), members = c(3L, 1L, 3L),
    gap_x = 1L, gap_y = 3L)
  plain <- list(labels = letters[1:4], graph = list(from = 2L, to = 3L, mark = 1L), sepset = s)
  expected <- lapply(1:4, function(x) vector("list", 4))
  expected[[1]][[2]] <- 3L
  expected[[2]][[4]] <- c(1L, 3L)
  expected[[4]][[1]] <- integer(0) # a stored empty set, against the diagonal
  expected[[3]][[4]] <- integer(0) # implied: not adjacent, no gap, no set of its own
  expect_identical(expand_sepset(plain), expected)
  for (x in 1:4) for (y in 1:4) expect_identical(cu_sepset(plain, x, y), expected[[x]][[y]])
  expect_error(cu_sepset(plain, 5, 1), "positions from 1 to 4; got 5")
  for (x in 1:4) for (y in 1:4) expect_identical(cu_sepset(plain, letters[x], letters[y]), expected[[x]][[y]])
  expect_error(cu_sepset(plain, "e", 1), "names of variables or positions from 1 to 4; got \"e\"")
})

test_that("the status of a reply, and not its text, says how often pcalg draws", {
  draws <- function(status) {
    set.seed(1)
    draw_as_retry(list(labels = letters[1:5], tries = 2, status = status, orientation = "another text"))
    .Random.seed
  }
  after <- function(n) {
    set.seed(1)
    for (i in seq_len(n)) sample.int(5)
    .Random.seed
  }
  expect_identical(draws("forced"), after(3))
  expect_identical(draws("reoriented"), after(2))
})

test_that("the sparse object answers as the full one", {
  skip_if_no_pcalg()
  S <- small_problem(p = 12, n = 100)
  full <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 12)
  sparse <- cu_pc(S, pcalg::gaussCItest, 0.05, p = 12, sepset = "sparse")
  expect_identical(sparse@sepset, list())
  expect_identical(sparse@graph, full@graph)
  for (x in 1:12) for (y in 1:12) {
    expect_identical(cu_sepset(sparse, x, y), full@sepset[[x]][[y]])
    expect_identical(cu_sepset(full, x, y), full@sepset[[x]][[y]])
  }
  pag <- cu_rfci(S, pcalg::gaussCItest, 0.05, labels = letters[1:12])
  for (x in 1:12) for (y in 1:12) expect_identical(cu_sepset(pag, letters[x], y), pag@sepset[[x]][[y]])
  expect_error(cu_sepset(full@graph, 1, 2), "`fit` must be a result of cu_pc")
})

test_that("an expanded fit is the full one, and pcalg's functions take it", {
  skip_if_no_pcalg()
  S <- small_problem(p = 12, n = 100)
  gaps <- abs(outer(1:12, 1:12, "-")) == 3
  for (how in list(list(), list(fixedGaps = gaps), list(m.max = 0))) {
    args <- c(list(S, pcalg::gaussCItest, 0.05, p = 12), how)
    for (f in list(cu_skeleton, cu_pc)) {
      full <- do.call(f, args)
      expanded <- cu_expand(do.call(f, c(args, sepset = "sparse")))
      expanded@call <- full@call
      expect_true(identical(expanded, full))
      expect_true(identical(cu_expand(full), full))
    }
    sparse <- cu_expand(do.call(cu_skeleton, c(args, sepset = "sparse")))
    theirs <- do.call(pcalg::skeleton, args)
    for (orient in list(pcalg::udag2pdag, pcalg::udag2pdagRelaxed, pcalg::udag2pdagSpecial)) {
      graph <- function(answer) if (is.list(answer)) answer$pcObj@graph else answer@graph
      set.seed(1)
      ours <- graph(orient(sparse))
      set.seed(1)
      expect_true(identical(ours, graph(orient(theirs))))
    }
    checked <- lapply(list(sparse, theirs), pcalg::pc.cons.intern, suffStat = S, indepTest = pcalg::gaussCItest,
      alpha = 0.05, version.unf = c(2, 1))
    expect_true(identical(checked[[1]]$unfTripl, checked[[2]]$unfTripl))
    expect_true(identical(checked[[1]]$sk@sepset, checked[[2]]$sk@sepset))
  }
  expect_error(cu_expand(3), "must be a result of cu_pc")
})

test_that("that the sparse form was chosen is said once", {
  old <- state$said_sparse
  on.exit(state$said_sparse <- old)
  state$said_sparse <- NULL
  expect_silent(say_sparse("auto", 20000))
  expect_silent(say_sparse("sparse", 20001))
  expect_message(say_sparse("auto", 20001), "cu_expand\\(\\) fills the slot")
  expect_silent(say_sparse("auto", 20001))
})

test_that("an object is taken apart into what it was built from", {
  skip_if_no_pcalg()
  S <- small_problem(p = 12, n = 100)
  gaps <- abs(outer(1:12, 1:12, "-")) == 3
  plain <- cu_plain("pc", S, alpha = 0.05, p = 12, fixedGaps = gaps)
  fit <- as_pcalgo(plain, quote(f()), "double")
  back <- as_plain(fit)
  expect_true(back$values$every_cell)
  expect_identical(as_graph(back$values$labels, part(back$arrays, "graph"), "double"), fit@graph)
  for (name in c("n.edgetests", "pMax")) expect_identical(back$arrays[[name]], plain[[name]])
  expect_identical(back$values[c("labels", "max_ord")], list(labels = plain$labels, max_ord = plain$max.ord))
  for (k in seq_along(back$arrays$sepset.x)) {
    expect_false(is.null(cu_sepset(plain, back$arrays$sepset.x[k], back$arrays$sepset.y[k])))
  }
  sparse <- as_plain(as_pcalgo(plain, quote(f()), "double", "sparse"))
  expect_false(sparse$values$every_cell)
  stored <- plain$sepset[names(plain$sepset) != "p"]
  expect_identical(part(sparse$arrays, "sepset")[names(stored)], stored)
})

test_that("an object for p = 2,810 is built in under 3 seconds", {
  skip_if_not_installed("pcalg", "2.7")
  p <- 2810L
  set.seed(1)
  n_sets <- 400000L
  cell <- sort(sample.int(p * p, n_sets))
  x <- (cell - 1L) %/% p + 1L
  y <- (cell - 1L) %% p + 1L
  size <- sample(1:5, n_sets, TRUE, c(80, 12, 5, 2, 1))
  from <- sample.int(p, 5000L, TRUE)
  plain <- list(
    labels = as.character(seq_len(p)), n.edgetests = c(1, 2, 3), max.ord = 2L, pMax = matrix(0.5, p, p),
    graph = list(from = from, to = from %% p + 1L, mark = rep(1L, 5000L)),
    sepset = list(p = p, x = x, y = y, length = size, members = sample.int(p, sum(size), TRUE), gap_x = integer(0),
      gap_y = integer(0))
  )
  seconds <- Inf # of CPU, and in the best of three tries: the machine may be busy
  for (try in 1:3) {
    if (seconds >= 3) seconds <- sum(system.time(fit <- as_pcalgo(plain, quote(f()), "double"))[1:2])
  }
  expect_length(fit@sepset, p)
  expect_lt(seconds, 3)
})
