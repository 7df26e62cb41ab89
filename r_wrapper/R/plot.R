#' Pictures of a graph, and a page to explore it
#'
#' `cu_plot()` draws the graph of a result on the current device: up to 60 variables as boxes in layers, arrows pointing
#' down, no edge across the name of another variable; more as dots, whose neighbours lie near each other. It needs
#' neither package Rgraphviz nor igraph. `plot()` of a result does the same, unless package pcalg is attached and
#' Rgraphviz is installed, in which case pcalg draws.
#'
#' `cu_explore()` writes one HTML file that shows the graph and the evidence for and against each edge, and opens it: in
#' RStudio in the viewer, in a document of knitr in the document, elsewhere in the browser. The page asks for nothing
#' from the internet.
#'
#' The kinds of edges differ in form as well as in colour: directed edges have an arrowhead, undirected ones are dashed,
#' bidirected ones thick; a circle is a mark that may be either.
#'
#' @param fit,x A result of [cu_pc()], [cu_skeleton()], [cu_tpc()], [cu_fci()], [cu_rfci()] or [cu_consensus()], or of
#'   the same function of pcalg. `cu_explore()` needs a result with separating sets, not one of [cu_consensus()].
#' @param around Variables, by position or by name: draw only these, highlighted, and what is near them; by default
#'   the whole graph.
#' @param radius How many edges away from them a variable may be.
#' @param groups Groups, drawn in a colour of their own: the name of the group of each variable, NA for none, or a list
#'   of the variables of each group, by its name.
#' @param tiers The number of the tier of each variable, NA without one: earlier tiers lie above later ones.
#' @param paths A list of paths, each a vector of variables, whose edges are highlighted.
#' @param title A title; by default the numbers of variables and edges; FALSE for none.
#' @param legend Should the kinds of edges and the groups be explained below the picture?
#' @param cex Size of the text, relative to the size that fits.
#' @param y,... Not used.
#' @return `cu_plot()` and `plot()`: invisibly a data frame with the centres of the variables, `name`, `x` and `y`, in
#'   inches of the layout. `cu_explore()`: the path of the file, invisibly; in a document of knitr the page, which the
#'   document shows.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   X <- pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))
#'   fit <- cu_pc(X, alpha = 0.05)
#'   cu_plot(fit, groups = rep(c("first", "second"), 5))
#'   page <- cu_explore(fit, file = tempfile(fileext = ".html"), show = FALSE)
#' }
#' @seealso [cu_why()], [cu_pc()]
#' @export
cu_plot <- function(fit, around = NULL, radius = 2, groups = NULL, tiers = NULL, paths = list(), title = NULL,
                    legend = TRUE, cex = 1) {
  check_result(fit)
  labels <- names_in(fit)
  legend <- check_flag(legend, "legend")
  cex <- check_number(cex, "cex", "one number above 0", function(x) x > 0)
  if (!is.null(tiers)) {
    ok <- is.numeric(tiers) && length(tiers) == length(labels)
    if (!ok) refuse("tiers", paste("a number for each of the", length(labels), "variables, or NA"), tiers)
  }
  if (!is.list(paths)) refuse("paths", "a list of vectors of variables", paths)
  titled <- is.null(title) || identical(title, FALSE) || is.character(title) && length(title) == 1L && !is.na(title)
  if (!titled) refuse("title", "a string, NULL or FALSE", title)
  options <- c(list(labels = as.list(labels), tiers = as.list(as.double(tiers)),
    paths = lapply(paths, function(path) as.list(positions(path, labels, "paths")))))
  options <- c(options, shown_part(around, radius, groups, labels))
  cells <- if (methods::is(fit, "fciAlgo")) c(edge = edge_cells(fit@amat)) else c(graph = graph_cells(fit@graph))
  shapes <- compute("picture", options, cells)
  if (!is.null(title)) shapes$title <- if (identical(title, FALSE)) "" else title
  draw_shapes(shapes, legend, cex)
  a <- shapes$arrays
  invisible(data.frame(name = texts(shapes$names), x = a$x, y = a$y))
}

