# Finds and starts Python, at the first call that needs it.

# Must equal PROTOCOL of pycupc/r/transport.py.
protocol <- 22L

# `module`, once Python runs; `checkout`, where cu_pc.R was read by source(); `unfinished`, vectors of computations that
# did not stop; `said_sparse`, `said_compiling`, once it was said; `prints_notes`, see print_notes().
state <- new.env(parent = emptyenv())

# The Python module pycupc.r.transport.
python_side <- function() {
  if (is.null(state$module)) state$module <- start_python()
  state$module
}

# Evaluates `code`, which calls reticulate, and so Rcpp, which makes `.Random.seed` where R has none: it is removed,
# so that future does not warn of random numbers.
keep_seed <- function(code) {
  if (!exists(".Random.seed", globalenv(), inherits = FALSE)) {
    on.exit(suppressWarnings(rm(".Random.seed", envir = globalenv())))
  }
  code
}

# base::suspendInterrupts() around calls of Python, which must not change the state of R's generator either. While
# Python runs, reticulate lets R check the limits of setTimeLimit(), but discards the error of one that is reached.
suspendInterrupts <- function(code) {
  before <- geterrmessage()
  value <- keep_seed(base::suspendInterrupts(code))
  now <- geterrmessage()
  limits <- paste("reached", c("elapsed", "CPU", "session elapsed", "session CPU"), "time limit")
  reached <- if (now != before) Find(function(limit) endsWith(now, paste0(limit, "\n")), gettext(limits, domain = "R"))
  if (!is.null(reached)) {
    try(stop(), silent = TRUE) # another message, so that the next one is noticed, too
    error(reached)
  }
  value
}

# Evaluates `code`, in which reticulate looks for a Python, without its warning about Poetry: reticulate 1.28 takes any
# pyproject.toml, also the one in a checkout of pycupc, for one of Poetry.
without_poetry <- function(code) {
  withCallingHandlers(keep_seed(code), warning = function(w) {
    if (grepl("appears to use Poetry", conditionMessage(w), fixed = TRUE)) invokeRestart("muffleWarning")
  })
}

need_reticulate <- function() {
  if (!requireNamespace("reticulate", quietly = TRUE)) {
    error("pycupc needs the R package reticulate: install.packages(\"reticulate\")")
  }
}

start_python <- function() {
  without_poetry({
    need_reticulate()
    use_installed()
    started <- tryCatch(reticulate::py_available(initialize = TRUE), error = function(e) conditionMessage(e))
    if (!isTRUE(started)) error("reticulate could not start Python", why_not_started(started), ". ", python_remedy())
    refuse_old(reticulate::py_config()$version)
    add_checkout()
    module <- tryCatch(reticulate::import("pycupc.r.transport"), error = explain_import)
    if (!identical(as.integer(module$PROTOCOL), protocol)) {
      error("this R package and the Python package pycupc (", module$VERSION, ", from ", python_path(),
        ") are of different versions; install both from the same release")
    }
    # A thread that compiles while R ends, as after Ctrl-C, would crash R. `state` may be collected before R ends.
    reg.finalizer(globalenv(), function(environment) suspendInterrupts(module$end_compiling()), onexit = TRUE)
    module
  })
}

refuse_old <- function(version) {
  if (numeric_version(version) < "3.10") {
    error("pycupc needs Python 3.10 or later; ", python_path(), " is of version ", version, ". ", python_remedy())
  }
}

# The reason that reticulate gives, or else the output of its script, which asks a Python for its configuration.
why_not_started <- function(started) {
  if (is.character(started)) return(paste0(" (", started, ")"))
  python <- Sys.getenv("RETICULATE_PYTHON")
  script <- system.file("config", "config.py", package = "reticulate")
  if (!file.exists(python) || !nzchar(script)) return(NULL)
  said <- suppressWarnings(system2(python, shQuote(script), stdout = TRUE, stderr = TRUE))
  if (length(said) && !is.null(attr(said, "status"))) paste0(" (", said[length(said)], ")")
}

# Where the Python package is not installed, it is taken from a checkout: the one of cu_pc.R, or PYCUPC_CHECKOUT.
add_checkout <- function() {
  checkout <- if (is.null(state$checkout)) Sys.getenv("PYCUPC_CHECKOUT") else state$checkout
  if (nzchar(checkout) && dir.exists(file.path(checkout, "pycupc")) && !reticulate::py_module_available("pycupc")) {
    reticulate::import("sys", convert = FALSE)$path$append(normalizePath(checkout))
  }
}

python_path <- function() {
  tryCatch(reticulate::py_config()$python, error = function(e) "an unknown Python")
}

explain_import <- function(e) {
  text <- conditionMessage(e)
  python <- python_path()
  missing <- regmatches(text, regexec("No module named '([^']+)'", text))[[1]][2]
  if (identical(missing, "pycupc")) {
    error("the Python that reticulate uses (", python, ") has no package pycupc. ", python_remedy())
  }
  if (!is.na(missing)) {
    error("pycupc in ", python, " lacks the Python package ", sub("\\..*", "", missing), ". ", python_remedy())
  }
  if (cannot_store(text)) error(storing_remedy)
  error("pycupc could not be imported into ", python, ": ", text)
}

# Numba's words where it finds no folder for compiled code.
cannot_store <- function(text) grepl("cannot cache function|no locator available", text)

storing_remedy <- paste(
  "pycupc cannot store its compiled code, because neither its own folder nor the user's cache folder can be written",
  "to. Name a folder that can, before the first call in a fresh R session:",
  "Sys.setenv(NUMBA_CACHE_DIR = \"/path/to/folder\")"
)

# The remedy where Python or its package is missing. It works where the system's Python refuses pip (PEP 668), too.
python_remedy <- function(made = installed_path()) {
  named <- Sys.getenv("RETICULATE_PYTHON")
  folder <- function(path) normalizePath(path, mustWork = FALSE)
  is_other <- function() folder(dirname(dirname(python_path()))) != folder(made)
  if (!nzchar(named) && !is.null(made) && reticulate::py_available() && is_other()) {
    return(paste0("It was running before pycupc was used, and an R session can use one Python only. cu_install() has ",
      "made ", made, ": restart R, and call cu_available() before anything else that uses Python"))
  }
  paste0(
    "cu_install(source = \"/path/to/a/checkout/of/pycupc\") makes a Python environment with everything",
    if (nzchar(named)) {
      paste0("; so that it is used, restart R without the environment variable RETICULATE_PYTHON, which names ", named)
    } else {
      paste0("; or name a Python that has pycupc before the first call in a fresh R session: ",
        "Sys.setenv(RETICULATE_PYTHON = \"/path/to/python\")")
    }
  )
}

#' @rdname cu_sitrep
#' @export
cu_available <- function() {
  tryCatch(is.environment(python_side()), error = function(e) FALSE)
}
