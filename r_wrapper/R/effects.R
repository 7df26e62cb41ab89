# cu_ida(), cu_idaFast(), cu_jointIda(), cu_adjustment(): pcalg's functions for causal effects, computed by pycupc.

#' Possible total and joint causal effects
#'
#' Take the arguments of [pcalg::ida()], [pcalg::idaFast()] and [pcalg::jointIda()], in their order and with their
#' defaults, and return their values in their order.
#'
#' The values are those of pcalg; what differs: parent sets are found as cliques rather than among all subsets, so that
#' a variable may have 60 undirected edges; types and methods that need a maximally oriented graph (`type = "pdag"`,
#' `method = "optimal"`) stop with an error where the graph is none, and pcalg only has a message; `all.dags` works,
#' which stops pcalg in R 4.2 and later.
#'
#' @param x.pos,y.pos Positions of the cause and of the effect in `mcov`, or their names in the graph; several effects
#'   give a list. With `method = "optimal"`, and in `cu_jointIda()`, several causes are allowed.
#' @param mcov Covariance matrix. If it and the graph have names, these must be equal and in the same order.
#' @param graphEst A CPDAG or PDAG: a result of [cu_pc()] or [pcalg::pc()], a graphNEL, or a matrix with an edge from
#'   row to column where it is not 0.
#' @param method `"local"`: a value for each valid set of parents of x. `"optimal"`: as many, adjusted for optimal sets;
#'   a matrix with a row for each cause. `"global"`: a value for each DAG.
#' @param y.notparent Take an edge between x and y for an arrow to y?
#' @param verbose Not used.
#' @param all.dags For `"global"`: `pcalg::pdag2allDags(...)$dags`.
#' @param type `"cpdag"` or `"pdag"`, a CPDAG with background knowledge. In `cu_jointIda()`, `"cpdag"` and `"dag"` give
#'   each value as often as DAGs have it, up to a factor; `"pdag"` once for each way to direct the edges at the causes.
#' @return A vector of values, or with `"optimal"` and of `cu_jointIda()` a matrix with a row for each cause; a list of
#'   them for several `y.pos`. NA where an effect is not defined. `cu_idaFast()`: a matrix with a row for each effect
#'   and a column for each valid set of parents of x.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(8, 0.4))
#'   fit <- cu_pc(X, alpha = 0.05)
#'   cu_ida(1, 8, cov(X), fit)
#'   cu_idaFast(1, 2:8, cov(X), fit)
#' }
#' @seealso [cu_adjustment()]
#' @export
cu_ida <- function(x.pos, y.pos, mcov, graphEst, method = c("local", "optimal", "global"), y.notparent = FALSE,
                   verbose = FALSE, all.dags = NA, type = c("cpdag", "pdag")) {
  method <- match.arg(method)
  arguments <- list(method = method, y_notparent = check_flag(y.notparent, "y.notparent"), type = match.arg(type))
  if (length(all.dags) > 1L && (!is.numeric(all.dags) || NCOL(all.dags) != length(mcov))) {
    refuse("all.dags", "a matrix with a row for each DAG, as `pcalg::pdag2allDags(...)$dags`", all.dags)
  }
  dags <- if (length(all.dags) > 1L) list(dags = as.integer(t(all.dags)))
  if (method != "optimal" && length(x.pos) > 1L) {
    refuse("x.pos", paste0("one variable for method = \"", method, "\"; \"optimal\" takes several"), x.pos)
  }
  rows <- if (method == "optimal") length(x.pos)
  found <- possible_effects("ida", x.pos, y.pos, mcov, graphEst, arguments, rows, dags)
  if (length(y.pos) > 1L) found else found[[1L]]
}

#' @rdname cu_ida
#' @param y.pos.set Positions of the effects in `mcov`, or their names in the graph.
#' @export
cu_idaFast <- function(x.pos, y.pos.set, mcov, graphEst) {
  if (length(x.pos) != 1L) refuse("x.pos", "one variable", x.pos)
  found <- possible_effects("idaFast", x.pos, y.pos.set, mcov, graphEst, list(), length(y.pos.set))[[1L]]
  rownames(found) <- y.pos.set
  found
}

