# Against the installed pcalg: the whole object, and the answers of pcalg's functions when they are given it.

simulated <- function(p, n, degree, seed) {
  set.seed(seed)
  X <- pcalg::rmvDAG(n, pcalg::randomDAG(p, degree / (p - 1)))
  list(suffStat = list(C = stats::cor(X), n = n), labels = paste0("v", seq_len(p)), data = X)
}

problems <- function() {
  list(simulated(10, 200, 4, 1), simulated(15, 60, 4, 2), simulated(14, 1000, 5, 3), simulated(12, 5000, 6, 4))
}

# identical() slot by slot; a call that do.call() made holds functions, which a comparison would follow for hours.
same_object <- function(ours, theirs) {
  for (slot in setdiff(methods::slotNames(theirs), c("call", "pMax"))) {
    expect_true(identical(methods::slot(ours, slot), methods::slot(theirs, slot)), label = paste("same slot", slot))
  }
  expect_equal(ours@pMax, theirs@pMax, tolerance = 1e-8)
  expect_identical(class(ours), class(theirs))
}

test_that("cu_skeleton() gives the object of pcalg::skeleton()", {
  skip_if_no_pcalg()
  for (d in problems()) {
    for (extra in list(list(), list(m.max = 1), list(NAdelete = FALSE))) {
      args <- c(list(d$suffStat, pcalg::gaussCItest, 0.05, labels = d$labels), extra)
      same_object(do.call(cu_skeleton, args), do.call(pcalg::skeleton, args))
    }
  }
})

test_that("cu_pc() gives the object of pcalg::pc() in every variant", {
  skip_if_no_pcalg()
  for (d in problems()) {
    for (variant in variants) {
      args <- c(list(d$suffStat, pcalg::gaussCItest, 0.05, labels = d$labels), variant)
      set.seed(1) # "retry" may end in a drawn graph
      ours <- do.call(cu_pc, args)
      set.seed(1)
      same_object(ours, do.call(pcalg::pc, args))
    }
  }
})

test_that("gaps and fixed edges, an empty graph, a complete graph", {
  skip_if_no_pcalg()
  d <- simulated(8, 200, 4, 1)
  fixed <- matrix(FALSE, 8, 8)
  fixed[1, 2] <- fixed[2, 1] <- fixed[4, 7] <- fixed[7, 4] <- TRUE
  cases <- list(
    list(d$suffStat, alpha = 0.05, fixedGaps = fixed),
    list(d$suffStat, alpha = 0.05, fixedEdges = fixed),
    list(d$suffStat, alpha = 0.05, fixedEdges = fixed, fixedGaps = t(fixed)),
    list(list(C = diag(8), n = 100), alpha = 0.05),
    list(d$suffStat, alpha = 1e-300),
    list(d$suffStat, alpha = 1)
  )
  for (case in cases) {
    args <- c(case, list(indepTest = pcalg::gaussCItest, p = 8))
    same_object(do.call(cu_pc, args), do.call(pcalg::pc, args))
    same_object(do.call(cu_skeleton, args), do.call(pcalg::skeleton, args))
  }
})

test_that("an effective sample size and correlations that rounding put beyond 1 give pcalg's object", {
  skip_if_no_pcalg()
  d <- simulated(10, 60, 4, 5)
  for (n in c(1.5, 3.25, 5.5, 20.3, 59.999)) {
    args <- list(list(C = d$suffStat$C, n = n), pcalg::gaussCItest, 0.05, p = 10)
    ours <- do.call(cu_pc, args)
    same_object(ours, suppressWarnings(do.call(pcalg::pc, args))) # pcalg warns of sqrt(n - l - 3) below 0
    expect_true(cu_compare("pycupc", "pcalg-stable", args[[1]], 0.05, p = 10)$equal)
  }
  twin <- d$suffStat
  twin$C[2, ] <- twin$C[, 2] <- twin$C[, 1] # the same column twice
  twin$C[2, 2] <- 1
  for (beyond in c(.Machine$double.eps, 1e-12, 9e-9)) {
    twin$C[1, 2] <- twin$C[2, 1] <- 1 + beyond
    for (variant in variants[c("relaxed", "majority")]) {
      args <- c(list(twin, pcalg::gaussCItest, 0.05, p = 10), variant)
      same_object(do.call(cu_pc, args), suppressWarnings(do.call(pcalg::pc, args)))
    }
  }
  twin$C[1, 2] <- twin$C[2, 1] <- 1.5
  expect_error(cu_pc(twin, pcalg::gaussCItest, 0.05, p = 10), "but C\\[1, 2\\] = 1.5")
})

test_that("the call is the user's", {
  skip_if_no_pcalg()
  S <- small_problem()
  fit <- cu_pc(S, pcalg::gaussCItest, p = 8, alpha = 0.05)
  expect_identical(fit@call, quote(cu_pc(suffStat = S, indepTest = pcalg::gaussCItest, alpha = 0.05, p = 8)))
})

