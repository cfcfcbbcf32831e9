#!/usr/bin/env bash
# Builds the wheel as a release does and tries it in an empty environment.
#
#   tools/wheel_smoke.sh [--torch REQUIREMENT | --offline] [ARGUMENTS OF pip wheel]
#   tools/wheel_smoke.sh --torch torch==2.11.0 --config-settings=cmake.define.DEEPSELECT_CUDA=ON
#
# The wheel is left in dist/. Without --torch the environment gets the torch of tools/env.sh. With
# --offline nothing is downloaded: the wheel is built with what the Python on the PATH has, and the
# environment holds the wheel alone and sees that Python's packages behind it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$REPO_ROOT"

torch_requirement=$TORCH_REQUIREMENT
is_offline=false
case "${1:-}" in
  --torch) torch_requirement=$2; shift 2 ;;
  --offline) is_offline=true; shift ;;
esac
if $is_offline; then
  isolation=(--no-build-isolation)
else
  isolation=()
  ensure_system_packages
  ensure_venv
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "Building the wheel"
# A build folder of its own: a kept one would remember the options of earlier wheels.
python3 -m pip wheel --quiet --no-deps "${isolation[@]}" --wheel-dir "$scratch" . \
  --config-settings=build-dir="$scratch/build" "$@"
mkdir -p dist
cp "$scratch"/*.whl dist/

if $is_offline; then
  say "Installing it into an environment before the packages of $(command -v python3)"
  python3 -m venv "$scratch/venv"
  python3 -c 'import site; print("\n".join(site.getsitepackages()))' \
    >"$("$scratch/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/behind.pth"
  "$scratch/venv/bin/python" -m pip install --quiet --no-index --no-deps "$scratch"/*.whl
else
  say "Installing it with $torch_requirement into an empty environment"
  deactivate
  python3 -m venv "$scratch/venv"
  # Byte code for all of torch would take longer than the rest of this script.
  "$scratch/venv/bin/python" -m pip install --quiet --no-compile "$torch_requirement" \
    "$scratch"/*.whl
  "$scratch/venv/bin/python" -m pip check
fi

say "Trying it"
cd "$scratch" # nothing of the checkout is importable from here
"$scratch/venv/bin/python" -I "$REPO_ROOT/tools/wheel_smoke.py"
