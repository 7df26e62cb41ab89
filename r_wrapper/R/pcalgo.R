# pcalg's S4 objects from plain values, and plain values from them: the only code that does either. The rpy2 bridge
# of the Python package (pycupc/r/bridge.py) evaluates this file too, so it uses R's own packages, graph and pcalg only.
#
# A result as plain values, indices from 1:
#   labels                        names of the p variables
#   graph$from, $to, $mark        nonzero cells of the adjacency matrix
#   sepset$x, $y, $length         stored cells, and the size of the set in each
#   sepset$members                the members of these sets, one set after the other
#   sepset$gap_x, $gap_y          pairs x < y that have neither an edge nor a set (fixedGaps)
#   sets                          the list of lists that the object has; without it, it is made from sepset
#   found                         as sepset: the sets before the conservative or majority rule changed some, or NULL
#   n.edgetests, max.ord, pMax    as in the object; pMax may be NULL, which the object has as a 1 x 1 matrix of NA
# A pair x < y that is not adjacent, is no gap and has no stored cell has the empty set in the cell [[x]][[y]].
#
# In place of graph, a result of fci() or rfci() has
#   edge$low, $high               ends low < high of the edges
#   edge$low_mark, $high_mark     the marks at these ends: 1 circle, 2 arrowhead, 3 tail
#   pdsep$length, $members        allPdsep: the size of each set, 0 for NULL, and all members; empty if not computed
#   n.edgetestsPDSEP, max.ordPDSEP   as in the object

list_at_most <- 20000L # variables, up to which sepset = "auto" is "list"

# `weight`: type of the edge weights. pcalg::pc() stores "double", pcalg::skeleton() "integer"; u2pd = "retry" stores
# "none" where it forces a graph. `sepset`: "list", "sparse" (an attribute in place of the slot), or "auto".
# Without `plain$sepset` the slot is empty, too.
as_pcalgo <- function(plain, call, weight, sepset = "list") {
  sparse <- !wants_list(sepset, length(plain$labels))
  fit <- methods::new(methods::getClass("pcAlgo", where = asNamespace("pcalg")),
    graph = as_graph(plain$labels, plain$graph, weight), call = call, n = integer(0), max.ord = plain$max.ord,
    n.edgetests = plain$n.edgetests, pMax = if (is.null(plain$pMax)) matrix(NA_real_, 1, 1) else plain$pMax,
    sepset = if (sparse || is.null(plain$sepset)) {
      list()
    } else if (is.null(plain$sets)) {
      expand_sepset(plain)
    } else {
      plain$sets
    },
    zMin = matrix(NA, 1, 1)
  )
  if (sparse) {
    attr(fit, "cu_sepset") <- c(plain$sepset, list(adjacent = adjacent_cells(plain)))
  }
  fit
}

# Is the slot a list of lists, for an argument `sepset` and p variables?
wants_list <- function(sepset, p) sepset == "list" || sepset == "auto" && p <= list_at_most

# as(matrix, "graphNEL") of the adjacency matrix, from its nonzero cells.
as_graph <- function(labels, cells, weight) {
  class_of_graph <- function(name) methods::getClass(name, where = asNamespace("graph"))
  graph <- methods::new(class_of_graph("graphNEL"), nodes = labels)
  if (!length(cells$from)) {
    return(graph)
  }
  by_row <- order(cells$from, cells$to)
  from <- cells$from[by_row]
  to <- cells$to[by_row]
  mark <- cells$mark[by_row]
  by_column <- order(to, from)
  symmetric <- identical(list(from, to, mark), list(to[by_column], from[by_column], mark[by_column]))
  graph@graphData$edgemode <- if (symmetric) "undirected" else "directed"
  graph@edgeL <- stats::setNames(lapply(in_rows(to, from, length(labels)), function(to) list(edges = to)), labels)
  if (weight == "none") {
    return(graph)
  }
  as_weight <- if (weight == "integer") as.integer else as.double
  graph@edgeData@defaults <- list(weight = as_weight(1))
  graph@edgeData@data <- stats::setNames(
    lapply(as_weight(mark), function(mark) list(weight = mark)), paste(labels[from], labels[to], sep = "|")
  )
  graph
}

