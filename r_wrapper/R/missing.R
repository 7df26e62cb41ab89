# The data of micd's tests, as arrays and options for Python; see check_table().

check_of_micd <- function(suffStat, p, test, name = "suffStat") {
  switch(test,
    gaussMItest = check_imputed_gauss(suffStat, p),
    disMItest = check_imputed_discrete(suffStat, p),
    gaussCItwd = list(x = check_incomplete(suffStat, p, name, test)),
    disCItwd = check_discrete(if (is_table(suffStat)) coded(suffStat, name, TRUE) else suffStat, p, test, name),
    mixCItest = check_mixed(suffStat, p, name, test),
    mixCItwd = , flexCItwd = check_mixed(suffStat, p, name, test, gaps = TRUE),
    flexCItest = check_mixed(if (is.data.frame(suffStat)) suffStat else suffStat[["dat"]], p, name, test),
    mixMItest = check_imputed_mixed(suffStat, p),
    flexMItest = check_imputed_mixed(if (is.null(suffStat[["datlist"]])) suffStat else suffStat$datlist, p)
  )
}

# The M data sets of a mids object of package mice; any other object as it is.
imputations <- function(suffStat) {
  if (!inherits(suffStat, "mids")) return(suffStat)
  if (!requireNamespace("mice", quietly = TRUE)) {
    error("`suffStat` is a `mids` object, which needs the package mice: install.packages(\"mice\")")
  }
  unclass(mice::complete(suffStat, action = "all"))
}

# There must be at least two imputations, with the same variables in the same order.
check_alike <- function(imputed) {
  M <- length(imputed)
  if (M < 2L) error("`suffStat` must hold at least 2 imputations, as the variance between them counts; got ", M)
  names <- unique(Filter(Negate(is.null), lapply(imputed, colnames)))
  if (length(unique(lapply(imputed, dim))) > 1L || length(names) > 1L) {
    error("all imputations in `suffStat` must have the same rows and the same columns")
  }
}

# M correlation matrices, one after the other, and the number of observations.
check_imputed_gauss <- function(suffStat, p) {
  suffStat <- imputations(suffStat)
  if (is.list(suffStat) && length(suffStat) && all(vapply(suffStat, is.data.frame, NA))) {
    check_alike(suffStat)
    n <- nrow(suffStat[[1]])
    if (any(vapply(suffStat, anyNA, NA))) error("`suffStat` must hold imputations without NA")
    suffStat <- c(lapply(suffStat, function(x) stats::cor(check_incomplete(x, p))), n)
  }
  M <- length(suffStat) - 1L
  if (!is.list(suffStat) || M < 1L || length(suffStat[[M + 1L]]) != 1L) {
    refuse("suffStat", "a list of M correlation matrices and, last, the number of observations", suffStat)
  }
  check_alike(suffStat[seq_len(M)])
  each <- lapply(suffStat[seq_len(M)], function(C) check_gauss(list(C = C, n = suffStat[[M + 1L]]), p))
  list(C = unlist(lapply(each, `[[`, "C"), use.names = FALSE), n = each[[1]]$n)
}

# The codes of M tables of factors, one after the other, and the numbers of levels, of which some need not occur.
check_imputed_discrete <- function(suffStat, p) {
  suffStat <- imputations(suffStat)
  if (!is.list(suffStat) || is.data.frame(suffStat) || !all(vapply(suffStat, is.data.frame, NA))) {
    refuse("suffStat", "a list of M data frames of factors", suffStat)
  }
  check_alike(suffStat)
  nlev <- vapply(suffStat[[1]], nlevels, 1L)
  for (x in suffStat) {
    if (length(x) != p || !all(vapply(x, is.factor, NA)) || anyNA(x)) {
      refuse("suffStat", sprintf("complete data frames of %d factors, to match `labels` or `p`", p), x)
    }
  }
  if (length(unique(lapply(suffStat, lapply, levels))) > 1L) {
    error("all imputations in `suffStat` must have the same levels")
  }
  dm <- unlist(lapply(suffStat, function(x) lapply(x, as.integer)), use.names = FALSE) - 1L
  list(dm = dm, nlev = as.list(as.double(nlev)), n = as.double(nrow(suffStat[[1]])), texts = texts_of(suffStat[[1]]))
}

