#!/usr/bin/env bash
# Installs Debian's Chromium and its driver, with which the page of the explorer is tested, if root runs it and apt is
# there. Otherwise it prints why not and succeeds; the tests that need a browser are then skipped. It may be run
# repeatedly. With --dry-run it installs nothing and prints only the Debian packages that it would install.
set -euo pipefail

packages=(chromium chromium-driver fonts-dejavu-core)
dry_run=${1-}
skip() {
  [ -z "$dry_run" ] || exit 0
  echo "setup_browser: skipped ($1); the tests of the explorer in a browser will be skipped"
  exit 0
}

if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  [ -n "$dry_run" ] || echo "setup_browser: chromium and chromedriver are installed"
  exit 0
fi
command -v apt-get >/dev/null || skip "no apt-get; install chromium and chromedriver yourself"
[ "$(id -u)" -eq 0 ] || skip "not root; run: sudo apt-get install ${packages[*]}"
# Ubuntu's packages of these names only install a snap, which cannot start without its service
grep -qi '^ID=debian' /etc/os-release || skip "not Debian; install chromium and chromedriver yourself"
if [ -n "$dry_run" ]; then
  echo "${packages[*]}"
  exit 0
fi
echo "setup_browser: installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || skip "apt-get update failed"
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null ||
  skip "apt-get install failed"