#' @rdname cu_plot
#' @param file Where to write the page; by default a temporary file.
#' @param show Should the page be shown?
#' @param suffStat,alpha As in [cu_why()]: with the data the page has the correlations and the tests, too.
#' @param name The name of the data, the headline of the page.
#' @param effects Should the page show, beside a chosen variable, the possible effects on it and of it? They are
#'   computed from `suffStat`, for graphs of at most 200 variables: in units of the data, and from correlations in
#'   standard deviations.
#' @param units Units of the variables, a character vector with their names: effects in different units have axes of
#'   their own. They need the observations as `suffStat`.
#' @export
cu_explore <- function(fit, file = NULL, show = TRUE, around = NULL, radius = 2, groups = NULL, suffStat = NULL,
                       alpha = NULL, name = "", effects = FALSE, units = NULL) {
  check_result(fit)
  refuse_consensus(fit, "fit")
  show <- check_flag(show, "show")
  if (!is.null(file) && (!is.character(file) || length(file) != 1L || is.na(file))) {
    refuse("file", "the path of a file", file)
  }
  if (!is.character(name) || length(name) != 1L || is.na(name)) refuse("name", "the name of the data", name)
  effects <- check_flag(effects, "effects")
  if (effects && is.null(suffStat)) error("`effects` needs the data: give them as `suffStat`")
  observed <- is.data.frame(suffStat) || is.matrix(suffStat)
  if (!is.null(units) && !observed) error("`units` needs the observations: give them as `suffStat`")
  unit_of <- units_of(units, names_in(fit))
  spread <- if (effects && observed && test_in_call(fit, suffStat) == "gaussCItest") {
    as.list(vapply(seq_len(ncol(suffStat)), function(k) stats::sd(suffStat[, k]), 0))
  }
  # the viewer of RStudio shows files of the session's temporary folder only
  path <- if (is.null(file)) tempfile("graph", fileext = ".html") else path.expand(file)
  part <- shown_part(around, radius, groups, names_in(fit))
  page <- list(question = "page", file = normalizePath(path, mustWork = FALSE), name = name, effects = effects)
  do.call(explain, c(list(fit, suffStat, alpha), page, list(units = as.list(unit_of),
    spread = as.list(spread)), part))
  if (!show) return(invisible(path))
  if (isTRUE(getOption("knitr.in.progress"))) return(page_in_document(path))
  viewer <- getOption("viewer")
  if (is.function(viewer) && is.null(file)) viewer(path) else utils::browseURL(path)
  invisible(path)
}

# The unit of each variable, or nothing.
units_of <- function(units, labels) {
  if (is.null(units)) return(character())
  ok <- is.character(units) && !anyNA(units) && !is.null(names(units))
  if (!ok) refuse("units", "a character vector with the names of variables", units)
  of <- character(length(labels))
  of[positions(names(units), labels, "units")] <- units
  of
}

# The page as a frame in an HTML document of knitr; elsewhere, such as in a PDF, a picture says more: see cu_plot().
page_in_document <- function(path) {
  text <- paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  for (sign in list(c("&", "&amp;"), c("\"", "&quot;"))) text <- gsub(sign[1], sign[2], text, fixed = TRUE)
  frame <- paste0("<iframe srcdoc=\"", text, "\" sandbox=\"allow-scripts allow-modals allow-downloads\" ",
    "width=\"100%\" height=\"760\" style=\"border: 1px solid #ccc\"></iframe>")
  structure(paste0("\n```{=html}\n", frame, "\n```\n"), class = "knit_asis", knit_cacheable = NA)
}

check_result <- function(fit) {
  if (!methods::is(fit, "fciAlgo") && !methods::is(fit, "pcAlgo")) {
    refuse("fit", "a result of cu_pc(), cu_fci() or another function", fit)
  }
}