test_that("u2pd = \"rand\" draws from R's generator: set.seed() gives pcalg's graph", {
  skip_if_no_pcalg()
  differ <- 0
  for (seed in 1:12) {
    set.seed(seed)
    p <- 15
    X <- matrix(rnorm(40 * p), 40) %*% matrix(rnorm(p * p), p) # dense and noisy: orientations conflict
    args <- list(list(C = stats::cor(X), n = 40), pcalg::gaussCItest, 0.2, p = p, u2pd = "rand")
    set.seed(100 + seed)
    ours <- do.call(cu_pc, args)
    after <- runif(1)
    set.seed(100 + seed)
    theirs <- do.call(pcalg::pc, args)
    expect_identical(after, runif(1)) # the generator is in the state in which pcalg leaves it
    same_object(ours, theirs)
    set.seed(200 + seed)
    differ <- differ + !identical(do.call(cu_pc, args)@graph, ours@graph)
  }
  expect_gt(differ, 0) # else nothing random was tried
})

test_that("another indepTest is called back and gives pcalg's object", {
  skip_if_no_pcalg()
  set.seed(1)
  dag <- pcalg::randomDAG(6, 0.5)
  X <- (pcalg::rmvDAG(500, dag) > 0) + 0L
  same <- function(...) {
    args <- list(...)
    same_object(do.call(cu_pc, args), do.call(pcalg::pc, args))
  }
  same(list(dm = X, adaptDF = FALSE), pcalg::binCItest, alpha = 0.05, p = 6)
  same(list(dm = X, nlev = rep(2, 6), adaptDF = FALSE), pcalg::disCItest, alpha = 0.05, p = 6)
  same(list(dm = X, adaptDF = FALSE), pcalg::binCItest, alpha = 0.05, p = 6, conservative = TRUE)
  same(list(g = dag, jp = RBGL::johnson.all.pairs.sp(dag)), pcalg::dsepTest, alpha = 0.05, p = 6)
  d <- problems()[[1]]
  drawn <- list(d$suffStat, function(...) pcalg::gaussCItest(...), 0.05, p = 10, u2pd = "rand")
  set.seed(7)
  ours <- do.call(cu_pc, drawn)
  set.seed(7)
  same_object(ours, do.call(pcalg::pc, drawn))
})

test_that("u2pd = \"retry\" leaves R's generator as pcalg leaves it", {
  skip_if_no_pcalg()
  ends <- character(0)
  for (seed in c(2, 10, 16, 51, 101)) {
    set.seed(seed)
    p <- 12
    X <- matrix(rnorm(40 * p), 40) %*% matrix(rnorm(p * p), p)
    args <- list(list(C = stats::cor(X), n = 40), pcalg::gaussCItest, alpha = 0.2, p = p, u2pd = "retry")
    set.seed(100)
    ours <- do.call(cu_pc, args)
    after <- .Random.seed
    set.seed(100)
    theirs <- suppressWarnings(do.call(pcalg::pc, args))
    expect_identical(after, .Random.seed)
    expect_true(identical(ours@graph, theirs@graph))
    plain <- do.call(cu_plain, c(list("pc"), args))
    expect_identical(plain$orientation, paste("retry:", plain$status))
    ends <- c(ends, plain$status)
  }
  expect_setequal(ends, c("extendable", "reoriented", "forced", "random")) # else too little was tried
})

test_that("a user's test is called as in pcalg, also one that is not symmetric, or random, or gives NA", {
  skip_if_no_pcalg()
  d <- simulated(8, 100, 4, 3)
  gauss <- pcalg::gaussCItest
  tests <- list(
    symmetric = function(x, y, S, suffStat) gauss(x, y, S, suffStat),
    upper = function(x, y, S, suffStat) if (x > y) 0 else gauss(x, y, S, suffStat),
    lower = function(x, y, S, suffStat) if (x < y) 0 else gauss(x, y, S, suffStat),
    random = function(x, y, S, suffStat) stats::runif(1)^3,
    missing = function(x, y, S, suffStat) if ((x + 2 * y) %% 7 == 0) NA else gauss(x, y, S, suffStat)
  )
  gap <- edge <- matrix(FALSE, 8, 8)
  gap[2, 5] <- gap[5, 2] <- edge[1, 7] <- edge[7, 1] <- TRUE
  skeleton <- list(list(), list(fixedGaps = gap, fixedEdges = edge, NAdelete = FALSE), list(fixedGaps = gap, m.max = 2))
  pc <- list(list(conservative = TRUE), list(maj.rule = TRUE), list(u2pd = "retry"))
  for (test in tests) {
    same <- function(ours, theirs, extra) {
      run <- function(f) {
        calls <- character(0)
        logged <- function(x, y, S, suffStat) {
          p <- test(x, y, S, suffStat)
          calls <<- c(calls, paste(x, y, "given", paste(S, collapse = " "), "is", format(p, digits = 15)))
          p
        }
        set.seed(11)
        fit <- suppressWarnings(do.call(f, c(list(d$suffStat, logged, 0.05, p = 8), extra)))
        list(fit = fit, calls = calls, seed = .Random.seed)
      }
      ours <- run(ours)
      theirs <- run(theirs)
      expect_identical(ours$calls, theirs$calls)
      expect_identical(ours$seed, theirs$seed)
      same_object(ours$fit, theirs$fit)
    }
    for (extra in skeleton) same(cu_skeleton, pcalg::skeleton, extra)
    for (extra in if (!identical(test, tests$missing)) pc) same(cu_pc, pcalg::pc, extra) # no rule knows NA
  }
})

