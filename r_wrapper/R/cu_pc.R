# cu_pc() and cu_skeleton(): the calls of pcalg, computed by pycupc.

#' The PC algorithm and its skeleton: `pcalg::pc()` and `pcalg::skeleton()` computed by pycupc
#'
#' Takes the arguments of [pcalg::pc()], in its order and with its defaults, and returns the object that
#' `pcalg::pc(skel.method = "stable")` returns: the same skeleton, separating sets, numbers of tests, p-values and
#' CPDAG. For discrete data with `adaptDF = TRUE` that needs `quirks = TRUE`: without it, the answer differs from
#' pcalg's for about half of all graphs, because a fault of pcalg's test is not reproduced.
#'
#' `cu_skeleton()` takes the arguments of [pcalg::skeleton()] and returns its object. With `tiers`, `context.all`,
#' `context.tier` or `forbEdges` the skeleton is that of `tpc()` of package tpc 1.0: two variables are never tested
#' given one that is in a later tier than both.
#'
#' `skel.method = "stable.fast"` is accepted and gives the answer of `"stable"`. pcalg's C++ code for it finds the same
#' graph on well-conditioned data but stores different separating sets and counts different tests. `"original"` is
#' refused, because its answer depends on the order of the variables; call [pcalg::pc()] for it.
#'
#' A pair in `fixedGaps` has no separating set, so a gap between x and z makes y a collider in x - y - z. pcalg does the
#' same.
#'
#' A constant column has no correlations: [stats::cor()] warns and gives NA. As in pcalg, a pair whose correlation is NA
#' or NaN counts as independent at level 0, whatever `NAdelete` says, so a constant column has no edges. `cu_pc()`
#' reports this in a message rather than a warning, so `options(warn = 2)` does not stop a call that pcalg would finish.
#' With `fixedEdges`, a test given two or more variables may meet a NaN: `cu_pc()` counts it as independent, where pcalg
#' stops with "infinite or missing values in 'x'".
#'
#' A G^2 test with fewer than 10 observations per degree of freedom is not made, and its variables count as independent.
#' A warning says for how many pairs this decided, and [cu_why()] for which; pcalg warns, too.
#'
#' The graph need not be a CPDAG: if the colliders contradict each other, it may have a directed cycle, and with
#' `conservative`, `maj.rule` or `solve.confl` it may have too few arrows or bidirected edges. `print()` and `summary()`
#' of the result say so, once the session has computed such a result; pcalg's object is the same. [cu_to_cpdag()] gives
#' the CPDAG where a DAG extends the graph, and `u2pd = "retry"` a graph that a DAG extends.
#'
#' Ctrl-C is an ordinary R interrupt, as in [pcalg::pc()]: `tryCatch(..., interrupt = )` can handle it, `try()` does not
#' stop it, and the R session continues.
#'
#' @section Parallel use:
#' A call uses several cores by itself. In a process that is one of several workers, forked by package parallel (also
#' through doParallel, or `future::plan("multicore")`) or of a cluster of [parallel::makeCluster()] or
#' `future::plan("multisession")`, it uses one, unless `numCores` says otherwise. Each worker of a cluster starts a
#' Python of its own, which takes some seconds and about 230 MB; forked workers share the one of the session that has
#' called `cu_pc()` before. A process that has used a GPU cannot share that with forked ones: use `engine = "cpu"` or a
#' cluster there. For resamples, [cu_stability()] in one process takes less time and memory than workers.
#'
#' @section Missing values, and numbers with categories:
#' The tests of package micd are named, `"gaussCItwd"`, `"disCItwd"`, `"mixCItwd"`, `"flexCItwd"`, `"gaussMItest"`,
#' `"disMItest"`, `"mixMItest"`, `"flexMItest"`, `"mixCItest"` and `"flexCItest"`, or given as its functions; micd need
#' not be installed. The engine `"cpu"` computes them. `suffStat` is as in micd: for `"gaussCItwd"` a table with NA; for
#' `"disCItwd"` a list with `dm`, codes with NA, `nlev` and `adaptDF`; for `"gaussMItest"` a list of the correlation
#' matrices of the imputations and, last, the number of observations; for `"disMItest"` a list of data frames of
#' factors; for `"mixMItest"` a list of data frames of numbers and factors. For these three, and `"flexMItest"`, it may
#' be a `mids` object of package mice. For `"mixCItest"` it is a complete data frame of numbers and factors, for
#' `"mixCItwd"` and `"flexCItwd"` one with NA. For `"flexCItest"` and `"flexMItest"` it is as `micd::getSuff()` makes
#' it, or as for `"mixCItest"` and `"mixMItest"`. With `quirks = TRUE`, `"disCItwd"` and the tests of numbers and
#' factors have the faults of micd as well.
#'
#' Codes that SPSS calls missing, in columns of package haven (`na_values`, `na_range`), count as NA in each data frame.
#'
#' @section Columns of a data frame:
#' Where neither `indepTest` nor `labels` nor `p` is given, columns of texts are read as `pycupc run` reads them, and a
#' message says which: names of the rows, dates and free text are left out, and so is a first column that counts the
#' rows; numbers with one unit (`"5.2 mg"`) become numbers; and one mark beside numbers, such as `"?"`, becomes NA.
#' Factors stay as they are, so that [factor()] keeps a column. Numbers with different units are an error.
#'
#' @section Dependence of any form:
#' `indepTest = "KCI"` is the kernel-based conditional independence test of Zhang, Peters, Janzing and Schoelkopf
#' (2011), with the p-values of causal-learn and of CondIndTests. `suffStat` is a complete table of numbers, for up to
#' some thousand rows: the time of a test grows with their square or cube.
#'
#' @section Memory:
#' For p variables, `C`, the slot `pMax` and the list of lists in the slot `sepset` take 8 p^2 bytes each, 0.8 GB each
#' for 10,000 variables, and the separating sets come on top. The computation takes about as much as one of them.
#' `sepset = "sparse"` and `pMax = FALSE` leave out two of these. A call on 2,810 variables took 1.1 GB at most, and its
#' object 0.3 GB.
#'
#' @param suffStat List with `C`, the correlation matrix, and `n`, the number of observations, which need not be a whole
#'   number (an effective sample size), or a matrix of the number of each pair, of which a test takes the mean, or what
#'   `n_rule` says, see [cu_suffStat()]. For discrete data a list with `dm`, the codes 0, 1, ... (n x p), `nlev`, the
#'   number of levels of each variable, and `adaptDF`; with `df = "observed"` in it, only rows, columns and
#'   configurations that occur count for the degrees of freedom, which finds more of the edges of sparse tables than
#'   pcalg does. Instead of such a list, the observations themselves: a matrix or data frame with a row for each,
#'   whose correlations the engine computes, or which holds categories. For another `indepTest`, whatever that
#'   function expects.
#' @param indepTest [pcalg::gaussCItest()], [pcalg::disCItest()] or [pcalg::binCItest()] (or the name of one as a
#'   string), which the engines compute themselves, or a test of micd or `"KCI"`, see the sections on them. Any other
#'   function `indepTest(x, y, S, suffStat)` is called once per test: the answer is the same, at the speed of R. If it
#'   has an attribute `"batch"`, that is called instead: a function of the same arguments for many tests at a time, with
#'   vectors `x` and `y` and a matrix `S` of a row for each test, which returns their p-values. `indepTest` may be left
#'   out if `suffStat` holds observations: it is then `gaussCItest`, and of a data frame with NA, texts or factors the
#'   test that fits, which a message names.
#' @param alpha Significance level of each test. It may be left out, and is then 0.01, if `suffStat` holds observations.
#' @param labels Names of the variables (character). Give either `labels` or `p`, or neither if `suffStat` holds
#'   observations, whose column names are then used. A message says so if `labels` are the column names of `C` or of
#'   another matrix in another order: positions count, as in pcalg.
#' @param p Number of variables, if `labels` is not given.
#' @param fixedGaps Logical symmetric matrix; TRUE removes the edge before any test.
#' @param fixedEdges Logical symmetric matrix; TRUE keeps the edge without a test.
#' @param NAdelete Should an edge be deleted if its test returns NA?
#' @param m.max Largest size of the conditioning sets.
#' @param u2pd What to do if no DAG fits the colliders that were found. `"relaxed"` keeps the colliders as they are;
#'   `"rand"` takes the CPDAG of a random DAG; `"retry"` tries other directions of the conflicting edges first. Random
#'   graphs are drawn by pcalg's own code from R's random number generator, so that [set.seed()] gives pcalg's graph.
#' @param skel.method `"stable"` or `"stable.fast"`; see Details.
#' @param conservative,maj.rule Should the conservative rule, or the majority rule, decide which triples are colliders?
#' @param solve.confl Should conflicting orientations give bidirected edges?
#' @param numCores Number of CPU threads. If it is not given: one in a process that is itself a worker (see below), else
#'   `getOption("mc.cores")`, else the environment variable `OMP_NUM_THREADS` or `OMP_THREAD_LIMIT`, else all cores that
#'   this process may use. (In pcalg only `"stable.fast"` uses more than one.)
#' @param verbose Print a line per level, and for `cu_pc()` a line for each collider and each arrow that a rule set,
#'   with the reason, and with `conservative` or `maj.rule` a line for each unshielded triple? pcalg prints a line per
#'   test.
#' @param engine `"auto"`, the GPU where it works and pays off; `"gpu"` or `"cpu"`; `"reference"`, a slow one for
#'   checks; `"cupc-e"` or `"cupc-s"`, the published GPU algorithms.
#' @param progress Show a text progress bar? By default only in interactive sessions.
#' @param sepset `"list"`: the slot `sepset` is a list of p lists of length p, as in pcalg. `"sparse"`: the slot is
#'   empty, [cu_sepset()] looks the sets up, and [cu_expand()] fills the slot. It is meant for many variables, for which
#'   p^2 list cells are slow and large. `"auto"`: `"list"` for up to 20,000 variables, else `"sparse"` with a message
#'   once per session.
#' @param quirks Should the two faults of [pcalg::disCItest()] be reproduced? It calls all variables independent given 5
#'   or more others, and with `adaptDF` it raises the degrees of freedom given variables with more than two levels. By
#'   default the test is computed correctly, and a warning says where pcalg's answer may differ; with `adaptDF = TRUE`
#'   it differs for about half of all graphs. With `TRUE` the answer is pcalg's.
#' @param pMax Should the slot `pMax`, the largest p-value of each pair, be computed? On dense problems with thousands
#'   of variables that can take longer than everything else, since most tests have been answered without being made.
#'   With `FALSE` the slot is a 1 x 1 matrix of NA.
#' @param checkpoint A folder in which finished levels are kept, and once a minute the finished parts of a
#'   level. The same call resumes after them if R, or the machine, stopped; a folder made with other data or arguments
#'   is refused. Not for a function of R as `indepTest`.
#' @param cluster Workers that share large levels: a number of processes of this machine, each a Python that starts for
#'   this call, or the address of a Dask scheduler, such as `"tcp://host:8786"`. The answer is the same; `numCores` is
#'   the number of threads of each worker. Not for a function of R as `indepTest`.
#' @return An object of class [pcalg::pcAlgo-class], as from [pcalg::pc()] or [pcalg::skeleton()].
#' @seealso [cu_why()] and `as.data.frame()` for the reasons of edges; [cu_compare()] to check the answer against pcalg;
#'   [cu_sitrep()] if something is missing.
#' @references Colombo, D. and Maathuis, M. H. (2014). Order-independent constraint-based causal structure learning.
#'   Journal of Machine Learning Research 15, 3741-3782.
#'
#'   Zarebavani, B., Jafarinejad, F., Hashemi, M. and Salehkaleybar, S. (2020). cuPC: CUDA-based parallel PC algorithm
#'   for causal structure learning on GPU. IEEE Transactions on Parallel and Distributed Systems 31(3), 530-542.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_pc(list(C = cor(X), n = 500), pcalg::gaussCItest, alpha = 0.05, p = 10)
#'   print(fit)
#'   as.data.frame(cu_pc(X, alpha = 0.05)) # from the observations: the same edges
#'   cu_skeleton(X, alpha = 0.05)@n.edgetests
#' }
#' @export
cu_pc <- function(suffStat, indepTest, alpha, labels, p, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE,
                  m.max = Inf, u2pd = c("relaxed", "rand", "retry"),
                  skel.method = c("stable", "original", "stable.fast"), conservative = FALSE, maj.rule = FALSE,
                  solve.confl = FALSE, numCores = 1, verbose = FALSE, engine = "auto", progress = interactive(),
                  sepset = c("auto", "list", "sparse"), quirks = FALSE, pMax = TRUE, checkpoint = NULL,
                  cluster = NULL) {
  cl <- match.call() # before any argument is touched
  if (!missing(suffStat)) suffStat <- with_variables(suffStat, indepTest, labels, p)
  labels <- check_labels(labels, p, suffStat, indepTest)
  u2pd <- match.arg(u2pd)
  skel.method <- match.arg(skel.method)
  check_orientation(u2pd, conservative, maj.rule, solve.confl)
  check_method(skel.method, "pcalg::pc()")
  sepset <- match.arg(sepset)
  given <- shared(environment(), if (missing(numCores)) default_cores() else check_cores(numCores))
  need_pcalg("cu_pc()")
  say_sparse(sepset, length(labels))
  graph::graphNEL(labels) # an error, before the work, about names that its graph cannot have

  plain <- transport("pc", suffStat, indepTest, alpha, labels, given, wants_list(sepset, length(labels)))
  if (plain$status == "random") {
    fit <- draw_orientation(plain, cl, u2pd, sepset)
  } else {
    if (u2pd == "retry") draw_as_retry(plain)
    # pcalg's last resort before a random graph makes one without weights.
    fit <- as_pcalgo(plain, cl, if (plain$status == "forced") "none" else "double", sepset)
  }
  with_evidence(fit, plain)
}

