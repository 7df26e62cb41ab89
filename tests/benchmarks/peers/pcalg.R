# Time pcalg or ParallelPC on a correlation matrix: Rscript pcalg.R FOLDER
# FOLDER holds C.bin (float64, p x p) and job.txt (lines: p, n, alpha, method, threads, repeats, seconds);
# method is "stable" or "stable.fast" (skeleton()), "ParallelPC" or "ParallelPC, mem.efficient" (pc_parallel());
# leaves graph.bin (int32 p x p, row to column), tests.txt, seconds.txt, cpu_seconds.txt (of all threads: near
# threads x seconds on a quiet machine), versions.txt
args <- commandArgs(trailingOnly = TRUE)
folder <- args[1]
job <- readLines(file.path(folder, "job.txt"))
p <- as.integer(job[1]); n <- as.integer(job[2]); alpha <- as.numeric(job[3]); method <- job[4]
threads <- as.integer(job[5]); repeats <- as.integer(job[6]); budget <- as.numeric(job[7])
C <- matrix(readBin(file.path(folder, "C.bin"), "double", p * p), p, p)
suppressPackageStartupMessages(library(pcalg))
versions <- c(R.version.string, as.character(packageVersion("pcalg")))
if (startsWith(method, "ParallelPC")) versions <- c(versions, as.character(packageVersion("ParallelPC")))
writeLines(versions, file.path(folder, "versions.txt"))
suff <- list(C = C, n = n)
parallel_pc <- function(mem.efficient) {
  suppressPackageStartupMessages({library(parallel); library(ParallelPC)})
  pc_parallel(suff, gaussCItest, alpha, p = p, num.cores = max(threads, 2L), mem.efficient = mem.efficient)
}
run <- switch(method,
  stable = function() skeleton(suff, gaussCItest, alpha, p = p, method = method),
  stable.fast = function() skeleton(suff, gaussCItest, alpha, p = p, method = method, numCores = threads),
  ParallelPC = function() parallel_pc(FALSE),
  "ParallelPC, mem.efficient" = function() parallel_pc(TRUE)
)
began <- proc.time()[["elapsed"]]
seconds <- cpu_seconds <- numeric(0)
for (i in seq_len(repeats)) {
  t <- system.time(fit <- run())
  seconds <- c(seconds, t[["elapsed"]])
  cpu_seconds <- c(cpu_seconds, t[["user.self"]] + t[["sys.self"]])
  if (i == 1) {
    writeLines(as.character(fit@n.edgetests), file.path(folder, "tests.txt"))
    m <- as(fit@graph, "matrix")
    writeBin(as.integer(t(m)), file.path(folder, "graph.bin"))
  }
  if (proc.time()[["elapsed"]] - began > budget) break
}
writeLines(format(seconds, digits = 12), file.path(folder, "seconds.txt"))
writeLines(format(cpu_seconds, digits = 12), file.path(folder, "cpu_seconds.txt"))
