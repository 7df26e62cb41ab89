# Methods for the result of cu_stability(). Only Python knows how the edges of the consensus graph are marked and how
# the bounds are computed, so the object is sent there for each such question.

#' Methods for the result of `cu_stability()`
#'
#' `print()` shows what was run, and `summary()` how many edges are stable and, if a bound is known, how many of these
#' are expected to be false. `as.data.frame()` lists the edges, `plot()` draws [cu_consensus()] with package igraph, the
#' more frequent edges thicker. `cu_rows()` gives the rows of a resample.
#'
#' @param object,x A result of [cu_stability()].
#' @param threshold Least share of the resamples in which the two variables are adjacent.
#' @param alpha One of the levels of the run; by default all of them, for `plot()` the first.
#' @param method See [cu_bound()].
#' @param row.names,optional Not used.
#' @param ... For `plot()`: arguments of [igraph::plot.igraph()]. Otherwise not used.
#' @return `as.data.frame()`: a data frame with the columns `from` and `to` (labels); `adjacent`, `directed` (from -->
#'   to), `reversed` (from <-- to), `undirected`, `bidirected`: shares of the resamples; and `alpha`. Most frequent
#'   edges first; from --> to is the more frequent of the two directions. Of a PAG the shares are `adjacent` and those
#'   of the marks at each end, `from_circle`, ..., `to_tail`; `to` has an arrowhead at least as often as `from`.
#'
#'   `summary()`: a list of class `summary.cu_stability` with `object`; `threshold`; `table`, a data frame with a row
#'   for each level: `alpha`, `edges_per_graph` (mean), `ever_adjacent`, `stable` (pairs that are adjacent in at least a
#'   share `threshold`), `tests_per_graph` (mean), and `bound`, [cu_bound()] or NA; and `note`, why there is no bound,
#'   or NULL.
#'
#'   `cu_rows()`: positions of rows, ascending; with the bootstrap a row may occur several times. The graph of the
#'   resample is that of [cu_pc()] on these rows.
#' @seealso [cu_stability()]
#' @name cu_stability-methods
#' @examples
#' if (cu_available()) {
#'   found <- cu_stability(as.matrix(iris[, 1:4]), n_resamples = 20, scheme = "subsample", seed = 1)
#'   summary(found, threshold = 0.8)
#'   as.data.frame(found, threshold = 0.5)
#'   cu_rows(found, 1)
#' }
NULL

#' @rdname cu_stability-methods
#' @export
print.cu_stability <- function(x, ...) {
  cat(described_study(x), "\n", sep = "")
  for (level in x$alpha) {
    times <- adjacent(x$pairs[x$pairs$alpha == level, ])
    cat(sprintf("alpha %g: %d pairs ever adjacent, %d in at least half of the resamples\n", level, length(times),
      sum(times >= least_count(0.5, x$n_resamples))))
  }
  invisible(x)
}

#' @rdname cu_stability-methods
#' @export
summary.cu_stability <- function(object, threshold = 0.9, method = NULL, ...) {
  check_share(threshold, "threshold")
  no_bound <- NULL
  rows <- lapply(seq_along(object$alpha), function(k) {
    level <- object$alpha[k]
    times <- adjacent(object$pairs[object$pairs$alpha == level, ])
    bound <- tryCatch(cu_bound(object, threshold, level, method), pycupc_ValueError = function(e) {
      if (!is.null(method)) stop(e)
      no_bound <<- conditionMessage(e)
      NA_real_
    })
    data.frame(
      alpha = level, edges_per_graph = sum(times) / object$n_resamples, ever_adjacent = length(times),
      stable = sum(times >= least_count(threshold, object$n_resamples)), tests_per_graph = mean(object$n_tests[, k]),
      bound = bound
    )
  })
  found <- list(object = object, threshold = threshold, table = do.call(rbind, rows), note = no_bound)
  structure(found, class = "summary.cu_stability")
}

#' @export
print.summary.cu_stability <- function(x, ...) {
  cat(described_study(x$object), "\n\n", sep = "")
  print(x$table, row.names = FALSE, digits = 4)
  about <- "bound: on the expected number of false edges among the stable ones; ?cu_bound says what it assumes"
  if (!is.null(x$note)) about <- x$note
  cat("\nstable: adjacent in at least ", format(100 * x$threshold), " % of the resamples\n", sep = "")
  cat(strwrap(about), sep = "\n")
  said <- "in %d resamples some variables were %s, at most %d at once\n"
  for (name in c("n_constant", "n_copies")) {
    numbers <- x$object[[name]]
    kind <- if (name == "n_constant") "constant" else "identical to others"
    if (any(numbers > 0)) cat(sprintf(said, sum(numbers > 0), kind, max(numbers)))
  }
  invisible(x)
}

