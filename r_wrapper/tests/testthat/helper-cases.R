# The recorded answers of pcalg (tests/golden of the checkout), and conditions for skipping a test.

skip_if_no_python <- function() {
  reason <- tryCatch({
    python_side()
    NULL
  }, error = conditionMessage)
  if (!is.null(reason)) skip(paste("no Python side:", reason))
}

skip_if_no_pcalg <- function() {
  skip_if_not_installed("pcalg", "2.7")
  skip_if_no_python()
}

golden_folder <- function() {
  folder <- Sys.getenv("PYCUPC_GOLDEN", testthat::test_path("..", "..", "..", "tests", "golden"))
  if (length(list.files(folder, "\\.npz$"))) normalizePath(folder)
}

# All cases, read once.
golden_cases <- local({
  cases <- NULL
  function() {
    folder <- golden_folder()
    if (is.null(folder)) skip("no recorded answers: set PYCUPC_GOLDEN to the folder tests/golden of the checkout")
    if (is.null(cases)) cases <<- lapply(list.files(folder, "\\.npz$", full.names = TRUE), read_case)
    cases
  }
})

# One case as plain R values; arrays arrive as bytes, which every version of reticulate can convert.
read_case <- function(file) {
  archive <- reticulate::import("numpy", convert = FALSE)$load(file)
  builtins <- reticulate::import_builtins(convert = FALSE)
  names <- unlist(reticulate::py_to_r(builtins$list(archive$files)))
  one <- function(name) {
    x <- archive[name]
    type <- reticulate::py_to_r(builtins$str(x$dtype))
    if (startsWith(type, "<U")) {
      return(reticulate::py_to_r(builtins$str(x)))
    }
    x <- x$astype(if (startsWith(type, "float")) "float64" else "int32")
    count <- reticulate::py_to_r(x$size)
    bytes <- as.raw(reticulate::py_to_r(builtins$bytearray(x$tobytes())))
    flat <- readBin(bytes, if (startsWith(type, "float")) "double" else "integer", count)
    if (type == "bool") flat <- flat != 0L
    shape <- unlist(reticulate::py_to_r(builtins$list(x$shape)))
    if (length(shape) == 2L) matrix(flat, shape[1], shape[2], byrow = TRUE) else flat
  }
  case <- stats::setNames(lapply(names, one), names)
  case$name <- sub("\\.npz$", "", basename(file))
  case
}

# pcalg's list of lists, from the recorded cells.
case_sepset <- function(case) {
  p <- nrow(case$C)
  sepset <- lapply(seq_len(p), function(x) vector("list", p))
  end <- cumsum(case$sepset_len)
  for (i in seq_along(end)) {
    members <- case$sepset_members[end[i] - case$sepset_len[i] + seq_len(case$sepset_len[i])] + 1L
    sepset[[case$sepset_x[i] + 1L]][[case$sepset_y[i] + 1L]] <- members
  }
  sepset
}

# A result without the evidence that pcalg's objects do not have.
bare <- function(fit) {
  attr(fit, "cu_evidence") <- NULL
  fit
}

variants <- list(
  relaxed = list(),
  solve_confl = list(solve.confl = TRUE),
  conservative = list(conservative = TRUE),
  conservative_solve_confl = list(conservative = TRUE, solve.confl = TRUE),
  majority = list(maj.rule = TRUE),
  majority_solve_confl = list(maj.rule = TRUE, solve.confl = TRUE),
  retry = list(u2pd = "retry")
)

case_arguments <- function(case) {
  list(
    suffStat = list(C = case$C, n = case$n), indepTest = "gaussCItest", alpha = case$alpha, p = nrow(case$C),
    fixedGaps = case$fixedGaps, fixedEdges = case$fixedEdges, NAdelete = case$NAdelete, m.max = case$m_max
  )
}

graph_cells <- function(plain) {
  p <- length(plain$labels)
  cells <- matrix(0L, p, p)
  cells[cbind(plain$graph$from, plain$graph$to)] <- plain$graph$mark
  cells
}

# A small problem, for tests that do not depend on the data.
small_problem <- function(p = 8, n = 400, seed = 1) {
  set.seed(seed)
  X <- matrix(stats::rnorm(n * p), n)
  for (j in 2:p) X[, j] <- X[, j] + 0.8 * X[, max(1, j - 1 - j %% 2)] - 0.5 * X[, max(1, j - 3)]
  list(C = stats::cor(X), n = n)
}
