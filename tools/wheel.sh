#!/usr/bin/env bash
# tools/wheel.sh BUILD ONEDNN [CUDA]
#
# Builds the wheel into BUILD/dist, with (ONEDNN=ON) or without oneDNN (OFF), and for an emulated GPU where CUDA is
# EMULATED. With the C++ tests in the
# same build, in BUILD, the library is compiled once for both. Needs the dependency group "test" on PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rm -rf "$1/dist"
pip wheel . --no-build-isolation --no-deps --wheel-dir "$1/dist" \
  --config-settings build-dir="$1" \
  --config-settings cmake.define.FLUIDCORE_TESTS=ON \
  --config-settings cmake.define.FLUIDCORE_ONEDNN="$2" \
  --config-settings cmake.define.FLUIDCORE_CUDA="${3:-OFF}"
