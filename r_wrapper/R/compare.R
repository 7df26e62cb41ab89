#' Two results side by side
#'
#' Says whether two results are equal and, if not, where they part: the level, the edge, the test with both p-values and
#' the condition number of its matrix, the separating set, the triple or rule.
#'
#' @param a,b Objects of class [pcalg::pcAlgo-class], or the name of a method that is then run: `"pycupc"`,
#'   `"pcalg-stable"`, `"pcalg-stable.fast"`.
#' @param suffStat,alpha,labels,p As for [cu_pc()]. Methods need them; with them a difference is looked into.
#' @param ... Further arguments for the methods, of those that [cu_pc()] shares with [pcalg::pc()].
#' @param skeleton Should methods stop before the edges are directed?
#' @return A list of class `cu_comparison`: `equal`, `parts` (which slots are equal), `partings` (a data frame of the
#'   pairs on which the skeletons part, by level, with the condition number of the test) and `text`, the report, which
#'   is printed.
#' @examples
#' if (requireNamespace("pcalg", quietly = TRUE) && cu_available()) {
#'   set.seed(1)
#'   S <- list(C = cor(pcalg::rmvDAG(500, pcalg::randomDAG(10, 0.3))), n = 500)
#'   cu_compare("pycupc", "pcalg-stable", S, alpha = 0.05, p = 10)
#' }
#' @export
cu_compare <- function(a, b, suffStat = NULL, alpha = NULL, labels, p, ..., skeleton = FALSE) {
  need_pcalg("cu_compare()")
  if (missing(labels)) labels <- if (!missing(p)) as.character(seq_len(p))
  given <- list(substitute(a), substitute(b))
  sides <- list(a, b)
  names <- character(2)
  for (i in 1:2) {
    names[i] <- if (is.character(sides[[i]])) {
      sides[[i]]
    } else if (is.symbol(given[[i]])) {
      as.character(given[[i]])
    } else {
      paste0("result ", c("a", "b")[i])
    }
    if (is.character(sides[[i]])) sides[[i]] <- run_method(sides[[i]], suffStat, alpha, labels, skeleton, ...)
    if (!methods::is(sides[[i]], "pcAlgo")) {
      stop("`", c("a", "b")[i], "` must be a pcAlgo object or one of ", quoted(compare_methods), "; got ",
        describe(sides[[i]]), call. = FALSE)
    }
  }
  if (names[1] == names[2]) names <- paste(names, c("(a)", "(b)"))

  job <- python_side()$Job("compare")
  on.exit(job$close())
  options <- list(names = as.list(names), alpha = if (!is.null(alpha)) as.double(alpha))
  for (i in 1:2) {
    side <- c("a_", "b_")[i]
    options[[paste0(side, "labels")]] <- as.list(graph::nodes(sides[[i]]@graph))
    options[[paste0(side, "max_ord")]] <- sides[[i]]@max.ord
    send_fit(job, side, sides[[i]])
  }
  if (!is.null(suffStat)) {
    gauss <- check_gauss(suffStat, length(options$a_labels))
    options$n <- gauss$n
    send(job, "C", gauss$C)
  }
  reply <- checked(job$compare(options))
  found <- list(
    equal = reply$equal,
    parts = unlist(reply$parts),
    partings = data.frame(
      level = take(job, "level", "integer", 4),
      x = take(job, "x", "integer", 4) + 1L,
      y = take(job, "y", "integer", 4) + 1L,
      removed_by = names[take(job, "remover", "integer", 4) + 1L],
      p_a = take(job, "p_a", "double", 8),
      p_b = take(job, "p_b", "double", 8),
      condition = take(job, "condition", "double", 8)
    ),
    text = reply$text
  )
  structure(found, class = "cu_comparison")
}

#' @export
print.cu_comparison <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

compare_methods <- c("pycupc", "pcalg-stable", "pcalg-stable.fast")

quoted <- function(x) paste0("\"", x, "\"", collapse = ", ")

run_method <- function(method, suffStat, alpha, labels, skeleton, ...) {
  if (!(length(method) == 1L && method %in% compare_methods)) {
    stop("a method must be one of ", quoted(compare_methods), "; got ", describe(method), call. = FALSE)
  }
  if (is.null(suffStat) || is.null(alpha) || is.null(labels)) {
    stop("the method \"", method, "\" needs `suffStat`, `alpha`, and `labels` or `p`", call. = FALSE)
  }
  args <- list(suffStat = suffStat, indepTest = pcalg::gaussCItest, alpha = alpha, labels = labels, ...)
  if (method == "pycupc") {
    return(do.call(if (skeleton) cu_skeleton else cu_pc, args))
  }
  args[[if (skeleton) "method" else "skel.method"]] <- sub("pcalg-", "", method, fixed = TRUE)
  do.call(if (skeleton) pcalg::skeleton else pcalg::pc, args)
}

# A pcAlgo as flat arrays with indices from 0: the reverse of receive() and as_pcalgo().
send_fit <- function(job, side, fit) {
  put <- function(name, x) send(job, paste0(side, name), x)
  cells <- methods::as(fit@graph, "matrix")
  at <- which(cells != 0, arr.ind = TRUE)
  put("graph_from", as.integer(at[, 1]) - 1L)
  put("graph_to", as.integer(at[, 2]) - 1L)
  put("graph_mark", as.integer(cells[at]))
  put("pMax", fit@pMax)
  put("n_edgetests", as.double(fit@n.edgetests))
  sepset <- fit@sepset
  if (!is.null(attr(fit, "cu_sepset"))) { # the sparse form: expanded for this once
    sepset <- expand_sepset(list(
      labels = rownames(cells), graph = list(from = at[, 1], to = at[, 2]), sepset = attr(fit, "cu_sepset")
    ))
  }
  p <- nrow(cells)
  flat <- do.call(c, sepset)
  stored <- which(!vapply(flat, is.null, NA))
  put("sepset_x", as.integer((stored - 1) %/% p))
  put("sepset_y", as.integer((stored - 1) %% p))
  put("sepset_len", lengths(flat[stored]))
  put("sepset_members", as.integer(unlist(flat[stored])) - 1L)
}