# A table of numbers as a matrix of doubles; NA stays.
check_incomplete <- function(x, p, name = "suffStat", test = "gaussMItest") {
  x <- check_columns(check_numeric(x, name, test), name)
  if (length(dim(x)) != 2L || ncol(x) != p || !all(apply(x, 2L, function(v) is.numeric(v) || all(is.na(v))))) {
    refuse(name, sprintf("a table of %d columns of numbers, to match `labels` or `p`", p), x)
  }
  check_rows(nrow(x), name)
  x <- as.matrix(x)
  storage.mode(x) <- "double"
  unname(x)
}

# The values of a data frame of numbers and factors, codes from 0 for these, and the levels, NULL for numbers.
check_mixed <- function(x, p, name, test, gaps = FALSE) {
  if (!is.data.frame(x) || length(x) != p) {
    like <- if (test == "flexCItest") ", or a list with such a `dat`, as micd::getSuff() makes it" else ""
    refuse(name, sprintf("a data frame of %d columns, as `labels` or `p`%s", p, like), x)
  }
  x <- check_columns(x, name)
  other <- names(x)[!vapply(x, function(v) is.factor(v) || is.numeric(v), NA)]
  if (length(other)) {
    error("`", name, "` must hold numbers and factors; neither is ", with_example(x, other), ": factor() makes ",
      "categories of it; names of rows are no variable: leave them out")
  }
  check_rows(nrow(x), name)
  wrong <- function(v) !gaps && anyNA(v) || is.numeric(v) && any(is.infinite(v))
  incomplete <- names(x)[vapply(x, wrong, NA)]
  if (length(incomplete) && gaps) error("`", name, "` must be finite; it is not in ", quoted(incomplete))
  if (length(incomplete)) {
    error("`", name, "` must be complete and finite for ", test, "; it is not in ", quoted(incomplete), "; leave such ",
      "rows out, or impute, or take \"", sub("test$", "twd", test), "\", which leaves them out of each test")
  }
  typed(x)
}

# The values of M data frames of numbers and factors, one after the other, and the levels, of which some need not occur.
check_imputed_mixed <- function(suffStat, p) {
  suffStat <- imputations(suffStat)
  if (!is.list(suffStat) || is.data.frame(suffStat) || !all(vapply(suffStat, is.data.frame, NA))) {
    refuse("suffStat", "a list of M data frames of numbers and factors", suffStat)
  }
  check_alike(suffStat)
  each <- lapply(suffStat, check_mixed, p, "suffStat", "mixMItest")
  texts <- lapply(each, `[[`, "texts")
  if (length(unique(texts)) > 1L) error("all imputations in `suffStat` must have the same levels")
  list(x = unlist(lapply(each, `[[`, "x"), use.names = FALSE), n = as.double(nrow(suffStat[[1]])), texts = texts[[1]])
}

# The columns of a data frame of numbers and factors: numbers, or codes from 0; and the levels, NULL for numbers.
typed <- function(x) {
  values <- lapply(x, function(v) if (is.factor(v)) as.integer(v) - 1 else as.double(v))
  list(x = unlist(values, use.names = FALSE), texts = texts_of(x, vapply(x, is.factor, NA)))
}

# The data of a test of which R knows the name alone: a table of numbers, which may have factors among them.
check_typed <- function(x, p, test, name) {
  if (!is_table(x) || ncol(x) != p) {
    refuse(name, sprintf("a table of %d columns, as `labels` or `p`, for %s", p, test), x)
  }
  x <- with_factors(check_columns(as.data.frame(x), name))
  other <- names(x)[!vapply(x, function(v) is.factor(v) || is.numeric(v) || is.logical(v), NA)]
  if (length(other)) {
    error("`", name, "` must hold numbers and categories for ", test, "; it does not in ", with_example(x, other))
  }
  check_rows(nrow(x), name)
  typed(x)
}

