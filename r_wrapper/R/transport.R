# The R half of the transport: plain R values to Python, and plain R values back. It uses reticulate and base R only.
#
# reticulate 1.28 cannot convert arrays of NumPy 2, and turns whole numbers beyond 2^31 into 0. So an array is a vector
# in an environment whose memory Python sees. Counts are doubles, and everything else single numbers and strings. The
# other half, with a table of the arrays, is pycupc/r/transport.py.

# Computes `what` in Python from options and arrays (vectors by name), and returns the value of `receive` for the reply.
# In the reply, `arrays` are the vectors of the answer; Python may still fill `pMax` until `receive` has returned.
# `test`: a user's own.
compute <- function(what, options, arrays = list(), reporter = make_reporter(FALSE, FALSE), test = NULL,
                    receive = identity) {
  job <- open_job(what, arrays)
  on.exit(close_job(job))
  on.exit(reporter$close(), add = TRUE)
  reply <- drive(job, options, names(arrays), reporter, test)
  reply$arrays <- lapply(reply$arrays, function(array) vector(array[[1]], array[[2]]))
  if (isTRUE(options$pMax)) reply$arrays$pMax <- matrix(0, length(options$labels), length(options$labels))
  list2env(reply$arrays, job$vectors)
  suspendInterrupts(job$python$fill())
  answer <- receive(reply)
  suspendInterrupts(job$python$finish())
  answer
}

# `python`, a Job, and `vectors`, the environment of its arrays. The caller must close it with close_job().
open_job <- function(what, arrays) {
  suspendInterrupts({
    vectors <- list2env(arrays, parent = emptyenv())
    address <- sub(".* (0x)?([0-9A-Fa-f]+)>$", "\\2", utils::capture.output(print(vectors)))
    list(python = python_side()$Job(what, address), vectors = vectors)
  })
}

# Waits until Python has stopped; a second Ctrl-C must not end the waiting. A computation that does not stop in time
# keeps its vectors, which it may still read and write.
close_job <- function(job) {
  suspendInterrupts(if (!job$python$close()) {
    state$unfinished <- c(state$unfinished, job$vectors)
    message("the computation could not be stopped and may go on in the background; restarting R ends it")
  })
}

# Starts the computation and answers Python's questions until its reply comes. Between two questions R notices Ctrl-C,
# with no function of Python's below: Rcpp, by which reticulate calls, turns an interrupt into the error "No such
# namespace: reticulate." So interrupts are suspended wherever Python is called.
drive <- function(job, options, names, reporter, test) {
  suspendInterrupts({
    job$python$start(options, as.list(names))
    step <- job$python$step
    answer <- job$python$answer
    event <- step()
  })
  repeat {
    Sys.sleep(0) # notices Ctrl-C
    event <- switch(if (is.null(event)) "" else event$kind,
      reply = return(checked(event)),
      batch = {
        made <- made_together(event, test)
        suspendInterrupts(answer(made))
      },
      tests = {
        made <- search_pairs(event, test)
        suspendInterrupts(answer(made))
      },
      {
        if (!is.null(event)) reporter$on_event(event)
        suspendInterrupts(step())
      }
    )
  }
}

# The arrays whose names begin with `list` and a dot, as the list of this name, from which c() or unlist() made them.
part <- function(arrays, list) {
  own <- arrays[startsWith(names(arrays), paste0(list, "."))]
  stats::setNames(own, substring(names(own), nchar(list) + 2L))
}

