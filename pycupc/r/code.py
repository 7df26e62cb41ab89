"""The R functions that `pycupc.r.bridge` works with, as text: one evaluation gives a list of them."""

from __future__ import annotations

# Both ways in flat vectors: a list cell touched from Python costs a hundred times one touched from R.
R_CODE = """
list(
  flatten = function(fit) {
    cells <- do.call(c, fit@sepset)
    stored <- which(!vapply(cells, is.null, NA))
    list(cell = as.double(stored) - 1, length = lengths(cells[stored]),
         members = as.integer(unlist(cells[stored])) - 1L)
  },
  unflatten = function(p, cell, length, members) {
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
    cells <- vector("list", p * p)
    cells[cell + 1] <- sets
    lapply(seq_len(p), function(x) cells[(x - 1) * p + seq_len(p)])
  },
  graph_cells = function(graph) {
    m <- methods::as(graph, "matrix")
    at <- which(m != 0)
    # pcalg makes graphs with integer weights (skeleton), with double ones (pc), and without ("retry", at its end)
    weight <- graph@edgeData@defaults$weight
    weight <- if (is.null(weight)) "none" else typeof(weight)
    list(at = as.double(at) - 1, mark = as.integer(m[at]), weight = weight, labels = graph::nodes(graph))
  },
  graph = function(labels, at, mark, weight) {
    if (!length(at)) {
      return(methods::new(methods::getClass("graphNEL", where = asNamespace("graph")), nodes = labels))
    }
    p <- length(labels)
    m <- matrix(if (weight == "integer") 0L else 0, p, p, dimnames = list(labels, labels))
    m[at + 1] <- if (weight == "integer") mark else as.double(mark)
    graph <- methods::as(m, "graphNEL")
    if (weight == "none") graph@edgeData <- methods::new(methods::getClass("attrData", where = asNamespace("graph")))
    graph
  },
  call_text = function(box) paste(trimws(deparse(box[[1]])), collapse = " "),
  pcalgo = function(box, max.ord, n.edgetests, sepset, pMax, graph) {
    methods::new(methods::getClass("pcAlgo", where = asNamespace("pcalg")), graph = graph, call = box[[1]],
      n = integer(0), max.ord = max.ord, n.edgetests = n.edgetests, sepset = sepset, pMax = pMax,
      zMin = matrix(NA, 1, 1))
  },
  run = function(what, C, n, args) {
    f <- getExportedValue("pcalg", what)
    fit <- do.call(f, c(list(suffStat = list(C = C, n = n), indepTest = pcalg::gaussCItest), args))
    short <- lapply(args, function(a) if (is.matrix(a)) quote(fixed) else if (length(a) > 8) quote(labels) else a)
    # the call that do.call() makes holds all of the data
    fit@call <- as.call(c(list(as.name(what), suffStat = quote(suffStat), indepTest = quote(gaussCItest)), short))
    fit
  }
)
"""
