#!/usr/bin/env bash
# Builds the project and runs all of its tests, from a fresh clone, with nothing but Python 3.11
# and g++ 12 on the machine:
#
#   tools/test.sh               the wheel; C++ tests; Python tests against the installed wheel
#   tools/test.sh --asan        C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer,
#                               and the installed C++ library
#   tools/test.sh --no-onednn   the same without oneDNN, but for the Python tests of the checker
#   tools/test.sh --gpu         the kernels for GPUs on an emulated one: what is done on devices in C++ and Python
#   tools/test.sh --gpu --asan  the same in Python, with AddressSanitizer watching the memory of the device
#   tools/test.sh --tsan        C++ tests of the runtime under ThreadSanitizer
#   tools/test.sh --embed       the wheel, and the library for programs without Python: its size, and its
#                               losses beside the wheel's
#
# Everything it makes is in .venv-test and build/; ccache is used when it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

asan=false
tsan=false
embed=false
onednn=ON
cuda=OFF
for argument in "$@"; do
  case $argument in
    --asan) asan=true ;;
    --tsan) tsan=true ;;
    --embed) embed=true ;;
    --no-onednn) onednn=OFF ;;
    --gpu) cuda=EMULATED ;;
    *)
      echo "tools/test.sh: unknown option $argument; it has --asan, --tsan, --embed, --gpu and --no-onednn" >&2
      exit 2
      ;;
  esac
done

kind=wheel
[[ $cuda == OFF ]] || kind=emulated-gpu
! $asan || kind=$([[ $cuda == OFF ]] || echo emulated-gpu-)asan
! $tsan || kind=tsan
variant=$kind$([[ $onednn == ON ]] || echo -no-onednn)
# oneDNN changes what operators calculate, and with that what a checker of them sees, but not the checker.
not_here=()
[[ $onednn == ON ]] || not_here=(--ignore=tests/python/gradcheck --ignore=tests/python/power)
build=build/$kind  # with oneDNN and without: few files differ
logs=build/logs/$variant
venv=$PWD/.venv-test

build_asan() {
  cmake --preset asan -B "$build" -D FLUIDCORE_ONEDNN="$onednn" -D FLUIDCORE_INSTALL=ON
  cmake --build "$build"
}
gpu_tests=(tests/python/ops/test_on_gpu.py tests/python/cuda)
build_gpu_asan() {
  cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D FLUIDCORE_CUDA=EMULATED \
    -D CMAKE_CXX_FLAGS_RELEASE="-O1 -fsanitize=address -fno-omit-frame-pointer -g1" \
    -D FLUIDCORE_ONEDNN=OFF -D FLUIDCORE_ISA=avx2 -D FLUIDCORE_PYTHON=ON -D FLUIDCORE_TESTS=OFF
  cmake --build "$build"
  rm -rf "$build/site"
  cmake --install "$build" --prefix "$build/site"
  cp -r python/fluidcore "$build/site"
}
# The sanitizer must be there before all else, and what it watches exceptions in.
test_gpu_asan() {
  local compiler=${CXX:-g++}
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0
  export PYTHONPATH=$PWD/$build/site
  LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)" \
    python -m pytest -n 2 -q "${gpu_tests[@]}"
}
# What threads share; operators and their tests would take ten times as long.
tsan_folders=(base tensor runtime)
build_tsan() {
  cmake --preset tsan -B "$build"
  cmake --build "$build" --target "${tsan_folders[@]/%/_test}"
}
test_tsan() {
  local folder
  for folder in "${tsan_folders[@]}"; do
    TSAN_OPTIONS="halt_on_error=1 allocator_may_return_null=1" "$build/tests/cpp/${folder}_test"
  done
}
# The installed library as a C++ program of somebody else finds it.
use_library() {
  cmake --install "$build" --prefix "$PWD/$build/prefix"
  CXXFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all" \
    cmake -S examples/cpp -B "$build/example" -G Ninja -D CMAKE_PREFIX_PATH="$PWD/$build/prefix"
  cmake --build "$build/example"
  "$build/example/example"
  "$build/example/custom_operator" "$build/example/libbend.so"
}

step "$logs/venv.log" "test environment" tools/venv.sh "$venv" test
export PATH=$venv/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
step "$logs/googletest.log" "GoogleTest" google_test
if $tsan; then
  step "$logs/build.log" "build ($variant)" build_tsan
  step "$logs/ctest.log" "C++ tests ($variant)" test_tsan
  exit
fi
if $asan && [[ $cuda != OFF ]]; then
  step "$logs/build.log" "build ($variant)" build_gpu_asan
  step "$logs/pytest.log" "Python tests ($variant)" test_gpu_asan
  tail -n 2 "$logs/pytest.log"
  exit
fi
if $asan; then
  step "$logs/build.log" "build ($variant)" build_asan
else
  step "$logs/build.log" "build ($variant)" tools/wheel.sh "$build" "$onednn" "$cuda"
fi
if $embed; then
  step "$logs/install.log" "install ($variant)" install_wheel "$build"
  step "$logs/embed.log" "library for programs" pytest -q -s tests/python/test_embedded_library.py
  cat "$logs/embed.log"
  exit
fi
if [[ $cuda != OFF ]]; then
  step "$logs/ctest.log" "C++ tests ($variant)" \
    ctest --test-dir "$build" --parallel 2 --output-on-failure --no-tests=error -R '^(tensor|runtime)\.'
  step "$logs/install.log" "install ($variant)" install_wheel "$build"
  step "$logs/pytest.log" "Python tests ($variant)" pytest -n 2 -q "${gpu_tests[@]}"
  tail -n 2 "$logs/pytest.log"
  exit
fi
step "$logs/ctest.log" "C++ tests ($variant)" \
  ctest --test-dir "$build" --parallel 2 --output-on-failure --no-tests=error
grep -E '^(100%|Total Test time)' "$logs/ctest.log"
if $asan; then
  step "$logs/library.log" "C++ library ($variant)" use_library
else
  step "$logs/install.log" "install ($variant)" install_wheel "$build"
  # From the root of the repository, where python/ is not on the path: the wheel is what is tested.
  step "$logs/pytest.log" "Python tests ($variant)" \
    pytest -n 2 -q -m "not slow" --left-out="$logs/left_out.txt" "${not_here[@]}"
  tail -n 2 "$logs/pytest.log"
fi
