#!/usr/bin/env bash
# tools/onnx_conformance.sh [OPTION...]
#
# Runs the backend tests that the package onnx carries and says what came of them; options are those of
# tools/onnx_conformance.py: --gradients, --kind node, --only softmax, --list refused, --operators, --json FILE.
# Makes .venv-test if there is none. The exit status is 1 if a result is wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

if [[ -n ${VIRTUAL_ENV:-} ]] && python -c 'import fluidcore, onnx' 2>/dev/null; then
  exec python -W ignore tools/onnx_conformance.py "$@"
fi
logs=build/logs/onnx
step "$logs/venv.log" "test environment" tools/venv.sh .venv-test test
step "$logs/install.log" "install" .venv-test/bin/pip install --quiet .
exec .venv-test/bin/python -W ignore tools/onnx_conformance.py "$@"
