# Results whose graph is not a CPDAG: the line below print() and summary(), and cu_to_cpdag().

# A result for which the tests of `sets` are independent only: list("13" = 2L) separates 1 and 3 by 2.
fit_of <- function(sets, p, f = cu_pc, ...) {
  own <- function(x, y, S, suffStat) {
    set <- sets[[paste0(min(x, y), max(x, y))]]
    as.numeric(!is.null(set) && setequal(S, set))
  }
  f(NULL, own, alpha = 0.5, labels = letters[seq_len(p)], ...)
}

square <- list("13" = integer(0), "24" = integer(0)) # four colliders overwrite each other
noted <- "contradict|not a CPDAG"

printed <- function(code) paste(utils::capture.output(code), collapse = " ")

test_that("print(), show() and summary() say that a graph is not a CPDAG, and cu_pc() is silent", {
  skip_if_no_pcalg()
  before <- fit_of(list("13" = 2L), 3)
  expect_no_match(printed(print(before)), noted, ignore.case = TRUE)
  expect_silent(fit <- fit_of(square, 4))
  alone <- printed(pcalg::showEdgeList(fit))
  summarised <- methods::selectMethod(methods::getGeneric("summary", where = asNamespace("pcalg")), "pcAlgo")
  for (f in list(print, methods::show, summary, summarised)) {
    expect_match(printed(f(fit)), noted, ignore.case = TRUE)
    expect_no_match(printed(f(before)), noted, ignore.case = TRUE)
  }
  expect_match(printed(print(fit, amat = TRUE)), "Adjacency Matrix.*Total number of edges: +4")
  expect_identical(printed(pcalg::showEdgeList(fit)), alone)
  expect_match(printed(print(fit_of(square, 4, solve.confl = TRUE))), "bidirected")
  expect_no_match(printed(print(fit_of(square, 4, cu_skeleton))), noted, ignore.case = TRUE)
  theirs <- pcalg::pc(small_problem(), pcalg::gaussCItest, 0.05, p = 8)
  expect_match(printed(print(theirs)), "Total number of edges: +\\d+ *$")
  expect_identical(class(fit), class(theirs))
})

test_that("the CPDAG is that of pcalg's functions, and the rest of the object stays", {
  skip_if_no_pcalg()
  changed <- 0
  for (seed in 1:40) {
    S <- small_problem(n = 60, seed = seed)
    fit <- cu_pc(S, pcalg::gaussCItest, 0.2, p = 8)
    m <- methods::as(fit@graph, "matrix")
    dag <- pcalg::pdag2dag(fit@graph)
    if (!dag$success) {
      expect_error(cu_to_cpdag(fit), "no DAG extends")
      next
    }
    made <- cu_to_cpdag(fit)
    want <- methods::as(pcalg::dag2cpdag(dag$graph), "matrix")
    expect_identical(methods::as(made@graph, "matrix"), want + 0)
    changed <- changed + !identical(m, want + 0)
    if (identical(m, want + 0)) expect_identical(made, fit)
    expect_identical(made@sepset, fit@sepset)
    expect_identical(cu_to_cpdag(made), made)
    expect_s3_class(cu_why(made, 1, 2), "cu_why")
    theirs <- cu_to_cpdag(pcalg::pc(S, pcalg::gaussCItest, 0.2, p = 8))
    expect_identical(methods::as(theirs@graph, "matrix"), want + 0)
  }
  expect_gt(changed, 3)
  sparse <- cu_pc(S, pcalg::gaussCItest, 0.2, p = 8, sepset = "sparse")
  expect_identical(cu_sepset(cu_to_cpdag(sparse), 1, 5), cu_sepset(sparse, 1, 5))
  empty <- cu_pc(list(C = diag(3), n = 9), pcalg::gaussCItest, 0.05, p = 3)
  expect_identical(cu_to_cpdag(empty), empty)
  for (wrong in list(NULL, m, cu_fci(S, pcalg::gaussCItest, 0.05, p = 8))) {
    expect_error(cu_to_cpdag(wrong), "`fit` must be a result of cu_pc\\(\\)")
  }
})
