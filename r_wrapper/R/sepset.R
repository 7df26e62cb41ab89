#' The separating set of two variables, and all of a sparse result
#'
#' `cu_sepset()` looks a set up in the slot `sepset`, or in the sparse form that `cu_pc(sepset = "sparse")` and
#' [cu_plain()] return. `cu_expand()` fills the slot of a sparse result with pcalg's list of lists, of p^2 cells of 8
#' bytes, which functions such as [pcalg::udag2pdagRelaxed()] and [pcalg::pc.cons.intern()] need; without it they stop
#' with "subscript out of bounds".
#'
#' @param fit A result of [cu_pc()], [cu_skeleton()], [cu_fci()], [cu_plain()], or of such a function of pcalg.
#' @param x,y Two variables, by position or by name.
#' @return `cu_sepset()`: the content of pcalg's cell `sepset[[x]][[y]]`: an integer vector, `integer(0)` for a pair
#'   that is independent without conditioning, or NULL. The test that separated a pair decides whether pcalg keeps its
#'   set in the cell `[[x]][[y]]` or in `[[y]][[x]]`. `cu_expand()`: the object that `sepset = "list"` gives; `fit`
#'   itself, if its slot is filled.
#' @seealso [cu_why()], [cu_pc()]
#' @examples
#' if (cu_available()) {
#'   C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
#'   answer <- cu_plain("skeleton", list(C = C, n = 100), alpha = 0.05, p = 3)
#'   cu_sepset(answer, 1, 3)
#' }
#' @export
cu_sepset <- function(fit, x, y) {
  if (!is.list(fit)) {
    if (!inherits(fit, c("pcAlgo", "fciAlgo"))) refuse("fit", "a result of cu_pc() or cu_fci()", fit)
    refuse_consensus(fit, "fit")
  }
  if (is.list(fit) && (is.null(fit$sepset) || is.null(fit$labels))) refuse("fit", "a result of cu_plain()", fit)
  s <- if (is.list(fit)) fit$sepset else attr(fit, "cu_sepset")
  labels <- if (is.list(fit)) fit$labels else names_in(fit)
  p <- length(labels)
  x <- position(x, labels)
  y <- position(y, labels)
  if (is.null(s)) return(fit@sepset[[x]][[y]])
  at <- which(s$x == x & s$y == y)
  if (length(at)) {
    end <- sum(as.double(s$length[seq_len(at)]))
    return(s$members[end - s$length[at] + seq_len(s$length[at])])
  }
  adjacent <- if (is.list(fit)) adjacent_cells(fit) else s$adjacent
  other <- any(s$x == y & s$y == x) || any(s$gap_x == x & s$gap_y == y) || ((y - 1) * p + x) %in% adjacent
  if (x < y && !other) integer(0)
}

# The position of a variable, which is given by position or by name.
position <- function(v, labels) {
  at <- if (is.character(v)) match(v, labels) else if (is.numeric(v)) match(v, seq_along(labels))
  if (length(at) != 1L || is.na(at)) {
    refuse("x` and `y", paste("names of variables or positions from 1 to", length(labels)), v)
  }
  at
}

#' @rdname cu_sepset
#' @export
cu_expand <- function(fit) {
  if (!methods::is(fit, "pcAlgo")) refuse("fit", "a result of cu_pc() or cu_skeleton()", fit)
  sparse <- attr(fit, "cu_sepset")
  if (is.null(sparse)) return(fit)
  fit@sepset <- expand_sepset(list(labels = graph::nodes(fit@graph), sepset = sparse), sparse$adjacent)
  attr(fit, "cu_sepset") <- NULL
  fit
}

# Says once per session that sepset = "auto" is "sparse" for this number of variables.
say_sparse <- function(sepset, p) {
  if (sepset == "auto" && p > list_at_most && is.null(state$said_sparse)) {
    state$said_sparse <- TRUE
    message("more than ", list_at_most, " variables: the slot `sepset` is empty, and cu_sepset() looks a set up. ",
      "cu_expand() fills the slot; `sepset = \"list\"` does so at once, `sepset = \"sparse\"` is silent")
  }
}
