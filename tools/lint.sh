#!/usr/bin/env bash
# Every formatter and linter, as pre-commit runs them; --fix writes. Needs git and the `dev` extra.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fix=${1:-}
cxx_files=$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' '*.asc')
cmake_files=$(git ls-files '*CMakeLists.txt' '*.cmake')
mapfile -t cxx <<<"$cxx_files"
mapfile -t cmake <<<"$cmake_files"

if [ "$fix" = --fix ]; then
  clang-format -i "${cxx[@]}"
  gersemi --in-place "${cmake[@]}"
  ruff check --fix .
  ruff format .
else
  clang-format --dry-run --Werror "${cxx[@]}"
  gersemi --check --diff "${cmake[@]}"
  ruff check .
  ruff format --check .
fi
mypy
python tools/check_sources.py