#' @rdname cu_stability-methods
#' @export
as.data.frame.cu_stability <- function(x, row.names = NULL, optional = FALSE, ..., threshold = 0, alpha = x$alpha) {
  check_share(threshold, "threshold")
  pairs <- x$pairs[x$pairs$alpha %in% alpha_of(x, alpha), ]
  pairs <- pairs[adjacent(pairs) >= least_count(threshold, x$n_resamples), ]
  marks <- setdiff(names(pairs), c("alpha", "from", "to"))
  shares <- cbind(adjacent = adjacent(pairs), pairs[marks]) / x$n_resamples
  data.frame(from = x$labels[pairs$from], to = x$labels[pairs$to], shares, alpha = pairs$alpha, row.names = NULL)
}

#' @rdname cu_stability-methods
#' @export
plot.cu_stability <- function(x, threshold = 0.5, alpha = x$alpha[1], ...) {
  if (!requireNamespace("igraph", quietly = TRUE)) {
    error("plot() of a result of cu_stability() needs the package igraph: install.packages(\"igraph\")")
  }
  edge <- consensus_part(x, threshold, alpha, "edge")
  ends <- cbind(edge$low, edge$high)
  mode <- (edge$low_mark == 2) + 2 * (edge$high_mark == 2) # igraph: 1 backward, 2 forward, 3 both ends, 0 none
  pairs <- x$pairs[x$pairs$alpha == alpha, ]
  key <- function(a, b) paste(pmin(a, b), pmax(a, b))
  share <- (adjacent(pairs) / x$n_resamples)[match(key(ends[, 1], ends[, 2]), key(pairs$from, pairs$to))]
  used <- sort(unique(as.vector(ends)))
  graph <- igraph::make_empty_graph(length(used))
  graph <- igraph::add_edges(graph, match(t(ends), used))
  look <- list(vertex.label = x$labels[used], edge.arrow.mode = mode, edge.width = 4 * share)
  if (method_of(x) != "pc") {
    look$edge.label <- paste0(c("o", "<", "-")[edge$low_mark], "-", c("o", ">", "-")[edge$high_mark])
  }
  given <- list(...)
  do.call(plot, c(list(graph), look[setdiff(names(look), names(given))], given))
  invisible(x)
}

#' The graph of the stable edges
#'
#' @param object A result of [cu_stability()].
#' @param threshold Least share of the resamples in which the two variables of an edge are adjacent.
#' @param alpha One of the levels of the run; by default the first.
#' @return An object of class [pcalg::pcAlgo-class], which pcalg's functions accept. Its graph contains the stable
#'   edges. The mark of an edge is the one that more than half of the graphs have in which its variables are adjacent;
#'   where no mark has that majority, the edge is undirected. The arrows are chosen edge by edge, so that together they
#'   need not be a CPDAG; there may even be a cycle. For the methods `"fci"` and `"rfci"` an object of class
#'   [pcalg::fciAlgo-class]; each end of an edge has the mark that more than half of these graphs have there, or a
#'   circle.
#'
#'   No tests were made for this graph, and the other slots say so: `sepset` is an empty list, `n.edgetests` and
#'   `max.ord` are 0, `n` has length 0, `pMax` and `zMin` are 1 x 1 matrices of NA.
#' @seealso [cu_stability()]; `as.data.frame()` of its result has the same edges with their frequencies.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   found <- cu_stability(as.matrix(iris[, 1:4]), n_resamples = 20, seed = 1)
#'   cu_consensus(found, threshold = 0.5)
#' }
#' @export
cu_consensus <- function(object, threshold = 0.5, alpha = object$alpha[1]) {
  cl <- match.call()
  check_study(object)
  need_pcalg("cu_consensus()", "as.data.frame() lists the stable edges")
  plain <- list(labels = object$labels, max.ord = 0L, n.edgetests = 0)
  if (method_of(object) == "pc") {
    return(as_pcalgo(c(plain, list(graph = consensus_part(object, threshold, alpha, "graph"))), cl, "double"))
  }
  untested <- list(pdsep = list(length = 0L), n.edgetestsPDSEP = 0, max.ordPDSEP = 0L, sets = list())
  as_fcialgo(c(plain, list(edge = consensus_part(object, threshold, alpha, "edge")), untested), cl)
}

