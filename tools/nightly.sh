#!/usr/bin/env bash
# What takes too long for every change, on Debian 12 with Python 3.11 and g++ 12:
#
#   tools/nightly.sh            all of it
#   tools/nightly.sh STEP...    only these: tests, mutants, bugs, operators, damage, wheels, cuda, analyzer
#
#   tests      every Python test, slow ones and those of other frameworks included
#   mutants    changed lines of the gradient checker: do its tests notice them?
#   bugs       planted in gradients: does the checker find them, beside those of PyTorch and JAX?
#   operators  those of PyTorch and JAX at their own samples: does any fail without an explanation?
#   damage     100,000 damaged ONNX files: each is read or refused, at once; 2,000 random forms of every
#              operator, under AddressSanitizer: each runs or says why not
#   wheels     for other machines: built, installed where nothing else is, tested there
#   cuda       the kernels compiled for CUDA, which needs nvcc, and tested on an emulated GPU
#   analyzer   clang-tidy over each file of csrc/ by itself, and the checks of Clang's analyzer
#
# A step that fails does not keep the next from running; the exit status is 1 if one did.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh
export DEBIAN_FRONTEND=noninteractive

logs=build/logs/nightly
failed=()
all=(tests mutants bugs operators damage wheels cuda analyzer)
chosen=("$@")
(($# > 0)) || chosen=("${all[@]}")
for name in "${chosen[@]}"; do
  if [[ " ${all[*]} " != *" $name "* ]]; then
    echo "tools/nightly.sh: unknown step $name; it has ${all[*]}" >&2
    exit 2
  fi
done

# try NAME COMMAND...
try() {
  attempt "$logs/${1// /_}.log" "$@"
  ((status == 0)) || failed+=("$1")
}
# With every framework and program that a test asks for, and the wheel.
with_peers=false
peers() {
  ! $with_peers || return 0
  step "$logs/venv.log" "environment with peers" tools/peers.sh
  export PATH=$PWD/.venv-peers/bin:$PATH
  step "$logs/googletest.log" "GoogleTest" google_test
  step "$logs/build.log" "build (wheel)" tools/wheel.sh build/wheel ON
  step "$logs/install.log" "install (wheel)" install_wheel build/wheel
  with_peers=true
}

run_tests() {
  peers
  try "every test" pytest -n 2 -q --complete
  tail -n 2 "$logs/every_test.log"
}
run_mutants() {
  peers
  try "mutants of the checker" python tools/mutate_checker.py --count 400 --workers 2
  tail -n 1 "$logs/mutants_of_the_checker.log"
}
run_bugs() {
  local against=torch,jax,seed000,seed004
  peers
  try "bugs in operators" python -m tests.power --jobs 2 --against "$against"
  try "bugs judged without float64" python -m tests.power --jobs 2 --native
  try "bugs in programs" python -m tests.power --jobs 2 --programs
}
run_operators() {
  peers
  try "operators of PyTorch" python tools/check_torch_operators.py
  tail -n 1 "$logs/operators_of_PyTorch.log"
  try "operators of JAX" python tools/check_jax_operators.py --samples 2
  tail -n 1 "$logs/operators_of_JAX.log"
  local twice=(--second-order --dtypes float64)
  try "second order of PyTorch" python tools/check_torch_operators.py "${twice[@]}"
  tail -n 1 "$logs/second_order_of_PyTorch.log"
  try "second order of JAX" python tools/check_jax_operators.py "${twice[@]}"
  tail -n 1 "$logs/second_order_of_JAX.log"
}
run_damage() {
  peers
  try "damaged files" python tools/damage_onnx.py --jobs 2
  cat "$logs/damaged_files.log"
  FLUIDCORE_FUZZ_TRIALS=2000 try "random operators" tools/test.sh --asan
}
run_wheels() {
  try "wheels" tools/wheels.sh
}
compile_cuda() {
  cmake --preset cuda -D Python_EXECUTABLE="$PWD/.venv-cuda/bin/python"
  cmake --build --preset cuda
}
run_cuda() {
  step "$logs/cuda_venv.log" "environment with headers" tools/venv.sh .venv-cuda test cuda
  PATH=$PWD/.venv-cuda/bin:$PATH try "kernels for CUDA" compile_cuda
  try "kernels for CUDA, emulated" tools/test.sh --gpu
  try "kernels for CUDA, emulated, with AddressSanitizer" tools/test.sh --gpu --asan
}
run_analyzer() {
  step "$logs/lint_venv.log" "lint environment" tools/venv.sh .venv-lint lint
  PATH=$PWD/.venv-lint/bin:$PATH try "clang-tidy, file by file" tools/tidy.sh csrc/
  PATH=$PWD/.venv-lint/bin:$PATH try "Clang's analyzer" tools/tidy.sh --analyze
}

for name in "${chosen[@]}"; do
  "run_$name"
done
printf '%-36s %5d s\n' "${chosen[*]}" "$SECONDS"
if ((${#failed[@]} > 0)); then
  printf 'failed: %s\n' "$(printf '%s; ' "${failed[@]}" | sed 's/; $//')"
  exit 1
fi
echo "everything passed"
