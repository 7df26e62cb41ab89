# Checks of the arguments. Where pcalg has the check, the message is pcalg's.

check_labels <- function(labels, p, suffStat, indepTest) {
  if (missing(labels)) {
    if (missing(p) && is_table(suffStat, indepTest)) return(check_labels(column_names(suffStat, "suffStat")))
    if (missing(p)) stop("need to specify 'labels' or 'p'", call. = FALSE)
    stopifnot(is.numeric(p), length(p <- as.integer(p)) == 1, p >= 2)
    return(as.character(seq_len(p)))
  }
  stopifnot(is.character(labels))
  if (!missing(p)) {
    stopifnot(is.numeric(p), length(p) == 1)
    if (p != length(labels)) {
      stop("'p' is not needed when 'labels' is specified, and must match length(labels)", call. = FALSE)
    }
    message("No need to specify 'p', when 'labels' is given")
  }
  stopifnot(length(labels) >= 2)
  if (anyDuplicated(labels)) {
    stop("`labels` must be unique; \"", labels[duplicated(labels)][[1]], "\" occurs more than once", call. = FALSE)
  }
  labels
}

check_orientation <- function(u2pd, conservative, maj.rule, solve.confl) {
  if ((conservative || maj.rule) && u2pd != "relaxed") {
    stop("Conservative PC and majority rule PC can only be run with 'u2pd = relaxed'", call. = FALSE)
  }
  if (solve.confl && u2pd != "relaxed") {
    stop("Versions of PC using lists for the orientation rules (and possibly bi-directed edges)\n",
      " can only be run with 'u2pd = relaxed'", call. = FALSE)
  }
  if (conservative && maj.rule) {
    stop("Choose either conservative PC or majority rule PC!", call. = FALSE)
  }
}

check_method <- function(method, instead) {
  if (method == "original") {
    stop("the answer of \"original\" depends on the order of the variables, and parallel tests cannot reproduce it; ",
      "use \"stable\", or call ", instead, call. = FALSE)
  }
}

check_cores <- function(numCores) {
  stopifnot((is.integer(numCores) || is.numeric(numCores)) && numCores > 0)
  as.integer(check_number(numCores, "numCores", "a whole number of at least 1", function(x) x >= 1 && x < 2^31))
}

# The number of threads of a call without `numCores`; NULL: Python takes the cores that this process may use.
default_cores <- function() {
  if (in_worker()) return(1L)
  wanted <- suppressWarnings(as.integer(c(getOption("mc.cores"), Sys.getenv(c("OMP_NUM_THREADS", "OMP_THREAD_LIMIT")))))
  wanted <- wanted[!is.na(wanted) & wanted > 0L]
  if (length(wanted)) wanted[[1]]
}

# Is this process one of several that work in parallel: forked by package parallel, or a worker of its clusters (also
# of those that parallelly makes for future)?
in_worker <- function() {
  if (any(grepl("workRSOCK|slaveRSOCK", commandArgs()))) return(TRUE)
  is_child <- if (isNamespaceLoaded("parallel")) get0("isChild", asNamespace("parallel")) # there is none on Windows
  !is.null(is_child) && is_child()
}

# Are these observations, a row for each, in place of the list that a test of pcalg takes?
is_table <- function(suffStat, indepTest) {
  !missing(suffStat) && length(dim(suffStat)) == 2L && (missing(indepTest) || !is.null(built_in_test(indepTest)))
}

# Says if names are those of `labels` in another order: as in pcalg, only positions count.
say_orders <- function(labels, suffStat, test, fixedGaps, fixedEdges, name = "suffStat") {
  named <- list(fixedGaps = fixedGaps, fixedEdges = fixedEdges)
  if (!is.null(test)) {
    data <- if (is_table(suffStat)) list(suffStat) else list(`$C` = suffStat$C, `$dm` = suffStat$dm)
    named <- c(named, stats::setNames(data, paste0(name, names(data))))
  }
  for (name in names(named)) {
    names <- colnames(named[[name]])
    if (length(names) == length(labels) && setequal(names, labels) && !all(names == labels)) {
      at <- which(names != labels)[[1]]
      message("`labels` are the column names of `", name, "` in another order. As in pcalg, positions count: variable ",
        at, " is called ", quoted(labels[at]), ", though its column is called ", quoted(names[at]))
    }
  }
}

