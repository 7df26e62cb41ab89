#' Compare two results
#'
#' Shows whether two results are equal and, if not, where they begin to differ: the level, the edge, the test with both
#' p-values and the condition number of its correlation matrix, the separating set, the triple or the orientation rule.
#'
#' With the conservative or the majority rule, the first difference is explained by the separating sets that the tests
#' found, before the rule changed some. An object made by [pcalg::pc()] does not contain them; give the name of the
#' method instead.
#'
#' @param a,b Objects of class [pcalg::pcAlgo-class], or the names of methods, which are then run: `"pycupc"`,
#'   `"pcalg-stable"`, `"pcalg-stable.fast"`; or two objects of class [pcalg::fciAlgo-class].
#' @param suffStat,alpha,labels,p As in [cu_pc()]. Methods need them; for two objects, `suffStat` serves to explain a
#'   difference.
#' @param ... Further arguments for the methods, of those that [cu_pc()] shares with [pcalg::pc()].
#' @param indepTest As in [cu_pc()]. Only tests by [pcalg::gaussCItest()] are computed again to explain a difference.
#' @param skeleton Should the methods stop before they orient the edges? They also do so if the other result is from
#'   [cu_skeleton()] or [pcalg::skeleton()].
#' @return A list of class `cu_comparison`, which prints as its `text`, with the elements
#'   * `equal`: TRUE or FALSE;
#'   * `parts`: which parts of the results are equal;
#'   * `differences`: a data frame of the pairs of variables on which the skeletons differ, by level, with both
#'     p-values and the condition number of the test that removed the edge;
#'   * `text`: the report.
#' @seealso [cu_pc()], [cu_why()]
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   S <- list(C = cor(pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))), n = 500)
#'   cu_compare("pycupc", "pcalg-stable", S, alpha = 0.05, p = 10)
#' }
#' @export
cu_compare <- function(a, b, suffStat = NULL, alpha = NULL, labels, p, ..., indepTest = "gaussCItest",
                       skeleton = FALSE) {
  need_pcalg("cu_compare()")
  if (missing(labels)) labels <- if (!missing(p)) as.character(seq_len(p))
  sides <- list(a = a, b = b)
  symbols <- Filter(is.symbol, list(a = substitute(a), b = substitute(b)))
  pags <- vapply(sides, methods::is, NA, "fciAlgo")
  if (any(pags) && !all(pags)) {
    error("`a` and `b` must both be results of fci() or rfci(), or neither; got ", describe(a), " and ", describe(b))
  }
  gaussian <- identical(built_in_test(indepTest), "gaussCItest")
  if (gaussian) suffStat <- as_correlations(suffStat)
  if (is.character(indepTest)) { # before a method runs, which may take long
    for (method in intersect(compare_methods[-1], Filter(is.character, sides))) function_of(indepTest, method)
  }
  skeleton <- skeleton || is_skeleton(a) || is_skeleton(b)
  names <- c(a = "result a", b = "result b")
  names[names(symbols)] <- vapply(symbols, as.character, "")
  for (side in c("a", "b")) {
    x <- sides[[side]]
    if (is.character(x)) {
      sides[[side]] <- run_method(x, suffStat, indepTest, alpha, labels, skeleton, ...)
      names[side] <- x
    } else if (methods::is(x, "pcAlgo") || pags[[side]]) {
      refuse_consensus(x, side)
    } else {
      refuse(side, paste("a pcAlgo or fciAlgo object, or one of", quoted(compare_methods)), x)
    }
  }
  names <- paste0(unname(names), if (names[["a"]] == names[["b"]]) c(" (a)", " (b)"))

  # Where a rule changed sets, and it is not known how the tests found them, the changed ones are compared.
  changed <- vapply(sides, function(fit) is.null(attr(fit, "cu_evidence")) && uses_rule(as.list(fit@call)), NA)
  as_found <- !any(pags) && !any(changed)
  if (!as_found) for (side in names(sides)) attr(sides[[side]], "cu_evidence") <- NULL
  a <- plain_fit(sides$a)
  b <- plain_fit(sides$b)
  data <- if (!is.null(suffStat) && gaussian) check_gauss(suffStat, length(a$options$labels))
  options <- c(a = a$options, b = b$options, list(names = as.list(names), alpha = alpha), data["n"])
  reply <- compute("compare", options, c(a = a$arrays, b = b$arrays, data["C"]))
  differences <- as.data.frame(reply$arrays)
  differences$removed_by <- names[differences$removed_by]
  found <- list(equal = reply$equal, parts = unlist(reply$parts), differences = differences, text = reply$text)
  structure(found, class = "cu_comparison")
}

