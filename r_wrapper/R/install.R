# The Python side in one command: a virtual environment made by reticulate, which start_python() then uses
# automatically.

environment_name <- "r-pycupc"

#' Install the Python package pycupc
#'
#' Creates a dedicated Python environment for pycupc and installs the package there with pip, together with what its GPU
#' engine needs if there is an NVIDIA driver. From then on [cu_pc()] uses this environment, unless `RETICULATE_PYTHON`
#' or [reticulate::use_python()] names another Python. Nothing else on the machine is changed, and
#' `reticulate::virtualenv_remove("r-pycupc")` undoes it.
#'
#' Python 3.10 or later must be installed, with its module venv (Debian, Ubuntu: `apt install python3-venv`). Calling
#' `cu_install()` again installs another version into the same environment.
#'
#' @param source Where to take pycupc from: a checkout, a wheel (`.whl`), a source distribution (`.tar.gz`), or anything
#'   else that `pip install` accepts. By default the newest release on PyPI; if `cu_pc.R` was read with [source()], its
#'   checkout.
#' @param gpu `"auto"` looks for an NVIDIA driver; `"none"` installs the CPU engine only; `"gpu"` and `"gpu13"` install
#'   what a driver for CUDA 12 or for CUDA 13 needs.
#' @return Invisibly, the path of the environment's Python.
#' @examples
#' \dontrun{
#' cu_install() # the newest release
#' cu_install("~/pycupc") # a checkout
#' }
#' @seealso [cu_sitrep()]
#' @export
cu_install <- function(source = state$checkout, gpu = c("auto", "none", "gpu", "gpu13")) {
  gpu <- match.arg(gpu)
  need_reticulate()
  if (gpu == "auto") gpu <- gpu_extra(driver_report())
  what <- paste0(check_source(source), if (gpu != "none") paste0("[", gpu, "]"))
  create <- function() without_poetry(reticulate::virtualenv_create(environment_name, packages = FALSE))
  path <- tryCatch(create(), error = function(e) {
    error("no Python environment could be made: ", conditionMessage(e),
      " pycupc needs Python 3.10 or later with its module venv (Debian, Ubuntu: apt install python3-venv)")
  })
  python <- reticulate::virtualenv_python(environment_name)
  outside <- if (.Platform$OS.type == "unix") paste0("LD_LIBRARY_PATH=", shQuote(library_path_outside_r()))
  status <- system2(python, c("-m", "pip", "install", "--upgrade", shQuote(what)), env = as.character(outside))
  if (status != 0) {
    error("pip could not install ", what, " (see above). ", if (is.null(source)) missing_release, "The environment is ",
      path, "; ", undo_install, " removes it")
  }
  message("pycupc is installed in ", path, ", which cu_pc() uses from now on. To undo: ", undo_install)
  other <- python_in_use()
  if (!is.null(other) && !startsWith(normalizePath(other, mustWork = FALSE), normalizePath(path))) {
    message("This session uses another Python, ", other, ": restart R",
      if (nzchar(Sys.getenv("RETICULATE_PYTHON"))) " without RETICULATE_PYTHON")
  }
  invisible(python)
}

# LD_LIBRARY_PATH without the folders that R puts in front of it, in which a Python that is not the system's may find
# libraries that do not fit it.
library_path_outside_r <- function() {
  path <- Sys.getenv("LD_LIBRARY_PATH")
  script <- file.path(R.home("etc"), "ldpaths")
  if (!nzchar(path) || !file.exists(script)) return(path)
  print_it <- paste0("R_HOME=", shQuote(R.home()), "; . ", shQuote(script), "; printf %s \"$LD_LIBRARY_PATH\"")
  of_r <- system2("env", c("-u", "LD_LIBRARY_PATH", "sh", "-c", shQuote(print_it)), stdout = TRUE)
  if (isTRUE(startsWith(path, of_r))) sub("^:", "", substring(path, nchar(of_r) + 1L)) else path
}

undo_install <- paste0("reticulate::virtualenv_remove(\"", environment_name, "\")")

missing_release <- paste("If pip found no release of pycupc on PyPI, give `source`: the path of a checkout of pycupc,",
  "of a wheel or of a source distribution. ")

# The argument `source` as pip takes it; NULL: the newest release.
check_source <- function(source) {
  if (is.null(source)) return("pycupc")
  if (!is.character(source) || length(source) != 1L || is.na(source)) {
    refuse("source", "the path of a checkout of pycupc, of a wheel or of a source distribution", source)
  }
  if (!file.exists(source)) {
    if (grepl("[/\\\\]|\\.(whl|tar\\.gz)$", source) && !grepl("://", source, fixed = TRUE)) {
      error("`source`: there is no ", source)
    }
    return(source)
  }
  if (dir.exists(source) && !file.exists(file.path(source, "pyproject.toml"))) {
    error("`source` must be the top folder of a checkout, the one with pyproject.toml; ", source, " has none")
  }
  normalizePath(source)
}

# The output of nvidia-smi; empty without an NVIDIA driver.
driver_report <- function() {
  if (!nzchar(Sys.which("nvidia-smi"))) return(character(0))
  suppressWarnings(tryCatch(system2("nvidia-smi", stdout = TRUE, stderr = FALSE), error = function(e) character(0)))
}

# The extra of the Python package for the driver, by the newest CUDA version that it supports.
gpu_extra <- function(report) {
  found <- regmatches(report, regexec("CUDA Version: *([0-9]+)", report))
  version <- as.integer(vapply(Filter(length, found), `[[`, "", 2L))
  if (!length(version) || version[[1]] < 12L) "none" else if (version[[1]] == 12L) "gpu" else "gpu13"
}

# The Python that runs in this session, or that RETICULATE_PYTHON names; NULL if cu_pc() may choose.
python_in_use <- function() {
  if (reticulate::py_available()) return(python_path())
  named <- Sys.getenv("RETICULATE_PYTHON")
  if (nzchar(named)) named
}

# The environment of cu_install(), if there is one and the user has named no Python.
use_installed <- function() {
  if (is.null(python_in_use()) && reticulate::virtualenv_exists(environment_name)) {
    reticulate::use_virtualenv(environment_name, required = FALSE)
  }
}
