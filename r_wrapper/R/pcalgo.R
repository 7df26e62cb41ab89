# The one place that builds pcalg's S4 objects, slot by slot as pcalg fills them.

as_pcalgo <- function(plain, call, skeleton = FALSE, sepset = c("auto", "list", "sparse")) {
  sepset <- match.arg(sepset)
  p <- length(plain$labels)
  sparse <- sepset == "sparse" || sepset == "auto" && p > 5000L
  fit <- methods::new(methods::getClass("pcAlgo", where = asNamespace("pcalg")),
    graph = as_graph(plain, skeleton), call = call, n = integer(0), max.ord = plain$max.ord,
    n.edgetests = plain$n.edgetests, sepset = if (sparse) list() else expand_sepset(plain), pMax = plain$pMax,
    zMin = matrix(NA, 1, 1)
  )
  if (sparse) {
    attr(fit, "cu_sepset") <- c(plain$sepset, list(adjacent = sort(adjacent_cells(plain))))
  }
  fit
}

# Where "rand" or "retry" must draw a graph, R's generator decides: pcalg orients our skeleton.
draw_orientation <- function(plain, call, u2pd, sepset) {
  ends <- unique(data.frame(
    from = c(plain$graph$from, plain$graph$to),
    to = c(plain$graph$to, plain$graph$from)
  ))
  plain$orientation <- ""
  plain$graph <- list(from = ends$from, to = ends$to, mark = rep(1L, nrow(ends)))
  skeleton <- as_pcalgo(plain, call, skeleton = TRUE, sepset = "list")
  drawn <- if (u2pd == "rand") pcalg::udag2pdag(skeleton) else pcalg::udag2pdagSpecial(skeleton)$pcObj
  fit <- as_pcalgo(plain, call, sepset = sepset)
  fit@graph <- drawn@graph
  fit
}

# pcalg's skeleton() stores the weights of the edges as integer, pc() as double; both make an empty graph by itself.
as_graph <- function(plain, skeleton) {
  if (!length(plain$graph$from)) {
    return(methods::new(methods::getClass("graphNEL", where = asNamespace("graph")), nodes = plain$labels))
  }
  p <- length(plain$labels)
  cells <- matrix(if (skeleton) 0L else 0, p, p, dimnames = list(plain$labels, plain$labels))
  cells[cbind(plain$graph$from, plain$graph$to)] <- plain$graph$mark
  graph <- methods::as(cells, "graphNEL")
  if (endsWith(plain$orientation, "forced")) { # pcalg's last resort before drawing makes a graph without weights
    graph@edgeData <- methods::new(methods::getClass("attrData", where = asNamespace("graph")))
  }
  graph
}

# Positions (column-major) of the cells of adjacent pairs, both ways.
adjacent_cells <- function(plain) {
  p <- length(plain$labels)
  from <- as.double(plain$graph$from)
  to <- as.double(plain$graph$to)
  unique(c((to - 1) * p + from, (from - 1) * p + to))
}

# The list of p lists of length p. A pair removed at level 0 holds integer(0) in the cell [[x]][[y]], x < y; it is not
# sent one by one: it is a pair x < y that is neither adjacent, nor a gap, nor sent with a set of its own.
expand_sepset <- function(plain) {
  s <- plain$sepset
  p <- s$p
  implied <- upper.tri(matrix(FALSE, p, p))
  implied[adjacent_cells(plain)] <- FALSE
  implied[cbind(s$x, s$y)] <- FALSE
  implied[cbind(s$y, s$x)] <- FALSE
  implied[cbind(s$gap_x, s$gap_y)] <- FALSE
  sets <- as_sets(s)
  last <- cumsum(tabulate(s$x, p)) # s$x is sorted
  first <- c(0L, last[-p]) + 1L
  lapply(seq_len(p), function(x) {
    row <- vector("list", p)
    row[implied[x, ]] <- list(integer(0))
    at <- if (last[x] >= first[x]) first[x]:last[x]
    row[s$y[at]] <- sets[at]
    row
  })
}

# The stored sets as a list of integer vectors; all sets of one size at once.
as_sets <- function(s) {
  sets <- vector("list", length(s$length))
  before <- cumsum(s$length) - s$length
  for (size in unique(s$length)) {
    of_size <- which(s$length == size)
    sets[of_size] <- if (size == 0L) {
      list(integer(0))
    } else if (size == 1L) {
      as.list(s$members[before[of_size] + 1L])
    } else {
      members <- matrix(s$members[rep(before[of_size], each = size) + seq_len(size)], size)
      lapply(seq_along(of_size), function(i) members[, i])
    }
  }
  sets
}

#' The separating set of two variables
#'
#' Looks into the slot `sepset`, or into the sparse form of it that `cu_pc(sepset = "sparse")` and [cu_plain()] give.
#'
#' @param fit What [cu_pc()], [cu_skeleton()], [cu_plain()], [pcalg::pc()] or [pcalg::skeleton()] returned.
#' @param x,y Two variables, by position.
#' @return The content of pcalg's cell `sepset[[x]][[y]]`: an integer vector, `integer(0)` for a pair that is independent
#'   without conditioning, or NULL. As in pcalg a set is kept in one of the two cells `[[x]][[y]]` and `[[y]][[x]]`.
#' @examples
#' if (cu_available()) {
#'   C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
#'   answer <- cu_plain("skeleton", list(C = C, n = 100), alpha = 0.05, p = 3)
#'   cu_sepset(answer, 1, 3)
#' }
#' @export
cu_sepset <- function(fit, x, y) {
  s <- if (is.list(fit)) fit$sepset else attr(fit, "cu_sepset")
  p <- if (is.null(s)) length(fit@sepset) else s$p
  for (v in c(x, y)) {
    if (!is.numeric(v) || !(v %in% seq_len(p))) {
      stop("`x` and `y` must be positions from 1 to ", p, "; got ", describe(v), call. = FALSE)
    }
  }
  if (is.null(s)) {
    return(fit@sepset[[x]][[y]])
  }
  at <- which(s$x == x & s$y == y)
  if (length(at)) {
    end <- sum(as.double(s$length[seq_len(at)]))
    return(s$members[end - s$length[at] + seq_len(s$length[at])])
  }
  adjacent <- if (is.list(fit)) adjacent_cells(fit) else s$adjacent
  stored <- any(s$x == y & s$y == x) || any(s$gap_x == x & s$gap_y == y) || ((y - 1) * p + x) %in% adjacent
  if (x < y && !stored) integer(0)
}
