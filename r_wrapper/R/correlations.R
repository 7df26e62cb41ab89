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
#' @param x Observations: a numeric matrix or data frame with a column for each variable, complete.
#' @param correlation `"pearson"`, `"spearman"`, `"kendall"`, `"normal-scores"` or `"latent"`.
#' @param nearest Replace a matrix that is not positive semidefinite by the nearest correlation matrix (Higham 2002)?
#'   Otherwise there is a warning.
#' @return A list with `C`, the correlations, and `n`, the number of observations.
#' @examples
#' if (cu_available()) {
#'   S <- cu_suffStat(exp(matrix(rnorm(200), 50)), "spearman")
#' }
#' @export
cu_suffStat <- function(x, correlation = c("pearson", "spearman", "kendall", "normal-scores", "latent"),
                        nearest = FALSE) {
  correlation <- match.arg(correlation)
  X <- check_observations(x)
  labels <- column_names(x)
  options <- list(labels = as.list(labels), correlation = correlation, nearest = check_flag(nearest, "nearest"))
  C <- matrix(compute("correlations", options, list(x = X))$arrays$C, length(labels))
  if (!is.null(colnames(x))) dimnames(C) <- list(colnames(x), colnames(x))
  list(C = C, n = nrow(x))
}
