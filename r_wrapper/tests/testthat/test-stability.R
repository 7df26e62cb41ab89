# cu_stability(): the same numbers as in Python and as in a plain loop over the resamples, and R's own additions.

observations <- function(n = 120, p = 7, seed = 1) {
  set.seed(seed)
  X <- matrix(stats::rnorm(n * p), n, dimnames = list(NULL, paste0("v", seq_len(p))))
  for (j in 2:p) X[, j] <- X[, j] + 0.7 * X[, max(1, j - 1 - j %% 2)] - 0.4 * X[, max(1, j - 3)]
  X
}

categories <- function(n = 300, seed = 2) {
  set.seed(seed)
  a <- sample(c("low", "high"), n, TRUE)
  b <- ifelse(stats::runif(n) < 0.7, a, sample(c("low", "mid", "high"), n, TRUE))
  c <- ifelse(stats::runif(n) < 0.7, b, sample(c("low", "mid", "high"), n, TRUE))
  data.frame(a = factor(a), b = b, c = factor(c), d = stats::runif(n) < 0.5)
}

# The table of pycupc.stability() in Python for the observations, or codes with numbers of levels, in `rows`.
of_python <- function(rows, labels, nlev = NULL, ...) {
  main <- reticulate::py_run_string("
import numpy
import pycupc, pycupc.discrete

def frequencies(rows, labels, nlev, alpha, arguments):
    data, test = numpy.array(rows), {}
    if nlev:
        test = {'indepTest': pycupc.discrete.disCItest}
        data = {'dm': data.astype(int), 'nlev': nlev, 'adaptDF': False}
    whole = {name: int(arguments.pop(name)) for name in ('n_resamples', 'random_state')}
    found = pycupc.stability(data, labels=labels, alpha=list(alpha), **whole, **test, **arguments)
    return {name: values.tolist() for name, values in found.columns().items()}
", convert = FALSE)
  given <- list(...)
  rows <- lapply(seq_len(nrow(rows)), function(i) as.list(unname(rows[i, ])))
  levels <- if (!is.null(nlev)) as.list(as.integer(nlev))
  alpha <- as.list(given$alpha)
  given$alpha <- NULL
  reticulate::py_to_r(main$frequencies(rows, as.list(labels), levels, alpha, given))
}

test_that("the frequencies are those of Python for the same seed", {
  skip_if_no_python()
  X <- observations()
  same <- function(found, ...) {
    theirs <- of_python(X, colnames(X), alpha = found$alpha, n_resamples = 8, random_state = 5, ...)
    expect_identical(as.list(as.data.frame(found)), theirs)
    expect_gt(nrow(found$pairs), 5)
  }
  run <- function(...) cu_stability(X, n_resamples = 8, seed = 5, ...)
  both <- c(0.01, 0.1)
  same(run(alpha = both, solve.confl = TRUE), solve_confl = TRUE)
  same(run(alpha = both, scheme = "complementary", maj.rule = TRUE), scheme = "complementary", maj_rule = TRUE)
  part <- run(alpha = both, scheme = "subsample", fraction = 0.7, m.max = 1)
  same(part, scheme = "subsample", fraction = 0.7, m_max = 1)
  tiers <- c(1, 1, 1, 2, 2, 2, 2)
  for (method in c("fci", "rfci")) same(run(alpha = both, method = method), method = method)
  same(run(alpha = both, method = "fci", tiers = tiers), method = "fci", tiers = as.list(tiers), selectionBias = FALSE)
  expect_error(cu_stability(X, method = "fci", u2pd = "rand"), "go with method")
})

test_that("the graph of a resample is that of cu_pc() on its rows", {
  skip_if_no_pcalg()
  X <- observations(p = 6)
  found <- cu_stability(X, alpha = 0.05, n_resamples = 1, scheme = "subsample", fraction = 0.7, seed = 4)
  rows <- cu_rows(found, 1)
  expect_length(rows, 84)
  m <- methods::as(cu_pc(X[rows, ], alpha = 0.05)@graph, "matrix")
  directed <- found$pairs[found$pairs$directed == 1, ]
  expect_true(all(m[cbind(directed$from, directed$to)] == 1 & m[cbind(directed$to, directed$from)] == 0))
  expect_equal(nrow(found$pairs), sum(m + t(m) != 0) / 2)
})

test_that("after set.seed() the result is reproducible, and one number is drawn", {
  skip_if_no_python()
  X <- observations()
  run <- function(...) cu_stability(X, n_resamples = 4, ...)
  set.seed(6)
  first <- run()
  after <- stats::runif(1)
  set.seed(6)
  expect_identical(first$seed, floor(stats::runif(1) * 2^31))
  expect_identical(stats::runif(1), after)
  set.seed(6)
  expect_identical(run(), first)
  expect_false(identical(run()$pairs, first$pairs))
  before <- .Random.seed
  expect_identical(run(seed = first$seed), first)
  expect_error(run(seed = -1))
  expect_error(cu_stability(X, n_resamples = 0), "n_resamples")
  expect_identical(.Random.seed, before)
})

test_that("discrete data are a list of codes, or a data frame of categories", {
  skip_if_no_python()
  x <- categories()
  dm <- sapply(x, function(column) as.integer(factor(column)) - 1L)
  codes <- list(dm = dm, nlev = c(2, 3, 3, 2), adaptDF = FALSE)
  found <- cu_stability(codes, n_resamples = 6, indepTest = "disCItest", seed = 1)
  expect_identical(cu_stability(x, n_resamples = 6, indepTest = "disCItest", seed = 1), found)
  expect_identical(found$labels, names(x))
  theirs <- of_python(dm, names(x), codes$nlev, alpha = 0.01, n_resamples = 6, random_state = 1)
  expect_identical(as.list(as.data.frame(found)), theirs)
  expect_gt(nrow(found$pairs), 1)
  adapted <- list(dm = dm, nlev = codes$nlev, adaptDF = TRUE)
  expect_warning(cu_stability(adapted, n_resamples = 2, indepTest = "disCItest", seed = 1), "may differ.*adaptDF")
  binary <- data.frame(x = dm[, 1], y = dm[, 4], z = dm[, 1])
  binary[1:20, 3] <- 1 - binary[1:20, 3]
  found <- cu_stability(binary, n_resamples = 2, indepTest = "binCItest", seed = 1)
  expect_identical(found$pairs$from + found$pairs$to, 4L) # 1 and 3
  if (requireNamespace("pcalg", quietly = TRUE)) {
    expect_identical(cu_stability(binary, n_resamples = 2, indepTest = pcalg::binCItest, seed = 1), found)
  }
})

test_that("fixed edges, gaps and constant columns are counted", {
  skip_if_no_python()
  X <- observations()
  none <- matrix(FALSE, 7, 7)
  gaps <- edges <- none
  gaps[1, 2] <- gaps[2, 1] <- TRUE
  edges[1, 7] <- edges[7, 1] <- TRUE
  found <- cu_stability(X, n_resamples = 4, fixedGaps = gaps, fixedEdges = edges, seed = 1)
  expect_identical(c(found$n_pairs, found$n_fixed), c(19, 1))
  shares <- as.data.frame(found)
  expect_identical(shares$adjacent[paste(shares$from, shares$to) %in% c("v1 v7", "v7 v1")], 1)
  expect_false(any(paste(shares$from, shares$to) %in% c("v1 v2", "v2 v1")))
  X[, 4] <- c(1, numeric(119)) # constant in the resamples without the first row
  found <- cu_stability(X, n_resamples = 20, scheme = "subsample", seed = 1)
  without <- sum(!vapply(1:20, function(i) 1 %in% cu_rows(found, i), NA))
  expect_gt(without, 0)
  expect_identical(found$constant, c(0L, 0L, 0L, without, 0L, 0L, 0L))
  said <- paste("in", without, "resamples some variables were constant, at most 1 at once")
  expect_output(print(summary(found)), said)
})

test_that("the object is plain: it survives saveRDS(), and answers afterwards", {
  skip_if_no_python()
  found <- cu_stability(observations(), alpha = c(0.01, 0.05), n_resamples = 10, scheme = "complementary", seed = 2)
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(found, file)
  again <- readRDS(file)
  expect_identical(again, found)
  expect_identical(cu_bound(again, 0.8, 0.05), cu_bound(found, 0.8, 0.05))
  expect_identical(as.data.frame(again, threshold = 0.5), as.data.frame(found, threshold = 0.5))
})

test_that("print(), summary() and as.data.frame() say what was found", {
  skip_if_no_python()
  found <- cu_stability(observations(), alpha = c(0.01, 0.05), n_resamples = 10, scheme = "subsample", seed = 2)
  expect_output(print(found), "10 resamples \\(subsample\\) of 120 observations of 7 variables, seed 2.*alpha 0.05: ")
  all <- as.data.frame(found)
  expect_named(all, c("from", "to", "adjacent", "directed", "reversed", "undirected", "bidirected", "alpha"))
  expect_equal(all$adjacent, all$directed + all$reversed + all$undirected + all$bidirected)
  some <- as.data.frame(found, threshold = 0.7, alpha = 0.05)
  expect_equal(some, all[all$adjacent > 0.69 & all$alpha == 0.05, ], ignore_attr = TRUE)
  about <- summary(found, threshold = 0.7)
  expect_identical(about$table$stable, c(sum(all$adjacent > 0.69 & all$alpha == 0.01), nrow(some)))
  q <- sum(all$adjacent[all$alpha == 0.05])
  expect_equal(about$table$edges_per_graph[2], q)
  expect_equal(about$table$bound[2], q^2 / (0.4 * 21)) # the formula of Meinshausen and Buehlmann
  expect_output(print(about), "expected number of false edges")
})

test_that("bounds and their thresholds come from Python", {
  skip_if_no_python()
  X <- observations(n = 200, p = 12)
  found <- cu_stability(X, alpha = 0.001, n_resamples = 20, scheme = "complementary", seed = 2)
  for (method in c("worst-case", "unimodal")) {
    threshold <- cu_threshold(found, 2.5, method = method)
    expect_lte(cu_bound(found, threshold, method = method), 2.5)
    expect_gt(cu_bound(found, threshold - 0.05, method = method), 2.5)
  }
  expect_identical(cu_bound(found, 0.5), Inf)
  expect_error(cu_bound(found, 0.9, method = "meinshausen-buehlmann"), "needs scheme = \"subsample\"")
  expect_error(cu_threshold(found, 1e-6), "take a smaller alpha")
  found <- cu_stability(X, n_resamples = 2, seed = 1)
  expect_error(cu_bound(found, 0.9), "no bound is known.*run with scheme = \"complementary\"")
  expect_identical(summary(found)$table$bound, NA_real_)
  expect_output(print(summary(found)), "no bound is known")
  expect_error(summary(found, method = "unimodal"), "no bound is known")
})

test_that("the consensus is an object of pcalg, with the marks of the majority", {
  skip_if_no_pcalg()
  X <- observations()
  pag <- cu_stability(X, alpha = 0.1, n_resamples = 6, scheme = "subsample", seed = 4, method = "rfci")
  expect_output(print(pag), "RFCI")
  fit <- cu_consensus(pag, threshold = 0.5)
  expect_s4_class(fit, "fciAlgo")
  edges <- as.data.frame(pag, threshold = 0.5)
  expect_identical(sum(fit@amat != 0), 2L * nrow(edges))
  arrows <- edges[edges$to_arrow > edges$adjacent / 2, ]
  expect_gt(nrow(arrows), 0)
  expect_true(all(fit@amat[cbind(arrows$from, arrows$to)] == 2))
  found <- cu_stability(X, alpha = c(0.01, 0.1), n_resamples = 15, seed = 2, solve.confl = TRUE)
  fit <- cu_consensus(found, threshold = 0.4, alpha = 0.1)
  expect_s4_class(fit, "pcAlgo")
  m <- methods::as(fit@graph, "matrix")
  edges <- as.data.frame(found, threshold = 0.4, alpha = 0.1)
  expect_equal(sum(m + t(m) != 0) / 2, nrow(edges))
  arrows <- edges[edges$directed > edges$adjacent / 2, ]
  expect_gt(nrow(arrows), 0)
  expect_true(all(m[cbind(arrows$from, arrows$to)] == 1 & m[cbind(arrows$to, arrows$from)] == 0))
  expect_identical(list(fit@sepset, fit@max.ord, fit@n.edgetests), list(list(), 0L, 0))
  expect_identical(pcalg::shd(fit, fit), 0)
  expect_output(show(fit), "cu_consensus")
  expect_error(cu_compare(fit, fit), "without separating sets")
  expect_error(cu_sepset(fit, 1, 2), "without separating sets")
  none <- cu_consensus(cu_stability(matrix(stats::rnorm(300), 100), alpha = 0, n_resamples = 1, seed = 1))
  expect_identical(graph::numEdges(none@graph), 0)
})

test_that("without pcalg the consensus is an error that says what to do", {
  skip_if_no_python()
  if (requireNamespace("pcalg", quietly = TRUE)) skip("pcalg is there")
  found <- cu_stability(observations(), n_resamples = 2, seed = 2)
  expect_error(cu_consensus(found), "pcalg, which is not installed.*as.data.frame\\(\\) lists the stable edges")
})

test_that("plot() draws with igraph", {
  skip_if_no_python()
  skip_if_not_installed("igraph")
  found <- cu_stability(observations(), n_resamples = 4, seed = 2)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(found, threshold = 0.2, vertex.size = 20, edge.width = 1), found)
  none <- cu_stability(matrix(stats::rnorm(300), 100), alpha = 0, n_resamples = 1, seed = 1)
  expect_identical(plot(none), none)
})

