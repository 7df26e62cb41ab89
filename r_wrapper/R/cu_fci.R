# cu_fci() and cu_rfci(): causal graphs where variables may be hidden, with pcalg's answers.

#' FCI and RFCI: `pcalg::fci()` and `pcalg::rfci()` computed by pycupc
#'
#' Takes the arguments of [pcalg::fci()], in its order and with its defaults, and returns the object that
#' `pcalg::fci(skel.method = "stable")` returns: the PAG, the separating sets, the sets of Possible-D-SEP, numbers of
#' tests and p-values. FCI allows for variables that nobody has measured, and for selection.
#'
#' `cu_rfci()` does the same for [pcalg::rfci()]. RFCI is FCI without Possible-D-SEP: a few tests of triples take its
#' place, so that it is feasible for thousands of variables; an edge may stay that FCI would remove.
#'
#' `"stable.fast"` and `"original"`, constant columns, Ctrl-C, parallel use and memory: as for [cu_pc()].
#'
#' The function says in messages where the answer needs a word; pcalg's object is the same, without it.
#'
#' @inheritParams cu_pc
#' @param type `"normal"`, `"anytime"` (needs `m.max`: the tests end at this size of the sets) or `"adaptive"` (the sets
#'   of Possible-D-SEP end at the last size of the skeleton).
#' @param pdsep.max Largest Possible-D-SEP whose subsets are tested; an edge with a larger one stays.
#' @param rules Logical vector of length 10: which rules orient the edges.
#' @param doPdsep Should subsets of Possible-D-SEP be tested? Without these tests the answer may have too many edges.
#' @param biCC Should Possible-D-SEP be cut to a biconnected component of the graph?
#' @param selectionBias Might the sample be selected by its variables? With `FALSE`, rules 5 to 7 are left out.
#' @param jci Knowledge about `contextVars`: `"0"` none; `"1"` no other variable causes them; `"12"` nor has a common
#'   cause with them; `"123"` also that their own relations are of no interest (Joint Causal Inference).
#' @param contextVars Positions of the context variables.
#' @param quirks Should the faults of pcalg 2.7-12 be reproduced? With `TRUE`, the default, the answer is pcalg's. With
#'   `FALSE`, all tests are counted, `biCC` works with any labels, `pMax` is symmetric, discriminating paths are
#'   complete, and [pcalg::disCItest()] is computed without its two faults.
#' @return An object of class [pcalg::fciAlgo-class], as from [pcalg::fci()] or [pcalg::rfci()].
#' @seealso [cu_pc()], where no variable is hidden.
#' @references Zhang, J. (2008). On the completeness of orientation rules for causal discovery in the presence of latent
#'   confounders and selection bias. Artificial Intelligence 172, 1873-1896.
#'
#'   Colombo, D., Maathuis, M. H., Kalisch, M. and Richardson, T. S. (2012). Learning high-dimensional directed acyclic
#'   graphs with latent and selection variables. Annals of Statistics 40, 294-321.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   hidden <- rnorm(1000)
#'   x <- rnorm(1000)
#'   y <- x + hidden + rnorm(1000)
#'   z <- hidden + rnorm(1000)
#'   w <- z + rnorm(1000)
#'   X <- cbind(x, y, z, w, v = z + w + rnorm(1000))
#'   cu_fci(list(C = cor(X), n = 1000), pcalg::gaussCItest, alpha = 0.01, labels = colnames(X))
#'   cu_rfci(X[, -1], alpha = 0.05)@amat
#' }
#' @export
cu_fci <- function(suffStat, indepTest, alpha, labels, p, skel.method = c("stable", "original", "stable.fast"),
                   type = c("normal", "anytime", "adaptive"), fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE,
                   m.max = Inf, pdsep.max = Inf, rules = rep(TRUE, 10), doPdsep = TRUE, biCC = FALSE,
                   conservative = FALSE, maj.rule = FALSE, numCores = 1, selectionBias = TRUE,
                   jci = c("0", "1", "12", "123"), contextVars = NULL, verbose = FALSE, engine = "auto",
                   progress = interactive(), quirks = TRUE, pMax = TRUE, cluster = NULL) {
  cl <- match.call() # before any argument is touched
  if (!missing(suffStat)) suffStat <- with_variables(suffStat, indepTest, labels, p)
  labels <- check_labels(labels, p, suffStat, indepTest)
  check_method(match.arg(skel.method), "pcalg::fci()")
  type <- match.arg(type)
  jci <- match.arg(jci)
  check_orientation("relaxed", conservative, maj.rule, FALSE)
  check_rules(rules)
  if (!is.null(contextVars) && (!is.numeric(contextVars) || !all(contextVars %in% seq_along(labels)))) {
    refuse("contextVars", paste("positions of variables, from 1 to", length(labels)), contextVars)
  }
  more <- list(
    type = type, pdsep_max = check_number(pdsep.max, "pdsep.max", "one number from 0 on", function(x) x >= 0),
    rules = as.list(as.logical(rules)), doPdsep = check_flag(doPdsep, "doPdsep"), biCC = check_flag(biCC, "biCC"),
    selectionBias = check_flag(selectionBias, "selectionBias"), jci = jci,
    contextVars = as.list(as.integer(contextVars) - 1L)
  )
  given <- shared(environment(), if (missing(numCores)) default_cores() else check_cores(numCores))
  need_pcalg("cu_fci()", "there is no other form of the answer")

  plain <- transport("fci", suffStat, indepTest, alpha, labels, given, TRUE, list(options = more))
  answered(if (biCC) with_double_sets(plain, conservative || maj.rule) else plain, cl)
}

