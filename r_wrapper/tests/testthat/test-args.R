# Checks of the arguments: pcalg's messages where pcalg has the check, and our own where it has none.

S <- list(C = diag(8), n = 100)
m <- matrix(FALSE, 8, 8)
lopsided <- m
lopsided[1, 2] <- TRUE

test_that("the arguments are pcalg's, in its order and with its defaults, then ours", {
  skip_if_not_installed("pcalg", "2.7")
  both <- c("engine", "progress", "sepset", "quirks", "pMax", "checkpoint")
  skeleton <- c(both, "tiers", "context.all", "context.tier", "forbEdges", "cluster")
  for (pair in list(list(cu_pc, pcalg::pc, c(both, "cluster")), list(cu_skeleton, pcalg::skeleton, skeleton))) {
    theirs <- formals(pair[[2]])
    expect_identical(as.list(formals(pair[[1]]))[seq_along(theirs)], as.list(theirs))
    ours <- names(formals(pair[[1]]))[-seq_along(theirs)]
    expect_identical(ours, pair[[3]])
  }
})

test_that("errors have pcalg's text", {
  skip_if_not_installed("pcalg", "2.7")
  gauss <- pcalg::gaussCItest
  bad <- list(
    list(S, gauss, 0.05),
    list(S, gauss, 0.05, labels = 1:8),
    list(S, gauss, 0.05, labels = letters[1:8], p = 7),
    list(S, gauss, 0.05, p = 1),
    list(S, gauss, 0.05, p = "8"),
    list(S, gauss, 0.05, p = c(8, 8)),
    list(S, gauss, 0.05, p = 8, fixedGaps = m[-1, -1]),
    list(S, gauss, 0.05, p = 8, fixedEdges = m[-1, -1]),
    list(S, gauss, 0.05, p = 8, fixedGaps = lopsided),
    list(S, gauss, 0.05, p = 8, fixedEdges = lopsided),
    list(S, gauss, 0.05, p = 8, numCores = 0),
    list(S, gauss, 0.05, p = 8, numCores = "2"),
    list(S, gauss, p = 8),
    list(S, alpha = 0.05, p = 8)
  )
  pc_only <- list(
    list(S, gauss, 0.05, p = 8, u2pd = "rand", conservative = TRUE),
    list(S, gauss, 0.05, p = 8, u2pd = "retry", maj.rule = TRUE),
    list(S, gauss, 0.05, p = 8, u2pd = "retry", solve.confl = TRUE),
    list(S, gauss, 0.05, p = 8, conservative = TRUE, maj.rule = TRUE),
    list(S, gauss, 0.05, p = 8, u2pd = "other"),
    list(S, gauss, 0.05, p = 8, skel.method = "other")
  )
  text <- function(f, args) {
    tryCatch({
      do.call(f, args)
      "no error"
    }, error = conditionMessage)
  }
  for (args in c(bad, pc_only)) expect_identical(text(cu_pc, args), text(pcalg::pc, args))
  for (args in c(bad, list(list(S, gauss, 0.05, p = 8, method = "other")))) {
    expect_identical(text(cu_skeleton, args), text(pcalg::skeleton, args))
  }
})

test_that("fixed pairs of a type that is neither logical nor numeric are pcalg's error", {
  skip_if_not_installed("pcalg", "2.7")
  for (name in c("fixedGaps", "fixedEdges")) {
    for (value in c("TRUE", "0", "a")) {
      args <- list(S, pcalg::gaussCItest, 0.05, p = 8)
      args[[name]] <- matrix(value, 8, 8)
      expect_error(do.call(pcalg::skeleton, args), "^invalid argument type")
      expect_error(do.call(cu_skeleton, args), paste0("^invalid argument type: `", name, "`.*not character"))
      expect_error(do.call(cu_pc, args), "^invalid argument type")
    }
  }
})

