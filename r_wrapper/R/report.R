# A line per level (`verbose`), and a text progress bar (`progress`) within a level that takes long, or over resamples.
# Python's log also says when it compiles, which takes long and happens once per machine: that is said in any case, once
# per session.

make_reporter <- function(verbose, progress) {
  verbose <- check_flag(verbose, "verbose")
  progress <- check_flag(progress, "progress")
  level <- -1
  bar <- NULL
  close_bar <- function() {
    if (!is.null(bar)) close(bar)
    bar <<- NULL
  }
  show <- function(done, most) {
    if (is.null(bar)) bar <<- utils::txtProgressBar(max = 1, style = 3)
    utils::setTxtProgressBar(bar, if (most > 0) min(1, done / most) else 1)
  }
  on_level <- function(event) {
    if (event$level != level) {
      close_bar()
      level <<- event$level
      cat(sprintf("level %.0f, %.0f edges, at most %.3g tests\n", event$level, event$edges, event$at_most))
    }
    show(event$done, event$at_most)
  }
  on_line <- function(text) {
    compiles <- startsWith(text, "compiling")
    if (compiles && is.null(state$said_compiling)) {
      state$said_compiling <- TRUE
      close_bar()
      message("starting Python and compiling, once per machine (about 15 s on two cores)")
    }
    if (verbose || progress && (compiles || startsWith(text, "largest p-values"))) {
      close_bar()
      cat(text, "\n", sep = "")
    }
  }
  on_event <- function(event) {
    switch(event$kind,
      progress = on_level(event),
      count = if (progress) show(event$done, event$total),
      line = on_line(event$text)
    )
  }
  list(on_event = on_event, close = close_bar)
}