#' @rdname cu_fci
#' @export
cu_rfci <- function(suffStat, indepTest, alpha, labels, p, skel.method = c("stable", "original", "stable.fast"),
                    fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE, m.max = Inf, rules = rep(TRUE, 10),
                    conservative = FALSE, maj.rule = FALSE, numCores = 1, verbose = FALSE, engine = "auto",
                    progress = interactive(), quirks = TRUE, pMax = TRUE, cluster = NULL) {
  cl <- match.call()
  if (!missing(suffStat)) suffStat <- with_variables(suffStat, indepTest, labels, p)
  labels <- check_labels(labels, p, suffStat, indepTest)
  check_method(match.arg(skel.method), "pcalg::rfci()")
  check_orientation("relaxed", conservative, maj.rule, FALSE)
  check_rules(rules)
  given <- shared(environment(), if (missing(numCores)) default_cores() else check_cores(numCores))
  need_pcalg("cu_rfci()", "there is no other form of the answer")

  more <- list(options = list(rules = as.list(as.logical(rules))))
  answered(transport("rfci", suffStat, indepTest, alpha, labels, given, TRUE, more), cl)
}

# The object with its evidence.
answered <- function(plain, call) with_evidence(as_fcialgo(plain, call), plain)

# The types of pcalg's answer with biCC: allPdsep is double, and so is a set of Possible-D-SEP with several members,
# unless the conservative or majority rule (`checked`) examined its pair, which then has a common neighbour.
with_double_sets <- function(plain, checked) {
  storage.mode(plain$pdsep$members) <- "double"
  from <- c(plain$edge$low, plain$edge$high)
  order <- order(from)
  near <- in_rows(c(plain$edge$high, plain$edge$low)[order], from[order], length(plain$labels))
  for (k in seq_along(plain$later$x)) {
    x <- plain$later$x[k]
    y <- plain$later$y[k]
    if (length(plain$sets[[x]][[y]]) > 1L && !(checked && any(near[[x]] %in% near[[y]]))) {
      plain$sets[[x]][[y]] <- plain$sets[[y]][[x]] <- as.double(plain$sets[[x]][[y]])
    }
  }
  plain
}

check_rules <- function(rules) {
  if (!is.logical(rules) && !is.numeric(rules) || length(rules) != 10L || anyNA(rules)) {
    refuse("rules", "10 values TRUE or FALSE", rules)
  }
}
