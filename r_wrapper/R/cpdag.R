# Where the graph of a result is not a CPDAG: the CPDAG of the DAGs that extend it, and a line below pcalg's print().

#' The CPDAG of the DAGs that extend the graph of a result
#'
#' The graph of [cu_pc()] need not be a CPDAG: arrows that the tests ask for may contradict each other, which is usual
#' in real data, and the graph is then the one that pcalg has. If a DAG extends it, so that it directs the undirected
#' edges and adds no unshielded collider, all such DAGs are equivalent, and `cu_to_cpdag()` gives their CPDAG.
#'
#' `print()` and `summary()` of a result of [cu_pc()] or [cu_tpc()] say if the graph is not a CPDAG, once the session
#' has computed such a result.
#'
#' @param fit A result of [cu_pc()], [cu_tpc()] or [cu_consensus()], or of [pcalg::pc()].
#' @return The same object with the CPDAG in the slot `graph`: `fit` itself if it has one. An error if no DAG extends
#'   the graph; `u2pd = "retry"` in [cu_pc()] gives a graph that a DAG extends.
#' @references Dor, D. and Tarsi, M. (1992). A simple algorithm to construct a consistent extension of a partially
#'   oriented graph. Technical report R-185, University of California, Los Angeles.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(200, pcalg::randomDAG(8, 0.3))
#'   fit <- cu_pc(X, alpha = 0.05, u2pd = "retry")
#'   cu_to_cpdag(fit)
#' }
#' @seealso [cu_pc()]
#' @export
cu_to_cpdag <- function(fit) {
  if (!methods::is(fit, "pcAlgo")) refuse("fit", "a result of cu_pc() or pcalg::pc()", fit)
  cells <- graph_cells(fit@graph)
  labels <- names_in(fit)
  made <- part(compute("cpdag", list(labels = as.list(labels)), c(graph = cells))$arrays, "graph")
  as_text <- function(cells) do.call(paste, cells[c("from", "to", "mark")])
  if (setequal(as_text(cells), as_text(made))) return(fit)
  out <- fit
  out@graph <- as_graph(labels, made, "double")
  evidence <- attr(fit, "cu_evidence")
  if (!is.null(evidence)) attr(out, "cu_evidence") <- replace(evidence, "note", "")
  out
}

# pcalg's print(), show() and summary() of its class, which the results of cu_pc() have, with the note of a result
# below. They take the place of pcalg's for this session, once a result has a note; other results print as before.
print_notes <- function() {
  if (!is.null(state$prints_notes)) return()
  state$prints_notes <- TRUE
  theirs <- asNamespace("pcalg")
  noted <- function(method) {
    force(method)
    function(object, ...) {
      value <- method(object, ...)
      note <- attr(object, "cu_evidence")$note
      if (isTRUE(nzchar(note))) cat(strwrap(note), sep = "\n")
      invisible(value)
    }
  }
  home <- new.env(parent = theirs) # which keeps the methods
  summarised <- noted(methods::getMethod("summary", "pcAlgo", where = theirs))
  printed <- noted(utils::getS3method("print", "pcAlgo", envir = theirs))
  registerS3method("print", "pcAlgo", function(x, ...) printed(x, ...), baseenv())
  registerS3method("summary", "pcAlgo", function(object, ...) summarised(object, ...), baseenv())
  methods::setMethod("show", "pcAlgo", function(object) printed(object), where = home)
  generic <- methods::getGeneric("summary", where = theirs)
  methods::setMethod(generic, "pcAlgo", function(object, ...) summarised(object, ...), where = home)
}