# `fixedGaps`, `fixedEdges`: NULL, or a symmetric p x p matrix of TRUE/FALSE or 0/1. pcalg negates the matrix with `!`,
# whose text for any other type this is.
check_fixed <- function(fixed, name, p) {
  if (is.null(fixed)) {
    return(NULL)
  }
  if (!identical(as.integer(dim(fixed)), c(p, p))) {
    stop("Dimensions of the dataset and ", name, " do not agree.", call. = FALSE)
  }
  fixed <- unname(as.matrix(fixed))
  if (!is.logical(fixed) && !is.numeric(fixed)) {
    stop("invalid argument type: `", name, "` must hold TRUE and FALSE, not ", typeof(fixed), call. = FALSE)
  }
  fixed <- fixed != 0
  if (anyNA(fixed)) {
    stop("`", name, "` must not hold NA", call. = FALSE)
  }
  if (!identical(fixed, t(fixed))) {
    stop(name, " must be symmetric", call. = FALSE)
  }
  fixed
}

# Both of them as raw vectors, those that are not NULL.
checked_fixed <- function(fixedGaps, fixedEdges, p) {
  fixed <- list(
    fixedGaps = check_fixed(fixedGaps, "fixedGaps", p),
    fixedEdges = check_fixed(fixedEdges, "fixedEdges", p)
  )
  lapply(Filter(Negate(is.null), fixed), as.raw)
}

# The correlation matrix and the number of observations, as plain doubles.
check_gauss <- function(suffStat, p) {
  if (!is.list(suffStat) || is.null(suffStat$C) || is.null(suffStat$n)) {
    stop("`suffStat` must be a list with `C`, the correlation matrix, and `n`, the number of observations; got ",
      describe(suffStat), call. = FALSE)
  }
  C <- as.matrix(suffStat$C) # also from package Matrix
  if (!is.numeric(C) || !identical(dim(C), c(p, p))) {
    stop(sprintf("`suffStat$C` must be a numeric matrix of %d x %d to match `labels` or `p`, not %s",
      p, p, describe(suffStat$C)), call. = FALSE)
  }
  n <- suffStat$n
  if (!is.numeric(n) || length(n) != 1L || !is.finite(n) || n < 1) {
    stop("`suffStat$n` must be one finite number of at least 1, the number of observations; got ", describe(n),
      call. = FALSE)
  }
  if (!is.double(C)) storage.mode(C) <- "double" # the assignment alone would copy the matrix
  list(C = C, n = as.double(n))
}

check_number <- function(x, name, requirement, ok) {
  if (!is.numeric(x) || length(x) != 1L || is.na(x) || !ok(x)) {
    stop("`", name, "` must be ", requirement, "; got ", describe(x), call. = FALSE)
  }
  as.double(x)
}

check_flag <- function(x, name) {
  if (!is.logical(x) && !is.numeric(x) || length(x) != 1L || is.na(x)) {
    stop("`", name, "` must be TRUE or FALSE; got ", describe(x), call. = FALSE)
  }
  as.logical(x)
}

# The table of observations of cu_pc(), as cu_stability() takes it.
check_table <- function(suffStat, p, test) {
  if (ncol(suffStat) != p) {
    stop("`suffStat` must have ", p, " columns to match `labels` or `p`; got ", describe(suffStat), call. = FALSE)
  }
  if (test != "gaussCItest") return(check_discrete(coded(suffStat, "suffStat"), p, test))
  if (is.matrix(suffStat) && isSymmetric(unname(suffStat))) check_gauss(suffStat, p) # an error: correlations without n
  x <- check_observations(suffStat, "suffStat")
  incomplete <- which(colSums(!is.finite(x)) > 0)
  if (length(incomplete)) {
    stop("`suffStat` must be complete and finite for gaussCItest; it is not in ",
      quoted(column_names(suffStat)[incomplete]), call. = FALSE)
  }
  list(x = x)
}

# A value in a few words, for an error message.
describe <- function(x) {
  if (is.null(x)) {
    "NULL"
  } else if (length(dim(x))) {
    kind <- if (is.matrix(x) && !is.numeric(x)) typeof(x)
    paste(c(paste(dim(x), collapse = " x "), kind, class(x)[[1]]), collapse = " ")
  } else if (is.list(x)) {
    paste0("a list with ", if (length(names(x))) paste0("`", names(x), "`", collapse = ", ") else "no names")
  } else if (is.atomic(x) && length(x) == 1L) {
    deparse(unname(x))
  } else {
    paste(class(x)[[1]], "of length", length(x))
  }
}

