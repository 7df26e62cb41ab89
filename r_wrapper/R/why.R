#' Why two variables are, or are not, joined by an edge, and all edges of a result
#'
#' `cu_why()` names the test that removed an edge or, for a kept edge, its largest p-value and the reason of its arrow
#' or of its marks: the collider or the rule that set it. `as.data.frame()` lists all edges with their types, largest
#' p-values and reasons.
#'
#' A result of this package keeps its evidence, also in files (`saveRDS()`): the tests that removed edges, what set the
#' marks, the pairs that were not tested for lack of data (n is too small for the G^2 test, or too few rows have all its
#' variables), and of up to 1,413 variables the correlations. Beyond, r needs `suffStat`. The evidence is the attribute
#' `cu_evidence`; it is no part of what [all.equal()] compares, and `attr(fit, "cu_evidence") <- NULL` removes it.
#'
#' An object of pcalg does not hold the reasons of its marks. They are found by orienting the skeleton again, and are
#' missing where that does not give the graph of the object: with `u2pd = "rand"`, where tests of [pcalg::rfci()]
#' removed edges while the rules set marks, and after the conservative or the majority rule, which `tpc::tpc()` always
#' uses, unless `suffStat` is given, since the tests of the rule are then made again. Whether a pair was tested is known
#' with `suffStat`, too.
#'
#' @param fit A result of [cu_pc()], [cu_skeleton()], [cu_tpc()], [cu_fci()] or [cu_rfci()], or of the same function of
#'   pcalg.
#' @param x,y Two variables, by position or by name. For `as.data.frame()`, `x` is the result, also of [cu_consensus()].
#' @param suffStat The data that `fit` was computed from, in the form of the test in its call, where `fit` does not keep
#'   what is asked for. With those of [pcalg::gaussCItest()], the answer has the partial correlation and the cutoff of
#'   the test, too.
#' @param alpha The significance level of `fit`. By default the level that it keeps, else the number in its call, or
#'   0.01 without one.
#' @return `cu_why()`: a list of class `cu_why`, which prints as a sentence, its `text`, with the elements
#'   * `x`, `y`: the variables, in the order of the deciding test;
#'   * `status`: `"removed"`, `"kept"`, `"gap"` (excluded by `fixedGaps`) or `"fixed"` (required by `fixedEdges`);
#'   * `level`, `side`, `S`, `r`, `z`, `p`, `cutoff`, `margin`: the test that removed the edge, or that came closest to
#'     it; its conditioning set is `S`, and `margin` is `cutoff - abs(r)`; NULL where not known;
#'   * `arrow`: what set the arrow, and the variables that took part, or NULL;
#'   * `n_tests`: how many tests a kept edge survived, as pcalg counts them;
#'   * `needed`, `n`: of a pair that was not tested, how many observations its test needs, and how many there are;
#'   * `stage`: `"possible-d-sep"` or `"rfci"` if a test after those of the skeleton removed the edge;
#'   * `symbol` and `set_by`, of a PAG: the edge with its marks, such as `"o->"`, and what set the mark at `x` and that
#'     at `y`, nothing for a circle.
#'
#'   `as.data.frame()`: a data frame with a row for each edge:
#'   * `from`, `to`: its ends, `from` --> `to` where it is directed;
#'   * `type`: `"directed"`, `"undirected"` or `"bidirected"`; of a PAG also `"partially directed"` (`o->`),
#'     `"nondirected"` (`o-o`) or `"partially undirected"` (`o--`);
#'   * `pMax`: the largest p-value of its tests, NA if the object has none;
#'   * `r`: the correlation of its ends, given nothing, which shows its sign and strength; NA for tests without
#'     correlations, and where neither the object nor `suffStat` has them;
#'   * `set_by`: what set the arrow: `collider`, or `R1`, `R2` or `R3` for a rule, and the variables that took part; ""
#'     if the edge has no arrow or the reason is not known. Of a PAG this is about the mark at `to`, and the column
#'     `from_set_by` about that at `from`; `edge` has both marks, such as `o->`.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_pc(X, alpha = 0.05)
#'   cu_why(fit, "1", "2", X)
#'   as.data.frame(fit)
#' }
#' @seealso [cu_sepset()]
#' @export
cu_why <- function(fit, x, y, suffStat = NULL, alpha = NULL) {
  pag <- methods::is(fit, "fciAlgo")
  if (!pag && !methods::is(fit, "pcAlgo")) refuse("fit", "a result of cu_pc(), cu_fci() or another function", fit)
  refuse_consensus(fit, "fit")
  labels <- names_in(fit)
  x <- position(x, labels)
  y <- position(y, labels)
  if (x == y) error("`x` and `y` must be different variables; got ", quoted(labels[x]), " twice")
  answer <- explain(fit, suffStat, alpha, question = "why", x = x, y = y)
  found <- answer$why
  for (name in c("S", "arrow")) if (!is.null(found[[name]])) found[[name]] <- as.character(unlist(found[[name]]))
  unsure <- is.null(suffStat) && is.null(found$needed) && is.null(attr(fit, "cu_evidence")) &&
    test_in_call(fit, suffStat) != "gaussCItest"
  if (identical(found$status, "removed") && unsure && isTRUE(found$p == 1)) {
    answer$text <- paste0(answer$text, "; or not tested for lack of data, where p is 1, too: `suffStat` decides which")
  }
  if (pag) found$set_by <- lapply(found$set_by, function(reason) as.character(unlist(reason)))
  structure(c(found, text = answer$text), class = "cu_why")
}

