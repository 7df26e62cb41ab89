# pcalg's answers to the problems of a file of R code that makes a list `cases` of arguments of fci() or rfci(): tests/support/fci_cases.py
# writes it, and reads what this prints. Rscript record_latent_golden.R FILE fci|rfci
suppressMessages(library(pcalg))
show <- function(what, v) cat(what, format(v, digits = 17, trim = TRUE, scientific = TRUE), "\n")
whole <- function(what, v) cat(what, as.integer(v), "\n")
answer <- function(case) {
  test <- if (is.null(case$suffStat$dm)) gaussCItest else disCItest
  setTimeLimit(elapsed = 10, transient = TRUE)  # rfci() sometimes never ends
  on.exit(setTimeLimit())
  fit <- suppressWarnings(do.call(get(commandArgs(TRUE)[2]), c(case, list(indepTest = test, skel.method = "stable"))))
  p <- nrow(fit@amat)
  whole("amat", t(fit@amat))
  whole("max_ord", fit@max.ord)
  show("n_edgetests", fit@n.edgetests)
  show("pMax", t(fit@pMax))
  for (x in seq_len(p)) for (y in seq_len(p)) if (!is.null(fit@sepset[[x]][[y]]))
    whole("sepset", c(x, y, fit@sepset[[x]][[y]]) - 1)
  for (x in seq_len(p)) if (!is.null(fit@allPdsep[[x]])) whole("all_pdsep", c(x, fit@allPdsep[[x]]) - 1)
  show("n_edgetests_pdsep", fit@n.edgetestsPDSEP)
  whole("max_ord_pdsep", fit@max.ordPDSEP)
}
sys.source(commandArgs(TRUE)[1], environment())
for (case in cases) {
  cat("case\n")
  tryCatch(answer(case), error = function(e) cat("error", conditionMessage(e), "\n"))
}
cat("pcalg", as.character(packageVersion("pcalg")), "\n")
