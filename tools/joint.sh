#!/usr/bin/env bash
# tools/joint.sh
#
# Reads all files of each part of the library as one, without compiling them: names in anonymous namespaces
# must differ, and hide none of a header, whichever files a build without ccache takes together. The tools are
# those of the dependency group "lint", found on PATH; GCC reads, in build/joint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh
export CCACHE_DISABLE=1

read_joint_files() {
  cmake -S . -B build/joint -G Ninja -D FLUIDCORE_PYTHON=ON -D FLUIDCORE_TESTS=OFF -D FLUIDCORE_BATCH=1000 \
    -D CMAKE_CXX_FLAGS_RELEASE=-fsyntax-only
  cmake --build build/joint --clean-first \
    --target fluidcore_plain fluidcore_difference fluidcore_ops fluidcore_run
}

step build/logs/joint/joint.log "joint files" read_joint_files
