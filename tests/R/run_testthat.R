# Runs the tests of the installed R package: Rscript run_testthat.R TEST_FOLDER RESULT_FILE
# One line per test_that() block: file, tab, name, tab, outcome (passed, failed, skipped), tab, text.

args <- commandArgs(TRUE)
library(testthat)
library(pycupc)

one_line <- function(x) gsub("[\t\r\n]+", " | ", paste(x, collapse = " "))
results <- test_dir(args[[1]],
  package = "pycupc", load_package = "installed", reporter = "silent", stop_on_failure = FALSE
)
lines <- vapply(results, function(block) {
  kind <- vapply(block$results, function(r) sub("expectation_", "", class(r)[[1]]), "")
  bad <- block$results[kind %in% c("failure", "error")]
  skipped <- block$results[kind == "skip"]
  outcome <- if (length(bad)) "failed" else if (length(skipped)) "skipped" else "passed"
  text <- vapply(if (length(bad)) bad else skipped, function(r) one_line(conditionMessage(r)), "")
  paste(block$file, one_line(block$test), outcome, one_line(text), sep = "\t")
}, "")
writeLines(enc2utf8(lines), args[[2]], useBytes = TRUE)
cat("R:", R.version.string, "\n")
for (package in c("reticulate", "testthat", "pcalg")) {
  there <- requireNamespace(package, quietly = TRUE)
  cat(package, if (there) format(packageVersion(package)) else "not installed", "\n")
}
