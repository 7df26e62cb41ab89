# cu_tpc(): the call of tpc::tpc(), computed by pycupc.

#' The PC algorithm with tiers: `tpc::tpc()` computed by pycupc
#'
#' Takes the arguments of `tpc()` of package tpc 1.0, in its order and with its defaults, and returns the object that it
#' returns: the same graph, separating sets, numbers of tests and p-values. Two variables are never tested given one
#' that is in a later tier than both, and no edge points from a later tier to an earlier one.
#'
#' Triples are decided by the majority rule, or with `conservative` by the conservative rule; either must be chosen, as
#' in tpc. The slot `sepset` holds the sets of the skeleton. A collider of which an arrow is forbidden is left out. An
#' edge that `forbEdges` forbids in one direction, and a tier or a context variable in the other, is tested and then
#' dropped.
#'
#' @inheritParams cu_pc
#' @param skel.method `"stable"` or `"stable.parallel"`, which have the same answer.
#' @param forbEdges Logical matrix of p x p: TRUE in `[i, j]` forbids i -> j; in both cells, any edge of the pair.
#' @param conservative,maj.rule Should the conservative rule, or the majority rule, decide which triples are colliders?
#'   Exactly one of them must be TRUE.
#' @param tiers Number of the tier of each variable: a smaller number is an earlier tier. NULL: one tier. Names, if
#'   there are any, must have the order of the variables. A variable whose number is NA has no tier: it may be in any,
#'   and tiers say nothing about its edges or the sets that may hold it (tpc needs a number).
#' @param context.all,context.tier Positions or names of context variables, which have no parents: those of
#'   `context.all`, which must be in the first tier, are parents of all others, those of `context.tier` of all others in
#'   their tier.
#' @param numCores Number of CPU threads. NULL: as for [cu_pc()] without `numCores`.
#' @param cl.type,clusterexport Not used: pycupc needs no cluster of R processes.
#' @return An object of class [pcalg::pcAlgo-class].
#' @references Package tpc: Tiered PC Algorithm, version 1.0, by Janine Witte.
#' @seealso [cu_pc()], [cu_fci()]
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(9, 0.3))
#'   data <- list(C = cor(X), n = 500)
#'   fit <- cu_tpc(data, pcalg::gaussCItest, alpha = 0.05, p = 9, tiers = rep(1:3, each = 3))
#'   as.data.frame(fit)
#' }
#' @export
cu_tpc <- function(suffStat, indepTest, alpha, labels, p, skel.method = c("stable", "stable.parallel"),
                   forbEdges = NULL, m.max = Inf, conservative = FALSE, maj.rule = TRUE, tiers = NULL,
                   context.all = NULL, context.tier = NULL, verbose = FALSE, numCores = NULL, cl.type = "PSOCK",
                   clusterexport = NULL, engine = "auto", progress = interactive(),
                   sepset = c("auto", "list", "sparse"), quirks = FALSE, pMax = TRUE, cluster = NULL) {
  cl <- match.call() # before any argument is touched
  if (!missing(suffStat)) suffStat <- with_variables(suffStat, indepTest, labels, p)
  labels <- check_labels(labels, p, suffStat, indepTest)
  match.arg(skel.method)
  sepset <- match.arg(sepset)
  if (check_flag(conservative, "conservative") == check_flag(maj.rule, "maj.rule")) {
    error("choose one of `conservative` and `maj.rule`, which is TRUE unless it is given")
  }
  known <- check_known(tiers, context.all, context.tier, forbEdges, labels)
  given <- shared(environment(), if (is.null(numCores)) default_cores() else check_cores(numCores))
  need_pcalg("cu_tpc()")
  say_sparse(sepset, length(labels))
  graph::graphNEL(labels) # an error, before the work, about names that its graph cannot have

  plain <- transport("pc", suffStat, indepTest, alpha, labels, given, wants_list(sepset, length(labels)), known)
  fit <- as_pcalgo(plain, cl, "double", sepset)
  if (!length(plain$graph$from) && plain$vanished > 0) { # tpc converts a matrix of zeros
    p <- length(labels)
    fit@graph <- methods::as(matrix(0, p, p, dimnames = list(labels, labels)), "graphNEL")
  }
  with_evidence(fit, plain)
}

# What is known before the tests: `options`, arguments of pycupc.pc(), and `arrays`, both as transport() sends them.
check_known <- function(tiers, context.all, context.tier, forbEdges, labels) {
  p <- length(labels)
  if (is.null(tiers)) tiers <- rep(1, p)
  if (!is.numeric(tiers) || length(tiers) != p || all(is.na(tiers))) {
    refuse("tiers", paste("a number for each of the", p, "variables, NA for one without a tier"), tiers)
  }
  check_names(tiers, "tiers", labels)
  all <- context_positions(context.all, "context.all", labels)
  tier <- context_positions(context.tier, "context.tier", labels)
  both <- intersect(all, tier)
  if (length(both)) error("`context.all` and `context.tier` both have ", quoted(labels[both]))
  late <- all[!is.na(tiers[all]) & tiers[all] > min(tiers, na.rm = TRUE)]
  if (length(late)) error("`context.all` must be in the first tier; ", quoted(labels[late]), " is not")
  nowhere <- tier[is.na(tiers[tier])]
  if (length(nowhere)) {
    error("`context.tier` must name variables that have a tier; ", quoted(labels[nowhere]), " has none")
  }
  say_names(labels, list(forbEdges = forbEdges))
  if (!is.null(forbEdges)) forbEdges <- check_fixed(forbEdges, "forbEdges", p)
  list(
    options = list(
      tiers = as.list(as.double(tiers)), context_all = as.list(all - 1L), context_tier = as.list(tier - 1L)
    ),
    arrays = if (is.null(forbEdges)) list() else list(forbidden = forbEdges)
  )
}

# A vector with an element for each variable goes by position, as in tpc: names of it that say otherwise are refused.
check_names <- function(x, name, labels) {
  if (!any(names(x) %in% labels) || identical(names(x), labels)) return()
  unknown <- setdiff(names(x), labels)
  if (length(unknown)) error("`", name, "` has an element ", quoted(unknown[[1]]), ", which is no variable")
  error("`", name, "` must be in the order of the variables; its names are in another one. ", name, "[v], with `v` ",
    "the names of the variables, has the right order")
}

# The positions of context variables that are given by position or name.
context_positions <- function(x, name, labels) {
  at <- if (is.character(x)) match(x, labels) else if (is.null(x)) integer(0) else x
  wrong <- if (is.numeric(at)) is.na(at) | at < 1 | at > length(labels) | at != round(at) else TRUE
  if (any(wrong)) {
    refuse(name, sprintf("names of variables, or positions from 1 to %d", length(labels)),
      if (is.numeric(at)) x[wrong][[1]] else x)
  }
  as.integer(at)
}