positions <- function(variables, labels, name) {
  at <- if (is.character(variables)) match(variables, labels) else if (is.numeric(variables)) {
    match(variables, seq_along(labels))
  }
  if (length(at) != length(variables) || anyNA(at)) {
    wrong <- if (length(at)) variables[is.na(at)][1] else variables
    refuse(name, paste("names of variables or positions from 1 to", length(labels)), wrong)
  }
  at
}

texts <- function(x) as.character(unlist(x))

# `around`, `radius` and `groups` in the form that Python takes.
shown_part <- function(around, radius, groups, labels) {
  radius <- check_number(radius, "radius", "a whole number of at least 0", function(x) x >= 0 && x == round(x))
  if (is.list(groups) && !is.data.frame(groups)) {
    named <- !is.null(names(groups)) && all(nzchar(names(groups)))
    if (!named) refuse("groups", "a list with a name for each group", groups)
    of <- rep(NA_character_, length(labels))
    for (name in names(groups)) of[positions(groups[[name]], labels, "groups")] <- name
    groups <- of
  }
  if (!is.null(groups) && length(groups) != length(labels)) {
    refuse("groups", paste("the group of each of the", length(labels), "variables, or a list of groups"), groups)
  }
  groups <- as.character(groups)
  groups[is.na(groups)] <- ""
  list(around = as.list(positions(around, labels, "around")), radius = radius, groups = as.list(groups))
}

# Draws what Python placed; lengths are in inches, and everything is scaled to the device.
draw_shapes <- function(shapes, legend, cex) {
  a <- shapes$arrays
  title <- shapes$title
  alone <- texts(shapes$alone)
  rows <- legend * ((length(shapes$kinds) > 0) + (length(shapes$groups) > 0))
  old <- graphics::par(mar = c(0.2, 0.2, 0.2, 0.2), xpd = NA)
  on.exit(graphics::par(old))
  wide <- if (length(a$x)) range(a$x - a$width / 2, a$x + a$width / 2) else c(0, 4)
  high <- if (length(a$y)) range(a$y - a$height / 2, a$y + a$height / 2) else c(0, 0)
  wide <- wide + c(-0.1, 0.1) + c(-0.5, 0.5) * max(0, 4.4 - diff(wide))
  named <- if (length(alone)) strwrap(paste("without an edge:", paste(alone, collapse = ", ")), diff(wide) / 0.075)
  below <- 0.3 * rows + 0.2 * length(named) + 0.15
  graphics::plot.new()
  graphics::plot.window(wide, high + c(-below, if (nzchar(title)) 0.5 else 0.15), asp = 1)
  scale <- graphics::par("pin")[1] / diff(graphics::par("usr")[1:2]) # inches of the device per inch of the layout
  size <- function(points) cex * scale * points / graphics::par("ps")
  ends <- cumsum(a$length)
  for (pass in 1:2) {
    for (k in seq_along(a$length)) {
      at <- 2 * (ends[k] - a$length[k]) + seq_len(2 * a$length[k])
      line <- matrix(a$points[at], nrow = 2)
      if (pass == 2) draw_edge(line, shapes, k, scale) else if (a$on_path[k] > 0) {
        graphics::lines(line[1, ], line[2, ], col = "#f2c14e", lwd = 9 * scale)
      }
    }
  }
  fill <- texts(shapes$fill)
  fill[as.integer(unlist(shapes$chosen))] <- "#f2c14e"
  names <- texts(shapes$names)
  if (identical(shapes$form, "boxes")) {
    graphics::rect(a$x - a$width / 2, a$y - a$height / 2, a$x + a$width / 2, a$y + a$height / 2, col = fill,
      border = texts(shapes$line))
    if (length(names)) graphics::text(a$x, a$y, names, cex = size(9))
  } else {
    graphics::symbols(a$x, a$y, circles = a$width / 2, inches = FALSE, add = TRUE, bg = fill, fg = texts(shapes$line))
    shown <- nzchar(names)
    graphics::text(a$x[shown], a$y[shown] + a$width[shown] / 2 + 0.08, names[shown], cex = size(7))
  }
  left <- graphics::par("usr")[1] + 0.1
  if (nzchar(title)) graphics::text(left, high[2] + 0.35, title, adj = c(0, 0.5), cex = size(10))
  y <- high[1] - 0.2
  for (text in named) {
    graphics::text(left, y, text, adj = c(0, 0.5), cex = size(8.5))
    y <- y - 0.2
  }
  if (legend) draw_legend(shapes, left, y, size, scale)
}