test_that("giving both labels and p prints a message, as in pcalg", {
  expect_message(expect_identical(check_labels(letters[1:3], 3), letters[1:3]), "No need to specify 'p'")
})

test_that("u2pd and skel.method may be abbreviated, as match.arg allows", {
  skip_if_no_pcalg()
  fit <- cu_pc(small_problem(), pcalg::gaussCItest, 0.05, p = 8, u2pd = "relax", skel.method = "stable.f")
  expect_s4_class(fit, "pcAlgo")
})

test_that("the order-dependent method is refused, and the message names the alternatives", {
  expect_error(check_method("original", "pcalg::pc()"), "or call pcalg::pc\\(\\)")
})

test_that("an unusable suffStat is an error that describes the value", {
  plain <- function(suffStat, p = 8, ...) cu_plain("pc", suffStat, alpha = 0.05, p = p, ...)
  expect_error(plain(NULL), "`suffStat` must be a list with `C`.*got NULL")
  expect_error(plain(diag(8)), "got 8 x 8 matrix")
  expect_error(plain(list(dm = 1)), "got a list with `dm`")
  expect_error(plain(list(C = diag(8))), "`n`, the number of observations; got a list with `C`")
  expect_error(plain(list(C = diag(7), n = 100)), "must be a numeric matrix of 8 x 8.*got 7 x 7 matrix")
  expect_error(plain(list(C = matrix("a", 8, 8), n = 100)), "must be a numeric matrix")
  expect_error(plain(list(C = diag(8), n = NA)), "`suffStat\\$n` must be one finite number of at least 1.*got NA")
  expect_error(plain(list(C = diag(8), n = 1:2)), "got integer of length 2")
  expect_error(cu_plain("pc", S, alpha = "a", p = 8), "`alpha` must be one number in \\[0, 1\\]; got \"a\"")
  expect_error(cu_plain("pc", S, alpha = 0.05, labels = rep("a", 8)), "\"a\" occurs more than once")
  expect_error(cu_plain("pc", S, alpha = 0.05, p = 8, m.max = NA), "`m.max` must be one number from 0 on; got NA")
  expect_error(cu_plain("pc", S, alpha = 0.05, p = 8, NAdelete = NA), "`NAdelete` must be TRUE or FALSE; got NA")
  expect_error(cu_plain("pc", S, alpha = 0.05, p = 8, u2pd = "rand"), "use cu_pc\\(\\)")
  expect_error(cu_plain("pc", S, "dsepTest", 0.05, p = 8), "`indepTest` must be a function")
  expect_error(cu_plain("pc", S, "disCItest", 0.05, p = 8), "must be a list with `dm`.*got a list with `C`, `n`")
})

test_that("an argument that does not exist is an error, never ignored", {
  expect_error(cu_plain("pc", S, alpha = 0.05, p = 8, mmax = 3), "unused argument")
})