# `values`, which belong to the ascending numbers `row` between 1 and p, as a list of p vectors.
in_rows <- function(values, row, p) {
  last <- cumsum(tabulate(row, p))
  first <- c(0L, last[-p]) + 1L
  lapply(seq_len(p), function(x) if (last[x] >= first[x]) values[first[x]:last[x]] else values[0])
}

# pcalg's fciAlgo from plain values.
as_fcialgo <- function(plain, call) {
  p <- length(plain$labels)
  amat <- matrix(0, p, p, dimnames = list(plain$labels, plain$labels)) # [i, j] is the mark at j
  amat[cbind(plain$edge$low, plain$edge$high)] <- plain$edge$high_mark
  amat[cbind(plain$edge$high, plain$edge$low)] <- plain$edge$low_mark
  plain$graph <- list(from = plain$edge$low, to = plain$edge$high)
  pdsep <- vector("list", p)
  size <- plain$pdsep$length
  found <- which(size > 0L)
  pdsep[found] <- as_sets(cumsum(size)[found] - size[found], size[found], plain$pdsep$members)
  methods::new(methods::getClass("fciAlgo", where = asNamespace("pcalg")),
    amat = amat, allPdsep = pdsep, n.edgetestsPDSEP = as.double(plain$n.edgetestsPDSEP),
    max.ordPDSEP = plain$max.ordPDSEP, call = call, n = integer(0), max.ord = plain$max.ord,
    n.edgetests = plain$n.edgetests, pMax = if (is.null(plain$pMax)) matrix(NA_real_, 1, 1) else plain$pMax,
    sepset = if (is.null(plain$sets)) expand_sepset(plain) else plain$sets
  )
}

# Positions, column by column, of the cells of adjacent pairs in both directions.
adjacent_cells <- function(plain) {
  p <- length(plain$labels)
  from <- as.double(plain$graph$from)
  to <- as.double(plain$graph$to)
  unique(c((to - 1) * p + from, (from - 1) * p + to))
}

# The list of p lists of length p. Cells with equal sets of at most one member share one vector: there are millions.
expand_sepset <- function(plain, adjacent = adjacent_cells(plain)) {
  s <- plain$sepset
  p <- length(plain$labels)
  # Cells x < y without a set: they are adjacent, gaps, or have their set in the mirrored cell.
  column <- (adjacent - 1) %/% p + 1
  row <- adjacent - (column - 1) * p
  mirrored <- s$x > s$y
  x <- c(row[row < column], s$gap_x, s$y[mirrored])
  y <- c(column[row < column], s$gap_y, s$x[mirrored])
  by_row <- order(x)
  without <- in_rows(y[by_row], x[by_row], p)
  # The possible contents of a cell: no set, the empty set, the sets of one member, each of the other sets. A row of
  # cells is put together from the positions of these.
  last <- cumsum(if (length(s$members) > .Machine$integer.max) as.double(s$length) else s$length)
  others <- which(s$length != 1L)
  other_sets <- as_sets(last[others] - s$length[others], s$length[others], s$members)
  contents <- c(list(NULL, integer(0)), as.list(seq_len(p)), other_sets)
  held <- s$members[pmax(last, 1L)] + 2L # an empty set, which may come first, is among the others
  held[others] <- p + 2L + seq_along(others)
  held <- in_rows(held, s$x, p) # the cells are in row order
  at <- in_rows(s$y, s$x, p)
  bare <- rep.int(1:2, c(p, p)) # row x before any change: no sets up to x, then empty ones
  lapply(seq_len(p), function(x) {
    row <- bare[(p - x + 1L):(2L * p - x)]
    row[without[[x]]] <- 1L
    row[at[[x]]] <- held[[x]]
    contents[row]
  })
}

# Sets as a list of integer vectors, from the number of members before each and its size; all of one size at once.
as_sets <- function(before, sizes, members) {
  sets <- rep.int(list(integer(0)), length(sizes))
  for (size in setdiff(sizes, 0L)) {
    of_size <- which(sizes == size)
    sets[of_size] <- .mapply(c, lapply(seq_len(size), function(i) members[before[of_size] + i]), NULL)
  }
  sets
}

