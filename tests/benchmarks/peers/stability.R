# A loop over pcalg's pc() on resamples: Rscript stability.R FOLDER
# FOLDER holds X.bin (float64, n x p by columns), rows.bin (int32, resample by resample, from 1) and job.txt (lines: n,
# p, resamples, alpha); leaves graphs.bin (int32, p x p row to column, one after the other), seconds.txt (of each
# resample, correlations included), versions.txt
folder <- commandArgs(trailingOnly = TRUE)[1]
job <- readLines(file.path(folder, "job.txt"))
n <- as.integer(job[1]); p <- as.integer(job[2]); resamples <- as.integer(job[3]); alpha <- as.numeric(job[4])
X <- matrix(readBin(file.path(folder, "X.bin"), "double", n * p), n, p)
rows <- matrix(readBin(file.path(folder, "rows.bin"), "integer", n * resamples), ncol = resamples)
suppressPackageStartupMessages(library(pcalg))
writeLines(c(R.version.string, as.character(packageVersion("pcalg"))), file.path(folder, "versions.txt"))
graphs <- file(file.path(folder, "graphs.bin"), "wb")
seconds <- numeric(0)
for (i in seq_len(resamples)) {
  t <- system.time({
    suff <- list(C = cor(X[rows[, i], ]), n = n)
    fit <- pc(suff, gaussCItest, alpha, p = p, skel.method = "stable.fast")
  })
  seconds <- c(seconds, t[["elapsed"]])
  writeBin(as.integer(t(as(fit@graph, "matrix"))), graphs)
}
close(graphs)
writeLines(format(seconds, digits = 12), file.path(folder, "seconds.txt"))