test_that("messages name the value that was given, in R's words", {
  skip_if_no_python()
  plain <- function(..., C = S$C, n = S$n) cu_plain("pc", list(C = C, n = n), alpha = 0.05, ...)
  for (C in list(S$C > 2, matrix("a", 8, 8), S$C + 0i)) {
    expect_error(plain(C = C, p = 8), paste0("got 8 x 8 ", typeof(C), " matrix"))
  }
  infinite <- S$C
  infinite[1, 2] <- infinite[2, 1] <- Inf
  expect_error(plain(C = infinite, p = 8), "C must hold correlations in [-1, 1], but C[1, 2] = Inf", fixed = TRUE)
  for (name in c("conservative", "maj.rule", "solve.confl")) {
    given <- stats::setNames(list(S, "gaussCItest", 0.05, 8, "yes"), c("suffStat", "indepTest", "alpha", "p", name))
    expect_error(do.call(cu_pc, given), paste0("`", name, "` must be TRUE or FALSE; got \"yes\""))
  }
  expect_error(plain(p = 8, conservative = TRUE, u2pd = "retry"), "can only be run with 'u2pd = relaxed'")
  pairs <- matrix(9, 8, 8)
  pairs[1, 2] <- NaN
  expect_error(plain(p = 8, n = pairs), "got n[1, 2] = nan and n[2, 1] = 9.0", fixed = TRUE)
  expect_error(plain(p = 8, engine = NULL), "\"auto\", .* \"reference\", got NULL$")
  expect_error(plain(p = 8, engine = c("cpu", "gpu")), "got c\\(\"cpu\", \"gpu\"\\)$")
  expect_error(cu_plain("pc", S, alpha = 0.05, labels = letters[1:8], p = NULL), "is.numeric(p) is not TRUE",
    fixed = TRUE)
  expect_error(check_cores(Inf), "`numCores` must be a whole number of at least 1; got Inf")
  dm <- matrix(rep(1:2, 24), 12, 4, dimnames = list(NULL, LETTERS[1:4]))
  discrete <- function(...) {
    suppressWarnings(cu_plain("pc", list(dm = dm, adaptDF = FALSE, ...), "disCItest", 0.05, colnames(dm))) # few rows
  }
  expect_error(discrete(nlev = rep(2, 4)), "Codes begin at 0; for any others use apply(dm, 2, ", fixed = TRUE)
  expect_error(discrete(), "give nlev, or use apply(dm, 2, ", fixed = TRUE)
  dm <- apply(dm, 2, function(column) as.integer(factor(column)) - 1L)
  expect_length(discrete()$labels, 4)
})

test_that("a warning about a table of observations names its columns", {
  skip_if_no_python()
  X <- outer(1:20, 1:4, function(i, j) sin(i * j^2))
  X[, 2] <- 1
  colnames(X) <- c("a", "node 1", "c", "d")
  expect_message(cu_plain("skeleton", X), "constant columns have no correlations.*: node 1")
})

test_that("a table of observations gives the answer of its correlations, with the names of its columns", {
  skip_if_no_python()
  set.seed(1)
  X <- matrix(stats::rnorm(1600), 200, dimnames = list(NULL, letters[1:8]))
  for (j in 2:8) X[, j] <- X[, j] + 0.6 * X[, j - 1]
  same <- c("labels", "graph", "sepset", "n.edgetests", "max.ord")
  expected <- cu_plain("pc", list(C = stats::cor(X), n = 200), alpha = 0.01, labels = letters[1:8])[same]
  expect_identical(cu_plain("pc", X)[same], expected)
  expect_identical(cu_plain("pc", as.data.frame(X), alpha = 0.01)[same], expected)
  expect_identical(cu_plain("pc", unname(X), "gaussCItest", 0.01, letters[1:8])[same], expected)
  expect_identical(cu_plain("skeleton", unname(X))$labels, as.character(1:8))
  codes <- as.data.frame(ifelse(X > 0, "yes", "no"))
  suffStat <- list(dm = (X > 0) + 0, nlev = rep(2, 8), adaptDF = FALSE)
  expect_identical(cu_plain("pc", codes, "disCItest")[same],
    cu_plain("pc", suffStat, "disCItest", 0.01, letters[1:8])[same])
  expect_error(cu_plain("pc", X, p = 7), "`suffStat` must be a table of 7 columns")
  expect_error(cu_plain("pc", codes, "gaussCItest"),
    "must be numeric for gaussCItest, and is not in \"a\" \\(2 different values, such as \"(yes|no)\"\\), \"b\"")
  expect_error(cu_plain("pc", as.matrix(codes)), "one column of texts makes .*: give the data frame")
  named <- data.frame(who = paste0("name", seq_len(nrow(X))), X)
  expect_error(cu_plain("pc", named), "leave them out: who \\([0-9]+ different values in .*, such as 'name1'\\)")
  expect_error(cu_plain("pc", named, "gaussCItest"), "such as \"name1\"\\); names of rows are no variable")
  expect_error(cu_plain("pc", X, "disCItest"),
    "has numbers that are not whole in \"a\" \\(.*beside categories mixCItest")
  expect_error(cu_plain("pc", X, "KCX"), "or one of \"gaussCItest\", .*\"KCI\"; got \"KCX\"")
  expect_error(cu_stability(X, indepTest = "gaussMItest"), "one of .*, \"KCI\", since .*; got \"gaussMItest\"")
  X[1, 2] <- NA
  expect_error(cu_plain("pc", X), "complete and finite for gaussCItest; it is not in \"b\"; .*\"gaussCItwd\" takes NA")
  own <- function(x, y, S, suffStat) 1
  expect_error(cu_plain("pc", X, own, 0.01), "need to specify 'labels' or 'p'") # as pcalg
  expect_error(cu_plain("pc", list(C = diag(8), n = 9), p = 8), "\"alpha\" is missing") # as pcalg
})