#' @rdname cu_ida
#' @param all.pasets Instead of a graph: a list with an element for each column of the answer, which is a list with the
#'   positions of the parents of each cause.
#' @param technique `"RRC"`, recursive regressions, or `"MCD"`, modified Cholesky decompositions.
#' @export
cu_jointIda <- function(x.pos, y.pos, mcov, graphEst = NULL, all.pasets = NULL, technique = c("RRC", "MCD"),
                        type = c("pdag", "cpdag", "dag")) {
  arguments <- list(technique = match.arg(technique), type = match.arg(type))
  if (is.null(all.pasets) && is.null(graphEst)) error("`graphEst` or `all.pasets` must be given")
  if (!is.null(all.pasets)) {
    graphEst <- NULL
    labels <- effect_labels(check_mcov(mcov), NULL)
    fits <- function(sets) is.list(sets) && length(sets) == length(x.pos)
    if (!is.list(all.pasets) || !all(vapply(all.pasets, fits, NA))) {
      requirement <- sprintf("a list of lists, each with the parents of the %d causes", length(x.pos))
      refuse("all.pasets", requirement, all.pasets)
    }
    zero_based <- function(members) as.list(context_positions(members, "all.pasets", labels) - 1L)
    arguments$all_pasets <- lapply(unname(all.pasets), function(sets) lapply(unname(sets), zero_based))
  }
  found <- possible_effects("jointIda", x.pos, y.pos, mcov, graphEst, arguments, length(x.pos))
  if (length(y.pos) > 1L) found else found[[1L]]
}

#' Adjustment sets
#'
#' Finds a set of variables whose adjustment gives the total effects of x on y in every DAG that the graph allows, or
#' says whether a set is one: the answers of [pcalg::optAdjSet()] and [pcalg::gac()].
#'
#' The optimal set is the valid set with the smallest asymptotic variance in linear models (Henckel, Perkovic and
#' Maathuis 2022); the canonical set has all possible ancestors of x and y that are allowed, and is valid if any set is.
#'
#' @param graphEst A DAG or CPDAG, also with background knowledge, as for [cu_ida()].
#' @param x.pos,y.pos Positions of the causes and of the effects, or their names.
#' @param z Instead of a set that is to be found, the set that is to be judged: positions or names, perhaps none.
#' @param kind `"optimal"`, `"canonical"` or `"parents"`, those of x.
#' @return The positions of a set, ascending; an error if no set of this kind is valid. With `z`, `TRUE` or `FALSE`.
#' @references Perkovic, E., Textor, J., Kalisch, M. and Maathuis, M. H. (2018). Complete graphical characterization and
#'   construction of adjustment sets in Markov equivalence classes of ancestral graphs. Journal of Machine Learning
#'   Research 18, 1-62.
#' @examples
#' if (cu_available()) {
#'   m <- matrix(0, 4, 4, dimnames = rep(list(c("a", "x", "y", "b")), 2))
#'   m["a", c("x", "y")] <- m["x", "y"] <- m["b", "y"] <- 1
#'   cu_adjustment(m, "x", "y")
#'   cu_adjustment(m, "x", "y", z = character(0))
#' }
#' @seealso [cu_ida()]
#' @export
cu_adjustment <- function(graphEst, x.pos, y.pos, z = NULL, kind = c("optimal", "canonical", "parents")) {
  kind <- match.arg(kind)
  if (is.null(z)) {
    return(as.integer(possible_effects("adjustment", x.pos, y.pos, NULL, graphEst, list(kind = kind))[[1L]]) + 1L)
  }
  given <- list(given = as.list(context_positions(z, "z", effect_labels(NULL, graphEst)) - 1L))
  possible_effects("is_adjustment", x.pos, y.pos, NULL, graphEst, given)[[1L]] == 1
}

# A list with the values of each y: vectors, or matrices with this number of rows. `more`: further arrays.
possible_effects <- function(what, x, y, mcov, graph, arguments, rows = NULL, more = NULL) {
  if (!what %in% c("adjustment", "is_adjustment")) check_mcov(mcov)
  labels <- effect_labels(mcov, graph)
  if (!is.null(graph) || what != "jointIda") more <- c(more, list(graph = as.integer(graph_matrix(graph) != 0)))
  options <- list(
    `function` = what, labels = as.list(labels), arguments = arguments,
    x = as.list(effect_positions(x, "x.pos", labels) - 1L),
    y = as.list(effect_positions(y, if (what == "idaFast") "y.pos.set" else "y.pos", labels) - 1L)
  )
  check_different(options, what, labels)
  if (!is.null(mcov)) more$C <- as.double(mcov)
  answer <- compute("effects", options, more)$arrays
  found <- in_rows(answer$values, rep(seq_along(answer$sizes), answer$sizes), length(answer$sizes))
  found <- lapply(found, function(values) replace(values, is.nan(values), NA))
  if (is.null(rows)) found else lapply(found, matrix, nrow = rows)
}

