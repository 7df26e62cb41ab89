#!/usr/bin/env bash
# Checks the R package with lintr, and with R CMD check without its tests, which pytest runs. A check whose R packages are
# missing is skipped. The vignette is built, its code run, once: by R CMD build.
set -uo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH=$PWD LC_ALL=C.UTF-8 _R_CHECK_FORCE_SUGGESTS_=false
status=0

may_run() { # name of the check, packages
  local name=$1
  shift
  if command -v Rscript >/dev/null && Rscript -e 'for (p in commandArgs(TRUE)) loadNamespace(p)' "$@" >/dev/null 2>&1; then
    echo "-- $name"
  else
    echo "-- $name: skipped, it needs R with $*"
    return 1
  fi
}

failed() {
  echo "-- $1 failed"
  status=1
}

# pkgload makes the functions of the package known to lintr; the vignette would need the functions of pcalg as well
lint='pkgload::load_all("r_wrapper", quiet = TRUE)
found <- lapply(file.path("r_wrapper", c("R", "tests")), lintr::lint_dir)
for (lints in found) if (length(lints)) print(lints)
quit(status = any(lengths(found) > 0))'

if may_run lintr lintr pkgload reticulate; then
  Rscript -e "$lint" || failed lintr
fi

if may_run "R CMD check" knitr rmarkdown reticulate; then
  root=$PWD folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cd "$folder"
  { R CMD build "$root/r_wrapper" && R CMD check --no-manual --no-tests --ignore-vignettes ./*.tar.gz; } 2>&1 | tee log
  [ "${PIPESTATUS[0]}" -eq 0 ] && ! grep -qE '^Status: .*(WARNING|ERROR)' log || failed "R CMD check"
fi
exit $status
