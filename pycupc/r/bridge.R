# The R functions that bridge.py needs besides r_wrapper/R/pcalgo.R, which is evaluated in the same environment.

# The pcAlgo or fciAlgo of a result. A call travels in a list: as a bare argument, R would evaluate it.
with_call <- function(plain, boxed_call, weight) {
  if (is.null(plain$edge)) as_pcalgo(plain, boxed_call[[1]], weight) else as_fcialgo(plain, boxed_call[[1]])
}

weight_type <- function(graph) {
  weight <- graph@edgeData@defaults$weight
  if (is.null(weight)) "none" else typeof(weight)
}

# Runs pcalg::pc() or pcalg::skeleton() with the Gaussian test.
run_pcalg <- function(name, C, n, args) {
  f <- getExportedValue("pcalg", name)
  fit <- do.call(f, c(list(suffStat = list(C = C, n = n), indepTest = pcalg::gaussCItest), args))
  # The call that do.call() leaves holds all of the data: short names take the place of long values.
  short <- lapply(args, function(a) if (is.matrix(a)) quote(fixed) else if (length(a) > 8) quote(labels) else a)
  fit@call <- as.call(c(list(as.name(name), suffStat = quote(suffStat), indepTest = quote(gaussCItest)), short))
  fit
}
