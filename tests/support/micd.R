# Runs micd's tests on the problems that micd.py has written, and records its answers: Rscript micd.R FOLDER
#
# FOLDER/<problem>/ holds `facts` (n, p, M, alpha, then the number of levels of each variable, 0 for numbers) and
# `tables` (the values of M tables, one after the other, column by column; codes from 0; NaN where one is missing), both
# of them doubles. `tests`, if it is there, has a line for each p-value that is wanted: the function of micd, and x, y
# and S, from 1 on. `runs` has a line for each graph: the function, and "TRUE" for conservative. The answers are written
# beside them, NaN for NA, -9 where micd stops. A run in which a test stops is left out.

folder <- commandArgs(TRUE)[[1]]

# Five functions of Rfast that micd calls, written anew from their descriptions, for where Rfast is not installed.
stand_in <- function() {
  root <- tempfile("Rfast")
  dir.create(file.path(root, "Rfast", "R"), recursive = TRUE)
  at <- function(...) file.path(root, "Rfast", ...)
  about <- "Package: Rfast\nVersion: 2.1.0\nTitle: Stand-In\nDescription: Stand-in.\nLicense: MIT\nAuthor: x\nMaintainer: x <x@x>"
  writeLines(about, at("DESCRIPTION"))
  writeLines("exportPattern(\"^[[:alpha:]]+\")", at("NAMESPACE"))
  body <- quote({
    data.frame.to_matrix <- function(x, col.names = NULL, row.names = NULL) {
      if (is.matrix(x)) unname(x) else matrix(as.double(unlist(lapply(x, as.numeric))), nrow(x), length(x))
    }
    which.is <- function(x, method = "factor") {
      which(vapply(x, function(v) switch(method, factor = is.factor(v), numeric = is.numeric(v), FALSE), NA))
    }
    cova <- function(x, center = FALSE, large = FALSE) {
      if (ncol(x)) unname(stats::cov(x)) else matrix(0, 0, 0)
    }
    dmvnorm <- function(x, mu, sigma, logged = FALSE) {
      if (!ncol(x)) return(rep(if (logged) 0 else 1, nrow(x)))
      d <- stats::mahalanobis(x, mu, sigma, tol = 0)
      out <- -0.5 * (ncol(x) * log(2 * pi) + as.numeric(determinant(as.matrix(sigma))$modulus) + d)
      if (logged) out else exp(out)
    }
    mvnorm.mle <- function(x) {
      sigma <- unname(stats::cov(x)) * (nrow(x) - 1) / nrow(x)
      list(loglik = sum(dmvnorm(x, colMeans(x), sigma, TRUE)), mu = colMeans(x), sigma = sigma)
    }
  })
  writeLines(vapply(as.list(body)[-1], function(line) paste(deparse(line), collapse = "\n"), ""), at("R", "Rfast.R"))
  home <- file.path(root, "library")
  dir.create(home)
  tools::Rcmd(c("INSTALL", "--no-docs", "--no-test-load", "-l", home, at()), stdout = FALSE, stderr = FALSE)
  home
}
if (!(requireNamespace("Rfast", quietly = TRUE) && exists("colmeans", asNamespace("Rfast")))) {
  if (isNamespaceLoaded("Rfast")) unloadNamespace("Rfast")
  .libPaths(c(stand_in(), .libPaths()))
}
suppressPackageStartupMessages({
  library(pcalg)
  library(micd)
})

numbers <- function(path) readBin(path, "double", file.size(path) / 8)

answer <- function(problem) {
  at <- function(name) file.path(folder, problem, name)
  facts <- numbers(at("facts"))
  n <- facts[[1]]
  p <- facts[[2]]
  M <- facts[[3]]
  levels <- facts[-(1:4)]
  values <- array(numbers(at("tables")), c(n, p, M))
  tables <- lapply(seq_len(M), function(m) {
    columns <- lapply(seq_len(p), function(j) {
      v <- ifelse(is.nan(values[, j, m]), NA, values[, j, m])
      if (levels[[j]]) factor(v, levels = seq_len(levels[[j]]) - 1) else v
    })
    names(columns) <- paste0("v", seq_len(p))
    as.data.frame(columns)
  })
  of_one <- c("mixCItest", "mixCItwd", "flexCItwd")
  data_of <- function(name) {
    if (name %in% of_one) return(tables[[1]])
    if (name == "flexCItest") return(getSuff(tables[[1]], test = "flexCItest"))
    if (name == "flexMItest") getSuff(tables, test = "flexMItest") else tables
  }
  asked <- if (file.exists(at("tests"))) strsplit(readLines(at("tests")), " ") else list()
  data <- sapply(unique(vapply(asked, `[[`, "", 1)), data_of, simplify = FALSE)
  p_values <- vapply(asked, function(test) {
    v <- as.integer(test[-1])
    set <- if (length(v) > 2) v[-(1:2)]
    one <- tryCatch(get(test[[1]])(v[[1]], v[[2]], set, data[[test[[1]]]]), error = function(e) {if (nzchar(Sys.getenv("MICD_SAY"))) message(conditionMessage(e)); -9})
    if (is.na(one)) NaN else one
  }, 0)
  writeBin(as.double(p_values), at("p"))
  runs <- if (file.exists(at("runs"))) strsplit(readLines(at("runs")), " ") else list()
  for (run in runs) {
    fit <- tryCatch(
      pc(data_of(run[[1]]), get(run[[1]]), facts[[4]], p = p, conservative = as.logical(run[[2]])),
      error = function(e) {if (nzchar(Sys.getenv("MICD_SAY"))) message(conditionMessage(e)); NULL}
    )
    if (is.null(fit)) next
    of_run <- function(name) at(paste0(run[[1]], "_", name))
    writeBin(as.double(as(fit@graph, "matrix")), of_run("graph"))
    writeBin(as.double(fit@n.edgetests), of_run("tests"))
    writeBin(as.double(fit@pMax), of_run("pMax"))
    sets <- vapply(do.call(c, fit@sepset), function(S) if (is.null(S)) "N" else paste(c("S", S), collapse = ","), "")
    writeLines(sets, of_run("sets"))
  }
}
for (problem in readLines(file.path(folder, "problems"))) suppressWarnings(answer(problem))
writeLines(c(as.character(packageVersion("micd")), R.version.string), file.path(folder, "versions"))