#' @rdname cu_pc
#' @inheritParams cu_tpc
#' @param method `"stable"` or `"stable.fast"`; see Details.
#' @export
cu_skeleton <- function(suffStat, indepTest, alpha, labels, p, method = c("stable", "original", "stable.fast"),
                        m.max = Inf, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE, numCores = 1,
                        verbose = FALSE, engine = "auto", progress = interactive(),
                        sepset = c("auto", "list", "sparse"), quirks = FALSE, pMax = TRUE, checkpoint = NULL,
                        tiers = NULL, context.all = NULL, context.tier = NULL, forbEdges = NULL, cluster = NULL) {
  cl <- match.call()
  if (!missing(suffStat)) suffStat <- with_variables(suffStat, indepTest, labels, p)
  labels <- check_labels(labels, p, suffStat, indepTest)
  method <- match.arg(method)
  check_method(method, "pcalg::skeleton()")
  knows <- !all(vapply(list(tiers, context.all, context.tier, forbEdges), is.null, NA))
  known <- if (knows) check_known(tiers, context.all, context.tier, forbEdges, labels)
  sepset <- match.arg(sepset)
  given <- shared(environment(), if (missing(numCores)) default_cores() else check_cores(numCores))
  need_pcalg("cu_skeleton()")
  say_sparse(sepset, length(labels))
  graph::graphNEL(labels) # an error, before the work, about names that its graph cannot have

  expand <- wants_list(sepset, length(labels))
  plain <- transport("skeleton", suffStat, indepTest, alpha, labels, given, expand, known)
  with_evidence(as_pcalgo(plain, cl, "integer", sepset), plain)
}

# source("r_wrapper/R/cu_pc.R") needs no installation. All files of this folder are read into a separate environment,
# and only the exported functions appear where source() was called.
local({
  target <- parent.env(environment())
  frame <- Find(function(frame) exists("ofile", frame, inherits = FALSE), sys.frames(), right = TRUE)
  file <- if (!is.null(frame)) frame$ofile
  reading <- isNamespace(target) || isTRUE(attr(target, "pycupc"))
  if (!reading && is.character(file) && basename(file) == "cu_pc.R") {
    folder <- if (isTRUE(frame$chdir)) getwd() else dirname(normalizePath(file))
    checkout <- dirname(dirname(folder))
    package <- structure(new.env(parent = baseenv()), pycupc = TRUE)
    for (part in list.files(folder, "\\.R$", full.names = TRUE)) sys.source(part, package)
    package$state$checkout <- checkout
    declared <- parseNamespaceFile(basename(dirname(folder)), checkout)
    for (name in declared$exports) assign(name, package[[name]], target)
    for (i in seq_len(nrow(declared$S3methods))) {
      method <- declared$S3methods[i, 1:2]
      registerS3method(method[1], method[2], package[[paste(method, collapse = ".")]], package)
    }
  }
})
