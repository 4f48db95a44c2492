#!/usr/bin/env bash
# tools/joint.sh
#
# Reads all files of each part of the library, and of each folder of C++ tests, as one, without compiling them:
# names in anonymous namespaces must differ, and hide none of a header, whichever files a build without ccache
# takes together. The tools are those of the dependency group "lint", found on PATH; GCC reads, in build/joint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh
export CCACHE_DISABLE=1

read_joint_files() {
  google_test
  cmake -S . -B build/joint -G Ninja -D FLUIDCORE_PYTHON=ON -D FLUIDCORE_TESTS=ON -D FLUIDCORE_BATCH=1000 \
    -D CMAKE_CXX_FLAGS_RELEASE=-fsyntax-only
  local joint
  mapfile -t joint < <(ninja -C build/joint -t targets all | sed -n 's|^\(.*/unity_0_cxx\.cxx\.o\):.*|\1|p')
  cmake --build build/joint --clean-first --target "${joint[@]}"
}

step build/logs/joint/joint.log "joint files" read_joint_files
