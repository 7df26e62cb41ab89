# cu_stability(): PC on resamples of the rows, computed by pycupc.stability. The methods of its result are in
# stability_object.R.

#' How stable is each edge? An algorithm on many resamples of the rows
#'
#' Runs [cu_pc()], [cu_fci()] or [cu_rfci()] on bootstrap resamples, subsamples or complementary halves of the rows, and
#' counts how often each edge is found, and with which marks.
#'
#' The graph of resample i is that of the method on the rows `cu_rows(object, i)`; it depends only on the data, the
#' arguments, the seed and i. `pycupc.stability()` in Python draws the same resamples for the same seed
#' (`random_state`).
#'
#' **Random numbers.** The seed is one draw from R's random number generator, `floor(runif(1) * 2^31)`, so that the
#' result is reproducible after [set.seed()]; if `seed` is given, nothing is drawn. All other random numbers, including
#' those that `u2pd` needs, come from Python and are determined by the seed.
#'
#' **Ctrl-C** is an ordinary R interrupt. With `checkpoint`, the resamples that had finished are kept, and the same call
#' resumes from there. If `seed` is not given, that call takes the checkpoint's seed instead of the one it drew.
#'
#' **Constant columns.** A variable that is constant in a resample has no edges there, except those of `fixedEdges`;
#' `summary()` says in how many resamples this happened.
#'
#' Bootstrap resamples repeat rows, but the tests treat all n rows as independent, so they find spurious dependence more
#' often than `alpha` says. Subsamples do not have this problem, but they have fewer rows and therefore less power.
#'
#' @inheritParams cu_pc
#' @param x The observations: a numeric matrix or data frame with a row for each observation and a column for each
#'   variable. For [pcalg::disCItest()] and [pcalg::binCItest()] a list of `dm`, `nlev` and `adaptDF` as in [cu_pc()],
#'   or a data frame (or matrix) of categories: factors, strings, logical or whole numbers, with `adaptDF` FALSE. For
#'   tests of micd as in [cu_pc()]. A resample keeps the numbers of levels of the whole data.
#' @param alpha Significance level of each test; several levels share the resamples.
#' @param n_resamples Number of resamples; even for `"complementary"`.
#' @param scheme `"bootstrap"`: n rows drawn with replacement. `"subsample"`: a share of the rows. `"complementary"`:
#'   halves of the rows in pairs that have no row in common. Bounds on false edges, [cu_bound()], hold for the last two.
#' @param fraction Share of the rows in a resample of scheme `"subsample"`.
#' @param labels Names of the variables; by default the column names, or else 1, 2, ...
#' @param u2pd,solve.confl How the edges are oriented, as in [cu_pc()]; for method `"pc"` only.
#' @param numCores Number of CPU threads; without it as many as [cu_pc()] takes.
#' @param checkpoint A folder in which finished resamples are kept. A call with the same data and arguments resumes from
#'   there, even with a different `n_resamples`; a folder made with other data or arguments is refused.
#' @param progress Show a text progress bar over the resamples? By default only in interactive sessions.
#' @param indepTest [pcalg::gaussCItest()], [pcalg::disCItest()] or [pcalg::binCItest()], or the name of one, or
#'   `"gaussCItwd"`, `"disCItwd"`, `"mixCItest"`, `"mixCItwd"`, `"flexCItest"` or `"flexCItwd"` of micd, or `"KCI"`, see
#'   [cu_pc()]. If it is left out, `x` may be a data frame with NA, texts or factors: then it is the test that fits,
#'   which a message names.
#' @param seed A whole number, 0 or more, instead of one drawn from R's random number generator.
#' @param quirks Should faults of pcalg be reproduced? See [cu_pc()], and for the other methods [cu_fci()].
#' @param method The algorithm: `"pc"`, `"fci"` or `"rfci"`, the last two with the other arguments of [cu_fci()] at
#'   their defaults.
#' @param tiers Number of the tier of each variable, NA without one, or NULL: no arrow points from a later tier to an
#'   earlier one. With them `"pc"` is [cu_tpc()], and `"fci"` has `selectionBias = FALSE`.
#' @return An object of class `cu_stability`, a list of plain values, which [saveRDS()] saves completely:
#'   * `labels`, `alpha`, `scheme`, `fraction`, `seed`, `n_resamples`: as given or drawn; `n`: number of observations;
#'   * `pairs`: a data frame of the pairs that were ever adjacent, for each `alpha`, most frequent first: `alpha`;
#'     `from` and `to`, positions of the variables; and the numbers of resamples with each mark, `directed` (from -->
#'     to), `reversed` (from <-- to), `undirected`, `bidirected`; of a PAG with each mark at each end, `from_circle`,
#'     `from_arrow`, `from_tail`, `to_circle`, `to_arrow`, `to_tail`;
#'   * `n_tests`: numbers of tests, a row for each resample and a column for each `alpha`;
#'   * `n_constant`, `n_copies`: for each resample, numbers of variables that were constant, or equal to another one;
#'   * `constant`: for each variable, the number of resamples in which it was constant;
#'   * `n_pairs`, `n_fixed`: the number of pairs that are tested, and the number of pairs in `fixedEdges`; `method`.
#' @seealso [summary.cu_stability()] and the other methods; [cu_consensus()] for the graph of the stable edges;
#'   [cu_bound()] for how many of them are expected to be false.
#' @references Meinshausen, N. and Buehlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B
#'   72, 417-473.
#'
#'   Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability selection.
#'   Journal of the Royal Statistical Society B 75, 55-80.
#' @examples
#' if (cu_available()) {
#'   set.seed(1)
#'   X <- matrix(rnorm(2000), 200, dimnames = list(NULL, letters[1:10]))
#'   for (j in 2:10) X[, j] <- X[, j] + 0.6 * X[, j - 1]
#'   found <- cu_stability(X, alpha = c(0.01, 0.001), n_resamples = 20, scheme = "complementary")
#'   summary(found)
#'   head(as.data.frame(found, threshold = 0.8))
#' }
#' @export
cu_stability <- function(x, alpha = 0.01, n_resamples = 100, scheme = c("bootstrap", "subsample", "complementary"),
                         fraction = 0.5, labels, fixedGaps = NULL, fixedEdges = NULL, NAdelete = TRUE, m.max = Inf,
                         u2pd = c("relaxed", "rand", "retry"), conservative = FALSE, maj.rule = FALSE,
                         solve.confl = FALSE, numCores = NULL, engine = "auto", checkpoint = NULL,
                         progress = interactive(), indepTest = "gaussCItest", seed = NULL, quirks = FALSE,
                         method = c("pc", "fci", "rfci"), tiers = NULL) {
  u2pd <- match.arg(u2pd)
  method <- match.arg(method)
  check_orientation(u2pd, conservative, maj.rule, solve.confl)
  if (method != "pc" && (u2pd != "relaxed" || solve.confl)) {
    error("`u2pd` and `solve.confl` go with method = \"pc\" only")
  }
  by_default <- missing(indepTest)
  if (by_default && is.data.frame(x)) {
    if (missing(labels)) x <- variables_of(x, "x")
    chosen <- chosen_test(x, "x")
    x <- chosen$data
    indepTest <- chosen$test
  }
  test <- built_in_test(indepTest)
  if (is.null(test) || test %in% imputed_tests) { # whose data have no rows in common
    known <- setdiff(c(built_in_tests, more_tests()), imputed_tests)
    error("`indepTest` must be one of ", quoted(known), ", since rows cannot be drawn from the data of any other ",
      "test; got ", if (is.null(test)) describe(indepTest) else quoted(test))
  }
  labels <- labels_for(x, labels)
  data <- if (test == "gaussCItest") {
    X <- check_observations(x)
    check_complete(X, column_names(x), "x", "indepTest = \"gaussCItwd\" takes NA")
    list(x = X, by_default = by_default)
  } else if (test %in% tests_of_micd) {
    check_of_micd(x, length(labels), test, "x")
  } else if (!test %in% built_in_tests) {
    check_typed(x, length(labels), test, "x")
  } else {
    check_discrete(coded(x), length(labels), test, "x")
  }
  known <- if (!is.null(tiers)) check_known(tiers, NULL, NULL, NULL, labels)$options["tiers"]
  if (!is.null(known) && method == "fci") known$selectionBias <- FALSE
  more <- c(list(method = method), known)
  reply <- on_resamples("stability", environment(), data, test, labels, match.arg(scheme), more)
  if (nzchar(reply$quirks)) warning(reply$quirks, call. = FALSE)
  alpha <- as.double(unlist(reply$alphas))
  structure(c(
    list(labels = labels, alpha = alpha), reply[c("n", "n_resamples", "scheme", "fraction", "seed")],
    list(
      pairs = data.frame(alpha = rep(alpha, unlist(reply$n_pairs_ever)), part(reply$arrays, "pair")),
      n_tests = matrix(reply$arrays$n_tests, ncol = length(alpha))
    ),
    reply$arrays[c("n_constant", "n_copies", "constant")], reply[c("n_pairs", "n_fixed", "method")]
  ), class = "cu_stability")
}

