#!/usr/bin/env bash
# tools/venv.sh FOLDER GROUP...
#
# Makes FOLDER a virtual environment with the named dependency groups of pyproject.toml. Does
# nothing when it is one already. PYTHON names the interpreter (default: python3).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh

folder=$1
shift
wanted="$(sha256sum pyproject.toml) $*"
if [[ -f $folder/groups && $(<"$folder/groups") == "$wanted" ]]; then
  exit 0
fi

python=${PYTHON:-python3}
needs='import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
if ! "$python" -c "$needs" 2>/dev/null; then
  debian_install python3-dev python3-venv
fi
"$python" -m venv --clear "$folder"
groups=()
for group in "$@"; do
  groups+=(--group "$group")
done
"$folder/bin/python" -m pip install --quiet --upgrade pip
"$folder/bin/python" -m pip install --quiet "${groups[@]}"
printf '%s' "$wanted" >"$folder/groups"
