# Checks of the arguments. Where pcalg has the check, the message is pcalg's.

error <- function(...) stop(..., call. = FALSE)

refuse <- function(name, requirement, x) error("`", name, "` must be ", requirement, "; got ", describe(x))

check_labels <- function(labels, p, suffStat, indepTest) {
  if (missing(labels)) {
    if (missing(p) && is_table(suffStat, indepTest)) return(check_labels(column_names(suffStat, "suffStat")))
    if (missing(p) && missing(indepTest) && !missing(suffStat) && !is.list(suffStat)) {
      refuse("suffStat", "the observations, a matrix or data frame, unless `indepTest` and `labels` or `p` are given",
        suffStat)
    }
    if (missing(p)) error("need to specify 'labels' or 'p'")
    stopifnot(is.numeric(p), length(p <- as.integer(p)) == 1, p >= 2)
    return(as.character(seq_len(p)))
  }
  stopifnot(is.character(labels))
  if (!missing(p)) {
    stopifnot(is.numeric(p), length(p) == 1)
    if (p != length(labels)) error("'p' is not needed when 'labels' is specified, and must match length(labels)")
    message("No need to specify 'p', when 'labels' is given")
  }
  stopifnot(length(labels) >= 2)
  if (anyNA(labels)) refuse("labels", "names of all variables, none of them NA", labels)
  if (!all(nzchar(labels))) error("each variable must have a name; number ", which(!nzchar(labels))[[1]], " has none")
  again <- labels[duplicated(labels)]
  if (length(again)) error("`labels` must be unique; ", quoted(again[[1]]), " occurs more than once")
  labels
}

check_orientation <- function(u2pd, conservative, maj.rule, solve.confl) {
  conservative <- check_flag(conservative, "conservative")
  maj.rule <- check_flag(maj.rule, "maj.rule")
  solve.confl <- check_flag(solve.confl, "solve.confl")
  if ((conservative || maj.rule) && u2pd != "relaxed") {
    error("Conservative PC and majority rule PC can only be run with 'u2pd = relaxed'")
  }
  if (solve.confl && u2pd != "relaxed") {
    error("Versions of PC using lists for the orientation rules (and possibly bi-directed edges)\n",
      " can only be run with 'u2pd = relaxed'")
  }
  if (conservative && maj.rule) error("Choose either conservative PC or majority rule PC!")
}

