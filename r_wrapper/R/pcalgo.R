# pcalg's S4 object from plain values, and plain values from the object: the only code that does either. The rpy2 bridge
# of the Python package (pycupc/r/bridge.py) evaluates this file too, so it uses base R, methods, graph and pcalg only.
#
# A result as plain values, indices from 1:
#   labels                        names of the p variables
#   graph$from, $to, $mark        nonzero cells of the adjacency matrix
#   sepset$x, $y, $length         stored cells, and the size of the set in each
#   sepset$members                the members of these sets, one set after the other
#   sepset$gap_x, $gap_y          pairs x < y that have neither an edge nor a set (fixedGaps)
#   found                         as sepset: the sets before the conservative or majority rule changed some, or NULL
#   n.edgetests, max.ord, pMax    as in the object
# A pair x < y that is not adjacent, is no gap and has no stored cell has the empty set in the cell [[x]][[y]].

list_at_most <- 5000L # variables, up to which sepset = "auto" is "list"

# `weight`: type of the edge weights. pcalg::pc() stores "double", pcalg::skeleton() "integer"; u2pd = "retry" stores
# "none" where it forces a graph. `sepset`: "list", "sparse" (an attribute in place of the slot), or "auto".
as_pcalgo <- function(plain, call, weight, sepset = "list") {
  sparse <- sepset == "sparse" || sepset == "auto" && length(plain$labels) > list_at_most
  fit <- methods::new(methods::getClass("pcAlgo", where = asNamespace("pcalg")),
    graph = as_graph(plain$labels, plain$graph, weight), call = call, n = integer(0), max.ord = plain$max.ord,
    n.edgetests = plain$n.edgetests, sepset = if (sparse) list() else expand_sepset(plain), pMax = plain$pMax,
    zMin = matrix(NA, 1, 1)
  )
  attr(fit, "cu_found") <- plain$found # for cu_compare()
  if (sparse) {
    attr(fit, "cu_sepset") <- c(plain$sepset, list(adjacent = adjacent_cells(plain)))
  }
  fit
}

as_graph <- function(labels, cells, weight) {
  class_of_graph <- function(name) methods::getClass(name, where = asNamespace("graph"))
  if (!length(cells$from)) {
    return(methods::new(class_of_graph("graphNEL"), nodes = labels))
  }
  m <- matrix(if (weight == "integer") 0L else 0, length(labels), length(labels), dimnames = list(labels, labels))
  m[cbind(cells$from, cells$to)] <- cells$mark # integer, which a matrix of doubles makes double
  graph <- methods::as(m, "graphNEL")
  if (weight == "none") graph@edgeData <- methods::new(class_of_graph("attrData"))
  graph
}

# The list of lists in place of the sparse form: the object that `sepset = "list"` gives.
expanded <- function(fit) {
  sparse <- attr(fit, "cu_sepset")
  fit@sepset <- expand_sepset(list(labels = graph::nodes(fit@graph), sepset = sparse), sparse$adjacent)
  attr(fit, "cu_sepset") <- NULL
  fit
}

# Positions, column by column, of the cells of adjacent pairs in both directions.
adjacent_cells <- function(plain) {
  p <- length(plain$labels)
  from <- as.double(plain$graph$from)
  to <- as.double(plain$graph$to)
  unique(c((to - 1) * p + from, (from - 1) * p + to))
}

# The list of p lists of length p.
expand_sepset <- function(plain, adjacent = adjacent_cells(plain)) {
  s <- plain$sepset
  p <- length(plain$labels)
  implied <- lower.tri(matrix(FALSE, p, p)) # columns are the rows of the list: R stores columns together
  implied[adjacent] <- FALSE
  implied[(c(s$x, s$y, s$gap_x) - 1) * p + c(s$y, s$x, s$gap_y)] <- FALSE
  sets <- as_sets(s$length, s$members)
  last <- cumsum(tabulate(s$x, p)) # the cells are in row order
  first <- c(0L, last[-p]) + 1L
  lapply(seq_len(p), function(x) {
    row <- vector("list", p)
    row[implied[, x]] <- list(integer(0))
    at <- if (last[x] >= first[x]) first[x]:last[x]
    row[s$y[at]] <- sets[at]
    row
  })
}

# The stored sets as a list of integer vectors; all sets of one size at once.
as_sets <- function(length, members) {
  sets <- vector("list", base::length(length))
  before <- cumsum(as.double(length)) - length
  for (size in unique(length)) {
    of_size <- which(length == size)
    sets[of_size] <- if (size == 0L) {
      list(integer(0))
    } else if (size == 1L) {
      as.list(members[before[of_size] + 1])
    } else {
      block <- matrix(members[rep(before[of_size], each = size) + seq_len(size)], size)
      lapply(seq_along(of_size), function(i) block[, i])
    }
  }
  sets
}

# The reverse of as_pcalgo(). `every_cell`: does `sepset` name all cells that hold a set, the empty ones of level 0
# included, as the list of lists does? Then the gaps are the other pairs that are not adjacent.
as_plain <- function(fit) {
  sparse <- attr(fit, "cu_sepset")
  list(
    labels = graph::nodes(fit@graph), graph = graph_cells(fit@graph), n.edgetests = fit@n.edgetests,
    max.ord = fit@max.ord, pMax = fit@pMax,
    sepset = if (is.null(sparse)) sepset_cells(fit@sepset) else sparse, every_cell = is.null(sparse)
  )
}

graph_cells <- function(graph) {
  m <- methods::as(graph, "matrix")
  at <- which(m != 0, arr.ind = TRUE, useNames = FALSE)
  weight <- graph@edgeData@defaults$weight
  list(
    from = at[, 1], to = at[, 2], mark = as.integer(m[at]), weight = if (is.null(weight)) "none" else typeof(weight)
  )
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
  ends <- unique(data.frame(
    from = c(plain$graph$from, plain$graph$to),
    to = c(plain$graph$to, plain$graph$from)
  ))
  plain$graph <- list(from = ends$from, to = ends$to, mark = rep(1L, nrow(ends)))
  skeleton <- as_pcalgo(plain, call, "integer")
  drawn <- if (u2pd == "rand") pcalg::udag2pdag(skeleton) else pcalg::udag2pdagSpecial(skeleton)$pcObj
  fit <- as_pcalgo(plain, call, "double", sepset)
  fit@graph <- drawn@graph
  fit
}