#' @export
print.cu_comparison <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

compare_methods <- c("pycupc", "pcalg-stable", "pcalg-stable.fast")

# skeleton() stores edge weights as integers, pc() as doubles.
is_skeleton <- function(x) methods::is(x, "pcAlgo") && is.integer(x@graph@edgeData@defaults$weight)

run_method <- function(method, suffStat, indepTest, alpha, labels, skeleton, ...) {
  if (!(length(method) == 1L && method %in% compare_methods)) {
    error("a method must be one of ", quoted(compare_methods), "; got ", describe(method))
  }
  if (is.null(suffStat) || is.null(alpha) || is.null(labels)) {
    error("the method \"", method, "\" needs `suffStat`, `alpha`, and `labels` or `p`")
  }
  if (is.character(indepTest) && method != "pycupc") indepTest <- function_of(indepTest, method)
  args <- list(suffStat = suffStat, indepTest = indepTest, alpha = alpha, labels = labels, ...)
  if (method == "pycupc") {
    return(do.call(if (skeleton) cu_skeleton else cu_pc, args))
  }
  args[[if (skeleton) "method" else "skel.method"]] <- sub("pcalg-", "", method, fixed = TRUE)
  fit <- do.call(if (skeleton) pcalg::skeleton else pcalg::pc, args)
  if (!skeleton && uses_rule(args)) {
    args <- args[!names(args) %in% c("conservative", "maj.rule", "solve.confl", "u2pd", "skel.method")]
    args$method <- sub("pcalg-", "", method, fixed = TRUE)
    attr(fit, "cu_evidence") <- list(found = sepset_cells(do.call(pcalg::skeleton, args)@sepset))
  }
  fit
}

# The function of pcalg or micd that this test is, which built_in_test() knows; an error if they have none.
function_of <- function(test, method) {
  home <- if (test %in% tests_of_pcalg) "pcalg" else if (test %in% tests_of_micd) "micd"
  if (is.null(home)) {
    error("`indepTest` must be a test of pcalg or micd for the method \"", method, "\"; got ", quoted(test), ", which ",
      "only pycupc has: compare results of pycupc, as with \"KCI\" and \"gaussCItest\"")
  }
  if (!requireNamespace(home, quietly = TRUE)) {
    error("`indepTest` = ", quoted(test), " needs the package ", home, " for the method \"", method,
      "\": install.packages(", quoted(home), ")")
  }
  getExportedValue(home, test)
}

# Do the arguments name the conservative or the majority rule, which change separating sets?
uses_rule <- function(args) {
  any(vapply(c("conservative", "maj.rule"), function(name) !is.null(args[[name]]) && !isFALSE(args[[name]]), NA))
}

# `fit` with what pcalg's class has no place for, in the attribute "cu_evidence": `bytes`, the complete result as
# Python's StoredResult.to_bytes() writes it, and the `note`, why the graph is not a CPDAG, or "". Of a result of
# pcalg::pc() whose rule changed sets, run_method() puts the sets that the tests `found` there.
with_evidence <- function(fit, plain) {
  plot_without_rgraphviz()
  note <- if (is.null(plain$note)) "" else plain$note
  if (nzchar(note)) print_notes()
  attr(fit, "cu_evidence") <- list(bytes = plain$evidence, note = note)
  fit
}

# all.equal() of two objects, of which one may be of pcalg: their evidence is no part of the answer.

#' @exportS3Method all.equal pcAlgo
all.equal.pcAlgo <- function(target, current, ...) {
  attr(target, "cu_evidence") <- NULL
  if (isS4(current)) attr(current, "cu_evidence") <- NULL
  all.equal.default(target, current, ...)
}

#' @exportS3Method all.equal fciAlgo
all.equal.fciAlgo <- all.equal.pcAlgo

# An object as plain values, `options`, and `arrays`, with its evidence.
plain_fit <- function(fit) {
  plain <- as_plain(fit)
  plain$values$labels <- as.list(plain$values$labels)
  kept <- attr(fit, "cu_evidence")
  list(
    options = c(plain$values, found_every_cell = !is.null(kept$found)),
    arrays = c(plain$arrays, found = kept$found, list(evidence = kept$bytes)[!is.null(kept$bytes)])
  )
}
