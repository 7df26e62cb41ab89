# Ctrl-C while Python computes must be R's interrupt, and the R process must continue: Rscript interrupt.R HOW
# The parent sends SIGINT when it reads "now"; what then runs takes minutes.
#   engine  while an engine computes; a handler of interrupts takes it
#   test    while R computes a test that Python asked for
#   loop    no handler: R itself ends the loop, as at any Ctrl-C

library(pycupc)
how <- commandArgs(TRUE)[[1]]
p <- 150
set.seed(1)
X <- matrix(rnorm(4000 * p), 4000)
X <- X + rowSums(X[, 1:30]) / 3 # a dense graph
S <- list(C = cor(X), n = 4000)
slow_test <- function(x, y, S, suffStat) {
  if (length(S) == 1) {
    cat("now\n")
    flush(stdout())
    Sys.sleep(60)
  }
  0
}
long <- function() {
  if (how == "test") {
    cu_plain("skeleton", list(), slow_test, 0.01, p = 4)
  } else {
    cu_plain("skeleton", S, alpha = 0.01, p = p, verbose = TRUE)
  }
  "finished"
}
if (how == "loop") {
  for (i in 1:2) {
    cat("call", i, "\n")
    try(long())
    cat("the loop went on\n")
  }
}
answer <- tryCatch(
  try(long()),
  error = function(e) paste("R error:", conditionMessage(e)),
  interrupt = function(i) paste("R interrupt:", conditionMessage(i))
)
cat(answer, "\n")
small <- cu_plain("skeleton", list(C = S$C[1:8, 1:8], n = 4000), alpha = 0.01, p = 8)
cat("alive:", length(small$labels), "variables\n")
