#!/usr/bin/env bash
# Makes the environment, builds, and runs every test that this machine can run.
# Arguments go to pytest, e.g. tools/test.sh -k parity.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

ensure_environment test
say "C++ tests"
ctest --test-dir build/env --output-on-failure
say "Python tests"
python -m pytest "$@"
