# A line per level (`verbose`), and a text progress bar within a level that takes long (`progress`), which also shows
# the line of Python's log that explains a wait: it compiles. Python calls `on_progress` with plain numbers.

make_reporter <- function(verbose, progress) {
  verbose <- check_flag(verbose, "verbose")
  progress <- check_flag(progress, "progress")
  level <- -1
  bar <- NULL
  close_bar <- function() {
    if (!is.null(bar)) close(bar)
    bar <<- NULL
  }
  on_progress <- function(current, done, at_most, edges) {
    if (current != level) {
      close_bar()
      level <<- current
      cat(sprintf("level %.0f, %.0f edges, at most %.3g tests\n", current, edges, at_most))
      bar <<- utils::txtProgressBar(max = 1, style = 3)
    }
    utils::setTxtProgressBar(bar, if (at_most > 0) min(1, done / at_most) else 1)
    invisible()
  }
  on_line <- function(text) {
    if (verbose || startsWith(text, "compiling")) {
      close_bar()
      cat(text, "\n", sep = "")
    }
    invisible()
  }
  list(on_progress = if (progress) on_progress, on_line = if (verbose || progress) on_line, close = close_bar)
}
