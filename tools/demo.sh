#!/usr/bin/env bash
# Makes the environment, builds, and runs the demo: a sparse-attention step over real text.
# Arguments go to tools/demo.py, e.g. tools/demo.sh --tokens 200000 --queries 32.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

ensure_environment demo
python tools/demo.py "$@"