test_that("columns that are no vectors of numbers or categories are refused, and NaN is no category", {
  skip_if_no_python()
  set.seed(1)
  x <- as.data.frame(matrix(stats::rnorm(120), 20))
  scaled <- x
  scaled$V1 <- scale(x$V1) # a matrix of one column
  expect_identical(cu_plain("pc", scaled)$pMax, cu_plain("pc", data.frame(V1 = as.vector(scaled$V1), x[-1]))$pMax)
  expect_identical(cu_plain("pc", as.table(as.matrix(x)))$pMax, cu_plain("pc", x)$pMax)
  wide <- x[1:5]
  wide$m <- as.matrix(x[5:6]) # 20 x 7 values are also those of 6 columns
  bits <- x
  class(bits$V2) <- "integer64"
  for (given in list(wide, bits)) {
    for (test in c("gaussCItest", "gaussCItwd", "mixCItest", "disCItest")) {
      expect_error(cu_plain("pc", given, test), "`suffStat` must have a vector as each column.* as in \"(m|V2)\"")
    }
    expect_error(cu_stability(given, n_resamples = 2), "`x` must have a vector as each column")
    expect_error(cu_suffStat(given), "`x` must have a vector as each column")
  }
  codes <- x > 0
  expect_error(cu_plain("pc", replace(codes + 0, 3, NaN), "disCItest"), "must not hold NA; it does in \"V1\"")
})

test_that("a call of pcalg without its arguments is an error, as in pcalg", {
  skip_if_no_pcalg()
  expect_error(cu_pc(small_problem(), alpha = 0.05, p = 8), "\"indepTest\" is missing")
  expect_error(cu_pc(small_problem(), pcalg::gaussCItest, p = 8), "\"alpha\" is missing")
})

test_that("names in another order than the labels give a message", {
  skip_if_no_python()
  S <- small_problem()
  dimnames(S$C) <- list(letters[1:8], letters[1:8])
  ask <- function(labels, ...) cu_plain("skeleton", S, alpha = 0.05, labels = labels, ...)
  expect_silent(ask(letters[1:8]))
  expect_silent(ask(LETTERS[1:8]))
  expect_message(ask(letters[8:1]), "names of `suffStat\\$C` in another order.*is called \"h\".*called \"a\"")
  gaps <- matrix(FALSE, 8, 8, dimnames = list(letters[8:1], letters[8:1]))
  expect_message(ask(letters[1:8], fixedGaps = gaps), "names of `fixedGaps` in another order")
  expect_message(ask(letters[1:8], fixedEdges = gaps), "names of `fixedEdges` in another order")
  X <- matrix(stats::rnorm(800), 100, dimnames = list(NULL, letters[1:8]))
  expect_message(cu_plain("pc", X, labels = letters[8:1]), "names of `suffStat` in another order")
  expect_message(cu_stability(X, labels = letters[8:1], n_resamples = 2), "names of `x` in another order")
  C <- S
  C$n <- matrix(400, 8, 8, dimnames = list(letters[8:1], letters[8:1]))
  expect_message(cu_plain("pc", C, alpha = 0.05, labels = letters[1:8]), "names of `suffStat\\$n` in another order")
  expect_message(check_known(NULL, NULL, NULL, gaps, letters[1:8]), "names of `forbEdges` in another order")
})

