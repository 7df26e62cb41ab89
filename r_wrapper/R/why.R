#' Why two variables are, or are not, joined by an edge
#'
#' Names the test that removed an edge or, for a kept edge, its largest p-value and the reason of its arrow: the
#' collider or the rule that set it.
#'
#' The object does not hold the reasons of its arrows. They are found by orienting the skeleton again, and are missing
#' where that does not give the graph of the object: with `u2pd = "rand"`, and after the conservative or the majority
#' rule unless `suffStat` is given, since the tests of the rule are then made again. For the same reason, objects of
#' [pcalg::pc()] and objects that were read from a file are explained, too.
#'
#' @param fit A result of [cu_pc()], [cu_skeleton()], [pcalg::pc()] or [pcalg::skeleton()].
#' @param x,y Two variables, by position or by name.
#' @param suffStat What `fit` was computed from by [pcalg::gaussCItest()]: the list with `C` and `n`, or the
#'   observations. With it, the answer has the partial correlation and the cutoff of the test, too.
#' @param alpha The significance level of `fit`. By default the number in its call, if the call has one.
#' @return A list of class `cu_why`, which prints as a sentence, its `text`, with the elements
#'   * `x`, `y`: the variables, in the order of the deciding test;
#'   * `status`: `"removed"`, `"kept"`, `"gap"` (excluded by `fixedGaps`) or `"fixed"` (required by `fixedEdges`);
#'   * `level`, `side`, `S`, `r`, `z`, `p`, `cutoff`, `margin`: the test that removed the edge, or that came closest to
#'     it; its conditioning set is `S`, and `margin` is `cutoff - abs(r)`; NULL where not known;
#'   * `arrow`: what set the arrow, and the variables that took part, or NULL;
#'   * `n_tests`: how many tests a kept edge survived, as pcalg counts them.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_pc(X, alpha = 0.05)
#'   cu_why(fit, "1", "2", X)
#'   as.data.frame(fit)
#' }
#' @seealso [as.data.frame.pcAlgo()] for all edges, [cu_sepset()]
#' @export
cu_why <- function(fit, x, y, suffStat = NULL, alpha = NULL) {
  if (!methods::is(fit, "pcAlgo")) refuse("fit", "a result of cu_pc() or cu_skeleton()", fit)
  refuse_consensus(fit, "fit")
  labels <- graph::nodes(fit@graph)
  x <- position(x, labels)
  y <- position(y, labels)
  if (x == y) error("`x` and `y` must be different variables; got ", quoted(labels[x]), " twice")
  answer <- explain(fit, suffStat, alpha, question = "why", x = x, y = y)
  found <- answer$why
  for (name in c("S", "arrow")) if (!is.null(found[[name]])) found[[name]] <- as.character(unlist(found[[name]]))
  structure(c(found, text = answer$text), class = "cu_why")
}

#' @export
print.cu_why <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' The edges of a result as a data frame
#'
#' Lists the edges with their types, their largest p-values and the reasons of their arrows.
#'
#' @param x A result of [cu_pc()], [cu_skeleton()], [pcalg::pc()] or [pcalg::skeleton()], or of [cu_consensus()].
#' @param row.names,optional Not used.
#' @param suffStat,alpha As of [cu_why()]: needed only for what set the arrows after the conservative or the majority
#'   rule.
#' @param ... Not used.
#' @return A data frame with a row for each edge:
#'   * `from`, `to`: its ends, `from` --> `to` where it is directed;
#'   * `type`: `"directed"`, `"undirected"` or `"bidirected"`;
#'   * `pMax`: the largest p-value of its tests, NA if the object has none;
#'   * `set_by`: what set the arrow: `collider`, or `R1`, `R2` or `R3` for a rule, and the variables that took part; ""
#'     if the edge has no arrow or the reason is not known (see [cu_why()]).
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   as.data.frame(cu_pc(X, alpha = 0.05))
#' }
#' @export
as.data.frame.pcAlgo <- function(x, row.names = NULL, optional = FALSE, suffStat = NULL, alpha = NULL, ...) {
  answer <- explain(x, suffStat, alpha, question = "edges")
  labels <- graph::nodes(x@graph)
  data.frame(
    from = labels[answer$arrays$from], to = labels[answer$arrays$to], type = as.character(answer$type),
    pMax = answer$arrays$pMax, set_by = as.character(answer$set_by)
  )
}

# Python's answer to a question about the edges of a pcAlgo.
explain <- function(fit, suffStat, alpha, ...) {
  if (is.null(alpha) && is.numeric(fit@call$alpha)) alpha <- fit@call$alpha
  plain <- plain_fit(fit, remembered(fit))
  if (is_table(suffStat)) {
    suffStat <- list(C = stats::cor(check_observations(suffStat, "suffStat")), n = nrow(suffStat))
  }
  data <- if (!is.null(suffStat)) check_gauss(suffStat, length(plain$options$labels))
  known <- length(fit@sepset) > 0L || !is.null(attr(fit, "cu_sepset"))
  options <- c(a = plain$options, list(alpha = alpha, known = known, ...), data["n"])
  compute("explain", options, c(a = plain$arrays, data["C"]))
}