#' How many stable edges are expected to be false?
#'
#' `cu_bound()` bounds the expected number of false edges among those that are adjacent in at least a share `threshold`
#' of the resamples. `cu_threshold()` is the smallest threshold whose bound is at most `n_false`.
#'
#' With q, the mean number of edges of a graph, and N, the number of pairs that are tested, the bounds are
#' q^2 / ((2 threshold - 1) N) or a smaller multiple of q^2 / N. They concern adjacencies, whatever their marks.
#'
#' * `"meinshausen-buehlmann"`, the theorem of Meinshausen and Buehlmann (2010), for `"subsample"` with half of the
#'   rows. It assumes that the pairs without an edge are exchangeable and that PC is no worse than random guessing. For
#'   causal graphs the first assumption is at best an approximation: pairs with a short indirect path are selected more
#'   often.
#' * `"worst-case"`, of Shah and Samworth (2013), for `"complementary"`. It assumes nothing about the data, but it
#'   bounds only the expected number of selected pairs that PC finds, on half of the rows, with a probability of at most
#'   q / N. These are the false edges if each pair without an edge is found at most as often as an average pair.
#' * `"unimodal"`, a smaller bound from the same paper for the same scheme. It assumes in addition that for each such
#'   pair the share of complementary pairs of which both halves have the edge has a unimodal distribution.
#'
#' No bound is known for the bootstrap; asking for one is an error.
#'
#' @param object A result of [cu_stability()].
#' @param threshold A share above 1/2; at or below it no bound holds, and the answer is Inf.
#' @param n_false Number of edges, greater than 0, not necessarily whole.
#' @param alpha One of the levels of the run; by default the first.
#' @param method The name of a bound; by default the first of those of the scheme in the list above.
#' @return One number.
#' @inherit cu_stability references
#' @seealso [cu_stability()], [cu_consensus()]
#' @examples
#' if (cu_available()) {
#'   set.seed(1)
#'   X <- matrix(rnorm(4000), 200)
#'   found <- cu_stability(X, alpha = 0.001, n_resamples = 20, scheme = "complementary")
#'   cu_bound(found, threshold = 0.9)
#'   cu_threshold(found, n_false = 1)
#' }
#' @export
cu_bound <- function(object, threshold, alpha = object$alpha[1], method = NULL) {
  check_share(threshold, "threshold")
  ask(object, "bound", threshold = threshold, alpha = alpha_of(object, alpha, one = TRUE), method = method)$value
}

#' @rdname cu_bound
#' @export
cu_threshold <- function(object, n_false, alpha = object$alpha[1], method = NULL) {
  n_false <- check_number(n_false, "n_false", "a number of edges above 0", function(x) x > 0)
  alpha <- alpha_of(object, alpha, one = TRUE)
  ask(object, "threshold_for", n_false = n_false, alpha = alpha, method = method)$value
}

#' @rdname cu_stability-methods
#' @param i Number of a resample, from 1 on.
#' @export
cu_rows <- function(object, i) {
  check_study(object)
  i <- check_number(i, "i", paste("the number of a resample, from 1 to", object$n_resamples),
    function(x) x >= 1 && x <= object$n_resamples && x == round(x))
  ask(object, "indices", i = as.integer(i))$arrays$indices
}

# The consensus graph as `edge`, or as `graph` if it has no circles, of pcalgo.R.
consensus_part <- function(object, threshold, alpha, name) {
  check_share(threshold, "threshold")
  alpha <- alpha_of(object, alpha, one = TRUE)
  part(ask(object, "consensus", threshold = threshold, alpha = alpha)$arrays, name)
}

# The algorithm; objects of earlier versions lack it.
method_of <- function(object) if (is.null(object$method)) "pc" else object$method

check_study <- function(object) {
  if (!inherits(object, "cu_stability")) refuse("object", "a result of cu_stability()", object)
}

# Python's answer to a question about the result: `value`, or `arrays`.
ask <- function(object, question, ...) {
  check_study(object)
  counted <- vapply(object$alpha, function(level) sum(object$pairs$alpha == level), 1)
  values <- c(object[c("n", "scheme", "fraction", "seed", "n_resamples", "n_pairs", "n_fixed")],
    method = method_of(object))
  lists <- lapply(list(labels = object$labels, alphas = object$alpha, n_pairs_ever = counted), as.list)
  arrays <- c(pair = as.list(object$pairs[-1]), object[c("n_constant", "n_copies", "constant", "n_tests")])
  compute("ask", c(values, lists, list(question = question, given = list(...))), arrays)
}

described_study <- function(x) {
  sprintf("%s on %d resamples (%s) of %d observations of %d variables, seed %.0f", toupper(method_of(x)),
    as.integer(x$n_resamples), x$scheme, as.integer(x$n), length(x$labels), x$seed)
}

# Numbers of resamples in which the pairs were adjacent.
adjacent <- function(pairs) {
  if (is.null(pairs$directed)) return(pairs$from_circle + pairs$from_arrow + pairs$from_tail)
  pairs$directed + pairs$reversed + pairs$undirected + pairs$bidirected
}

# The least number of resamples that is a share of at least `threshold`; as in Python (consensus.py).
least_count <- function(threshold, n_resamples) max(1, ceiling(round(threshold * n_resamples, 9)))

alpha_of <- function(object, alpha, one = FALSE) {
  check_study(object) # before the default of `alpha`
  if (!is.numeric(alpha) || !length(alpha) || one && length(alpha) > 1L || !all(alpha %in% object$alpha)) {
    refuse("alpha", paste(if (one) "one of" else "some of", paste(object$alpha, collapse = ", ")), alpha)
  }
  alpha
}
