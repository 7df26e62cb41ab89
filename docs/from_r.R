# Rscript docs/from_r.R writes docs/notebooks/from_r.md: the vignette of the R package with the output of its code.
# It needs the R packages pcalg, knitr and pycupc; run it in the folder above docs/.
knitr::opts_knit$set(base.dir = tempdir())
source <- "r_wrapper/vignettes/from-pc-to-cu_pc.Rmd"
text <- readLines(knitr::knit(source, tempfile(fileext = ".md"), quiet = TRUE), encoding = "UTF-8")
stopifnot(requireNamespace("pcalg"), pycupc::cu_available())
text <- text[-seq_len(which(text == "---")[2])] # the header of the vignette
text <- paste(c("# From pc() to cu_pc()", text), collapse = "\n")
writeLines(gsub("\n\n\n+", "\n\n", text), "docs/notebooks/from_r.md", useBytes = TRUE)
