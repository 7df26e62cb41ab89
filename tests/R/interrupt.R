# Ctrl-C while Python computes must give an R error, and the R process must continue. The parent sends SIGINT once level
# 3 is done; later levels take minutes.

library(pycupc)
p <- 150
set.seed(1)
X <- matrix(rnorm(4000 * p), 4000)
X <- X + rowSums(X[, 1:30]) / 3 # a dense graph
S <- list(C = cor(X), n = 4000)
invisible(cu_plain("skeleton", S, alpha = 0.01, p = p, m.max = 3)) # starts Python and compiles
answer <- tryCatch(
  {
    cu_plain("skeleton", S, alpha = 0.01, p = p, verbose = TRUE)
    "finished"
  },
  error = function(e) paste("R error:", conditionMessage(e)),
  interrupt = function(i) "bare interrupt"
)
cat(answer, "\n")
small <- cu_plain("skeleton", list(C = S$C[1:8, 1:8], n = 4000), alpha = 0.01, p = 8)
cat("alive:", length(small$labels), "variables\n")
