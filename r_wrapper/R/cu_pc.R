# cu_pc() and cu_skeleton(): the calls of pcalg with other machinery behind them.
#
#   cu_pc.R      what the user calls                       args.R     argument checks, with pcalg's texts
#   transport.R  plain R values to Python and back         python.R   finding and starting Python
#   pcalgo.R     the one place that builds the S4 object   report.R   verbose lines and the progress bar
#   compare.R    two results side by side                  sitrep.R   what is installed, what is missing

# Also usable by source("r_wrapper/R/cu_pc.R"): the other files of this folder are then read along.
local({
  sourced <- Filter(function(frame) exists("ofile", frame, inherits = FALSE), sys.frames())
  file <- if (length(sourced)) sourced[[length(sourced)]]$ofile
  into <- parent.env(environment())
  if (is.character(file) && basename(file) == "cu_pc.R" && !isNamespace(into)) {
    folder <- dirname(normalizePath(file))
    options(pycupc.checkout = dirname(dirname(folder)))
    for (part in c("args.R", "python.R", "transport.R", "pcalgo.R", "report.R", "compare.R", "sitrep.R")) {
      sys.source(file.path(folder, part), envir = into)
    }
  }
})

#' The PC algorithm: `pcalg::pc()` with the engines of pycupc
#'
#' Takes the arguments of [pcalg::pc()], in its order and with its defaults, and returns the object that
#' `pcalg::pc(skel.method = "stable")` returns: the same skeleton, separating sets, numbers of tests, p-values and
#' CPDAG.
#'
#' `skel.method = "stable.fast"` is accepted and gives the answer of `"stable"`: pcalg's C++ version of it finds the same
#' graph on well-conditioned data but keeps other separating sets and other counts. `"original"` depends on the order of
#' the variables and is refused; call [pcalg::pc()] for it.
#'
#' A pair in `fixedGaps` has no separating set, so a gap between x and z makes a collider of y in x - y - z. pcalg does
#' this, and so does `cu_pc()`.
#'
#' Ctrl-C stops the computation with an R error; the R session goes on.
#'
#' @param suffStat List with `C`, the correlation matrix, and `n`, the number of observations. With an `indepTest` other
#'   than [pcalg::gaussCItest()], whatever that function expects.
#' @param indepTest [pcalg::gaussCItest()] (or the string `"gaussCItest"`), which the engines compute themselves. Any
#'   other function `indepTest(x, y, S, suffStat)` is called back for every test: right, but at the speed of R.
#' @param alpha Significance level of each test.
#' @param labels Names of the variables (character). Either this or `p`.
#' @param p Number of variables, where there are no `labels`.
#' @param fixedGaps Logical symmetric matrix; TRUE: this edge is never in the graph.
#' @param fixedEdges Logical symmetric matrix; TRUE: this edge is never tested.
#' @param NAdelete If a test gives NA, delete the edge?
#' @param m.max Largest conditioning set.
#' @param u2pd What to do when the skeleton cannot be oriented without conflict. Where `"rand"`, or `"retry"` as its last
#'   resort, draws a graph, pcalg's own code does so from R's generator, so that [set.seed()] gives pcalg's graph.
#' @param skel.method `"stable"` or `"stable.fast"`; see Details.
#' @param conservative,maj.rule Conservative PC, majority rule PC.
#' @param solve.confl Let conflicting orientations give bi-directed edges?
#' @param numCores Number of CPU threads; all of them when not given. (In pcalg only `"stable.fast"` heeds it.)
#' @param verbose Print a line per level?
#' @param engine `"auto"`, `"gpu"`, `"cpu"`, or another engine that [cu_sitrep()] lists.
#' @param progress Show a text progress bar? By default in interactive use.
#' @param sepset `"list"`: the slot `sepset` is a list of p lists of length p, as in pcalg. `"sparse"`: the slot is empty
#'   and [cu_sepset()] looks the sets up; for large p, where p^2 list cells are slow and heavy. `"auto"`: `"list"` for
#'   up to 5,000 variables.
#' @return An object of class [pcalg::pcAlgo-class], as from [pcalg::pc()].
#' @seealso [cu_skeleton()], [cu_compare()] to check the answer against pcalg, [cu_sitrep()] when something is missing.
#' @references Colombo, D. and Maathuis, M. H. (2014). Order-independent constraint-based causal structure learning.
#'   Journal of Machine Learning Research 15, 3741-3782.
#'
#'   Zarebavani, B., Jafarinejad, F., Hashemi, M. and Salehkaleybar, S. (2020). cuPC: CUDA-based parallel PC algorithm for
#'   causal structure learning on GPU. IEEE Transactions on Parallel and Distributed Systems 31(3), 530-542.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_pc(list(C = cor(X), n = 500), pcalg::gaussCItest, alpha = 0.05, p = 10)
#'   print(fit)
#' }
#' @export
cu_pc <- function(suffStat, indepTest, alpha, labels, p, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE,
                  m.max = Inf, u2pd = c("relaxed", "rand", "retry"),
                  skel.method = c("stable", "original", "stable.fast"), conservative = FALSE, maj.rule = FALSE,
                  solve.confl = FALSE, numCores = 1, verbose = FALSE, engine = "auto", progress = interactive(),
                  sepset = c("auto", "list", "sparse")) {
  cl <- match.call() # before any argument is touched
  labels <- check_labels(labels, p)
  u2pd <- match.arg(u2pd)
  skel.method <- match.arg(skel.method)
  check_orientation(u2pd, conservative, maj.rule, solve.confl)
  check_method(skel.method, "pcalg::pc()")
  sepset <- match.arg(sepset)
  threads <- if (!missing(numCores)) check_cores(numCores)
  need_pcalg("cu_pc()")

  plain <- transport("pc", suffStat, indepTest, alpha, labels, fixedGaps, fixedEdges,
    NAdelete = NAdelete, m.max = m.max, u2pd = u2pd, conservative = conservative, maj.rule = maj.rule,
    solve.confl = solve.confl, threads = threads, verbose = verbose, engine = engine, progress = progress
  )
  if (endsWith(plain$orientation, "random")) {
    return(draw_orientation(plain, cl, u2pd, sepset))
  }
  as_pcalgo(plain, call = cl, sepset = sepset)
}

