#!/usr/bin/env bash
# tools/tidy.sh [--analyze] [REGEX...]
#
# Runs clang-tidy over csrc/, or over those of its files that match a REGEX, with the checks of
# .clang-tidy; changes nothing. The checks of Clang's analyzer, which take ten times as long as all
# others together, are left out; --analyze runs them alone. The tools are those of the dependency
# group "lint", found on PATH; GCC configures the build, in build/tidy, of which nothing is compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

name="clang-tidy"
checks=-clang-analyzer-*
if [[ ${1:-} == --analyze ]]; then
  name="Clang's analyzer"
  checks=-*,clang-analyzer-*
  shift
fi
build=build/tidy
logs=build/logs/tidy

configure() {
  cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D FLUIDCORE_PYTHON=ON \
    -D FLUIDCORE_TESTS=OFF -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  # How GCC is to work, which Clang does not know: all of -f but -fopenmp.
  sed -i 's/ --param=[^ ]*//g; s/ -f[^o ][^ ]*//g' "$build/compile_commands.json"
}
tidy() {
  local compiler omp
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
  omp=$("$compiler" -print-file-name=include/omp.h)
  run-clang-tidy.py -quiet -p "$build" -j "$(nproc)" -checks="$checks" \
    -extra-arg="-idirafter$(dirname "$omp")" "${@:-$PWD/csrc/}" |
    sed '/^\[ *[0-9]*\/[0-9]*\]/d' # the findings, without a line for every file
}

step "$logs/configure.log" "configuration" configure
step "$logs/tidy.log" "$name" tidy "$@"
