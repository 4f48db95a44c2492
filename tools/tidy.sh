#!/usr/bin/env bash
# tools/tidy.sh [--analyze] [REGEX...]
#
# Runs clang-tidy over csrc/ with the checks of .clang-tidy; changes nothing. All files of each part of the library
# are read as one, which takes a seventh of the time, and so, without these checks, are those of each folder of C++
# tests: names in anonymous namespaces must differ, and hide none of a header, whichever files a build without ccache
# takes together. With a REGEX each file that matches is read by itself: only then clang-tidy knows what it includes
# and does not use. The checks of Clang's analyzer, which take ten times as long as all others together, are left
# out; --analyze runs them alone, on each file. The tools are those of the dependency group "lint", found on PATH; GCC
# configures the builds, in build/tidy and build/joint, of which nothing is compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh
export CCACHE_DISABLE=1

name="clang-tidy"
checks=-clang-analyzer-*
is_joint=false
if [[ ${1:-} == --analyze ]]; then
  name="Clang's analyzer"
  checks=-*,clang-analyzer-*
  shift
elif (($# == 0)); then
  is_joint=true
fi

# configure BUILD OPTION...
configure() {
  cmake -S . -B "$1" -G Ninja -D CMAKE_BUILD_TYPE=Release -D FLUIDCORE_PYTHON=ON "${@:2}"
}
# tidy BUILD REGEX...
tidy() {
  local compiler omp
  # How GCC is to work, which Clang does not know: all of -f but -fopenmp.
  sed -i 's/ --param=[^ ]*//g; s/ -f[^o ][^ ]*//g' "$1/compile_commands.json"
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$1/CMakeCache.txt")
  omp=$("$compiler" -print-file-name=include/omp.h)
  run-clang-tidy.py -quiet -p "$1" -j "$(nproc)" -checks="$checks" -extra-arg="-idirafter$(dirname "$omp")" "${@:2}" |
    sed '/^\[ *[0-9]*\/[0-9]*\]/d' # the findings, without a line for every file
}
read_joint_tests() {
  local joint
  mapfile -t joint < <(ninja -C build/joint -t targets all | sed -n 's|^\(tests/.*/unity_0_cxx\.cxx\.o\):.*|\1|p')
  cmake --build build/joint --clean-first --target "${joint[@]}"
}

if ! $is_joint; then
  step build/logs/tidy/configure.log "configuration" configure build/tidy -D FLUIDCORE_TESTS=OFF \
    -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  step build/logs/tidy/tidy.log "$name" tidy build/tidy "${@:-$PWD/csrc/}"
  exit
fi
step build/logs/joint/googletest.log "GoogleTest" google_test
step build/logs/joint/configure.log "configuration" configure build/joint -D FLUIDCORE_TESTS=ON \
  -D FLUIDCORE_BATCH=1000 -D CMAKE_CXX_FLAGS_RELEASE="-DNDEBUG -fsyntax-only"
step build/logs/joint/tidy.log "clang-tidy, joint files" tidy build/joint "$PWD/csrc/|$PWD/build/joint/csrc/.*/Unity/"
step build/logs/joint/tests.log "joint files of the tests" read_joint_tests