# Texts as factors; logical values too, if there are texts or factors beside them.
with_factors <- function(x) {
  texts <- vapply(x, is.character, NA)
  if (any(texts | vapply(x, is.factor, NA))) texts <- texts | vapply(x, is.logical, NA)
  x[texts] <- lapply(x[texts], factor)
  x
}

# The test that fits a data frame, by name, and the data as it takes them; a message says which and why unless nobody
# can be surprised. Complete numbers need no question, and what is no table of numbers and categories is an error of
# gaussCItest.
chosen_test <- function(x, name, say = TRUE) {
  numbers <- vapply(x, function(v) is.numeric(v) || is.logical(v), NA)
  known <- numbers | vapply(x, function(v) is.factor(v) || is.character(v), NA)
  gaps <- anyNA(without_missing_codes(x))
  if (all(numbers) && !gaps || !all(known) || length(x) < 2L) return(list(test = "gaussCItest", data = x))
  x <- with_factors(check_columns(x, name))
  check_rows(nrow(x), name)
  sent <- typed(x)
  reply <- compute("choose", list(labels = as.list(names(x)), texts = sent$texts), sent["x"])
  if (say && reply$unexpected) message(reply$reason)
  list(test = reply$test, data = x)
}

# The table of a call in which nobody has named the test or the columns, as variables_of() leaves it.
with_variables <- function(suffStat, indepTest, labels, p) {
  free <- missing(indepTest) && missing(labels) && missing(p)
  if (free && is.data.frame(suffStat)) variables_of(suffStat, "suffStat") else suffStat
}

# A data frame without the columns that are no variables, as names of the rows or dates, and with numbers in place of
# texts that are numbers with a unit or beside one mark of missing values; a message says which. Factors stay.
variables_of <- function(x, name, say = TRUE) {
  texts <- vapply(x, is.character, NA)
  start <- if (nrow(x) > 1L && is.numeric(x[[1]]) && is.null(dim(x[[1]]))) x[[1]][[1]]
  counts <- isTRUE(start %in% 0:1) && identical(as.double(x[[1]]), start + seq_len(nrow(x)) - 1)
  named <- grepl("(^|[^[:alpha:]])id$|identifier|date|^row[._ ]?names?$", names(x), ignore.case = TRUE) |
    grepl("[a-z]I[Dd]$", names(x))
  rows <- vapply(x, function(v) is.numeric(v) && is.null(dim(v)), NA) & (named | counts & seq_along(x) == 1L)
  if (!any(texts) && !any(rows) || nrow(x) < 2L) return(x)
  x <- check_columns(x, name)
  coded <- lapply(x[texts], function(v) factor(v, unique(v[!is.na(v)])))
  arrays <- list(codes = as.double(unlist(lapply(coded, as.integer))), rows = as.double(unlist(x[rows])))
  options <- list(labels = as.list(names(x)), names = as.list(names(x)[texts]),
    texts = unname(lapply(coded, function(v) as.list(levels(v)))), of_rows = as.list(names(x)[rows]))
  reply <- compute("columns", options, Filter(length, arrays))
  numbers <- as.character(unlist(reply$numbers))
  values <- matrix(as.double(reply$arrays$values), nrow(x))
  values[is.nan(values)] <- NA
  for (j in seq_along(numbers)) x[[numbers[[j]]]] <- values[, j]
  x <- x[setdiff(names(x), unlist(reply$out))]
  if (length(x) < 2L) error("`", name, "` needs at least 2 columns, the variables; ", reply$reason)
  if (say && nzchar(reply$reason)) message(reply$reason)
  x
}

# The user's test of many pairs at a time: the attribute "batch" of `indepTest`, a function (x, y, S, suffStat) of the
# variables of m tests, S a matrix of m rows, which returns m p-values. Answers an event "batch".
made_together <- function(event, batch) {
  x <- as.integer(unlist(event$x)) + 1L
  p <- batch(x, as.integer(unlist(event$y)) + 1L, matrix(as.integer(unlist(event$S)) + 1L, length(x), byrow = TRUE))
  if (!is.numeric(p) && !is.logical(p) || length(p) != length(x)) { # an NA is logical
    error("the attribute \"batch\" of `indepTest` must return ", length(x), " p-values; got ", describe(p))
  }
  as.list(as.double(p))
}
