# Time pcalg's or bnlearn's PC-stable on discrete data: Rscript discrete.R FOLDER
# FOLDER holds codes.bin (int32, n x p, by column), nlev.bin (int32) and job.txt (lines: package, n, p, alpha,
# processes, repeats, seconds); leaves graph.bin (int32 p x p, row to column), seconds.txt, versions.txt, and of pcalg
# tests.txt and sepset_x, sepset_y, sepset_len, sepset_members.bin (int32, from 0)
args <- commandArgs(trailingOnly = TRUE)
at <- function(name) file.path(args[1], name)
job <- readLines(at("job.txt"))
package <- job[1]; n <- as.integer(job[2]); p <- as.integer(job[3]); alpha <- as.numeric(job[4])
processes <- as.integer(job[5]); repeats <- as.integer(job[6]); budget <- as.numeric(job[7])
codes <- matrix(readBin(at("codes.bin"), "int", n * p), n, p)
nlev <- readBin(at("nlev.bin"), "int", p)
integers <- function(x, name) writeBin(as.integer(x), at(name))
options(warn = -1) # pcalg warns of every test with too few observations, bnlearn of levels that do not occur

suppressPackageStartupMessages(library(package, character.only = TRUE))
writeLines(c(R.version.string, as.character(packageVersion(package))), at("versions.txt"))
if (package == "pcalg") {
  suff <- list(dm = codes, nlev = nlev, adaptDF = FALSE)
  run <- function() pc(suff, disCItest, alpha, p = p, skel.method = "stable")
} else {
  data <- as.data.frame(lapply(seq_len(p), function(j) factor(codes[, j], levels = seq_len(nlev[j]) - 1L)))
  names(data) <- paste0("v", seq_len(p))
  cluster <- if (processes > 1) parallel::makeCluster(processes)
  run <- function() pc.stable(data, cluster = cluster, test = "mi", alpha = alpha) # G^2, asymptotic
}

keep_pcalg <- function(fit) {
  cells <- do.call(c, fit@sepset)
  stored <- which(!vapply(cells, is.null, NA))
  integers((stored - 1) %/% p, "sepset_x.bin")
  integers((stored - 1) %% p, "sepset_y.bin")
  integers(lengths(cells[stored]), "sepset_len.bin")
  integers(unlist(cells[stored]) - 1, "sepset_members.bin")
  writeLines(as.character(fit@n.edgetests), at("tests.txt"))
  integers(t(as(fit@graph, "matrix")), "graph.bin")
}

keep_bnlearn <- function(fit) integers(t(amat(fit)), "graph.bin")

began <- proc.time()[["elapsed"]]
seconds <- numeric(0)
for (i in seq_len(repeats)) {
  seconds <- c(seconds, system.time(fit <- run())[["elapsed"]])
  if (i == 1) (if (package == "pcalg") keep_pcalg else keep_bnlearn)(fit)
  if (proc.time()[["elapsed"]] - began > budget) break
}
writeLines(format(seconds, digits = 12), at("seconds.txt"))
