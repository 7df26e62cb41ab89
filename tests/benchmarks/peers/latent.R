# Time pcalg's fci() or rfci(), or tpc(), on a correlation matrix: Rscript latent.R FOLDER
# FOLDER holds C.bin (float64, p x p) and job.txt (lines: function, p, n, alpha, m.max, repeats, seconds); leaves
# graph.bin (int32 p x p: amat.pag of fci and rfci, of tpc the graph, row to column), seconds.txt, versions.txt
args <- commandArgs(trailingOnly = TRUE)
at <- function(name) file.path(args[1], name)
job <- readLines(at("job.txt"))
p <- as.integer(job[2]); n <- as.integer(job[3]); alpha <- as.numeric(job[4]); m.max <- as.numeric(job[5])
repeats <- as.integer(job[6]); budget <- as.numeric(job[7])
suff <- list(C = matrix(readBin(at("C.bin"), "double", p * p), p, p), n = n)
suppressPackageStartupMessages(library(pcalg))
versions <- c(R.version.string, as.character(packageVersion("pcalg")))
if (job[1] == "tpc") {
  versions <- c(versions, as.character(packageVersion("tpc")))
  tiers <- (3 * (seq_len(p) - 1)) %/% p
  run <- function() tpc::tpc(suff, gaussCItest, alpha, p = p, m.max = m.max, tiers = tiers)
} else {
  hidden <- get(job[1])
  run <- function() hidden(suff, gaussCItest, alpha, p = p, m.max = m.max, skel.method = "stable")
}
writeLines(versions, at("versions.txt"))
began <- proc.time()[["elapsed"]]
seconds <- numeric(0)
for (i in seq_len(repeats)) {
  seconds <- c(seconds, system.time(fit <- run())[["elapsed"]])
  if (proc.time()[["elapsed"]] - began > budget) break
}
graph <- if (job[1] == "tpc") as(fit@graph, "matrix") else fit@amat
writeBin(as.integer(t(graph)), at("graph.bin"))
writeLines(format(seconds, digits = 12), at("seconds.txt"))
