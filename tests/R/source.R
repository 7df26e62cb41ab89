# source("cu_pc.R") in a workspace that has objects of all helpers' names, functions among them, before and after:
# Rscript source.R CU_PC_R

cu_pc_file <- commandArgs(TRUE)[[1]]
helpers <- new.env()
for (part in list.files(dirname(cu_pc_file), "\\.R$", full.names = TRUE)) sys.source(part, helpers)
exported <- c(grep("^cu_", ls(helpers), value = TRUE), "print.cu_comparison")
occupy <- function() {
  for (name in c(setdiff(ls(helpers), exported), "target", "frame", "file", "folder", "package", "part", "checkout")) {
    assign(name, function(...) stop("the user's own function was called"), globalenv())
  }
  assign("state", "the user's", globalenv())
  assign("send", 3, globalenv())
  assign("as_pcalgo", NULL, globalenv())
}
occupy()
before <- ls(all.names = TRUE)
source(cu_pc_file)
cat("new:", setdiff(ls(all.names = TRUE), c(before, "before")), "\n")
cat("kept:", state, send, is.null(as_pcalgo), "\n")
occupy()
C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
answer <- cu_plain("pc", list(C = C, n = 100), alpha = 0.05, p = 3)
cat("edges:", answer$graph$from, answer$graph$to, "\n")
cat("set:", cu_sepset(answer, 1, 3), "\n")
print(structure(list(text = "a printed comparison\n"), class = "cu_comparison"))
inner <- function(...) {
  source(cu_pc_file, local = TRUE, ...)
  ls()
}
cat("local:", inner(), "\n")
setwd(dirname(dirname(dirname(cu_pc_file))))
cu_pc_file <- "r_wrapper/R/cu_pc.R"
cat("relative chdir:", inner(chdir = TRUE), "\n")
