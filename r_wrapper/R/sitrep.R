#' What is installed, what is missing, and how to install it
#'
#' Prints the versions of R, pcalg, reticulate, Python and pycupc, which engines can run, the GPU, and the command that
#' installs whatever is missing. Starts Python.
#'
#' @return Invisibly, the printed lines.
#' @examples
#' cu_sitrep()
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
    or_command("pcalg",
      "install.packages(\"BiocManager\"); BiocManager::install(\"pcalg\") (cu_plain() works without it)"),
    or_command("reticulate", "install.packages(\"reticulate\")")
  )
  if (!is.na(version("reticulate"))) {
    python <- tryCatch(python_side(), error = function(e) conditionMessage(e))
    lines <- c(lines, if (is.character(python)) {
      line("Python", paste("not usable:", python))
    } else {
      facts <- python$situation()
      mapply(line, names(facts), unlist(facts))
    })
  }
  lines <- unname(lines)
  cat(lines, sep = "\n")
  invisible(lines)
}
