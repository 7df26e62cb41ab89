# Ctrl-C while Python computes: an R error, and the R process goes on. The parent sends SIGINT when it reads "started".

library(pycupc)
p <- 150
set.seed(1)
X <- matrix(rnorm(4000 * p), 4000)
X <- X + rowSums(X[, 1:30]) / 3 # a dense graph: minutes of tests
S <- list(C = cor(X), n = 4000)
cu_plain("skeleton", list(C = S$C[1:20, 1:20], n = 4000), alpha = 0.01, p = 20) # compiled and warm
cat("started\n")
flush(stdout())
answer <- tryCatch(
  {
    cu_plain("skeleton", S, alpha = 0.01, p = p)
    "finished"
  },
  error = function(e) paste("R error:", conditionMessage(e)),
  interrupt = function(i) "bare interrupt"
)
cat(answer, "\n")
again <- cu_plain("skeleton", list(C = S$C[1:20, 1:20], n = 4000), alpha = 0.01, p = 20)
cat("alive:", length(again$labels), "variables\n")
