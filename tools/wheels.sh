#!/usr/bin/env bash
# The source distribution and, made of it, wheels for any Linux on x86-64 with glibc 2.28 or newer, in dist/:
#
#   tools/wheels.sh               for each of python3.11 to python3.14 that is on PATH or that uv has
#   tools/wheels.sh PYTHON...     for these interpreters
#
# Each wheel is installed where nothing else is, and runs there: the demo, and some of the tests, among them
# all kinds of errors.
# Needs Python 3.11, g++ 12 and, unless $FLUIDCORE_LIBGOMP names the folder of one, a Debian archive for a libgomp that
# asks for no newer glibc than the wheel does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

export CCACHE_DISABLE=1  # files compiled together, wherever it is done: what runs is 8 % larger without

platform=manylinux_2_28_x86_64
logs=build/logs/wheels
source_folder=build/wheels/source
raw=build/wheels/raw

pythons=("$@")
if ((${#pythons[@]} == 0)); then
  for version in 3.11 3.12 3.13 3.14; do
    python=$(command -v "python$version" || uv python find "$version" 2>/dev/null || true)
    [[ -z $python ]] || pythons+=("$python")
  done
fi
if ((${#pythons[@]} == 0)); then
  echo "tools/wheels.sh: needs one of python3.11 to python3.14 on PATH; name others as arguments" >&2
  exit 2
fi

# Of GCC 10, which asks for glibc 2.17; wheels carry it, because not every system has one.
find_libgomp() {
  local deb=pool/main/g/gcc-10/libgomp1_10.2.1-6_amd64.deb
  local sum=4530c95aefa48e33fd8cf4acbe5c4b559dbe7bdf4c56469986c83a203982cef1
  local archive
  mkdir -p build/wheels/libgomp
  archive=$(apt-get indextargets --format '$(REPO_URI)' | sort -u | grep '/debian/*$' | head -n 1)
  curl --fail --silent --show-error --output build/wheels/libgomp.deb "${archive%/}/$deb"
  echo "$sum build/wheels/libgomp.deb" | sha256sum --check
  dpkg -x build/wheels/libgomp.deb build/wheels/libgomp
}
make_source() {
  rm -rf dist "$source_folder"
  .venv-wheels/bin/python -m build --sdist --outdir dist
  mkdir -p "$source_folder"
  tar -xzf dist/*.tar.gz -C "$source_folder" --strip-components=1
}
# build_wheel PYTHON TAG
build_wheel() {
  local tools=$PWD/build/wheels/venv-$2
  rm -rf "${raw:?}/$2" "$tools"
  "$1" -m venv "$tools"
  "$tools/bin/python" -m pip wheel "$source_folder" --no-deps --wheel-dir "$raw/$2" \
    --config-settings build-dir="build/wheels/$2" \
    --config-settings cmake.define.FLUIDCORE_PORTABLE=ON
}
repair_wheel() {
  PATH=$PWD/.venv-wheels/bin:$PATH LD_LIBRARY_PATH=$libgomp \
    auditwheel repair --plat "$platform" --wheel-dir dist "$raw/$1"/*.whl
}
# use_wheel PYTHON TAG
use_wheel() {
  local fresh
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' RETURN
  "$1" -m venv "$fresh/venv"
  "$fresh/venv/bin/python" -m pip install --quiet dist/*"-$2-"*.whl
  (cd "$fresh" && env -u LD_LIBRARY_PATH -u PYTHONPATH venv/bin/fluidcore demo --quick)
  "$fresh/venv/bin/python" -m pip install --quiet hypothesis pytest pytest-timeout pytest-xdist
  cd "$source_folder"
  "$fresh/venv/bin/python" -m pytest -q -n 2 tests/python/{base,checkpoint,executor,io,program} \
    tests/python/gradcheck/test_{api,bad_inputs,checker}.py tests/python/test_hostile_programs.py
}

step "$logs/venv.log" "environment" tools/venv.sh .venv-wheels wheels
libgomp=${FLUIDCORE_LIBGOMP:-$PWD/build/wheels/libgomp/usr/lib/x86_64-linux-gnu}
[[ -f $libgomp/libgomp.so.1 ]] || step "$logs/libgomp.log" "libgomp of GCC 10" find_libgomp
step "$logs/sdist.log" "source distribution" make_source
for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  step "$logs/build_$tag.log" "wheel for $tag" build_wheel "$python" "$tag"
  step "$logs/repair_$tag.log" "repair for $tag" repair_wheel "$tag"
  step "$logs/size_$tag.log" "size for $tag" "$python" tools/check_wheel.py dist/*"-$tag-"*.whl
  step "$logs/use_$tag.log" "in a fresh environment, $tag" use_wheel "$python" "$tag"
done
ls -l dist