# Names of the variables: of the columns, or 1, 2, ... where they have none.
column_names <- function(x, name = "x", why = NULL) {
  refuse_samples_in_columns(x, name)
  table <- if (is.list(x) && !is.data.frame(x)) x$dm else x
  if (is.null(table)) refuse(name, paste0("the observations, a matrix or data frame with a row for each", why), x)
  if (length(dim(table)) != 2L || ncol(table) < 2L) {
    refuse(name, "a matrix or data frame with a row for each observation and 2 columns or more", table)
  }
  if (is.null(colnames(table))) as.character(seq_len(ncol(table))) else colnames(table)
}

# The `labels` of the variables, by default the names of the columns.
labels_for <- function(x, labels) {
  names <- column_names(x, why = ": resampling draws rows, which a correlation matrix does not have")
  labels <- check_labels(if (missing(labels)) names else labels)
  if (length(labels) != length(names)) refuse("labels", paste(length(names), "names of the columns of `x`"), labels)
  labels
}

# A data frame of which each column has one value for each row: all values behind a matrix would belong to other
# variables, and integer64 are numbers only to package bit64.
check_columns <- function(x, name) {
  fits <- function(v) is.atomic(v) && NCOL(v) == 1L && !inherits(v, "integer64")
  other <- if (is.data.frame(x)) names(x)[!vapply(x, fits, NA)]
  if (length(other)) {
    error("`", name, "` must have a vector as each column, not a matrix, list or integer64, as in ", quoted(other))
  }
  if (is.data.frame(x)) without_missing_codes(x) else x
}

