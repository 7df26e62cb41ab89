# The R half of the transport: plain R values to Python, and plain R values back. It uses reticulate and base R only.
#
# reticulate 1.28 cannot convert arrays of NumPy 2, and turns whole numbers beyond 2^31 into 0. So an array is a vector
# in an environment whose memory Python sees. Counts are doubles, and everything else single numbers and strings. The
# other half, with a table of the arrays, is pycupc/r/transport.py.

# Computes `what` in Python from options and arrays (vectors by name), and returns the value of `receive` for the reply,
# in which `arrays` are the vectors of the answer. `test`: a user's own.
compute <- function(what, options, arrays = list(), reporter = make_reporter(FALSE, FALSE), test = NULL,
                    receive = identity) {
  suspendInterrupts({
    vectors <- list2env(arrays, parent = emptyenv())
    address <- sub(".* (0x)?([0-9A-Fa-f]+)>$", "\\2", utils::capture.output(print(vectors)))
    job <- python_side()$Job(what, address)
  })
  # Waits until Python has stopped; a second Ctrl-C must not end the waiting. A computation that does not stop in time
  # keeps its vectors, which it may still read and write.
  on.exit(suspendInterrupts(if (!job$close()) {
    state$unfinished <- c(state$unfinished, vectors)
    message("the computation could not be stopped and may go on in the background; restarting R ends it")
  }))
  on.exit(reporter$close(), add = TRUE)
  reply <- drive(job, options, names(arrays), reporter, test)
  reply$arrays <- lapply(reply$arrays, function(array) vector(array[[1]], array[[2]]))
  if (isTRUE(options$pMax)) reply$arrays$pMax <- matrix(0, length(options$labels), length(options$labels))
  list2env(reply$arrays, vectors)
  suspendInterrupts(job$fill())
  receive(reply)
}

