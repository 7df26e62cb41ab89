#!/usr/bin/env bash
# Installs Debian's Chromium and its driver, with which the page of the explorer is tested, if root runs it and apt is
# there. Otherwise it prints why not and succeeds; the tests that need a browser are then skipped. It may be run
# repeatedly.
set -euo pipefail

skip() {
  echo "setup_browser: skipped ($1); the tests of the explorer in a browser will be skipped"
  exit 0
}

if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  echo "setup_browser: chromium and chromedriver are installed"
  exit 0
fi
command -v apt-get >/dev/null || skip "no apt-get; install chromium and chromedriver yourself"
[ "$(id -u)" -eq 0 ] || skip "not root; run: sudo apt-get install chromium chromium-driver fonts-dejavu-core"
# Ubuntu's packages of these names only install a snap, which cannot start without its service
grep -qi '^ID=debian' /etc/os-release || skip "not Debian; install chromium and chromedriver yourself"
echo "setup_browser: installing chromium and chromium-driver"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || skip "apt-get update failed"
apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null ||
  skip "apt-get install failed"
