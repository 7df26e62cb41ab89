#' What is installed, what is missing, and how to install it
#'
#' Prints the versions of R, pcalg, reticulate, Python and pycupc, which engines can run, the GPU, what [cu_install()]
#' has made and how to undo it, the environment variables that matter, and the command that installs whatever is
#' missing. `cu_available()` says whether the Python side can be used. Both start Python.
#'
#' @return `cu_sitrep()`: invisibly, the printed lines. `cu_available()`: TRUE if reticulate, Python and the Python
#'   package pycupc work.
#' @seealso [cu_install()]
#' @examples
#' cu_sitrep()
#' cu_available()
#' @export
cu_sitrep <- function() {
  version <- function(package) {
    if (requireNamespace(package, quietly = TRUE)) as.character(utils::packageVersion(package)) else NA_character_
  }
  line <- function(name, text) sprintf("%-12s %s", name, text)
  or_command <- function(package, command) {
    found <- version(package)
    line(package, if (is.na(found)) paste("missing:", command) else found)
  }
  lines <- c(
    line("R", paste(R.version.string, R.version$platform)),
    or_command("pcalg", paste(pcalg_install, "(cu_plain() works without it)")),
    or_command("reticulate", "install.packages(\"reticulate\")")
  )
  if (!is.na(version("reticulate"))) {
    python <- tryCatch(python_side(), error = function(e) conditionMessage(e))
    lines <- c(lines, if (is.character(python)) {
      line("Python", paste("not usable:", python))
    } else {
      facts <- keep_seed(python$situation())
      mapply(line, names(facts), unlist(facts))
    })
  }
  path <- installed_path()
  # The environment variables that decide which Python runs, and where it stores compiled code.
  set <- Sys.getenv(c("RETICULATE_PYTHON", "PYCUPC_CHECKOUT", "NUMBA_CACHE_DIR"))
  set <- set[nzchar(set)]
  lines <- unname(c(
    lines,
    if (!is.null(path)) line("cu_install", paste0("made ", path, "; to undo: ", undo_install)),
    if (length(set)) line("variables", paste(names(set), set, sep = " = ", collapse = ", "))
  ))
  cat(lines, sep = "\n")
  invisible(lines)
}

# The folder that cu_install() has made, NULL if it has made none.
installed_path <- function() {
  keep_seed({
    if (requireNamespace("reticulate", quietly = TRUE) && reticulate::virtualenv_exists(environment_name)) {
      dirname(dirname(reticulate::virtualenv_python(environment_name)))
    }
  })
}
