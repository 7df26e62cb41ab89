# Graphs handed over to other packages, as docs/howto/handover.md says.

example_data <- function() {
  set.seed(2)
  x <- matrix(stats::rnorm(3000), 500)
  x[, 2] <- x[, 2] + x[, 1]
  x[, 3] <- x[, 3] + x[, 2]
  x[, 5] <- x[, 5] + x[, 3] + x[, 4]
  colnames(x) <- c("a", "b", "c", "d", "e", "f")
  as.data.frame(x)
}

# The edges of a result, one text for each, such as "a --> b".
signed <- function(fit, signs) {
  e <- as.data.frame(fit)
  sort(paste(e$from, signs[e$type], e$to))
}

test_that("dagitty reads a graph by pcalg2dagitty()", {
  skip_if_no_pcalg()
  skip_if_not_installed("dagitty")
  edges <- function(graph) with(as.data.frame(dagitty::edges(graph)), sort(paste(v, e, w)))
  fit <- cu_pc(example_data(), alpha = 0.01)
  graph <- pcalg::pcalg2dagitty(methods::as(fit, "amat"), graph::nodes(fit@graph), type = "cpdag")
  expect_identical(edges(graph), signed(fit, c(directed = "->", undirected = "--")))
  expect_setequal(names(graph), letters[1:6])
  hidden <- cu_fci(example_data()[, -3], alpha = 0.01)
  graph <- pcalg::pcalg2dagitty(hidden@amat, colnames(hidden@amat), type = "pag")
  expect_identical(edges(graph), signed(hidden, c(directed = "->", bidirected = "<->", `partially directed` = "@->",
    nondirected = "@-@")))
})

test_that("caugi reads a graph, and causalDisco has a method of pycupc", {
  skip_if_no_pcalg()
  skip_if_not_installed("caugi")
  skip_if(getRversion() < "4.3", "caugi needs R 4.3")
  edges <- function(graph) with(as.data.frame(caugi::edges(graph)), sort(paste(from, edge, to)))
  signs <- c(directed = "-->", undirected = "---", bidirected = "<->", nondirected = "o-o")
  signs["partially directed"] <- "o->"
  fit <- cu_pc(example_data(), alpha = 0.01)
  graph <- caugi::as_caugi(fit@graph, class = "PDAG", collapse = TRUE)
  expect_identical(edges(graph), signed(fit, signs))
  expect_identical(caugi::nodes(graph)$name, letters[1:6])
  hidden <- cu_fci(example_data()[, -3], alpha = 0.01)
  expect_identical(edges(caugi::as_caugi(hidden@amat, class = "PAG")), signed(hidden, signs))
  skip_if_not_installed("causalDisco")
  source(system.file("extras", "causalDisco.R", package = "pycupc"), local = TRUE)
  expect_identical(edges(causalDisco::disco(example_data(), pycupc_method("pc", alpha = 0.01))$caugi), edges(graph))
  found <- causalDisco::disco(example_data()[, -3], pycupc_method("fci", alpha = 0.01))
  expect_identical(edges(found$caugi), signed(hidden, signs))
})
