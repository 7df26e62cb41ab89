# A line after each level (`verbose`) and a text progress bar within a level that takes long. Python calls `say` with a
# text, `tell` with plain numbers.

make_reporter <- function(verbose, progress) {
  verbose <- check_flag(verbose, "verbose")
  progress <- check_flag(progress, "progress")
  level <- -1
  bar <- NULL
  close_bar <- function() {
    if (!is.null(bar)) close(bar)
    bar <<- NULL
  }
  tell <- function(now, done, at_most, edges) {
    if (now != level) {
      close_bar()
      level <<- now
      cat(sprintf("level %.0f, %.0f edges, at most %.3g tests\n", now, edges, at_most))
      bar <<- utils::txtProgressBar(max = 1, style = 3)
    }
    utils::setTxtProgressBar(bar, if (at_most > 0) min(1, done / at_most) else 1)
    invisible()
  }
  say <- function(text) {
    close_bar()
    cat(text, "\n", sep = "")
    invisible()
  }
  list(tell = if (progress) tell, say = if (verbose) say, close = close_bar)
}