#' @export
print.cu_why <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @rdname cu_why
#' @param row.names,optional,... Not used.
#' @export
as.data.frame.pcAlgo <- function(x, row.names = NULL, optional = FALSE, suffStat = NULL, alpha = NULL, ...) {
  answer <- explain(x, suffStat, alpha, question = "edges")
  columns <- unlist(answer$columns)
  known <- function(numbers) replace(numbers, is.nan(numbers), NA)
  data.frame(sapply(columns, function(name) {
    if (is.null(answer$arrays[[name]])) as.character(answer[[name]]) else known(answer$arrays[[name]])
  }, simplify = FALSE))
}

#' @rdname cu_why
#' @export
as.data.frame.fciAlgo <- as.data.frame.pcAlgo

# Python's answer to a question about the edges of a pcAlgo or fciAlgo.
explain <- function(fit, suffStat, alpha, ...) {
  given <- !is.null(alpha)
  if (given) check_share(alpha, "alpha")
  if (!given) alpha <- if (is.null(fit@call$alpha)) 0.01 else if (is.numeric(fit@call$alpha)) fit@call$alpha
  plain <- plain_fit(fit)
  data <- if (!is.null(suffStat)) data_of_result(fit, suffStat)
  if (methods::is(fit, "fciAlgo")) {
    jci <- in_call(fit, "jci")
    more <- list(known = !uses_rule(as.list(fit@call)), rules = as.list(in_call(fit, "rules")),
      jci = if (!identical(jci, "0")) jci, context = as.list(as.integer(in_call(fit, "contextVars")) - 1L))
  } else {
    more <- list(known = length(fit@sepset) > 0L || !is.null(attr(fit, "cu_sepset")))
  }
  options <- c(a = plain$options, list(alpha = alpha, alpha_given = given, ...), more, data$options)
  compute("explain", options, c(a = plain$arrays, data$arrays))
}

# `suffStat` of cu_why() as `options` and `arrays` for Python: the data of the test that the call of `fit` names; where
# the call does not say which, its form decides.
data_of_result <- function(fit, suffStat) {
  labels <- names_in(fit)
  if (is.null(fit@call$indepTest) && is.data.frame(suffStat) && ncol(suffStat) > length(labels)) {
    suffStat <- variables_of(suffStat, "suffStat", say = FALSE)
  }
  chosen <- if (is.null(fit@call$indepTest) && is.data.frame(suffStat)) chosen_test(suffStat, "suffStat", say = FALSE)
  if (!is.null(chosen)) suffStat <- chosen$data
  test <- if (is.null(chosen)) test_in_call(fit, suffStat) else chosen$test
  if (is_table(suffStat) && ncol(suffStat) != length(labels)) {
    refuse("suffStat", paste("the data of the result, with", length(labels), "variables"), suffStat)
  }
  if (test == "gaussCItest") suffStat <- as_correlations(suffStat)
  data <- if (is_table(suffStat, test)) check_table(suffStat, length(labels), test) else
    check_data(suffStat, length(labels), test)
  data_names <- if (is_table(suffStat)) list(suffStat = suffStat) else
    list(`suffStat$C` = suffStat$C, `suffStat$dm` = suffStat$dm)
  say_names(labels, data_names, "the variables of the result")
  parts <- names(data) %in% data_vectors
  list(options = c(list(test = test), data[!parts]), arrays = data[parts])
}

# The name of the test that the call of a result names, as a string or as the function of pcalg or micd.
test_in_call <- function(fit, suffStat) {
  given <- fit@call$indepTest
  if (is.call(given) && length(given) == 3L && as.character(given[[1]]) %in% c("::", ":::")) given <- given[[3]]
  name <- if (is.symbol(given) || is.character(given)) as.character(given)
  if (isTRUE(name %in% c(built_in_tests, more_tests()))) return(name)
  is_coded <- is.list(suffStat) && !is.data.frame(suffStat) && !is.null(suffStat$dm)
  if (is_coded) "disCItest" else "gaussCItest"
}

# `suffStat` of gaussCItest, which may be the observations, as the list of C and n.
as_correlations <- function(suffStat) {
  if (!is_table(suffStat)) return(suffStat)
  list(C = stats::cor(check_table(suffStat, ncol(suffStat), "gaussCItest")$x), n = nrow(suffStat))
}

# An argument of the call that made an object, if it is written there in values, not as a name, which base may have too.
in_call <- function(fit, name) {
  if (!is.symbol(fit@call[[name]])) tryCatch(keep_seed(eval(fit@call[[name]], baseenv())), error = function(e) NULL)
}
