#!/usr/bin/env bash
# Builds the wheel as a release does and tries it in an empty environment.
#
#   tools/wheel_smoke.sh [--torch REQUIREMENT] [ARGUMENTS OF pip wheel]
#   tools/wheel_smoke.sh --torch torch==2.11.0 --config-settings=cmake.define.DEEPSELECT_CUDA=ON
#
# The wheel is left in dist/. Without --torch the environment gets the torch of tools/env.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$REPO_ROOT"

torch_requirement=$TORCH_REQUIREMENT
if [ "${1:-}" = --torch ]; then
  torch_requirement=$2
  shift 2
fi
ensure_system_packages
ensure_venv
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "Building the wheel"
# A build folder of its own: a kept one would remember the options of earlier wheels.
python -m pip wheel --quiet --no-deps --wheel-dir "$scratch" . \
  --config-settings=build-dir="$scratch/build" "$@"
mkdir -p dist
cp "$scratch"/*.whl dist/

say "Installing it with $torch_requirement into an empty environment"
deactivate
python3 -m venv "$scratch/venv"
# Byte code for all of torch would take longer than the rest of this script.
"$scratch/venv/bin/python" -m pip install --quiet --no-compile "$torch_requirement" "$scratch"/*.whl
"$scratch/venv/bin/python" -m pip check

say "Trying it"
cd "$scratch" # nothing of the checkout is importable from here
"$scratch/venv/bin/python" -I "$REPO_ROOT/tools/wheel_smoke.py"
