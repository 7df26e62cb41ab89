# cu_cstar(): causal stability ranking, computed by pycupc.cstar.

#' Which causes have a stably large effect? Causal stability ranking
#'
#' Runs [cu_pc()] on subsamples of the rows, finds in each the pairs of cause and effect whose smallest absolute
#' possible effect ([cu_ida()]) is among the largest, and ranks the pairs by how often that happens (Stekhoven et al.
#' 2012).
#'
#' In each resample a pair is selected at q if it is among the q pairs with the largest effects; pi is the share of the
#' resamples that select it. For each number in `q` the pairs are ranked by pi (equal shares have the mean of their
#' ranks, and a share of 0 the rank infinity), and the median of these ranks is the rank of the pair. Pairs whose
#' smallest possible effect is 0 or undefined are never selected.
#'
#' **The bound.** Of N candidate pairs, the expected share of pairs without an effect among those selected in a share pi
#' of the resamples is at most (q / N)^2 / (2 pi - 1) for pi > 1/2, if the pairs without an effect are exchangeable and
#' the ranking is no worse than a random one (Meinshausen and Buehlmann 2010). Causal data rarely fulfil the first
#' assumption.
#'
#' Random numbers and Ctrl-C are as in [cu_stability()], which draws the same resamples for the same seed.
#'
#' @inheritParams cu_stability
#' @param x The observations: a numeric matrix or data frame with a row for each observation and a column for each
#'   variable. For `as.data.frame()` a result.
#' @param causes,effects The candidates: names, or positions of columns; by default all variables.
#' @param q One or more numbers of pairs; by default up to ten numbers, evenly spaced up to the square root of the
#'   number of candidate pairs.
#' @param alpha Significance level of each test.
#' @param scheme As in [cu_stability()]; by default halves of the rows, as in the paper.
#' @param standardize Effects in standard deviations? Otherwise they are in the units of the data.
#' @param u2pd,conservative,maj.rule,solve.confl How the edges are oriented, as in [cu_pc()].
#' @return An object of class `cu_cstar`, a list of plain values:
#'   * `ranking`, also by `as.data.frame()`: a data frame of the pairs that were ever selected, the best first: `cause`
#'     and `effect`; `median_rank`; `pi` at the largest q; `value`, the median of the effects in the resamples that
#'     select the pair, and `low` and `high`, the middle 95 % of them; `pcer`, the bound for the pair's pi, or NA;
#'   * `labels`, `alpha`, `q`, `n_pairs` (candidates), `n`, `n_resamples`, `scheme`, `fraction`, `seed`.
#' @references Stekhoven, D. J., Moraes, I., Sveinbjoernsson, G., Hennig, L., Maathuis, M. H. and Buehlmann, P. (2012).
#'   Causal stability ranking. Bioinformatics 28, 2819-2823.
#'
#'   Meinshausen, N. and Buehlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B 72,
#'   417-473.
#' @seealso [cu_stability()], [cu_ida()]
#' @examples
#' if (cu_available()) {
#'   set.seed(1)
#'   X <- matrix(rnorm(2000), 200, dimnames = list(NULL, letters[1:10]))
#'   for (j in 2:10) X[, j] <- X[, j] + 0.6 * X[, j - 1]
#'   found <- cu_cstar(X, effects = "j", n_resamples = 20)
#'   head(as.data.frame(found))
#' }
#' @export
cu_cstar <- function(x, causes = NULL, effects = NULL, q = NULL, n_resamples = 100, alpha = 0.01,
                     scheme = c("subsample", "complementary", "bootstrap"), fraction = 0.5, standardize = TRUE, labels,
                     fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE, m.max = Inf,
                     u2pd = c("relaxed", "rand", "retry"), conservative = FALSE, maj.rule = FALSE, solve.confl = FALSE,
                     numCores = NULL, engine = "auto", checkpoint = NULL, progress = interactive(), seed = NULL) {
  u2pd <- match.arg(u2pd)
  check_orientation(u2pd, conservative, maj.rule, solve.confl)
  labels <- labels_for(x, labels)
  X <- check_observations(x)
  check_complete(X, column_names(x), "x", "leave such rows out, or impute")
  alpha <- check_share(alpha, "alpha")
  whole <- is.numeric(q) && length(q) && !anyNA(q) && all(q == round(q) & q < 2^31)
  if (!is.null(q) && !whole) refuse("q", "one or more whole numbers", q)
  candidates <- function(v, name) {
    if (is.null(v)) return()
    at <- effect_positions(v, name, labels)
    if (anyDuplicated(at)) error("`", name, "` has ", quoted(labels[at[anyDuplicated(at)]]), " more than once")
    as.list(at - 1L)
  }
  own <- list(
    causes = candidates(causes, "causes"), effects = candidates(effects, "effects"),
    q = if (!is.null(q)) as.list(as.integer(q)), standardize = check_flag(standardize, "standardize")
  )
  reply <- on_resamples("cstar", environment(), list(x = X), "gaussCItest", labels, match.arg(scheme), own)
  ranking <- data.frame(reply$arrays[c("cause", "effect", "median_rank", "pi", "value", "low", "high", "pcer")])
  ranking[c("cause", "effect")] <- lapply(ranking[c("cause", "effect")], function(at) labels[at])
  ranking$pcer[is.nan(ranking$pcer)] <- NA
  structure(c(
    list(ranking = ranking, labels = labels, alpha = alpha, q = reply$arrays$q),
    reply[c("n_pairs", "n", "n_resamples", "scheme", "fraction", "seed")]
  ), class = "cu_cstar")
}

#' @rdname cu_cstar
#' @param row.names,optional Not used.
#' @param ... For `plot`, arguments of [graphics::dotchart()]; otherwise not used.
#' @export
as.data.frame.cu_cstar <- function(x, row.names = NULL, optional = FALSE, ...) x$ranking

#' @export
print.cu_cstar <- function(x, ...) {
  cat(sprintf("Causal stability ranking of %.0f pairs on %d resamples (%s) of %d observations, seed %.0f\n", x$n_pairs,
    as.integer(x$n_resamples), x$scheme, as.integer(x$n), x$seed))
  print(utils::head(x$ranking, 10), digits = 3)
  invisible(x)
}

#' @rdname cu_cstar
#' @param n The number of pairs in the picture: the first of the ranking, their effects with the intervals.
#' @export
plot.cu_cstar <- function(x, n = 20, ...) {
  n <- check_number(n, "n", "a number of pairs, at least 1", function(n) n >= 1)
  shown <- utils::head(x$ranking, n)
  if (nrow(shown) == 0) refuse("x", "a ranking with a pair", "none")
  shown <- shown[rev(seq_len(nrow(shown))), ] # the first is on top
  arguments <- list(
    x = shown$value, labels = paste(shown$cause, shown$effect, sep = " -> "), pch = 19, xlab = "Effect",
    xlim = range(0, shown[c("value", "low", "high")], finite = TRUE)
  )
  do.call(graphics::dotchart, utils::modifyList(arguments, list(...)))
  graphics::segments(shown$low, seq_len(nrow(shown)), shown$high)
  graphics::abline(v = 0, lty = 3)
  invisible(x)
}
