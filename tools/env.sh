# Makes the environment that tools/test.sh and tools/demo.sh work in; sourced, not run.
#
#   source tools/env.sh
#   ensure_environment test        # system packages, .venv, torch, the package with extras
#
# Everything lands in .venv and build/ of this checkout, but for system packages, which are
# installed as root only; otherwise the command to run is printed.

# The torch that the project is tested with. One that the system's Python already has is reused.
readonly TORCH_REQUIREMENT="torch==2.13.0"
readonly TORCH_OLDEST="2.10"

REPO_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly REPO_ROOT
readonly VENV="$REPO_ROOT/.venv"

say() { printf '\033[1m%s\033[0m\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# missing_system_packages COMMAND...: also those commands, of packages of their names.
missing_system_packages() {
  local name
  for name in "$@"; do
    command -v "$name" >/dev/null || echo "$name"
  done
  command -v python3 >/dev/null || echo python3
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  python3 - 2>/dev/null <<'PY' || echo python3-dev
import os, sysconfig
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
PY
  command -v g++ >/dev/null || echo g++
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
}

# ensure_system_packages COMMAND...
ensure_system_packages() {
  local missing
  missing=$(missing_system_packages "$@" | tr '\n' ' ')
  [ -z "$missing" ] && return
  local install="apt-get install -y --no-install-recommends $missing"
  command -v apt-get >/dev/null || die "these are missing, install them: $missing"
  [ "$(id -u)" = 0 ] || die "run this first: sudo apt-get update && sudo $install"
  say "Installing system packages: $missing"
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive $install
}

has_torch() {
  "$1" - "$TORCH_OLDEST" 2>/dev/null <<'PY'
import sys, torch
wanted = tuple(map(int, sys.argv[1].split(".")))
assert tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) >= wanted
PY
}

ensure_venv() {
  if [ ! -x "$VENV/bin/python" ]; then
    say "Creating .venv"
    if has_torch python3; then
      python3 -m venv --system-site-packages "$VENV"
    else
      python3 -m venv "$VENV"
    fi
  fi
  # shellcheck disable=SC1091
  source "$VENV/bin/activate"
  if ! has_torch python; then
    say "Installing $TORCH_REQUIREMENT (without a GPU, torch's CPU build in .venv saves gigabytes)"
    python -m pip install --quiet "$TORCH_REQUIREMENT"
  fi
}

# ensure_environment EXTRA...: builds and installs the package with these extras of pyproject.toml.
# The C++ tests and the twin of the Ascend device are built along, into build/env.
ensure_environment() {
  cd "$REPO_ROOT" || exit 1
  ensure_system_packages
  ensure_venv
  local extras
  extras=$(IFS=,; echo "$*")
  say "Building and installing deepselect[$extras]"
  python -m pip install --quiet "scikit-build-core>=0.10" "pybind11>=2.12" "cmake>=3.25" ninja
  python -m pip install --quiet --no-build-isolation ".[$extras]" \
    --config-settings=build-dir=build/env \
    --config-settings=cmake.define.DEEPSELECT_TESTS=ON \
    --config-settings=cmake.define.DEEPSELECT_TWIN=ON
}