quoted <- function(x) paste0("\"", x, "\"", collapse = ", ")

# The graph of cu_consensus() has no tests and no separating sets behind it.
refuse_consensus <- function(fit, name) {
  if (!length(fit@sepset) && is.null(attr(fit, "cu_sepset"))) {
    stop("`", name, "` is a graph without separating sets, as cu_consensus() makes; pcalg::shd() and ",
      "pcalg::compareGraphs() compare graphs", call. = FALSE)
  }
}

# Is pcalg installed? Loading it draws a random number.
has_pcalg <- function() keep_seed(requireNamespace("pcalg", quietly = TRUE))

need_pcalg <- function(caller, instead = "cu_plain() returns the same answer as a plain list") {
  if (!has_pcalg()) {
    stop(caller, " returns an object of the package pcalg, which is not installed: ",
      "install.packages(\"BiocManager\"); BiocManager::install(\"pcalg\"). ",
      "Without pcalg, ", instead, ".", call. = FALSE)
  }
}

# The tests that the engines compute themselves.
built_in_tests <- c("gaussCItest", "disCItest", "binCItest")

# The name of such a test, given by name or as pcalg's function; NULL for a user's own function.
built_in_test <- function(indepTest) {
  if (is.character(indepTest) && length(indepTest) == 1L && indepTest %in% built_in_tests) {
    return(indepTest)
  }
  if (!is.function(indepTest)) {
    stop("`indepTest` must be a function(x, y, S, suffStat), or one of ", quoted(built_in_tests), "; got ",
      describe(indepTest), call. = FALSE)
  }
  if (has_pcalg()) {
    for (name in built_in_tests) {
      if (identical(indepTest, getExportedValue("pcalg", name))) {
        return(name)
      }
    }
  }
  NULL
}

# The codes of discrete data, n x p integers, the numbers of levels (NULL: as many as there are different codes),
# adaptDF and df. Python checks the values.
check_discrete <- function(suffStat, p, test, name = "suffStat") {
  if (!is.list(suffStat) || is.null(suffStat$dm)) {
    stop("`", name, "` must be a list with `dm`, the matrix of codes, `nlev` and `adaptDF`; got ", describe(suffStat),
      call. = FALSE)
  }
  dm <- if (is.data.frame(suffStat$dm)) data.matrix(suffStat$dm) else as.matrix(suffStat$dm)
  if (!is.numeric(dm) && !is.logical(dm) || ncol(dm) != p) {
    stop(sprintf("`%s$dm` must be a numeric matrix of %d columns to match `labels` or `p`, not %s", name, p,
      describe(suffStat$dm)), call. = FALSE)
  }
  if (anyNA(dm)) stop("NAs are not allowed in the data matrix `", name, "$dm`", call. = FALSE)
  if (any(dm != round(dm)) || any(abs(dm) > .Machine$integer.max)) {
    stop("`", name, "$dm` must hold whole numbers 0, 1, 2, ...; for continuous data use gaussCItest", call. = FALSE)
  }
  nlev <- if (test == "disCItest") suffStat$nlev else rep(2, p)
  if (!is.null(nlev) && (!is.numeric(nlev) || length(nlev) != p || anyNA(nlev))) {
    stop("`", name, "$nlev` must hold ", p, " numbers of levels; got ", describe(nlev), call. = FALSE)
  }
  adaptDF <- suffStat$adaptDF
  if (is.null(adaptDF)) {
    stop("`", name, "$adaptDF` must be TRUE or FALSE: shall empty cells lower the degrees of freedom?", call. = FALSE)
  }
  df <- suffStat[["df"]]
  if (is.null(df)) df <- "pcalg"
  if (!is.character(df) || length(df) != 1 || !df %in% c("pcalg", "observed")) {
    stop("`", name, "$df` must be \"pcalg\" or \"observed\"; got ", describe(df), call. = FALSE)
  }
  list(
    dm = as.integer(dm), nlev = if (!is.null(nlev)) as.list(as.double(nlev)), adaptDF = check_flag(adaptDF, "adaptDF"),
    df = df
  )
}