draw_legend <- function(shapes, x, y, size, scale) {
  start <- x
  for (k in seq_along(shapes$groups)) {
    graphics::rect(x, y - 0.07, x + 0.3, y + 0.07, col = texts(shapes$group_fill)[k],
      border = texts(shapes$group_line)[k])
    graphics::text(x + 0.38, y, texts(shapes$groups)[k], adj = c(0, 0.5), cex = size(8.5))
    x <- x + 0.75 + 0.075 * nchar(texts(shapes$groups)[k])
  }
  if (length(shapes$groups)) y <- y - 0.3
  x <- start
  for (k in seq_along(shapes$kinds)) {
    one <- list(colours = texts(shapes$kind_colour)[k], arrays = list(dashed = shapes$arrays$kind_dashed[k],
      line_width = 1.2, tail_mark = shapes$arrays$kind_mark[2 * k - 1], head_mark = shapes$arrays$kind_mark[2 * k]))
    draw_edge(rbind(c(x, x + 0.5), c(y, y)), one, 1L, scale)
    graphics::text(x + 0.58, y, texts(shapes$kinds)[k], adj = c(0, 0.5), cex = size(8.5))
    x <- x + 0.8 + 0.075 * nchar(texts(shapes$kinds)[k])
  }
}

# One edge with the marks at its ends: 1 a circle, 2 an arrowhead, 3 nothing.
draw_edge <- function(line, shapes, k, scale) {
  colour <- texts(shapes$colours)[k]
  a <- shapes$arrays
  graphics::lines(line[1, ], line[2, ], col = colour, lwd = a$line_width[k] * scale * 1.3,
    lty = if (a$dashed[k] > 0) "dashed" else "solid")
  for (end in 1:2) {
    mark <- if (end == 1L) a$tail_mark[k] else a$head_mark[k]
    points <- if (end == 1L) line[, rev(seq_len(ncol(line))), drop = FALSE] else line
    tip <- points[, ncol(points)]
    away <- sqrt(colSums((points - tip)^2))
    back <- points[, max(c(1L, which(away >= 0.085)))]
    along <- (back - tip) / max(sqrt(sum((back - tip)^2)), 1e-9)
    if (mark == 2) {
      base <- tip + 0.11 * along
      side <- 0.045 * c(along[2], -along[1])
      corners <- cbind(tip, base + side, base - side)
      graphics::polygon(corners[1, ], corners[2, ], col = colour, border = colour)
    } else if (mark == 1) {
      centre <- tip + 0.045 * along
      graphics::symbols(centre[1], centre[2], circles = 0.045, inches = FALSE, add = TRUE, bg = "white", fg = colour)
    }
  }
}

#' @rdname cu_plot
#' @export
plot.pcAlgo <- function(x, y, ...) cu_plot(x, ...)

#' @rdname cu_plot
#' @export
plot.fciAlgo <- function(x, y, ...) cu_plot(x, ...)

# pcalg's plot() of its classes needs Rgraphviz. Where that is not installed, ours takes its place for this session,
# once there is a result.
plot_without_rgraphviz <- function() {
  if (!is.null(state$plots)) return()
  state$plots <- TRUE
  if (nzchar(system.file(package = "Rgraphviz"))) return()
  home <- new.env(parent = asNamespace("pcalg")) # which keeps the methods
  generic <- methods::getGeneric("plot", where = asNamespace("pcalg"))
  for (class in c("pcAlgo", "fciAlgo")) {
    methods::setMethod(generic, class, function(x, y, ...) cu_plot(x, ...), where = home)
  }
}
