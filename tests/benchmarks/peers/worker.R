# Time a call of an R package: Rscript worker.R FOLDER
# FOLDER holds job.txt (lines: call, packages, p, n, alpha, processes, m.max, repeats, seconds) and C.bin (float64,
# p x p), or for discrete data codes.bin (int32, n x p, by column) and nlev.bin (int32). Leaves graph.bin (int32 p x p,
# row to column; of fci and rfci amat.pag), seconds.txt, cpu_seconds.txt (of all threads), versions.txt; of pcalg and
# ParallelPC tests.txt; of pcalg on discrete data sepset_x, sepset_y, sepset_len, sepset_members.bin (int32, from 0)
at <- function(name) file.path(commandArgs(trailingOnly = TRUE)[1], name)
job <- readLines(at("job.txt"))
call <- job[1]; packages <- strsplit(job[2], " ")[[1]]
p <- as.integer(job[3]); n <- as.integer(job[4]); alpha <- as.numeric(job[5])
processes <- as.integer(job[6]); m.max <- as.numeric(job[7]); repeats <- as.integer(job[8]); budget <- as.numeric(job[9])
integers <- function(x, name) writeBin(as.integer(x), at(paste0(name, ".bin")))
options(warn = -1) # pcalg warns of every test with too few observations, bnlearn of levels that do not occur

suppressPackageStartupMessages(for (package in packages) library(package, character.only = TRUE))
versions <- vapply(packages, function(package) as.character(packageVersion(package)), "")
writeLines(c(R.version.string, versions), at("versions.txt"))
if (file.exists(at("codes.bin"))) {
  codes <- matrix(readBin(at("codes.bin"), "int", n * p), n, p)
  nlev <- readBin(at("nlev.bin"), "int", p)
  suff <- list(dm = codes, nlev = nlev, adaptDF = FALSE)
} else {
  suff <- list(C = matrix(readBin(at("C.bin"), "double", p * p), p, p), n = n)
}
if (call == "bnlearn") {
  data <- as.data.frame(lapply(seq_len(p), function(j) factor(codes[, j], levels = seq_len(nlev[j]) - 1L)))
  names(data) <- paste0("v", seq_len(p))
  cluster <- if (processes > 1) parallel::makeCluster(processes)
}
in_processes <- function(mem.efficient) {
  pc_parallel(suff, gaussCItest, alpha, p = p, num.cores = max(processes, 2L), mem.efficient = mem.efficient)
}
run <- switch(call,
  stable = function() skeleton(suff, gaussCItest, alpha, p = p, method = "stable"),
  stable.fast = function() skeleton(suff, gaussCItest, alpha, p = p, method = "stable.fast", numCores = processes),
  ParallelPC = function() in_processes(FALSE),
  "ParallelPC, mem.efficient" = function() in_processes(TRUE),
  pcalg = function() pc(suff, disCItest, alpha, p = p, skel.method = "stable"),
  bnlearn = function() pc.stable(data, cluster = cluster, test = "mi", alpha = alpha), # G^2, asymptotic
  tpc = function() tpc(suff, gaussCItest, alpha, p = p, m.max = m.max, tiers = (3 * (seq_len(p) - 1)) %/% p),
  function() get(call)(suff, gaussCItest, alpha, p = p, m.max = m.max, skel.method = "stable") # fci, rfci
)

keep <- function(fit) {
  if (call == "bnlearn") return(integers(t(amat(fit)), "graph"))
  integers(t(if (is(fit, "fciAlgo")) fit@amat else as(fit@graph, "matrix")), "graph")
  writeLines(as.character(fit@n.edgetests), at("tests.txt"))
  if (call == "pcalg") {
    cells <- do.call(c, fit@sepset)
    stored <- which(!vapply(cells, is.null, NA))
    integers((stored - 1) %/% p, "sepset_x")
    integers((stored - 1) %% p, "sepset_y")
    integers(lengths(cells[stored]), "sepset_len")
    integers(unlist(cells[stored]) - 1, "sepset_members")
  }
}

began <- proc.time()[["elapsed"]]
seconds <- cpu_seconds <- numeric(0)
for (i in seq_len(repeats)) {
  t <- system.time(fit <- run())
  seconds <- c(seconds, t[["elapsed"]])
  cpu_seconds <- c(cpu_seconds, t[["user.self"]] + t[["sys.self"]])
  if (i == 1) keep(fit)
  if (proc.time()[["elapsed"]] - began > budget) break
}
writeLines(format(seconds, digits = 12), at("seconds.txt"))
writeLines(format(cpu_seconds, digits = 12), at("cpu_seconds.txt"))