# Runs `what` ("pc", "skeleton", "fci" or "rfci") in Python and returns plain R lists, in the form that pcalgo.R
# describes; with `expand`, the element `sets` as well. `more`: `options`, further arguments by Python's names, and
# `arrays`, see check_known().
transport <- function(what, suffStat, indepTest, alpha, labels, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE,
                      m.max = Inf, u2pd = "relaxed", conservative = FALSE, maj.rule = FALSE, solve.confl = FALSE,
                      threads = default_cores(), verbose = FALSE, engine = "auto", progress = FALSE, pMax = TRUE,
                      quirks = FALSE, expand = FALSE, more = list()) {
  p <- length(labels)
  tabular <- is_table(suffStat, indepTest)
  if (tabular && missing(indepTest)) indepTest <- "gaussCItest"
  if (tabular && missing(alpha)) alpha <- 0.01
  test <- built_in_test(indepTest)
  alpha <- check_number(alpha, "alpha", "one number in [0, 1]", function(x) x >= 0 && x <= 1)
  arguments <- c(list(alpha = alpha, verbose = check_flag(verbose, "verbose")), more$options)
  options <- pc_options(labels, test, NAdelete, m.max, u2pd, conservative, maj.rule, solve.confl, threads, engine,
    quirks, arguments)
  options <- c(options, pMax = check_flag(pMax, "pMax"), progress = check_flag(progress, "progress"))
  fixed <- checked_fixed(fixedGaps, fixedEdges, p)
  data <- if (tabular) {
    check_table(suffStat, p, test)
  } else {
    switch(options$test, gaussCItest = check_gauss(suffStat, p, TRUE), disCItest = , binCItest =
      check_discrete(suffStat, p, test), if (!is.null(test)) check_of_micd(suffStat, p, test))
  }
  say_orders(labels, suffStat, test, fixedGaps, fixedEdges)
  options <- c(options, data[names(data) %in% c("n", "n_rule", "nlev", "adaptDF", "df")])

  arrays <- c(data[names(data) %in% c("C", "pair_n", "x", "dm")], fixed, more$arrays)
  receive <- if (what %in% c("fci", "rfci")) plain_pag else function(reply, labels) plain_answer(reply, labels, expand)
  batch <- attr(indepTest, "batch")
  options$batch <- is.function(batch)
  users <- if (options$batch) function(x, y, S) batch(x, y, S, suffStat) else checked_test(indepTest, suffStat)
  compute(what, options, arrays, make_reporter(verbose, progress), users,
    function(reply) receive(reply, labels))
}

# The reply of "fci" or "rfci"; the sets are expanded while Python computes pMax.
plain_pag <- function(reply, labels) {
  for (text in unlist(reply$notes)) message(text)
  edge <- part(reply$arrays, "edge")
  answer <- list(
    labels = labels, edge = edge, graph = list(from = edge$low, to = edge$high),
    sepset = c(list(p = length(labels)), part(reply$arrays, "sepset")), pdsep = part(reply$arrays, "pdsep"),
    later = part(reply$arrays, "later"),
    n.edgetests = reply$arrays$n.edgetests, n.edgetestsPDSEP = reply$arrays$n.edgetestsPDSEP,
    max.ord = as.integer(reply$max_ord), max.ordPDSEP = as.integer(reply$max_ord_pdsep), pMax = reply$arrays$pMax
  )
  answer$sets <- expand_sepset(answer)
  if (!is.null(reply$arrays$found.x)) answer$found <- c(list(p = length(labels)), part(reply$arrays, "found"))
  answer
}

# The reply of "pc" or "skeleton" as the answer of cu_plain(); the sets are expanded while Python computes pMax.
plain_answer <- function(reply, labels, expand) {
  if (nzchar(reply$quirks)) warning(reply$quirks, call. = FALSE)
  sets <- function(name) c(list(p = length(labels)), part(reply$arrays, name))
  answer <- c(
    list(labels = labels, graph = part(reply$arrays, "graph"), n.edgetests = reply$arrays$n.edgetests,
      max.ord = as.integer(reply$max_ord), sepset = sets("sepset")),
    list(found = if (!is.null(reply$arrays$found.x)) sets("found"), pMax = reply$arrays$pMax),
    reply[c("engine", "orientation", "tries", "vanished", "seconds")]
  )
  if (expand) answer$sets <- expand_sepset(answer)
  # A random graph is drawn later, from a DAG.
  if (nzchar(reply$cpdag_note) && !endsWith(reply$orientation, "random")) message("The graph is ", reply$cpdag_note)
  answer
}

# The options of pc, skeleton and stability: `arguments` of pycupc.pc(), by their names there, and `more` of them.
# `test` is NULL for a user's own.
pc_options <- function(labels, test, NAdelete, m.max, u2pd, conservative, maj.rule, solve.confl, threads, engine,
                       quirks, more) {
  arguments <- list(
    NAdelete = check_flag(NAdelete, "NAdelete"),
    m_max = floor(check_number(m.max, "m.max", "one number from 0 on", function(x) x >= 0)),
    u2pd = u2pd,
    conservative = check_flag(conservative, "conservative"),
    maj_rule = check_flag(maj.rule, "maj.rule"),
    solve_confl = check_flag(solve.confl, "solve.confl"),
    numCores = threads,
    engine = engine,
    quirks = check_flag(quirks, "quirks")
  )
  list(labels = as.list(labels), test = if (is.null(test)) "" else test, arguments = c(arguments, more))
}

