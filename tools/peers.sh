#!/usr/bin/env bash
# Makes .venv-peers, an environment in which no test is skipped: the dependency groups "test" and
# "peers", and beside it Debian's chromium, a Java, and the libraries that OpenCV looks for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

tools/venv.sh .venv-peers test peers
packages=()
command -v chromium >/dev/null || packages+=(chromium)
command -v java >/dev/null || packages+=(default-jre-headless)
.venv-peers/bin/python -c 'import cv2' 2>/dev/null || packages+=(libgl1 libglib2.0-0)
if ((${#packages[@]} > 0)); then
  debian_install "${packages[@]}"
fi
