# cu_ida(), cu_idaFast() and cu_jointIda() beside pcalg's functions.

random_problem <- function(seed) {
  set.seed(seed)
  dag <- pcalg::randomDAG(6, 0.5)
  X <- pcalg::rmvDAG(300, dag)
  list(C = stats::cov(X), graph = pcalg::dag2cpdag(dag))
}

test_that("values, order and shapes are pcalg's", {
  skip_if_not_installed("pcalg")
  for (seed in 1:4) {
    case <- random_problem(seed)
    C <- case$C
    g <- case$graph
    expect_equal(cu_ida(1, 6, C, g), pcalg::ida(1, 6, C, g))
    expect_equal(cu_ida(2, c(4, 6), C, g, type = "pdag"), pcalg::ida(2, c(4, 6), C, g, type = "pdag"))
    expect_equal(cu_ida(2, 5, C, g, y.notparent = TRUE), pcalg::ida(2, 5, C, g, y.notparent = TRUE))
    expect_equal(cu_ida(3, 5, C, g, "global"), pcalg::ida(3, 5, C, g, "global"))
    expect_equal(cu_ida(c(1, 3), 5, C, g, "optimal"), pcalg::ida(c(1, 3), 5, C, g, "optimal"))
    expect_equal(cu_ida(c(1, 3), 5:6, C, g, "optimal"), pcalg::ida(c(1, 3), 5:6, C, g, "optimal"))
    expect_equal(cu_idaFast(3, c(1, 5, 6), C, g), pcalg::idaFast(3, c(1, 5, 6), C, g))
    for (technique in c("RRC", "MCD")) for (type in c("pdag", "cpdag")) {
      expect_equal(cu_jointIda(c(2, 4), 6, C, g, technique = technique, type = type),
        pcalg::jointIda(c(2, 4), 6, C, g, technique = technique, type = type))
    }
    expect_equal(cu_jointIda(c(2, 4), 5:6, C, g), pcalg::jointIda(c(2, 4), 5:6, C, g))
    sets <- list(list(1, c(1, 3)), list(integer(0), 3))
    expect_equal(cu_jointIda(c(2, 4), 6, C, all.pasets = sets), pcalg::jointIda(c(2, 4), 6, C, all.pasets = sets))
  }
})

test_that("names, matrices and the DAGs of pdag2allDags are taken", {
  skip_if_not_installed("pcalg")
  case <- random_problem(7)
  m <- as(case$graph, "matrix")
  rownames(m) <- colnames(m) <- rownames(case$C) <- colnames(case$C) <- letters[1:6]
  expect_equal(cu_ida("a", "f", case$C, m), cu_ida(1, 6, case$C, case$graph))
  expect_equal(rownames(cu_idaFast("a", c("b", "f"), case$C, m)), c("b", "f"))
  expect_equal(cu_idaFast(1, 3:2, case$C, case$graph), pcalg::idaFast(1, 3:2, case$C, case$graph))
  dags <- pcalg::pdag2allDags(t(m))$dags
  skip_if(nrow(dags) < 2)
  expect_equal(cu_ida(1, 6, case$C, m, "global", all.dags = dags), cu_ida(1, 6, case$C, m, "global"))
})

test_that("adjustment sets and verdicts are pcalg's", {
  skip_if_not_installed("pcalg")
  for (seed in 1:4) {
    g <- random_problem(seed)$graph
    m <- t(as(g, "matrix"))
    found <- tryCatch(cu_adjustment(g, 2, 5), error = function(e) "none")
    wanted <- tryCatch(suppressMessages(pcalg::optAdjSet(m, 2, 5)), error = function(e) "none")
    if (!identical(wanted, "none")) expect_equal(found, sort(as.integer(wanted)))
    for (z in list(integer(0), 1, c(1, 3))) expect_equal(cu_adjustment(g, 2, 5, z), pcalg::gac(m, 2, 5, z, "cpdag")$gac)
  }
})

