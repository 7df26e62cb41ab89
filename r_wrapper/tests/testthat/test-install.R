# cu_install(): its argument, and which GPU support it chooses. The whole command is tested in a fresh user's home.

test_that("the extra fits the driver", {
  report <- function(version) c("+---+", paste("| NVIDIA-SMI 550.54   CUDA Version:", version, "|"))
  expect_identical(gpu_extra(character(0)), "none")
  expect_identical(gpu_extra("NVIDIA-SMI has failed because it could not communicate with the driver"), "none")
  expect_identical(gpu_extra(report("11.8")), "none")
  expect_identical(gpu_extra(report("12.4")), "gpu")
  expect_identical(gpu_extra(report("13.0")), "gpu13")
})

test_that("a source that cannot be installed is an error that names it", {
  skip_if_not_installed("reticulate")
  expect_error(cu_install(3), "`source` must be the path of a checkout.*got 3")
  expect_error(cu_install("/nowhere/pycupc"), "there is no /nowhere/pycupc")
  expect_error(cu_install("pycupc-9.whl"), "there is no pycupc-9.whl")
  expect_error(cu_install("pycupc-9.tar.gz"), "there is no pycupc-9.tar.gz")
  expect_error(cu_install(tempdir()), "the one with pyproject.toml")
  expect_identical(check_source("pycupc==9"), "pycupc==9")
})

test_that("messages on GPU support speak of cu_install()", {
  skip_if_no_python()
  if (!grepl("CuPy is not installed", python_side()$situation()[["engine gpu"]])) skip("CuPy, or no driver")
  expect_match(python_side()$situation()[["engine gpu"]], "cu_install(source, gpu = \"gpu\")", fixed = TRUE)
  expect_error(cu_plain("pc", small_problem(), alpha = 0.05, p = 8, engine = "gpu"), "cu_install\\(source, gpu")
})

test_that("a compiled code that cannot be stored names the variable", {
  reply <- list(error = "RuntimeError", message = "cannot cache function 'f': no locator available for file 'x.py'")
  expect_error(checked(reply), "NUMBA_CACHE_DIR", class = "pycupc_error")
})

test_that("pip does not look for libraries in R's own folders", {
  skip_on_os("windows")
  skip_if_not(file.exists(file.path(R.home("etc"), "ldpaths")))
  old <- Sys.getenv("LD_LIBRARY_PATH", NA)
  on.exit(if (is.na(old)) Sys.unsetenv("LD_LIBRARY_PATH") else Sys.setenv(LD_LIBRARY_PATH = old))
  Sys.unsetenv("LD_LIBRARY_PATH")
  expect_equal(library_path_outside_r(), "")
  Sys.setenv(LD_LIBRARY_PATH = "/one:/two")
  expect_equal(library_path_outside_r(), "/one:/two")
  of_r <- system2("env", c("-u", "LD_LIBRARY_PATH", file.path(R.home("bin"), "Rscript"), "-e",
    shQuote("cat(Sys.getenv('LD_LIBRARY_PATH'))")), stdout = TRUE)
  Sys.setenv(LD_LIBRARY_PATH = paste0(of_r, ":/one:/two"))
  expect_equal(library_path_outside_r(), "/one:/two")
})

test_that("where another Python runs already, the remedy is to restart R", {
  skip_if_no_python()
  named <- Sys.getenv("RETICULATE_PYTHON", NA)
  on.exit(if (!is.na(named)) Sys.setenv(RETICULATE_PYTHON = named))
  Sys.unsetenv("RETICULATE_PYTHON")
  expect_match(python_remedy("/home/user/pycupc"), "cu_install() has made /home/user/pycupc: restart R, and call",
    fixed = TRUE)
  running <- dirname(dirname(python_path()))
  for (made in list(NULL, running)) expect_match(python_remedy(made), "^cu_install\\(.*makes a Python environment")
})

test_that("a Python that is too old is named with its version", {
  skip_if_no_python()
  for (old in c("2.7", "3.9")) expect_error(refuse_old(old), paste0("3.10 or later; .* is of version ", old))
  expect_silent(refuse_old("3.10"))
})

test_that("citation() has a year, without a warning", {
  skip_if_not(nzchar(system.file("Meta", package = "pycupc")), "the package is not installed")
  expect_no_warning(entry <- utils::citation("pycupc"))
  expect_match(entry$year, "^20\\d\\d$")
})
