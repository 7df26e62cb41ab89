# What `pycupc doctor` reports about R: one line "name value" each.
cat("version", as.character(getRversion()), "\n")
cat("home", R.home(), "\n")
cat("libraries", .libPaths(), "\n")
for (name in c("pcalg", "graph", "Rgraphviz", "reticulate", "testthat", "pycupc"))
  cat(name, tryCatch(as.character(packageVersion(name)), error = function(e) "no"), "\n")
