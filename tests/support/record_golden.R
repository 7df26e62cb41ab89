# Runs pcalg on the cases that record_golden.py has written, and records its answers: Rscript record_golden.R FOLDER
#
# FOLDER/<case>/ holds `scalars` (p, n, alpha, m_max, NAdelete as doubles), either `C`, or a table `x`, of which C is
# cor(x), or, of discrete data, `dm` and `facts` (adaptDF, binary: whether binCItest runs, then the number of levels of
# each variable), optionally `fixedGaps` and `fixedEdges` (all of them doubles), and `variants` (one name per line). The
# answers are written beside them as raw numbers, indices from 0.

suppressPackageStartupMessages(library(pcalg))

folder <- commandArgs(TRUE)[[1]]

numbers <- function(path) readBin(path, "double", file.size(path) / 8)
integers <- function(x, path) writeBin(as.integer(x), path)

arguments <- list(
  relaxed = list(),
  solve_confl = list(solve.confl = TRUE),
  conservative = list(conservative = TRUE),
  conservative_solve_confl = list(conservative = TRUE, solve.confl = TRUE),
  majority = list(maj.rule = TRUE),
  majority_solve_confl = list(maj.rule = TRUE, solve.confl = TRUE),
  retry = list(u2pd = "retry")
)

record <- function(case) {
  at <- function(name) file.path(folder, case, name)
  s <- numbers(at("scalars"))
  p <- s[[1]]
  square <- function(name) if (file.exists(at(name))) matrix(numbers(at(name)), p, p)
  fixed <- lapply(list(fixedGaps = "fixedGaps", fixedEdges = "fixedEdges"), function(name) {
    m <- square(name)
    if (!is.null(m)) m != 0
  })
  if (file.exists(at("dm"))) {
    facts <- numbers(at("facts"))
    data <- list(dm = matrix(numbers(at("dm")), ncol = p), nlev = facts[-(1:2)], adaptDF = facts[[1]] != 0)
    indepTest <- if (facts[[2]] != 0) binCItest else disCItest
  } else {
    C <- if (file.exists(at("x"))) stats::cor(matrix(numbers(at("x")), ncol = p)) else square("C")
    data <- list(C = C, n = s[[2]])
    indepTest <- gaussCItest
  }
  args <- c(
    list(suffStat = data, indepTest = indepTest, alpha = s[[3]], p = p, m.max = s[[4]], NAdelete = s[[5]] != 0), fixed
  )
  fit <- do.call(skeleton, c(args, method = "stable"))
  cells <- do.call(c, fit@sepset)
  stored <- which(!vapply(cells, is.null, NA))
  integers((stored - 1) %/% p, at("sepset_x"))
  integers((stored - 1) %% p, at("sepset_y"))
  integers(lengths(cells[stored]), at("sepset_len"))
  integers(unlist(cells[stored]) - 1, at("sepset_members"))
  integers(as(fit@graph, "matrix"), at("skeleton"))
  integers(fit@max.ord, at("max_ord"))
  writeBin(as.double(fit@n.edgetests), at("n_edgetests"))
  writeBin(as.double(fit@pMax), at("pMax"))
  for (variant in readLines(at("variants"))) {
    fit <- do.call(pc, c(args, arguments[[variant]]))
    integers(as(fit@graph, "matrix"), at(paste0("cpdag_", variant)))
  }
  cat(case, "\n")
}

writeLines(c(as.character(packageVersion("pcalg")), R.version.string), file.path(folder, "versions"))
cases <- list.dirs(folder, full.names = FALSE, recursive = FALSE)
invisible(suppressWarnings(lapply(cases, record))) # the discrete tests warn of every test with too few observations