# The reverse of as_pcalgo() and as_fcialgo(): `values`, and flat `arrays`, such as graph.from. `every_cell`: does
# sepset name all cells that hold a set, the empty ones of level 0 included, as the list of lists does? Then the gaps
# are the other pairs that are not adjacent. p-values that were not computed are NA.
as_plain <- function(fit) {
  pag <- methods::is(fit, "fciAlgo")
  sparse <- attr(fit, "cu_sepset")
  labels <- names_in(fit)
  unknown <- length(fit@pMax) == 1L
  sets <- if (is.null(sparse)) sepset_cells(fit@sepset) else sparse[c("x", "y", "length", "members", "gap_x", "gap_y")]
  pdsep <- function() list(length = lengths(fit@allPdsep), members = as.integer(unlist(fit@allPdsep)))
  list(
    values = c(
      list(labels = labels, max_ord = c(fit@max.ord, 0L)[1], every_cell = is.null(sparse)), # fciPlus() has none
      call = paste(trimws(deparse(fit@call)), collapse = " "),
      if (pag) list(max_ord_pdsep = c(fit@max.ordPDSEP, 0L)[1])
    ),
    arrays = c(
      if (pag) c(edge = edge_cells(fit@amat), pdsep = pdsep()) else c(graph = graph_cells(fit@graph)),
      sepset = sets,
      list(n.edgetests = as.double(fit@n.edgetests)),
      if (pag) list(n.edgetestsPDSEP = as.double(fit@n.edgetestsPDSEP)),
      list(pMax = if (unknown) matrix(NA_real_, length(labels), length(labels)) else fit@pMax)
    )
  )
}

# The names of the variables of a pcAlgo or fciAlgo.
names_in <- function(fit) {
  if (!methods::is(fit, "fciAlgo")) return(graph::nodes(fit@graph))
  if (is.null(colnames(fit@amat))) as.character(seq_len(ncol(fit@amat))) else colnames(fit@amat)
}

edge_cells <- function(amat) {
  at <- which(upper.tri(amat) & amat != 0, arr.ind = TRUE, useNames = FALSE)
  at <- at[order(at[, 1], at[, 2]), , drop = FALSE]
  list(low = at[, 1], high = at[, 2], low_mark = as.integer(amat[at[, 2:1, drop = FALSE]]),
    high_mark = as.integer(amat[at]))
}

graph_cells <- function(graph) {
  m <- methods::as(graph, "matrix")
  at <- which(m != 0, arr.ind = TRUE, useNames = FALSE)
  mark <- m[at]
  if (!all(mark %in% 1:2)) mark[] <- 1 # other weights, such as randomDAG() draws, are no marks
  list(from = at[, 1], to = at[, 2], mark = as.integer(mark))
}

sepset_cells <- function(sepset) {
  p <- length(sepset)
  cells <- do.call(c, sepset)
  stored <- which(!vapply(cells, is.null, NA))
  list(
    x = as.integer((stored - 1) %/% p) + 1L, y = as.integer((stored - 1) %% p) + 1L,
    length = lengths(cells[stored]), members = as.integer(unlist(cells[stored])),
    gap_x = integer(0), gap_y = integer(0)
  )
}

# Where u2pd = "rand" or "retry" draws a graph, R's generator must decide: pcalg's own functions orient the skeleton.
draw_orientation <- function(plain, call, u2pd, sepset) {
  g <- plain$graph
  ends <- unique(data.frame(from = c(g$from, g$to), to = c(g$to, g$from)))
  plain$graph <- list(from = ends$from, to = ends$to, mark = rep(1L, nrow(ends)))
  skeleton <- as_pcalgo(plain, call, "integer")
  drawn <- if (u2pd == "rand") pcalg::udag2pdag(skeleton) else pcalg::udag2pdagSpecial(skeleton)$pcObj
  fit <- as_pcalgo(plain, call, "double", sepset)
  fit@graph <- drawn@graph
  fit
}

# With u2pd = "retry", pcalg draws a permutation, which it does not use, for each graph that it cannot extend to a DAG.
# The same draws leave R's generator in the same state.
draw_as_retry <- function(plain) {
  failed <- if (plain$status == "forced") plain$tries + 1 else plain$tries
  for (i in seq_len(failed)) sample.int(length(plain$labels))
}