test_that("tiers go by position, and names that say otherwise are refused", {
  skip_if_no_python()
  X <- matrix(stats::rnorm(800), 100, dimnames = list(NULL, letters[1:8]))
  tiers <- stats::setNames(rep(1:2, 4), letters[8:1])
  ask <- function(tiers, ...) cu_stability(X, n_resamples = 2, tiers = tiers, seed = 1, progress = FALSE, ...)
  expect_error(ask(tiers), "`tiers` must be in the order of the variables.*tiers\\[v\\], with `v` the names")
  expect_identical(ask(tiers[letters[1:8]])$pairs, ask(unname(tiers[letters[1:8]]))$pairs)
  expect_error(ask(stats::setNames(tiers, c(letters[1:7], "x"))), "`tiers` has an element \"x\", which is no variable")
  expect_silent(ask(stats::setNames(1:8, LETTERS[1:8])))
  S <- list(C = stats::cor(X), n = 100)
  skip_if_no_pcalg()
  for (f in list(cu_tpc, cu_skeleton)) {
    expect_error(f(S, "gaussCItest", 0.05, labels = letters[1:8], tiers = tiers), "in the order of the variables")
  }
})

test_that("names that a graph cannot have are refused before the work", {
  skip_if_no_pcalg()
  never <- function(x, y, S, suffStat) stop("the work has begun")
  for (make in list(cu_pc, cu_skeleton, cu_tpc)) {
    expect_error(make(0, never, 0.05, labels = c("a", "k__x|p__y")), "separator")
    expect_error(make(0, never, 0.05, labels = c("a", "")), "each variable must have a name; number 2 has none")
    expect_error(make(0, never, 0.05, labels = c("a", NA)), "`labels` must be names of all variables, none of them NA")
  }
})

test_that("without numCores, options and environment decide, and a worker takes one core", {
  names <- c("OMP_NUM_THREADS", "OMP_THREAD_LIMIT")
  old <- list(options(mc.cores = NULL), Sys.getenv(names, NA))
  on.exit({
    options(old[[1]])
    Sys.unsetenv(names)
    if (!all(is.na(old[[2]]))) do.call(Sys.setenv, as.list(stats::setNames(old[[2]], names)[!is.na(old[[2]])]))
  })
  Sys.unsetenv(names)
  expect_null(default_cores())
  Sys.setenv(OMP_THREAD_LIMIT = "4")
  expect_identical(default_cores(), 4L)
  Sys.setenv(OMP_NUM_THREADS = "3,2") # threads of nested levels, which are not looked at
  expect_identical(default_cores(), 4L)
  Sys.setenv(OMP_NUM_THREADS = "3")
  expect_identical(default_cores(), 3L)
  options(mc.cores = 5)
  expect_identical(default_cores(), 5L)
  skip_on_os("windows")
  cores <- default_cores # without the package, which a worker would have to load from the same library
  expect_identical(unlist(parallel::mclapply(1:2, function(i) cores(), mc.cores = 2)), c(1L, 1L))
  code <- environment(default_cores)
  worker <- NULL
  for (port in sample(11000:65000, 9)) { # the first that no other program uses
    if (is.null(worker)) worker <- tryCatch(parallel::makeCluster(1, port = port), error = function(e) NULL)
  }
  on.exit(parallel::stopCluster(worker), add = TRUE)
  copy <- list2env(list(default_cores = default_cores, in_worker = code$in_worker), parent = baseenv())
  for (name in ls(copy)) environment(copy[[name]]) <- copy
  expect_identical(parallel::clusterCall(worker, copy$default_cores), list(1L))
})