# Starts the computation and answers Python's questions until its reply comes. Between two questions R notices Ctrl-C,
# with no function of Python's below: Rcpp, by which reticulate calls, turns an interrupt into the error "No such
# namespace: reticulate." So interrupts are suspended wherever Python is called.
drive <- function(job, options, names, reporter, test) {
  suspendInterrupts({
    job$start(options, as.list(names))
    step <- job$step
    answer <- job$answer
    event <- step()
  })
  repeat {
    Sys.sleep(0) # notices Ctrl-C
    event <- switch(if (is.null(event)) "" else event$kind,
      reply = return(checked(event)),
      batch = ,
      tests = {
        made <- if (event$kind == "batch") made_together(event, test) else search_pairs(event, test)
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

# The arguments of cu_pc() that go to Python by their names in R, with the defaults of cu_plain(). Python's table of
# parameters knows its own names; a new argument of cu_pc() needs no line here.
shared_defaults <- function() {
  own <- formals(cu_pc)
  own <- lapply(own[setdiff(names(own), c("suffStat", "indepTest", "alpha", "labels", "p", "skel.method", "numCores",
    "sepset"))], eval)
  own$u2pd <- own$u2pd[[1]]
  own$progress <- FALSE
  own
}

# These arguments with the number of threads; those that are not given have their defaults.
given_arguments <- function(..., threads = default_cores()) {
  given <- list(...)
  defaults <- shared_defaults()
  at <- match(names(given), names(defaults))
  if (length(given) > sum(!is.na(at))) {
    wrong <- if (is.null(names(given))) given else given[is.na(at)]
    error("unused argument (", paste(c(names(wrong)[[1]], describe(wrong[[1]])), collapse = " = "), ")")
  }
  defaults[at] <- given
  c(defaults, list(threads = threads))
}

# Those of the function whose arguments are in `frame`.
shared <- function(frame, threads) {
  names <- intersect(names(shared_defaults()), ls(frame))
  do.call(given_arguments, c(mget(names, frame), list(threads = threads)), quote = TRUE)
}

# Runs `what` ("pc", "skeleton", "fci" or "rfci") in Python and returns plain R lists, in the form that pcalgo.R
# describes; with `expand`, the element `sets` as well, with `keep` the element `evidence`. `given`: see shared();
# `more`: `options`, further arguments by Python's names, and `arrays`, see check_known().
transport <- function(what, suffStat, indepTest, alpha, labels, given, expand = FALSE, more = list(), keep = TRUE) {
  p <- length(labels)
  tabular <- is_table(suffStat, indepTest)
  by_default <- tabular && missing(indepTest)
  if (tabular && missing(alpha)) alpha <- 0.01
  if (by_default) {
    chosen <- if (is.data.frame(suffStat)) chosen_test(suffStat, "suffStat")
    suffStat <- if (is.null(chosen)) suffStat else chosen$data
    indepTest <- if (is.null(chosen)) "gaussCItest" else chosen$test
  }
  test <- built_in_test(indepTest)
  alpha <- check_share(alpha, "alpha")
  reporter <- make_reporter(given$verbose, given$progress)
  kept <- if (!is.null(given$checkpoint)) list(checkpoint = check_folder(given$checkpoint))
  arguments <- c(list(alpha = alpha, verbose = as.logical(given$verbose)), kept, more$options)
  data <- if (tabular) {
    c(check_table(suffStat, p, test), by_default = by_default)
  } else if (!is.null(test)) {
    check_data(suffStat, p, test)
  }
  say_orders(labels, suffStat, test, given)
  batch <- attr(indepTest, "batch")
  flags <- list(pMax = check_flag(given$pMax, "pMax"), progress = as.logical(given$progress),
    batch = is.function(batch), evidence = keep)
  problem <- as_problem(labels, test, given, data, arguments)
  users <- if (flags$batch) function(x, y, S) batch(x, y, S, suffStat) else checked_test(indepTest, suffStat)
  compute(what, c(problem$options, flags), c(problem$arrays, more$arrays), reporter, users,
    function(reply) plain_answer(reply, labels, expand, test))
}

# `suffStat` as the list that the test takes, checked.
check_data <- function(suffStat, p, test) {
  switch(test,
    gaussCItest = check_gauss(suffStat, p, TRUE),
    disCItest = , binCItest = check_discrete(suffStat, p, test),
    if (test %in% tests_of_micd) check_of_micd(suffStat, p, test) else check_typed(suffStat, p, test, "suffStat")
  )
}

# The elements of the data that are vectors, which Python sees in R's memory.
data_vectors <- c("C", "pair_n", "x", "dm")

# The `options` and `arrays` of pc, skeleton, stability, ... for Python: `arguments` of cu_pc(), with `more` by their
# names in Python, and the `data` of the `test`, which is NULL for a user's own.
as_problem <- function(labels, test, given, data, more) {
  flag <- function(name) check_flag(given[[name]], name)
  if (isTRUE(is.na(given$engine))) refuse("engine", "the name of an engine", given$engine) # reticulate makes it TRUE
  handled <- c("fixedGaps", "fixedEdges", "verbose", "progress", "pMax", "checkpoint", "threads")
  arguments <- given[setdiff(names(given), handled)]
  switches <- names(arguments)[vapply(shared_defaults()[names(arguments)], is.logical, NA)]
  arguments[switches] <- lapply(switches, flag)
  arguments$m.max <- floor(check_number(given$m.max, "m.max", "one number from 0 on", function(x) x >= 0))
  arguments <- c(arguments, list(numCores = given$threads))
  vectors <- names(data) %in% data_vectors
  fixed <- Filter(Negate(is.null), given[c("fixedGaps", "fixedEdges")])
  fixed <- mapply(check_fixed, fixed, names(fixed), MoreArgs = list(p = length(labels)), SIMPLIFY = FALSE)
  list(
    options = c(
      list(labels = as.list(labels), test = if (is.null(test)) "" else test, arguments = c(arguments, more)),
      data[!vectors]
    ),
    arrays = c(data[vectors], fixed)
  )
}

# The reply as the answer of cu_plain() or, with more elements, that of fci() or rfci(); the sets are expanded while
# Python computes pMax.
plain_answer <- function(reply, labels, expand, test) {
  if (nzchar(reply$quirks)) warning(reply$quirks, call. = FALSE)
  for (text in unlist(reply$notes)) message(text)
  arrays <- reply$arrays
  sets <- function(name) c(list(p = length(labels)), part(arrays, name))
  untested <- part(arrays, "untested")
  warn_of_untested(untested, test)
  answer <- c(
    list(labels = labels, graph = part(arrays, "graph"), n.edgetests = arrays$n.edgetests,
      max.ord = as.integer(reply$max_ord), sepset = sets("sepset")),
    list(found = if (!is.null(arrays$found.x)) sets("found"), pMax = arrays$pMax,
      untested = if (length(untested) || !is.null(test) && test != "gaussCItest") untested),
    reply[intersect(c("engine", "orientation", "status", "note", "tries", "vanished", "seconds"), names(reply))]
  )
  if (!is.null(arrays$edge.low)) {
    answer$graph <- list(from = arrays$edge.low, to = arrays$edge.high)
    answer <- c(answer, lapply(c(edge = "edge", pdsep = "pdsep", later = "later"), part, arrays = arrays),
      list(n.edgetestsPDSEP = arrays$n.edgetestsPDSEP, max.ordPDSEP = as.integer(reply$max_ord_pdsep)))
  }
  answer$evidence <- arrays$evidence
  if (expand) answer$sets <- expand_sepset(answer)
  answer
}

# Pairs whose removing test was not made, for lack of observations: a warning where pcalg's test warns, else a message.
warn_of_untested <- function(untested, test) {
  if (!length(untested)) return()
  k <- length(untested$x)
  few <- format(range(untested$there), big.mark = ",", trim = TRUE)
  most <- format(max(untested$needed), big.mark = ",", scientific = FALSE)
  text <- paste0(if (k == 1L) "1 pair counts" else paste(format(k, big.mark = ","), "pairs count"),
    " as independent without a test: not enough data (n = ", paste(unique(few), collapse = " to "), ", up to ", most,
    " observations needed). cu_why() says so of each pair")
  if (test %in% c(tests_of_pcalg[-1], "mixCItest", "flexCItest")) warning(text, call. = FALSE) else message(text)
}

# The user's test, which must return one number.
checked_test <- function(test, suffStat) {
  function(x, y, S) {
    p <- test(x, y, S, suffStat)
    if (length(p) != 1L || !is.numeric(p) && !is.logical(p)) { # an NA is logical
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
#'   * `untested`: removed pairs that were not tested, for lack of data: `x`, `y`, `level`, the observations `needed`
#'     and those `there`; else NULL or empty;
#'   * `engine`: which engine ran, and why;
#'   * `orientation`: how `u2pd = "retry"` ended;
#'   * `status`: the same in a word, how the graph was found: `"relaxed"`, or with `u2pd = "retry"` `"extendable"`,
#'     `"reoriented"`, `"forced"` or `"random"`; "" of a skeleton and without edges;
#'   * `note`: why the graph is not a CPDAG, or "";
#'   * `seconds`: duration of the Python part.
#' @seealso [cu_pc()]
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
  given <- given_arguments(...)
  if (!is.null(given$threads)) {
    given$threads <- as.integer(check_number(given$threads, "threads", "a whole number of at least 1",
      function(x) x >= 1 && x < 2^31 && x == round(x)))
  }
  if (identical(given$u2pd, "rand")) {
    error("with u2pd = \"rand\", pcalg orients the edges with R's generator; use cu_pc()")
  }
  given$u2pd <- match.arg(given$u2pd, c("relaxed", "retry"))
  check_orientation(given$u2pd, given$conservative, given$maj.rule, given$solve.confl)
  if (missing(indepTest) && is_table(suffStat)) {
    return(transport(what, suffStat, , alpha, labels, given, keep = FALSE))
  }
  transport(what, suffStat, indepTest, alpha, labels, given, keep = FALSE)
}
