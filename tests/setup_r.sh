#!/usr/bin/env bash
# Installs the packages that the R tests need, on Debian or Ubuntu, if root runs it and apt is there. Otherwise it prints
# why not and succeeds; the tests that need the packages are then skipped. It may be run repeatedly. With --dry-run it
# installs nothing and prints only the Debian packages that it would install.
set -euo pipefail

packages=(
  r-base-core r-base-dev r-cran-reticulate r-cran-testthat r-cran-knitr r-cran-rmarkdown r-cran-jsonlite
  r-cran-lintr r-cran-pkgload r-bioc-graph r-bioc-rbgl r-cran-igraph
)

dry_run=${1-}
skip() {
  [ -z "$dry_run" ] || exit 0
  echo "setup_r: skipped ($1); R tests whose packages are missing will be skipped"
  exit 0
}

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
  done
else
  skip "not a Debian system; install R with the packages reticulate, testthat, knitr, rmarkdown and graph yourself"
fi

if [ "${#missing[@]}" -eq 0 ]; then
  [ -z "$dry_run" ] || exit 0
  echo "setup_r: all R packages from Debian are installed"
else
  command -v apt-get >/dev/null || skip "no apt-get; missing: ${missing[*]}"
  [ "$(id -u)" -eq 0 ] || skip "not root; run: sudo apt-get install ${missing[*]}"
  if [ -n "$dry_run" ]; then
    echo "${missing[*]}"
    exit 0
  fi
  echo "setup_r: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || skip "apt-get update failed"
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || skip "apt-get install failed"
fi

Rscript -e 'p <- c("reticulate", "testthat", "graph", "pcalg")
for (x in p) cat("setup_r:", x, if (requireNamespace(x, quietly = TRUE)) format(packageVersion(x)) else "not installed", "\n")'