# A data frame in which the codes that SPSS calls missing (package haven: `na_values`, `na_range`) are NA. Without haven
# in the session, is.na() does not know them.
without_missing_codes <- function(x) {
  for (j in which(vapply(x, inherits, NA, "haven_labelled_spss"))) {
    codes <- attr(x[[j]], "na_values", exact = TRUE)
    range <- attr(x[[j]], "na_range", exact = TRUE)
    v <- as.vector(unclass(x[[j]]))
    v[v %in% codes | if (length(range) == 2L) v >= range[1] & v <= range[2] else FALSE] <- NA
    x[[j]] <- v
  }
  x
}

# A data frame without a column of anything but numbers and logical values.
check_numeric <- function(x, name, test = "gaussCItest") {
  other <- if (is.data.frame(x)) names(x)[!vapply(x, function(column) is.numeric(column) || is.logical(column), NA)]
  if (length(other)) {
    error("`", name, "` must be numeric for ", test, ", and is not in ", with_example(x, other), "; names of rows are ",
      "no variable: leave them out; for categories use indepTest = \"", sub("gauss", "dis", test), "\"")
  }
  x
}

# The observations of gaussCItest as a matrix of doubles, with two rows or more.
check_observations <- function(x, name = "x") {
  if (is.list(x) && !is.data.frame(x)) {
    error("`x` is a list with `dm`, codes, which need indepTest = \"disCItest\" or \"binCItest\"")
  }
  X <- as.matrix(check_columns(check_numeric(x, name), name)) # also from package Matrix
  if (!is.numeric(X) && !is.logical(X)) {
    error("`", name, "` must be numeric for gaussCItest; got ", describe(x), " of type ", typeof(X),
      if (is.character(X)) "; one column of texts makes all columns of a matrix texts: give the data frame")
  }
  if (isSymmetric.matrix(unname(X))) {
    error("`", name, "` is symmetric, as a matrix of correlations or covariances is; the observations are needed")
  }
  check_rows(nrow(X), name)
  if (!is.double(X)) storage.mode(X) <- "double" # the assignment alone would copy the matrix
  X
}

