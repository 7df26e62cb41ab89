# cu_plot(), plot() and cu_explore(): pictures without Rgraphviz, and the explorer's page.

drawn <- function(...) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(grDevices::dev.off())
  cu_plot(...)
}

a_result <- function() cu_pc(small_problem(), pcalg::gaussCItest, 0.05, labels = letters[1:8])

test_that("a graph is drawn, and the centres of its variables are returned", {
  skip_if_no_pcalg()
  fit <- a_result()
  centres <- drawn(fit)
  m <- methods::as(fit@graph, "matrix")
  expect_setequal(centres$name, letters[1:8][rowSums(m) + colSums(m) > 0])
  expect_true(all(is.finite(centres$x) & is.finite(centres$y)))
  expect_identical(drawn(fit, groups = list(one = c("a", "b")), title = "A title"), centres)
  near <- drawn(fit, around = centres$name[1], radius = 1)
  expect_true(nrow(near) <= nrow(centres) && centres$name[1] %in% near$name)
  tiers <- rep(1:2, 4)
  rows <- drawn(fit, tiers = tiers, legend = FALSE, title = FALSE)
  tier <- tiers[match(rows$name, letters)]
  if (all(1:2 %in% tier)) expect_gt(min(rows$y[tier == 1]), max(rows$y[tier == 2]))
  edge <- which(m != 0, arr.ind = TRUE)[1, ]
  expect_identical(drawn(fit, paths = list(letters[edge])), centres)
  pag <- cu_fci(small_problem(), pcalg::gaussCItest, 0.05, labels = letters[1:8])
  expect_gt(nrow(drawn(pag)), 0)
})

test_that("plot() draws without Rgraphviz", {
  skip_if_no_pcalg()
  skip_if(nzchar(system.file(package = "Rgraphviz")))
  fit <- a_result()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_s3_class(methods::getGeneric("plot", where = asNamespace("pcalg"))(fit), "data.frame")
  expect_s3_class(graphics::plot(fit), "data.frame") # where pcalg is not attached
})

test_that("a picture that cannot be drawn is refused", {
  skip_if_no_pcalg()
  fit <- a_result()
  expect_error(cu_plot(3), "`fit` must be a result of cu_pc")
  expect_error(cu_plot(fit, around = "nobody"), "`around` must be names of variables or positions from 1 to 8")
  expect_error(cu_plot(fit, tiers = 1:3), "`tiers` must be a number for each of the 8 variables")
  expect_error(cu_plot(fit, groups = c("x", "y")), "`groups` must be the group of each of the 8 variables")
  expect_error(cu_plot(fit, paths = list(c(1, 99))), "`paths` must be names of variables or positions from 1 to 8")
  expect_error(cu_plot(fit, title = 3), "`title` must be a string, NULL or FALSE")
  expect_error(cu_plot(fit, radius = -1), "`radius` must be")
})

test_that("the explorer is written, shown in a viewer, and put into a document", {
  skip_if_no_pcalg()
  fit <- a_result()
  file <- tempfile(fileext = ".html")
  expect_identical(cu_explore(fit, file, show = FALSE, groups = list(one = 1:2)), file)
  page <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  expect_match(page, "Content-Security-Policy", fixed = TRUE)
  expect_match(page, "\"groups\":[\"one\"]", fixed = TRUE)
  shown <- NULL
  old <- options(viewer = function(path) shown <<- path)
  on.exit(options(old))
  path <- cu_explore(fit)
  expect_identical(shown, path)
  expect_true(startsWith(path, tempdir()))
  options(knitr.in.progress = TRUE)
  on.exit(options(knitr.in.progress = NULL), add = TRUE)
  inside <- cu_explore(fit)
  expect_s3_class(inside, "knit_asis")
  expect_match(inside, "<iframe srcdoc=\"<!DOCTYPE html>", fixed = TRUE)
  expect_error(cu_explore(fit, file = 3), "`file` must be the path of a file")
})

test_that("the page has the name of the data, effects and their units", {
  skip_if_no_pcalg()
  data <- as.data.frame(matrix(stats::rnorm(800), 100) %*% matrix(stats::runif(64), 8))
  names(data) <- letters[1:8]
  fit <- cu_pc(data, pcalg::gaussCItest, 0.05)
  correlations <- list(C = stats::cor(data), n = 100)
  file <- tempfile(fileext = ".html")
  page <- function(...) {
    cu_explore(fit, file, show = FALSE, ...)
    paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  }
  text <- page(suffStat = data, effects = TRUE, units = c(b = "kg", h = "cm"), name = "A study")
  expect_match(text, "\"name\":\"A study\"", fixed = TRUE)
  expect_match(text, "\"units\":[\"\",\"kg\",\"\",\"\",\"\",\"\",\"\",\"cm\"]", fixed = TRUE)
  expect_match(text, "\"effects\":{\"value\"", fixed = TRUE)
  effects <- function(...) sub(".*\"effects\":\\{\"value\":(\\{[^}]*\\}).*", "\\1", page(effects = TRUE, ...))
  expect_identical(effects(suffStat = data / 3), effects(suffStat = data)) # all in the same unit
  expect_false(identical(effects(suffStat = data), effects(suffStat = correlations)))
  expect_match(page(), "\"effects\":{},", fixed = TRUE)
  expect_error(page(effects = TRUE), "`effects` needs the data: give them as `suffStat`", fixed = TRUE)
  expect_error(page(suffStat = correlations, units = c(b = "kg")), "`units` needs the observations", fixed = TRUE)
  expect_error(page(suffStat = data, units = c(nobody = "kg")), "`units` must be names of variables", fixed = TRUE)
  no_names <- "`units` must be a character vector with the names of variables"
  expect_error(page(suffStat = data, units = "kg"), no_names, fixed = TRUE)
  expect_error(page(name = 1:2), "`name` must be the name of the data", fixed = TRUE)
})