check_method <- function(method, instead) {
  if (method == "original") {
    error("the answer of \"original\" depends on the order of the variables, and parallel tests cannot reproduce it; ",
      "use \"stable\", or call ", instead)
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

# Says if names are the `labels` in another order: as in pcalg, only positions count.
say_orders <- function(labels, suffStat, test, given, name = "suffStat") {
  named <- given[c("fixedGaps", "fixedEdges")]
  if (!is.null(test)) {
    parts <- c(`$C` = "C", `$n` = "n", `$dm` = "dm")
    data <- if (is_table(suffStat)) list(suffStat) else lapply(parts, function(part) suffStat[[part]])
    named <- c(named, stats::setNames(data, paste0(name, names(data))))
  }
  say_names(labels, named)
}

say_names <- function(labels, named, what = "`labels`") {
  for (name in names(named)) {
    x <- named[[name]]
    of <- list(column = colnames(x), row = if (NROW(x) == length(labels)) rownames(x))
    turned <- Filter(function(own) length(own) == length(labels) && setequal(own, labels) && any(own != labels), of)[1]
    if (length(turned[[1]])) {
      at <- which(turned[[1]] != labels)[[1]]
      message(what, " are the ", names(turned), " names of `", name, "` in another order. As in pcalg, positions ",
        "count: variable ", at, " is called ", quoted(labels[at]), ", though its ", names(turned), " is called ",
        quoted(turned[[1]][at]))
    }
  }
}

# `fixedGaps`, `fixedEdges` or `forbEdges`: a p x p matrix of TRUE/FALSE or 0/1, the first two symmetric. pcalg negates
# the matrix with `!`, whose text for any other type this is.
check_fixed <- function(fixed, name, p) {
  if (!identical(as.integer(dim(fixed)), c(p, p))) error("Dimensions of the dataset and ", name, " do not agree.")
  fixed <- unname(as.matrix(fixed))
  if (!is.logical(fixed) && !is.numeric(fixed)) {
    error("invalid argument type: `", name, "` must hold TRUE and FALSE, not ", typeof(fixed))
  }
  fixed <- fixed != 0
  if (anyNA(fixed)) error("`", name, "` must not hold NA")
  if (name != "forbEdges" && !identical(fixed, t(fixed))) error(name, " must be symmetric")
  as.raw(fixed)
}

# The correlation matrix and the number of observations, as plain doubles; if they are `local`, n may be a matrix, which
# is then `pair_n`, beside its `n_rule`.
check_gauss <- function(suffStat, p, local = FALSE) {
  if (!is.list(suffStat) || is.null(suffStat$C) || is.null(suffStat$n)) {
    refuse("suffStat", "a list with `C`, the correlation matrix, and `n`, the number of observations", suffStat)
  }
  C <- as.matrix(suffStat$C) # also from package Matrix
  if (!is.numeric(C) || !identical(dim(C), c(p, p))) {
    refuse("suffStat$C", sprintf("a numeric matrix of %d x %d to match `labels` or `p`", p, p), suffStat$C)
  }
  n <- suffStat$n
  if (local && is.matrix(n) && is.numeric(n) && identical(dim(n), c(p, p))) {
    return(list(C = C + 0, pair_n = n + 0, n_rule = suffStat$n_rule)) # doubles
  }
  if (!is.numeric(n) || length(n) != 1L || !is.finite(n) || n < 1) {
    refuse("suffStat$n", "one finite number of at least 1, the number of observations", n)
  }
  if (!is.double(C)) storage.mode(C) <- "double" # the assignment alone would copy the matrix
  list(C = C, n = as.double(n))
}

check_number <- function(x, name, requirement, ok) {
  if (!is.numeric(x) || length(x) != 1L || is.na(x) || !ok(x)) refuse(name, requirement, x)
  as.double(x)
}

check_share <- function(x, name) check_number(x, name, "one number in [0, 1]", function(x) x >= 0 && x <= 1)

check_flag <- function(x, name) {
  if (!is.logical(x) && !is.numeric(x) || length(x) != 1L || is.na(x)) refuse(name, "TRUE or FALSE", x)
  as.logical(x)
}

# The table of observations of cu_pc(), as cu_stability() takes it.
check_table <- function(suffStat, p, test) {
  refuse_samples_in_columns(suffStat, "suffStat")
  if (test %in% tests_of_micd) return(check_of_micd(suffStat, p, test))
  if (!test %in% built_in_tests) return(check_typed(suffStat, p, test, "suffStat"))
  if (ncol(suffStat) != p) refuse("suffStat", paste("a table of", p, "columns to match `labels` or `p`"), suffStat)
  if (test != "gaussCItest") return(check_discrete(coded(suffStat, "suffStat"), p, test))
  if (is.matrix(suffStat) && isSymmetric.matrix(unname(suffStat))) check_gauss(suffStat, p) # an error: without n
  x <- check_observations(suffStat, "suffStat")
  check_complete(x, column_names(suffStat), "suffStat", "indepTest = \"gaussCItwd\" takes NA")
  list(x = x)
}

# The observations, a matrix, must be complete for gaussCItest; `remedy` says what takes NA.
check_complete <- function(x, names, name, remedy) {
  incomplete <- which(colSums(!is.finite(x)) > 0)
  if (length(incomplete)) {
    error("`", name, "` must be complete and finite for gaussCItest; it is not in ", quoted(names[incomplete]), "; ",
      remedy)
  }
}

check_rows <- function(n, name) {
  if (n < 2L) error("`", name, "` must have at least 2 rows, the observations; got ", n)
}

# The classes of Bioconductor, whose columns are samples.
refuse_samples_in_columns <- function(x, name) {
  transposed <- if (methods::is(x, "eSet")) "exprs" else if (methods::is(x, "SummarizedExperiment")) "assay"
  if (!is.null(transposed)) {
    error("`", name, "` must have a column for each variable; an object of class ", class(x)[[1]], " has one for each ",
      "sample: give t(", transposed, "(", name, "))")
  }
}

# A value in a few words, for an error message.
describe <- function(x) {
  if (is.null(x)) {
    "NULL"
  } else if (isS4(x) || is.list(x) && is.object(x) && !is.data.frame(x)) {
    paste("an object of class", class(x)[[1]])
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

quoted <- function(x, separator = ", ") paste0("\"", x, "\"", collapse = separator)

# Some columns of a data frame, in quotation marks, the first eight with the number of their values and one of these.
with_example <- function(x, columns) {
  shown <- vapply(utils::head(columns, 8L), function(name) {
    values <- unique(as.character(stats::na.omit(x[[name]])))
    of <- if (length(values) == 1L) "only " else paste(length(values), "different values, such as ")
    paste0(quoted(name), if (length(values)) paste0(" (", of, quoted(values[[1]]), ")"))
  }, "")
  more <- length(columns) - length(shown)
  paste0(paste(shown, collapse = ", "), if (more) paste(" and", more, "more"))
}

# A graph of cu_consensus() has no tests and no separating sets behind it.
refuse_consensus <- function(fit, name) {
  if (!length(fit@sepset) && is.null(attr(fit, "cu_sepset"))) {
    error("`", name, "` is a graph without separating sets, as cu_consensus() and pcalg::fciPlus() make; pcalg::shd() ",
      "and pcalg::compareGraphs() compare graphs")
  }
}

# Is pcalg installed? Loading it draws a random number.
has_pcalg <- function() keep_seed(requireNamespace("pcalg", quietly = TRUE))

pcalg_install <- "install.packages(\"BiocManager\"); BiocManager::install(\"pcalg\")"

need_pcalg <- function(caller, instead = "cu_plain() returns the same answer as a plain list") {
  if (!has_pcalg()) {
    error(caller, " returns an object of the package pcalg, which is not installed: ", pcalg_install,
      ". Without pcalg, ", instead, ".")
  }
}

# The tests that the engines compute themselves.
tests_of_pcalg <- c("gaussCItest", "disCItest", "binCItest")
imputed_tests <- c("gaussMItest", "disMItest", "mixMItest", "flexMItest")
tests_of_micd <- c(imputed_tests, "gaussCItwd", "disCItwd", "mixCItwd", "flexCItwd", "mixCItest", "flexCItest")
built_in_tests <- c(tests_of_pcalg, tests_of_micd)

# The tests of Python that are given by name alone; none if Python cannot be started, which then is not the error.
more_tests <- function() tryCatch(setdiff(unlist(python_side()$TESTS), built_in_tests), error = function(e) character())

# The name of such a test, given by name or as the function of pcalg or micd; NULL for a user's own function.
built_in_test <- function(indepTest) {
  by_name <- is.character(indepTest) && length(indepTest) == 1L
  if (by_name && (indepTest %in% built_in_tests || indepTest %in% more_tests())) return(indepTest)
  if (!is.function(indepTest)) {
    refuse("indepTest", paste("a function(x, y, S, suffStat), or one of", quoted(c(built_in_tests, more_tests()))),
      indepTest)
  }
  home <- environment(indepTest)
  if (identical(environmentName(home), "micd")) {
    Find(function(name) identical(indepTest, get0(name, home, inherits = FALSE)), built_in_tests)
  } else if (has_pcalg()) {
    Find(function(name) identical(indepTest, getExportedValue("pcalg", name)), tests_of_pcalg)
  }
}

# The way out for discrete data with NA.
with_gaps <- paste("indepTest = \"disCItwd\" leaves out the rows of each test with NA, and \"disMItest\" takes",
  "imputations, such as mice::mice() makes")

# The codes of discrete data, n x p integers, the numbers of levels (NULL: as many as there are different codes),
# adaptDF and df. Python checks the values.
check_discrete <- function(suffStat, p, test, name = "suffStat") {
  if (!is.list(suffStat) || is.null(suffStat$dm)) {
    refuse(name, "a list with `dm`, the matrix of codes, `nlev` and `adaptDF`", suffStat)
  }
  dm <- suffStat$dm
  dm <- if (is.data.frame(dm)) data.matrix(check_columns(dm, paste0(name, "$dm"))) else as.matrix(dm)
  if (!is.numeric(dm) && !is.logical(dm) || ncol(dm) != p) {
    refuse(paste0(name, "$dm"), sprintf("a numeric matrix of %d columns to match `labels` or `p`", p), suffStat$dm)
  }
  check_rows(nrow(dm), paste0(name, "$dm"))
  if (anyNA(dm) && test != "disCItwd") error("NAs are not allowed in the data matrix `", name, "$dm`; ", with_gaps)
  if (any(dm != round(dm), na.rm = TRUE) || any(abs(dm) > .Machine$integer.max, na.rm = TRUE)) {
    error("`", name, "$dm` must hold whole numbers 0, 1, 2, ...; for continuous data use gaussCItest")
  }
  nlev <- if (test == "binCItest") rep(2, p) else suffStat$nlev
  if (!is.null(nlev) && (!is.numeric(nlev) || length(nlev) != p || anyNA(nlev))) {
    refuse(paste0(name, "$nlev"), paste(p, "numbers of levels"), nlev)
  }
  if (is.null(suffStat$adaptDF)) {
    error("`", name, "$adaptDF` must be TRUE or FALSE: shall empty cells lower the degrees of freedom?")
  }
  df <- if (is.null(suffStat[["df"]])) "pcalg" else suffStat[["df"]]
  if (!identical(df, "pcalg") && !identical(df, "observed")) {
    refuse(paste0(name, "$df"), quoted(c("pcalg", "observed"), " or "), df)
  }
  list(dm = as.integer(dm), nlev = if (!is.null(nlev)) as.list(as.double(nlev)),
    adaptDF = check_flag(suffStat$adaptDF, "adaptDF"), df = df, texts = attr(suffStat, "texts"))
}

# The path of a checkpoint, or NULL.
check_folder <- function(checkpoint) {
  if (!is.null(checkpoint) && (!is.character(checkpoint) || length(checkpoint) != 1L || is.na(checkpoint))) {
    refuse("checkpoint", "the path of a folder", checkpoint)
  }
  if (!is.null(checkpoint)) path.expand(checkpoint)
}
