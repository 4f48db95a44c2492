# shellcheck shell=bash
# Sourced by the scripts of this project: one line per step, with its seconds.

# Else each of the many processes of the tests compiles every module again.
unset PYTHONDONTWRITEBYTECODE

# attempt LOG NAME COMMAND...: runs the command with its output in LOG; shows the end of it when the
# command fails. Leaves how that went in `status`.
attempt() {
  local log=$1 name=$2 start=$SECONDS
  shift 2
  mkdir -p "$(dirname "$log")"
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1
  status=$?
  set -e
  if ((status == 0)); then
    printf '%-36s %5d s\n' "$name" $((SECONDS - start))
  else
    printf '%-36s %5d s  FAILED\n' "$name" $((SECONDS - start))
    tail -n 100 "$log"
    printf '\n%s failed with status %d; all of its output is in %s\n' "$name" "$status" "$log"
  fi
}

# step LOG NAME COMMAND...: the same; ends the script when the command fails.
step() {
  attempt "$@"
  ((status == 0)) || exit "$status"
}

# debian_install PACKAGE...: fails where packages cannot be installed.
debian_install() {
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "cannot install $*: needs root and apt-get" >&2
    return 1
  fi
  local install=(apt-get install -y -qq --no-install-recommends "$@")
  "${install[@]}" || { apt-get update -qq && "${install[@]}"; }
}

# install_wheel BUILD: the wheel of a build and what it needs, with the pip on PATH.
install_wheel() {
  pip install --quiet --force-reinstall --no-deps "$1"/dist/*.whl
  pip install --quiet "$1"/dist/*.whl
}

# For the C++ tests.
google_test() {
  [[ -f /usr/include/gmock/gmock.h ]] || debian_install libgtest-dev libgmock-dev ||
    echo "CMake will fetch GoogleTest"
}
