#' Example data, and their true graph
#'
#' `"greenhouse"`: 1,500 rows of 15 numbers, simulated from a linear model, a week of a greenhouse each: sun and lamps
#' give light, sun and heating warm, light and water make the plants grow, mildew thrives where it is damp and cool.
#' `cu_pc()` finds its graph. Without the column `sunshine`, which is a cause of `light` and `temperature`, [cu_fci()]
#' shows that these two have a hidden common cause. `"sprinkler"`: 3,000 rows of 5 factors, simulated from a network.
#' `"cell_nuclei"`: 569 rows of 30 measurements of cell nuclei, real and difficult, whose true graph nobody knows.
#'
#' @param name Which data.
#' @param truth Should the true graph be returned instead of the data?
#' @return A data frame; or, with `truth`, a matrix with names, `[i, j]` being the coefficient of variable i in the
#'   equation of variable j (1 for `"sprinkler"`), and 0 without an arrow from i to j. Of such a matrix `m`,
#'   `as((m != 0) * 1, "graphNEL")` is the graph, for [pcalg::dag2cpdag()] and [pcalg::shd()].
#' @references `"cell_nuclei"`: Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic),
#'   UCI Machine Learning Repository, \doi{10.24432/C5DW2B}, CC BY 4.0. `"sprinkler"`: the graph is of Pearl (2009),
#'   Causality, 2nd edition, figure 1.2.
#' @examples
#' if (cu_available()) {
#'   x <- cu_example()
#'   head(x, 3)
#'   truth <- cu_example(truth = TRUE)
#'   graph <- cu_plain("pc", x, alpha = 0.01)$graph
#'   c(arrows = sum(truth != 0), found = sum(truth[cbind(graph$from, graph$to)] != 0))
#' }
#' @seealso [cu_pc()]
#' @export
cu_example <- function(name = c("greenhouse", "cell_nuclei", "sprinkler"), truth = FALSE) {
  known <- eval(formals()$name)
  if (missing(name)) name <- known[1]
  if (!is.character(name) || length(name) != 1L || !name %in% known) {
    refuse("name", paste("one of", paste(dQuote(known, FALSE), collapse = ", ")), name)
  }
  truth <- check_flag(truth, "truth")
  if (truth && name == "cell_nuclei") error("`truth`: nobody knows the true graph of \"cell_nuclei\", which are real")
  python_side()
  folder <- dirname(keep_seed(reticulate::import("pycupc.data")$`__file__`))
  read <- function(file) utils::read.csv(file.path(folder, file), stringsAsFactors = TRUE)
  x <- read(paste0(name, ".csv"))
  if (!truth) return(x)
  arrows <- read(paste0(name, "_truth.csv"))
  graph <- matrix(0, ncol(x), ncol(x), dimnames = list(names(x), names(x)))
  graph[cbind(as.character(arrows$from), as.character(arrows$to))] <- if (name == "sprinkler") 1 else arrows$coefficient
  graph
}
