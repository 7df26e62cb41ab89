# Ctrl-C, sent by the parent after each "go", must be R's interrupt, and the next call must work. No call ends by itself,
# so that each Ctrl-C finds one, however long the parent waits:
#
#   Rscript interrupt.R TIMES
#   engine  while an engine computes          short  while short calls follow one another
#   test    while R computes a user's test    rule   while the conservative rule tests
#   stability   while resamples are computed and kept in a checkpoint

library(pycupc)
times <- as.integer(commandArgs(TRUE)[[1]])
p <- 150
set.seed(1)
X <- matrix(rnorm(4000 * p), 4000)
X <- X + rowSums(X[, 1:30]) / 3 # a dense graph
S <- list(C = cor(X), n = 4000)
few <- list(C = S$C[1:8, 1:8], n = 4000)
rows <- matrix(rnorm(800), 100)
slow_test <- function(x, y, S, suffStat) {
  for (i in 1:20) sum(runif(1e4))
  0
}
calls <- list(
  engine = function() cu_plain("skeleton", S, alpha = 0.01, p = p),
  test = function() cu_plain("skeleton", list(), slow_test, 0.01, p = 12),
  short = function() repeat cu_plain("skeleton", few, alpha = 0.01, p = 8),
  rule = function() repeat cu_plain("pc", list(C = 0.5 + diag(0.5, 24), n = 1e6), alpha = 1e-9, p = 24, m.max = 0,
    fixedGaps = outer(1:24, 1:24, function(i, j) i + j == 7), conservative = TRUE),
  stability = function() cu_stability(rows, n_resamples = 1e5, seed = 1, checkpoint = kept)
)
kept <- file.path(tempdir(), "kept")
some <- list(C = S$C[1:40, 1:40], n = 4000)
invisible(cu_plain("skeleton", some, alpha = 0.01, p = 40, m.max = 3)) # starts Python and compiles
invisible(cu_plain("pc", few, alpha = 0.01, p = 8, conservative = TRUE))
invisible(cu_stability(rows, n_resamples = 2, seed = 1, checkpoint = kept))
say <- function(...) {
  cat(..., "\n")
  flush(stdout())
}
for (how in rep(names(calls), times)) {
  answer <- tryCatch(
    {
      say("go")
      try(calls[[how]]())
      "finished"
    },
    error = function(e) paste("R error:", conditionMessage(e)),
    interrupt = function(i) "R interrupt"
  )
  small <- cu_plain("skeleton", few, alpha = 0.01, p = 8)
  say(how, "-", answer, "then", length(small$labels), "variables")
}
count <- length(list.files(kept, "npz$"))
again <- cu_stability(rows, n_resamples = count, seed = 1)
if (identical(cu_stability(rows, n_resamples = count, checkpoint = kept), again)) {
  say("the kept resamples are those of an undisturbed run")
}
for (call in 1:2) { # no handler: R itself ends the loop, as at any Ctrl-C
  say("go")
  try(calls$engine())
  say("the loop went on")
}
