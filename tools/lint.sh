#!/usr/bin/env bash
# Checks format, style, types, and the order of includes and imports; changes nothing. The tools are those of
# the dependency group "lint", found on PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

clang_format() {
  find csrc tests/cpp \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
}

logs=build/logs/lint
step $logs/clang-format.log "clang-format" clang_format
step $logs/ruff-check.log "ruff check" ruff check
step $logs/ruff-format.log "ruff format" ruff format --check
step $logs/mypy.log "mypy" mypy
step $logs/layers.log "includes and imports" python tools/check_layers.py
