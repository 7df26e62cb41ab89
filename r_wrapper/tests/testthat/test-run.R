# Running: engines, progress, warnings and errors from Python.

test_that("every engine that runs here gives the same answer, whatever the number of threads", {
  skip_if_no_python()
  S <- small_problem(p = 15, n = 60)
  ask <- function(...) cu_plain("pc", S, alpha = 0.1, p = 15, ...)[c("graph", "n.edgetests", "max.ord", "sepset")]
  expect_identical(ask(engine = "cpu"), ask(engine = "reference"))
  expect_identical(ask(threads = 1L), ask())
})

test_that("an engine that cannot run is an R error that says what to do", {
  skip_if_no_python()
  ready <- grepl("^ready", python_side()$situation()[["engine gpu"]])
  if (ready) skip("there is a GPU")
  expect_error(cu_plain("pc", small_problem(), alpha = 0.05, p = 8, engine = "gpu"), "CuPy|CUDA|GPU|device")
  expect_error(cu_plain("pc", small_problem(), alpha = 0.05, p = 8, engine = "abacus"), "abacus")
  expect_length(cu_plain("pc", small_problem(), alpha = 0.05, p = 8)$labels, 8) # R and Python continue
})

test_that("labels are no part of a message", {
  skip_if_no_python()
  S <- small_problem(p = 10)
  S$C[2, ] <- S$C[, 2] <- NA
  for (labels in list(paste("node", 1:10), paste("variable", 10:1), c("x", "random_state", "m_max", letters[1:7]))) {
    expect_message(answer <- cu_plain("pc", S, alpha = 0.05, labels = labels),
      paste0("count as independent: ", labels[2], "\\n?$"))
    expect_identical(answer$labels, labels)
  }
})

test_that("errors of Python have their class in R", {
  skip_if_no_python()
  S <- small_problem()
  S$C[1, 2] <- 0.99
  expect_error(cu_plain("pc", S, alpha = 0.05, labels = letters[1:8]),
    "but C\\[1, 2\\] = 0.99 and C\\[2, 1\\] = .* \\(a, b\\)", class = "pycupc_ValueError")
  covariance <- list(C = 4 * small_problem()$C, n = 400)
  expect_error(cu_plain("pc", covariance, alpha = 0.05, p = 8), "diagonal of 1, but C\\[1, 1\\]",
    class = "pycupc_error")
  expect_error(cu_plain("pc", small_problem(), function(x, y, S, suffStat) 1, 0.05, p = 8, engine = "cpu"),
    "engine = \"reference\" only")
  dense <- list(C = 0.5 + diag(0.5, 40), n = 1e6) # the subsets of 38 neighbours cannot all be tested
  gap <- matrix(FALSE, 40, 40)
  gap[2, 5] <- gap[5, 2] <- TRUE
  labels <- paste0("v", 1:40)
  expect_error(
    cu_plain("pc", dense, alpha = 1e-9, labels = labels, fixedGaps = gap, m.max = 0, maj.rule = TRUE),
    "maj.rule test all subsets.*triple \\(v2, v1, v5\\) alone.*node 2 \\(v2\\) has 38 neighbours"
  )
})

test_that("NaN and NA in C give a message that names the variables, and no warning, even with warn = 2", {
  skip_if_no_python()
  old <- options(warn = 2)
  on.exit(options(old))
  for (missing in c(NaN, NA)) {
    S <- small_problem()
    S$C[3, ] <- S$C[, 3] <- missing
    expect_message(plain <- cu_plain("pc", S, alpha = 0.05, labels = letters[1:8]), "C has NaN.*: c\n")
    expect_false(3 %in% c(plain$graph$from, plain$graph$to))
    expect_identical(plain$pMax[3, 1], 1)
    expect_message(cu_plain("pc", S, alpha = 0.05, labels = letters[1:8], engine = "reference"), "C has NaN")
  }
})

test_that("verbose prints a line per level, progress a bar", {
  skip_if_no_python()
  S <- small_problem()
  lines <- capture.output(fit <- cu_plain("skeleton", S, alpha = 0.05, p = 8, verbose = TRUE))
  expect_identical(sum(grepl("^level [0-9]+: [0-9]+ tests, [0-9]+ edges removed, ", lines)), fit$max.ord + 1L)
  reporter <- make_reporter(FALSE, TRUE) # short levels show no bar, so it is called directly
  expect_output({
    reporter$on_event(list(kind = "progress", level = 2, done = 50, at_most = 100, edges = 30))
    reporter$close()
  }, "level 2, 30 edges, at most 100 tests.*50%")
  expect_silent(cu_plain("skeleton", S, alpha = 0.05, p = 8))
})

test_that("C, of which Python sees R's own memory, comes back unchanged", {
  skip_if_no_python()
  S <- small_problem()
  before <- S$C + 0
  invisible(cu_plain("pc", S, alpha = 0.1, p = 8))
  expect_identical(S$C, before)
})