test_that("a set may be empty", {
  skip_if_no_python()
  m <- matrix(0, 2, 2)
  m[1, 2] <- 1
  for (kind in c("optimal", "canonical", "parents")) expect_identical(cu_adjustment(m, 1, 2, kind = kind), integer(0))
  expect_equal(cu_jointIda(1, 2, diag(2), all.pasets = list()), matrix(0, 1, 0))
})

test_that("what does not fit is refused in R's terms", {
  m <- matrix(0, 3, 3)
  m[1, 2] <- m[2, 1] <- m[2, 3] <- 1
  expect_error(cu_ida(1, 4, diag(3), m), "y.pos")
  expect_error(cu_ida(1, 3, diag(4), m), "same variables; got 4 and 3")
  expect_error(cu_ida(1, 3, matrix(0, 2, 3), m), "mcov")
  expect_error(cu_ida(1:2, 3, diag(3), m, "optimal", y.notparent = TRUE), "y.notparent is not available")
  expect_message(cu_ida(1, 3, diag(3), m), "not a CPDAG")
  expect_error(cu_jointIda(1:2, 3, diag(3)), "all.pasets")
  expect_error(cu_adjustment(m * 0, 1, 2), "no variable of `y.pos` is a descendant of `x.pos`")
  expect_error(cu_adjustment(m, 1, 3, 4), "`z` must be names of variables")
  expect_error(cu_adjustment(m, 1, 3, 3), "`z` must have no variable of `x.pos` or `y.pos`")
  expect_error(cu_adjustment(m, 1, 1), "`x.pos` and `y.pos` must be different variables; both have \"1\"")
  expect_error(cu_idaFast(1:2, 3, diag(3), m), "`x.pos` must be one variable; got integer of length 2")
  expect_error(cu_jointIda(1:2, 3, diag(3), all.pasets = list(list(3))), "`all.pasets` must be a list of lists")
  again <- matrix(m, 3, dimnames = list(NULL, c("a", "b", "a")))
  expect_error(cu_adjustment(again, 1, 2), "must be unique; \"a\" occurs more than once")
  for (graph in list(replace(m, 4, NA), m[1:2, ], matrix(as.character(m != 0), 3), "m", list(), NULL)) {
    expect_error(cu_ida(1, 3, diag(3), graph), "`graphEst` must be a DAG or CPDAG: a result, or a square matrix")
    expect_error(cu_adjustment(graph, 1, 3), "`graphEst` must be a DAG or CPDAG: a result, or a square matrix")
  }
  expect_error(cu_ida(1, 3, diag(3), m + diag(3)), "edge of variable 1 to itself")
  for (v in list(2.5, 4, NA, 0)) {
    expect_error(cu_jointIda(1:2, 3, diag(3), all.pasets = list(list(v, 1))), "`all.pasets` must be names of variables")
  }
  expect_error(cu_ida(1, 3, diag(3), m, "global", all.dags = 1:9), "`all.dags` must be a matrix with a row for each")
  unknown <- diag(3)
  unknown[1, 2] <- unknown[2, 1] <- NA
  expect_error(suppressMessages(cu_ida(2, 3, unknown, m)), "incomplete: it holds NaN")
})

test_that("messages name R's arguments and the value that is wrong", {
  skip_if_no_python()
  m <- matrix(c(0, 0, 0, 1, 0, 0, 0, 1, 0), 3) # a chain from 1 to 3
  S <- diag(3)
  expect_error(cu_idaFast(1, c(2, 2, 20), S, m), "`y.pos.set` must be names of variables, or positions.* got 20$")
  expect_error(cu_idaFast(1, c("2", "x"), S, m), "`y.pos.set` must be names .* got \"x\"$")
  expect_error(cu_ida(1:2, 3, S, m), "`x.pos` must be one variable for method = \"local\"; \"optimal\" takes several")
  expect_error(cu_ida(c(1, 1), 3, S, m, "optimal"), "`x.pos` must be different variables; \"1\" occurs more than once")
  expect_error(cu_ida(1, 3, NULL, m), "`mcov` must be a square covariance matrix; got NULL")
  expect_error(cu_ida(1, 3, S, m, "optimal", y.notparent = TRUE), "y.notparent .* for method \"optimal\"$")
  expect_error(cu_jointIda(c("1", "1"), 3, S, m), "`x.pos` must be different variables; \"1\" occurs")
  expect_error(cu_jointIda(1:2, 3, S), "`graphEst` or `all.pasets` must be given")
  for (wrong in list(3, list(1, 2), list(list(1)))) {
    expect_error(cu_jointIda(1:2, 3, S, all.pasets = wrong), "`all.pasets` must be a list of lists, .* the 2 causes")
  }
  expect_error(cu_adjustment(m, 1:2, 2:3), "`x.pos` and `y.pos` must be different variables; both have \"2\"")
  expect_error(cu_adjustment(m, 1, 3, z = 1:2), "`z` must have no variable of `x.pos` or `y.pos`; it has \"1\"")
  expect_error(cu_adjustment(m, 3, 1), "no variable of `y.pos` is a descendant of `x.pos`")
  expect_error(cu_adjustment(m + t(m), 1, 3), "no adjustment set of kind \"optimal\" is valid")
  expect_error(cu_adjustment(1, 1, 2), "`graphEst` must be a DAG or CPDAG.*got 1$")
})