# The user's test, which must return one number.
checked_test <- function(test, suffStat) {
  function(x, y, S) {
    p <- test(x, y, S, suffStat)
    if (length(p) != 1L) {
      error("`indepTest` must return one number, the p-value; got ", describe(p), " for x = ", x, ", y = ", y)
    }
    as.double(p)
  }
}

# Tests each pair of an event "tests" given one set of candidates after the other, until one separates it. A round trip
# to Python for each test would take longer than most tests.
search_pairs <- function(event, test) {
  ints <- function(x) as.integer(unlist(x))
  x <- ints(event$x) + 1L
  y <- ints(event$y) + 1L
  reverse <- ints(event$reverse)
  length <- ints(event$length)
  all <- ints(event$candidates) + 1L
  level <- event$level
  n <- separated <- numeric(length(x))
  largest <- rep(-Inf, length(x))
  before <- cumsum(length) - length
  for (i in seq_along(x)) {
    if (reverse[i] > 0L && separated[reverse[i]]) next
    candidates <- all[before[i] + seq_len(length[i])]
    at <- seq_len(level)
    repeat {
      n[i] <- n[i] + 1
      p <- test(x[i], y[i], candidates[at])
      if (is.na(p)) p <- event$na_p
      if (is.na(p) || p > largest[i]) largest[i] <- p
      if (!is.na(p) && p >= event$alpha) {
        separated[i] <- 1
        break
      }
      k <- level # the next set in lexicographic order
      while (k > 0L && at[k] == length[i] - level + k) k <- k - 1L
      if (k == 0L) break
      at[k:level] <- at[k] + seq_len(level - k + 1L)
    }
  }
  c(n, separated, largest)
}

# An exception in Python becomes an R error with its text. A warning becomes a message: pcalg computes with NaN in
# silence, and options(warn = 2) must not end a call that pcalg would finish.
checked <- function(reply) {
  for (text in unlist(reply$notices)) message(text)
  if (!is.null(reply$error)) {
    text <- if (cannot_store(reply$message)) storing_remedy else reply$message
    stop(structure(
      class = c(paste0("pycupc_", reply$error), "pycupc_error", "error", "condition"),
      list(message = text, call = NULL)
    ))
  }
  reply
}

#' The answer of `cu_pc()` or `cu_skeleton()` as a plain list
#'
#' For machines without pcalg, and for programs that do not need its object: only reticulate and base R are used.
#'
#' @inheritParams cu_pc
#' @param what `"pc"` or `"skeleton"`.
#' @param ... Further arguments of [cu_pc()]: `fixedGaps`, `fixedEdges`, `NAdelete`, `m.max`, `u2pd` (not `"rand"`),
#'   `conservative`, `maj.rule`, `solve.confl`, `verbose`, `engine`, `progress`; `threads`, the number of CPU threads;
#'   `pMax = FALSE` leaves out the p x p matrix of p-values.
#' @return A list with the elements
#'   * `labels`: names of the variables;
#'   * `graph`: a list of `from`, `to` and `mark`, which have one entry per non-zero cell of the adjacency matrix
#'     `[from, to]` (1 in one direction: from -> to; 1 in both: undirected; 2 in both: bidirected);
#'   * `n.edgetests`, `max.ord`, `pMax`: as in [pcalg::pcAlgo-class];
#'   * `sepset`: the separating sets in sparse form, for [cu_sepset()];
#'   * `found`: these sets before the conservative or majority rule changed some; else NULL;
#'   * `engine`: which engine ran, and why;
#'   * `orientation`: how `u2pd = "retry"` ended;
#'   * `seconds`: duration of the Python part.
#' @examples
#' if (cu_available()) {
#'   C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
#'   answer <- cu_plain("pc", list(C = C, n = 100), alpha = 0.05, p = 3)
#'   answer$graph
#' }
#' @export
cu_plain <- function(what = c("pc", "skeleton"), suffStat, indepTest = "gaussCItest", alpha, labels, p, ...) {
  what <- match.arg(what)
  labels <- check_labels(labels, p, suffStat, indepTest)
  more <- list(...)
  if (identical(more$u2pd, "rand")) {
    error("with u2pd = \"rand\", pcalg orients the edges with R's generator; use cu_pc()")
  }
  transport(what, suffStat, indepTest, alpha, labels, ...)
}