# Categories as the list that pcalg's discrete tests take; such a list unchanged. `gaps`: may there be NA?
coded <- function(x, name = "x", gaps = FALSE) {
  if (is.list(x) && !is.data.frame(x)) return(x)
  check_rows(nrow(x), name)
  x <- check_columns(x, name)
  measured <- vapply(as.data.frame(x), function(column) is.numeric(column) && any(column %% 1 != 0, na.rm = TRUE), NA)
  if (any(measured)) {
    error("`", name, "` must hold categories for a discrete test, and has numbers that are not whole in ",
      with_example(as.data.frame(x), names(as.data.frame(x))[measured]), "; for continuous data use gaussCItest, for ",
      "numbers beside categories mixCItest")
  }
  # NaN is no category; factor() drops the levels that do not occur
  columns <- lapply(as.data.frame(x), function(column) factor(replace(column, is.na(column), NA)))
  incomplete <- column_names(x)[vapply(columns, anyNA, NA)]
  if (length(incomplete) && !gaps) {
    error("`", name, "` must not hold NA; it does in ", quoted(incomplete), "; ", with_gaps)
  }
  nlev <- vapply(columns, nlevels, 1L)
  if (any(nlev < 2L)) {
    error("`", name, "` must have two categories or more in each column; ", quoted(column_names(x)[nlev < 2L]),
      " has one")
  }
  dm <- vapply(columns, as.integer, integer(nrow(x))) - 1L
  numbers <- vapply(as.data.frame(x), function(column) is.numeric(column) || is.logical(column), NA)
  structure(list(dm = dm, nlev = nlev, adaptDF = FALSE), texts = texts_of(columns, !numbers))
}

# The levels of the factors among some columns, which Python looks at, a list for each; NULL for the other columns.
texts_of <- function(columns, some = rep(TRUE, length(columns))) {
  unname(Map(function(column, wanted) if (wanted) as.list(levels(column)), columns, some))
}

# The reply to "stability" or "cstar". The arguments of the function are in `frame`; `more` are its own, for Python. R's
# generator is drawn from last, when nothing else is wrong. After Ctrl-C it says where the finished ones are kept.
on_resamples <- function(what, frame, data, test, labels, scheme, more) {
  given <- shared(frame, if (is.null(frame$numCores)) default_cores() else check_cores(frame$numCores))
  alpha <- frame$alpha
  if (!is.numeric(alpha) || !length(alpha) || anyNA(alpha) || any(alpha < 0 | alpha > 1)) {
    refuse("alpha", "one or more numbers in [0, 1]", alpha)
  }
  if (anyDuplicated(alpha)) error("`alpha` must have each level once; ", alpha[anyDuplicated(alpha)], " occurs again")
  whole <- function(least, most) function(x) x >= least && x <= most && x == round(x)
  n_resamples <- check_number(frame$n_resamples, "n_resamples", "a whole number from 1 on",
    whole(1, .Machine$integer.max))
  seed <- frame$seed
  arguments <- list(
    alpha = if (what == "cstar") alpha else as.list(as.double(alpha)), n_resamples = as.integer(n_resamples),
    scheme = scheme,
    fraction = check_number(frame$fraction, "fraction", "a number between 0 and 1", function(x) x > 0 && x < 1),
    checkpoint = check_folder(given$checkpoint),
    random_state = if (!is.null(seed)) check_number(seed, "seed", "a whole number from 0 on", whole(0, 2^53))
  )
  problem <- as_problem(labels, test, given, data, c(arguments, more))
  say_orders(labels, frame$x, test, given, "x")
  reporter <- make_reporter(FALSE, given$progress)
  drawn <- if (is.null(seed)) floor(stats::runif(1) * 2^31)
  withCallingHandlers(
    compute(what, c(problem$options, list(drawn = drawn)), problem$arrays, reporter),
    interrupt = function(i) {
      reporter$close()
      if (is.null(arguments$checkpoint)) return()
      message("interrupted; the finished resamples are kept in ", arguments$checkpoint, ", and the same call resumes ",
        "from there")
    }
  )
}
