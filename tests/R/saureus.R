# The whole of cu_pc() on S. aureus (2,810 variables): Rscript saureus.R DATA; prints seconds of wall clock and of CPU.

library(pycupc)
X <- as.matrix(utils::read.csv(gzfile(commandArgs(TRUE)[[1]])))
suffStat <- list(C = stats::cor(X), n = nrow(X))
small <- list(C = suffStat$C[1:20, 1:20], n = nrow(X))
invisible(cu_pc(small, pcalg::gaussCItest, 0.05, p = 20)) # started, compiled, warm
time <- system.time(fit <- cu_pc(suffStat, pcalg::gaussCItest, 0.05, labels = colnames(X)))
cat("edges", sum(pcalg::wgtMatrix(fit@graph) | t(pcalg::wgtMatrix(fit@graph))) / 2, "\n")
cat("wall", time[["elapsed"]], "\ncpu", time[["user.self"]] + time[["sys.self"]], "\n")