# Several causes must be different, and for adjustment no effect may be among them, nor a member of a set that is given.
check_different <- function(options, what, labels) {
  x <- unlist(options$x) + 1L
  if (length(x) > 1L && anyDuplicated(x)) {
    error("`x.pos` must be different variables; ", quoted(labels[x[anyDuplicated(x)]]), " occurs more than once")
  }
  if (!what %in% c("adjustment", "is_adjustment")) return()
  y <- unlist(options$y) + 1L
  both <- intersect(x, y)
  if (length(both)) error("`x.pos` and `y.pos` must be different variables; both have ", quoted(labels[both]))
  both <- intersect(unlist(options$arguments$given) + 1L, c(x, y))
  if (length(both)) error("`z` must have no variable of `x.pos` or `y.pos`; it has ", quoted(labels[both]))
}

check_mcov <- function(mcov) {
  if (!is.numeric(mcov) || length(dim(mcov)) != 2L || nrow(mcov) != ncol(mcov)) {
    refuse("mcov", "a square covariance matrix", mcov)
  }
  mcov
}

# The names of the variables, after checking that the matrices, of which one may be NULL, have the same size.
effect_labels <- function(mcov, graph) {
  m <- if (is.null(graph) && !is.null(mcov)) mcov else graph_matrix(graph)
  if (!is.null(mcov) && ncol(m) != ncol(mcov)) {
    error("`mcov` and `graphEst` must have the same variables; got ", ncol(mcov), " and ", ncol(m))
  }
  check_row_names(mcov, "mcov")
  check_row_names(m, "graphEst")
  if (!is.null(graph) && !is.null(mcov)) check_variables(colnames(mcov), colnames(m))
  labels <- if (is.null(colnames(m))) colnames(mcov) else colnames(m)
  check_labels(if (is.null(labels)) as.character(seq_len(ncol(m))) else labels)
}

# A matrix whose rows have the names of its columns in another order has no position that means one variable.
check_row_names <- function(m, name) {
  turned <- !identical(rownames(m), colnames(m)) && setequal(rownames(m), colnames(m))
  if (turned) {
    error("`", name, "` must have its rows in the order of its columns; got ", quoted(rownames(m)[1]), " as the first ",
      "row and ", quoted(colnames(m)[1]), " as the first column")
  }
}

# Effects go by position, so the names of the covariances must be those of the graph, unless one has none, or 1, 2, ...
check_variables <- function(of_mcov, of_graph) {
  none <- function(names) is.null(names) || identical(names, as.character(seq_along(names)))
  if (none(of_mcov) || none(of_graph) || identical(of_mcov, of_graph)) return()
  if (setequal(of_mcov, of_graph)) {
    error("`mcov` must have the variables of `graphEst` in their order; it has them in another one. With `v` the ",
      "names in the graph, mcov[v, v] has the right order")
  }
  at <- which(of_mcov != of_graph)[[1]]
  error("`mcov` must have the variables of `graphEst`; got ", quoted(of_mcov[at]), " in the place of ",
    quoted(of_graph[at]))
}

graph_matrix <- function(graph) {
  as_matrix <- function(x) if (is.matrix(x)) x else tryCatch(methods::as(x, "matrix"), error = function(e) NULL)
  m <- as_matrix(if (methods::is(graph, "pcAlgo")) graph@graph else graph)
  if (inherits(graph, c("amat", "fciAlgo")) || !is.numeric(m) && !is.logical(m) || nrow(m) != ncol(m) || ncol(m) < 2L ||
    anyNA(m)) {
    refuse("graphEst", "a DAG or CPDAG: a result, or a square matrix (not amat) with arrows from row to column", graph)
  }
  if (any(diag(m) != 0)) {
    error("`graphEst` must have an empty diagonal; it has an edge of variable ", which(diag(m) != 0)[[1]], " to itself")
  }
  m
}

effect_positions <- function(x, name, labels) {
  if (!length(x)) refuse(name, "one variable or several", x)
  context_positions(x, name, labels)
}