#' The skeleton of the PC algorithm: `pcalg::skeleton()` with the engines of pycupc
#'
#' Takes the arguments of [pcalg::skeleton()], in its order and with its defaults, and returns the object that
#' `pcalg::skeleton(method = "stable")` returns.
#'
#' @inheritParams cu_pc
#' @param method `"stable"` or `"stable.fast"`; see the details of [cu_pc()].
#' @return An object of class [pcalg::pcAlgo-class], as from [pcalg::skeleton()].
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_skeleton(list(C = cor(X), n = 500), pcalg::gaussCItest, alpha = 0.05, p = 10)
#'   fit@n.edgetests
#' }
#' @export
cu_skeleton <- function(suffStat, indepTest, alpha, labels, p, method = c("stable", "original", "stable.fast"),
                        m.max = Inf, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE, numCores = 1,
                        verbose = FALSE, engine = "auto", progress = interactive(),
                        sepset = c("auto", "list", "sparse")) {
  cl <- match.call()
  labels <- check_labels(labels, p)
  method <- match.arg(method)
  check_method(method, "pcalg::skeleton()")
  sepset <- match.arg(sepset)
  threads <- if (!missing(numCores)) check_cores(numCores)
  need_pcalg("cu_skeleton()")

  plain <- transport("skeleton", suffStat, indepTest, alpha, labels, fixedGaps, fixedEdges,
    NAdelete = NAdelete, m.max = m.max, threads = threads, verbose = verbose, engine = engine, progress = progress
  )
  as_pcalgo(plain, call = cl, skeleton = TRUE, sepset = sepset)
}
