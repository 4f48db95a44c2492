#!/usr/bin/env bash
# Makes .venv-peers, an environment in which no test is skipped: the dependency groups "test" and
# "peers", and beside it Debian's chromium and a Java.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

tools/venv.sh .venv-peers test peers
packages=()
command -v chromium >/dev/null || packages+=(chromium)
command -v java >/dev/null || packages+=(default-jre-headless)
if ((${#packages[@]} > 0)); then
  debian_install "${packages[@]}"
fi