test_that("names of the covariances that are not those of the graph are refused", {
  skip_if_no_python()
  v <- c("a", "b", "c")
  m <- matrix(c(0, 0, 0, 1, 0, 0, 0, 1, 0), 3, dimnames = list(v, v)) # a chain from a to c
  set.seed(4)
  a <- stats::rnorm(200)
  b <- a + stats::rnorm(200)
  S <- stats::cov(cbind(a, b, c = 2 * b + stats::rnorm(200)))
  turned <- S[c("c", "b", "a"), c("c", "b", "a")]
  want <- suppressMessages(cu_ida("a", "c", S, m))
  expect_identical(suppressMessages(cu_ida("a", "c", unname(S), m)), want)
  expect_identical(suppressMessages(cu_ida(1, 3, S, unname(m))), want)
  expect_identical(suppressMessages(cu_ida("a", "c", turned[v, v], m)), want)
  columns <- S
  rownames(columns) <- NULL
  expect_identical(suppressMessages(cu_ida("a", "c", columns, m)), want)
  ask <- list(
    function(mcov, graph) cu_ida("a", "c", mcov, graph), function(mcov, graph) cu_idaFast("a", "c", mcov, graph),
    function(mcov, graph) cu_jointIda(c("a", "b"), "c", mcov, graph)
  )
  for (f in ask) {
    expect_error(f(turned, m), "`mcov` must have the variables of `graphEst` in their order.*mcov\\[v, v\\]")
    expect_error(f(turned[, 3:1], m), "`mcov` must have its rows in the order of its columns; got \"c\" as the first")
    renamed <- S
    colnames(renamed) <- rownames(renamed) <- c("a", "x", "c")
    expect_error(f(renamed, m), "must have the variables of `graphEst`; got \"x\" in the place of \"b\"")
    expect_error(f(S, m[3:1, ]), "`graphEst` must have its rows in the order of its columns")
  }
  expect_error(cu_jointIda(1:2, 3, turned[, 3:1], all.pasets = list(list(NULL, 1))), "`mcov` must have its rows")
  expect_error(cu_adjustment(m[3:1, ], "a", "c"), "`graphEst` must have its rows in the order of its columns")
})

test_that("a PAG, and a matrix whose arrows go the other way, are refused", {
  skip_if_no_pcalg()
  set.seed(3)
  X <- pcalg::rmvDAG(300, pcalg::randomDAG(6, 0.5))
  data <- list(C = stats::cor(X), n = 300)
  pag <- cu_fci(data, pcalg::gaussCItest, 0.05, p = 6)
  amat <- as(suppressMessages(cu_pc(data, pcalg::gaussCItest, 0.05, p = 6)), "amat")
  for (graph in list(pag, amat, t(amat))) {
    expect_error(cu_ida(1, 6, stats::cov(X), graph), "`graphEst` must be a DAG or CPDAG: .* from row to column")
    expect_error(cu_adjustment(graph, 1, 6), "`graphEst` must be a DAG or CPDAG: .* from row to column")
  }
})
