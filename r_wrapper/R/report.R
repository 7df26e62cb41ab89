# A line per level (`verbose`), and a text progress bar (`progress`) within a level that takes long, or over resamples.
# Python's log also says when it compiles, which takes long and happens once per machine: that is said in any case, once
# per session.

make_reporter <- function(verbose, progress) {
  verbose <- check_flag(verbose, "verbose")
  progress <- check_flag(progress, "progress")
  level <- -1
  bar <- NULL
  counted <- NULL # where the counting began: resamples done, seconds
  close_bar <- function() {
    if (!is.null(bar)) close(bar)
    if (!is.null(counted)) cat("\n")
    bar <<- counted <<- NULL
  }
  on_progress <- function(event) {
    if (event$level != level) {
      close_bar()
      level <<- event$level
      cat(sprintf("level %.0f, %.0f edges, at most %.3g tests\n", event$level, event$edges, event$at_most))
      bar <<- utils::txtProgressBar(max = 1, style = 3)
    }
    utils::setTxtProgressBar(bar, if (event$at_most > 0) min(1, event$done / event$at_most) else 1)
  }
  on_count <- function(event) {
    if (!progress) return()
    now <- proc.time()[["elapsed"]]
    if (is.null(counted)) counted <<- list(done = event$done, at = now)
    new <- event$done - counted$done
    left <- if (new > 0) paste(clock((now - counted$at) / new * (event$total - event$done)), "left") else ""
    share <- event$done / event$total
    cat(sprintf("\rresamples [%-24s] %3.0f %%  %.0f of %.0f  %-14s", strrep("#", round(24 * share)), 100 * share,
      event$done, event$total, left))
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
    switch(event$kind, progress = on_progress(event), count = on_count(event), line = on_line(event$text))
    invisible()
  }
  list(on_event = on_event, close = close_bar)
}

# Seconds as 0:00:07, 3:25:00.
clock <- function(s) sprintf("%.0f:%02.0f:%02.0f", s %/% 3600, s %/% 60 %% 60, floor(s %% 60))