test_that("an error in the indepTest is the R error that the user sees", {
  skip_if_no_pcalg()
  expect_error(cu_pc(list(), function(x, y, S, suffStat) stop("my own trouble"), 0.05, p = 4), "my own trouble")
  condition <- structure(class = c("mine", "error", "condition"), list(message = "m", call = NULL))
  expect_error(cu_pc(list(), function(x, y, S, suffStat) stop(condition), 0.05, p = 4), class = "mine")
  for (p in list(NULL, "0.3", factor(0.3), 1i, list(0.3))) {
    expect_error(cu_pc(list(), function(x, y, S, suffStat) p, 0.05, p = 4), "must return one number.*for x = 1, y = 2")
  }
  expect_warning(
    expect_message(cu_pc(list(), function(x, y, S, suffStat) {
      if (x == 1 && y == 2) message("said in the test")
      if (x == 1 && y == 3) warning("warned in the test")
      1
    }, 0.05, p = 4), "said in the test"), "warned in the test")
})

test_that("pcalg's functions give on our object what they give on pcalg's", {
  skip_if_no_pcalg()
  refused <- 0
  for (seed in c(2, 5, 7, 1)) { # the last graph is no valid CPDAG: then the functions must stop with the same message
    set.seed(seed)
    data <- pcalg::rmvDAG(20000, pcalg::randomDAG(8, 3 / 8))
    covariance <- stats::cov(data)
    args <- list(list(C = stats::cor(data), n = 20000), pcalg::gaussCItest, 0.001, p = 8)
    ours <- do.call(cu_pc, args)
    theirs <- do.call(pcalg::pc, args)
    theirs@call <- ours@call <- quote(pc(suffStat, gaussCItest, 0.001, p = 8))
    expect_identical(pcalg::isValidGraph(methods::as(theirs, "amat"), "cpdag"), seed != 1)
    same <- function(f) {
      ask <- function(fit) {
        set.seed(1)
        suppressWarnings(suppressMessages(tryCatch(f(fit), error = function(e) paste("refused:", conditionMessage(e)))))
      }
      answer <- ask(ours)
      refused <<- refused + (is.character(answer) && startsWith(answer[[1]], "refused:") && seed != 1)
      expect_true(identical(answer, ask(theirs)), label = deparse(body(f))[[1]])
    }
    true_dag <- pcalg::randomDAG(8, 0.3)
    cells <- methods::as(ours@graph, "matrix")
    open <- which(cells == 1 & t(cells) == 1, arr.ind = TRUE)[1, ]
    same(function(fit) methods::as(fit, "amat"))
    same(function(fit) methods::as(fit, "matrix"))
    for (shown in list(print, summary, methods::show)) {
      lines <- utils::capture.output(shown(ours))
      expected <- utils::capture.output(shown(theirs))
      expect_identical(lines[seq_along(expected)], expected)
      expect_identical(length(lines) > length(expected), seed == 1) # the note
    }
    same(function(fit) pcalg::ida(1, 5, covariance, fit@graph, method = "local"))
    same(function(fit) pcalg::ida(1, 5, covariance, fit@graph, method = "global"))
    same(function(fit) pcalg::idaFast(2, c(4, 5), covariance, fit@graph))
    same(function(fit) pcalg::jointIda(c(1, 2), 6, covariance, graphEst = fit@graph, technique = "RRC"))
    same(function(fit) pcalg::shd(true_dag, fit@graph))
    same(function(fit) pcalg::shd(true_dag, fit))
    same(function(fit) pcalg::compareGraphs(fit@graph, true_dag))
    same(function(fit) pcalg::addBgKnowledge(fit@graph, x = open[[1]], y = open[[2]]))
    same(function(fit) pcalg::pdag2allDags(methods::as(fit, "amat")))
    same(function(fit) pcalg::pdag2dag(fit@graph))
    same(function(fit) utils::capture.output(pcalg::showAmat(fit)))
    same(function(fit) utils::capture.output(pcalg::showEdgeList(fit)))
    same(function(fit) {
      grDevices::pdf(NULL)
      on.exit(grDevices::dev.off())
      pcalg::iplotPC(fit)
      "drawn"
    })
  }
  expect_identical(refused, 0) # no function stopped with an error
})
