#!/usr/bin/env bash
# tools/gpu_check.sh [STEP]...
#
# On a machine with a GPU: builds the library with its CUDA kernels, and proves them against the CPU's.
# Needs nvcc, CMake, ninja and a Python with numpy, pytest, pybind11, safetensors, ml_dtypes, and for
# `bench` PyTorch; nothing is fetched. All steps, or only these:
#   build      into build/gpu; CMAKE_ARGS holds more options, such as where headers are
#   operators  every row of the operator table, outputs and gradients, in every dtype
#   devices    tensors, scopes, runs, random programs, training, what goes wrong
#   gradients  every gradient against differences, its kernels on the GPU
#   sanitizer  a part of the operator table under compute-sanitizer
#   bench      single operators and training steps beside PyTorch's
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

all=(build operators devices gradients sanitizer bench)
steps=("${@:-${all[@]}}")
site=$PWD/build/gpu/site
failed=()

build() {
  local options=(
    -DCMAKE_BUILD_TYPE=Release -DFLUIDCORE_CUDA=ON -DFLUIDCORE_ONEDNN=OFF -DFLUIDCORE_PYTHON=ON
    -DFLUIDCORE_TESTS=OFF -DFLUIDCORE_ISA=avx2 -DPython_EXECUTABLE="$(command -v python3)"
    -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURES:-native}"
  )
  # shellcheck disable=SC2086
  cmake -S . -B build/gpu -G Ninja "${options[@]}" ${CMAKE_ARGS:-}
  ninja -C build/gpu
  cmake --install build/gpu --prefix "$site"
  cp -r python/fluidcore "$site"
}
run_pytest() {
  PYTHONPATH=$site:$PWD python3 -m pytest -q -p no:cacheprovider -p no:benchmark "$@"
}
run_operators() {
  run_pytest tests/python/ops/test_on_gpu.py
}
run_devices() {
  run_pytest tests/python/cuda
  PYTHONPATH=$site:$PWD python3 -c "
import fluidcore as fluid
from fluidcore.executor import cuda_libraries
cuda_libraries.load(cuda_libraries.NCCL)
print('a rank by itself exchanges by', *fluid.parallel.run_in_threads(
    1, lambda ranks: fluid.Executor(fluid.CUDAPlace(0), communicator=ranks).transport()))"
}
# Every gradient against differences, its kernels on the GPU.
run_gradients() {
  PYTHONPATH=$site:$PWD python3 -m fluidcore gradcheck all --device cuda --per-op 5 --quiet
}
run_sanitizer() {
  PYTHONPATH=$site:$PWD compute-sanitizer --tool memcheck --error-exitcode 9 --leak-check no \
    python3 -m pytest -q -p no:cacheprovider -p no:benchmark tests/python/ops/test_on_gpu.py \
    -k "${SANITIZED:-softmax or reduce_ or layer_norm or matmul} and float32"
}
run_bench() {
  PYTHONPATH=$site:$PWD python3 -m bench.gpu_operators
  PYTHONPATH=$site:$PWD python3 -m bench.gpu
}

for name in "${steps[@]}"; do
  case $name in
    build) attempt build/logs/gpu/build.log "build" build ;;
    operators | devices | gradients | sanitizer | bench)
      attempt "build/logs/gpu/$name.log" "$name" "run_$name"
      ((status != 0)) || tail -n 25 "build/logs/gpu/$name.log"
      ;;
    *)
      echo "no step is called $name; there are: ${all[*]}" >&2
      exit 2
      ;;
  esac
  ((status == 0)) || failed+=("$name")
  [[ $name != build || $status == 0 ]] || exit 1
done
((${#failed[@]} == 0)) || { echo "failed: ${failed[*]}"; exit 1; }
