#!/usr/bin/env bash
# Builds the documentation as a site; a warning is an error. Nothing else has to be built or installed.
#
#   tools/docs.sh            into build/site; to look at it, open build/site/index.html
#   tools/docs.sh --serve    and serves it, with its search, at http://127.0.0.1:8000, anew after each change
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/steps.sh
export NO_MKDOCS_2_WARNING=1  # the theme speaks of the versions to come
export PYTHONDONTWRITEBYTECODE=1

step build/logs/docs/venv.log "environment for the docs" tools/venv.sh .venv-docs docs
if [[ ${1:-} == --serve ]]; then
  exec .venv-docs/bin/mkdocs serve
fi
PATH=$PWD/.venv-docs/bin:$PATH step build/logs/docs/build.log "documentation" mkdocs build --strict
step build/logs/docs/check.log "documentation, complete" python3 tools/check_site.py build/site
