# cu_suffStat(): correlations of ranks, or of latent variables, as pcalg's gaussCItest takes them.

#' Correlations for the Gaussian test, also from ranks or for mixed columns
#'
#' The list with `C` and `n` that [cu_pc()], [cu_fci()] and pcalg's functions take with `gaussCItest`.
#'
#' Ranks are for columns that are skewed or have outliers: if they are monotone functions of jointly Gaussian variables,
#' `"spearman"` (2 sin(pi rho / 6)), `"kendall"` (sin(pi tau / 2), of tau-b) and `"normal-scores"` estimate the
#' correlations of these (Harris and Drton 2013). `"latent"` is for tables of columns with two values, ordinal ones (up
#' to 10 whole numbers) and continuous ones: thresholds from the margins, then polychoric, polyserial and usual
#' correlations, as `polycor::hetcor(ML = FALSE)`. `n` stays the number of observations, which is an approximation
#' except for `"pearson"`.
#'
#' @param x Observations: a numeric matrix or data frame with a column for each variable.
#' @param correlation `"pearson"`, `"spearman"`, `"kendall"`, `"normal-scores"` or `"latent"`.
#' @param nearest Replace a matrix that is not positive semidefinite by the nearest correlation matrix (Higham 2002)?
#'   Otherwise a message says so.
#' @param missing With `"pairwise"`, of Pearson's correlations, each is that of the rows with both values, as
#'   `cor(use = "pairwise")`; a pair with fewer than two of them has NA and counts as independent. `C` need not be
#'   positive semidefinite then; a message says so.
#' @param n.rule With `"pairwise"`: the number of observations that a test of x and y given S takes from those of the
#'   pairs among x, y and S, which is their mean, smallest or harmonic mean.
#' @return A list with `C`, the correlations, and `n`, the number of observations. With missing values, `n` is the
#'   matrix of the numbers of each pair, and `n_rule` is `n.rule`.
#' @seealso [cu_pc()]
#' @examples
#' if (cu_available()) {
#'   S <- cu_suffStat(exp(matrix(rnorm(200), 50)), "spearman")
#'   cu_suffStat(cbind(c(1:8, NA), c(NA, 2:9), sqrt(1:9)), missing = "pairwise")
#' }
#' @export
cu_suffStat <- function(x, correlation = c("pearson", "spearman", "kendall", "normal-scores", "latent"),
                        nearest = FALSE, missing = c("error", "pairwise"), n.rule = c("mean", "min", "harmonic")) {
  n.rule <- match.arg(n.rule)
  labels <- as.list(column_names(x))
  X <- check_observations(x)
  if (match.arg(missing) == "error") check_complete(X, column_names(x), "x", "missing = \"pairwise\" takes NA")
  options <- list(labels = labels, correlation = match.arg(correlation), n_rule = n.rule,
    nearest = check_flag(nearest, "nearest"), missing = match.arg(missing))
  S <- lapply(compute("correlations", options, list(x = X))$arrays, matrix, ncol(X), ncol(X), dimnames =
    if (!is.null(colnames(x))) list(colnames(x), colnames(x)))
  if (is.null(S$n)) list(C = S$C, n = nrow(x)) else c(S, n_rule = n.rule)
}
