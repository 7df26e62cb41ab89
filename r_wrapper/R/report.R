# Lines per level (`verbose`) and a text progress bar. Python calls `tell` with plain numbers.

make_reporter <- function(verbose, progress) {
  if (!check_flag(verbose, "verbose") && !check_flag(progress, "progress")) {
    return(list(tell = NULL, close = function() invisible()))
  }
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
      if (verbose) cat(sprintf("Order=%d; remaining edges:%.0f\n", as.integer(now), edges))
      if (progress) {
        cat(sprintf("level %d, %.0f edges, at most %.3g tests\n", as.integer(now), edges, at_most))
        bar <<- utils::txtProgressBar(max = 1, style = 3)
      }
    }
    if (!is.null(bar)) utils::setTxtProgressBar(bar, if (at_most > 0) min(1, done / at_most) else 1)
    invisible()
  }
  list(tell = tell, close = close_bar)
}