test_that("a checkpoint is gone on from, with its seed, and refused for other data", {
  skip_if_no_python()
  X <- observations()
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  first <- cu_stability(X, n_resamples = 4, checkpoint = folder)
  expect_length(list.files(folder, "npz$"), 4)
  more <- cu_stability(X, n_resamples = 6, checkpoint = folder) # another number is drawn, and not used
  expect_identical(more$seed, first$seed)
  expect_identical(cu_stability(X, n_resamples = 6, seed = first$seed), more)
  run <- function(x = X, ...) cu_stability(x, n_resamples = 6, checkpoint = folder, ...)
  expect_error(run(seed = 1), "another study: seed was [0-9]+, now 1;")
  expect_error(run(X + 1e-6 * X^2), "another study: data differ")
  expect_error(run(m.max = 1), 'm.max was "inf", now 1;')
})

test_that("a bar shows the resamples, and a run without one is silent", {
  skip_if_no_python()
  run <- function(progress) cu_stability(observations(), n_resamples = 4, seed = 2, progress = progress)
  expect_output(run(TRUE), "\\|=+\\| 100%")
  expect_silent(run(FALSE))
})

test_that("bad arguments are refused in R's terms", {
  skip_if_no_python()
  X <- observations()
  run <- function(..., x = X, n_resamples = 2) cu_stability(x, n_resamples = n_resamples, ...)
  expect_error(run(x = list(C = stats::cor(X), n = 120)), "resampling draws rows, .*got a list with `C`, `n`")
  expect_error(run(x = stats::cor(X)), "symmetric, as a matrix of correlations")
  expect_error(run(x = X[, 1]), "matrix or data frame.*got numeric of length 120")
  way <- "not in \"a\" \\(.*, \"b\" \\(.*, \"c\" \\(.*; for categories use indepTest = \"disCItest\""
  expect_error(run(x = categories(), indepTest = "gaussCItest"), way)
  expect_error(run(x = list(dm = X, adaptDF = FALSE)), "need indepTest = \"disCItest\"")
  expect_error(run(indepTest = "disCItest"), "for continuous data use gaussCItest")
  expect_error(run(x = list(dm = X), indepTest = "disCItest"), "`x\\$dm` must hold whole numbers")
  expect_error(run(x = cbind(a = c(0, 1, NA), b = c(1, 0, 1)), indepTest = "disCItest"), "not hold NA; .* \"a\"")
  expect_error(run(x = data.frame(a = "x", b = c("x", "y")), indepTest = "disCItest"), "two categories.*\"a\" has one")
  expect_error(run(x = replace(X, 5, NA)), "`x` must be complete and finite .*\"v1\"; .*\"gaussCItwd\" takes NA")
  expect_error(run(indepTest = function(x, y, S, suffStat) 1), "`indepTest` must be one of \"gaussCItest\"")
  expect_error(run(alpha = 2), "`alpha` must be one or more numbers in \\[0, 1\\]; got 2")
  expect_error(run(alpha = c(0.1, 0.1)), "`alpha` must have each level once; 0.1 occurs again")
  expect_error(run(n_resamples = 2.5), "`n_resamples` must be a whole number")
  expect_error(run(n_resamples = 3, scheme = "complementary"), "must be even for scheme = \"complementary\"")
  expect_error(run(scheme = "jackknife"), "bootstrap")
  expect_error(run(fraction = 1), "`fraction` must be a number between 0 and 1; got 1")
  expect_error(run(fraction = 0.3), "fraction = 0.3 needs scheme = \"subsample\"")
  expect_error(run(labels = letters[1:3]), "`labels` must be 7 names of the columns")
  expect_error(run(labels = rep("a", 7)), "unique")
  expect_error(run(fixedGaps = diag(3)), "Dimensions of the dataset and fixedGaps do not agree")
  expect_error(run(m.max = -1), "m.max")
  expect_error(run(conservative = TRUE, maj.rule = TRUE), "Choose either")
  expect_error(run(method = "fci", solve.confl = NA), "`solve.confl` must be TRUE or FALSE; got NA")
  expect_error(run(engine = "abacus"), "abacus")
  expect_error(run(seed = 0.5), "`seed` must be a whole number")
  expect_error(run(checkpoint = 1), "`checkpoint` must be the path of a folder; got 1")
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  dir.create(folder)
  writeLines("mine", file.path(folder, "notes.txt"))
  expect_error(run(checkpoint = folder), "holds other files")
  found <- run(seed = 1)
  expect_error(as.data.frame(found, threshold = 2), "`threshold` must be one number in \\[0, 1\\]; got 2")
  expect_error(as.data.frame(found, alpha = 0.5), "`alpha` must be some of 0.01; got 0.5")
  expect_error(cu_bound(found, 0.9, alpha = 0.5), "`alpha` must be one of 0.01; got 0.5")
  number <- paste("`i` must be the number of a resample, from 1 to", found$n_resamples)
  expect_error(cu_rows(found, 0), paste0(number, "; got 0"))
  expect_error(cu_rows(found, found$n_resamples + 1), number)
  for (f in c(cu_consensus, cu_bound, cu_threshold)) {
    expect_error(f(mtcars, 0.9), "`object` must be a result of cu_stability\\(\\); got 32 x 11 data.frame")
  }
  expect_error(cu_threshold(found, 0), "`n_false` must be a number of edges above 0")
  expect_error(cu_rows(list(), 1), "`object` must be a result of cu_stability\\(\\); got a list")
})
