# source("cu_pc.R") in a workspace that has variables of the helpers' names: Rscript source.R CU_PC_R

state <- "the user's"
send <- 3
as_pcalgo <- NULL
cu_pc_file <- commandArgs(TRUE)[[1]]
before <- ls(all.names = TRUE)
source(cu_pc_file)
cat("new:", setdiff(ls(all.names = TRUE), c(before, "before")), "\n")
cat("kept:", state, send, is.null(as_pcalgo), "\n")
C <- matrix(c(1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1), 3)
answer <- cu_plain("pc", list(C = C, n = 100), alpha = 0.05, p = 3)
cat("edges:", answer$graph$from, answer$graph$to, "\n")
cat("set:", cu_sepset(answer, 1, 3), "\n")
print(structure(list(text = "a printed comparison\n"), class = "cu_comparison"))
inner <- function() {
  source(cu_pc_file, local = TRUE)
  cat("local:", ls(), "\n")
}
inner()