test_that("a C that is symmetric up to rounding only is read as pcalg reads it", {
  skip_if_no_python()
  S <- small_problem()
  S$C[3, 1] <- S$C[1, 3] + 1e-10
  upper <- S
  upper$C[lower.tri(S$C)] <- t(S$C)[lower.tri(S$C)]
  ask <- function(S) cu_plain("pc", S, alpha = 0.05, p = 8)$pMax
  expect_identical(ask(S), ask(upper))
})

test_that("pMax can be left out", {
  skip_if_no_python()
  expect_null(cu_plain("pc", small_problem(), alpha = 0.05, p = 8, pMax = FALSE)$pMax)
})

test_that("a pcAlgo without pMax is as with it, but for that slot", {
  skip_if_no_python()
  skip_if_not_installed("pcalg")
  with_it <- cu_pc(small_problem(), pcalg::gaussCItest, alpha = 0.05, p = 8)
  without <- cu_pc(small_problem(), pcalg::gaussCItest, alpha = 0.05, p = 8, pMax = FALSE)
  expect_identical(without@pMax, matrix(NA_real_, 1, 1))
  for (slot in setdiff(methods::slotNames(without), c("call", "pMax"))) {
    expect_identical(methods::slot(without, slot), methods::slot(with_it, slot), label = slot)
  }
  expect_true(cu_compare(with_it, without)$equal)
  skeleton <- cu_skeleton(small_problem(), pcalg::gaussCItest, alpha = 0.05, p = 8, pMax = FALSE)
  expect_identical(dim(skeleton@pMax), c(1L, 1L))
  expect_error(cu_pc(small_problem(), pcalg::gaussCItest, alpha = 0.05, p = 8, pMax = NA), "pMax")
})

test_that("a graph that is no CPDAG has a note, and no message", {
  skip_if_no_python()
  own <- function(independent) {
    function(x, y, S, suffStat) {
      pair <- paste(sort(c(x, y)), collapse = "")
      given <- if (pair %in% names(independent)) independent[[pair]]
      if (!is.null(given) && setequal(S, given)) 1 else 0
    }
  }
  # A square: each node is in no separating set, so that four colliders overwrite each other.
  square <- list("13" = integer(0), "24" = integer(0))
  ask <- function(...) cu_plain("pc", NULL, own(square), alpha = 0.5, labels = letters[1:4], ...)
  expect_silent(found <- list(ask(), ask(solve.confl = TRUE)))
  expect_match(found[[1]]$note, "^(Arrows contradict each other|Not a CPDAG)")
  expect_match(found[[2]]$note, "bidirected")
  expect_identical(cu_plain("skeleton", NULL, own(square), alpha = 0.5, p = 4)$note, "")
  expect_identical(cu_plain("pc", NULL, own(list("13" = 2L)), alpha = 0.5, p = 3)$note, "")
})

test_that("processes share the work, to the same answer", {
  skip_if_no_python()
  skip_on_cran()
  S <- small_problem(p = 15, n = 200)
  home <- cu_plain("pc", S, alpha = 0.1, p = 15)
  expect_identical(cu_plain("pc", S, alpha = 0.1, p = 15, cluster = 2)$sepset, home$sepset)
  expect_error(cu_plain("pc", S, alpha = 0.1, p = 15, cluster = 0.5), "cluster must be .* a number of processes")
})

test_that("a checkpoint is gone on from, and refused for other arguments", {
  skip_if_no_pcalg()
  set.seed(3)
  X <- pcalg::rmvDAG(200, pcalg::randomDAG(12, 0.4))
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  whole <- cu_skeleton(X, alpha = 0.05)
  cu_skeleton(X, alpha = 0.05, checkpoint = folder)
  kept <- list.files(folder, "^level")
  expect_gt(length(kept), 2)
  file.remove(file.path(folder, kept[length(kept)]))
  resumed <- cu_skeleton(X, alpha = 0.05, checkpoint = folder)
  for (slot in setdiff(methods::slotNames(whole), "call")) {
    expect_identical(methods::slot(resumed, slot), methods::slot(whole, slot))
  }
  expect_error(cu_pc(X, alpha = 0.01, checkpoint = folder), "another run: alpha was 0.05, now 0.01;")
  expect_error(cu_pc(X, alpha = 0.01, checkpoint = 3), "`checkpoint` must be the path of a folder; got 3")
})

test_that("a limit of time that is reached while Python runs is an error", {
  skip_if_no_python()
  for (i in 1:2) { # both messages are the same
    expect_error({
      setTimeLimit(elapsed = 0.2, transient = TRUE)
      suspendInterrupts(reticulate::py_run_string("import time\nfor _ in range(150): time.sleep(0.01)"))
    }, gettext("reached elapsed time limit", domain = "R"))
  }
})
