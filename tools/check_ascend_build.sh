#!/usr/bin/env bash
# Checks the Ascend build as far as a machine without CANN can: the host side is compiled against
# torch_npu's headers and linked with its library, from a folder of its own (an installed torch_npu
# makes `import torch` fail where there is no CANN); the toolchain's place is taken by
# tools/ascend_standin, which checks kernels against declarations and makes empty objects.
#   tools/check_ascend_build.sh [FOLDER]     default build/ascend_check
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(realpath -m "${1:-build/ascend_check}")
cann=$folder/cann
torch_npu=$folder/torch_npu_wheel/torch_npu
mkdir -p "$cann/lib64" "$cann/include"

if [ ! -e "$torch_npu/lib/libtorch_npu.so" ]; then
  python -m pip download --quiet --no-deps --dest "$folder/wheel" torch_npu
  python -m zipfile --extract "$folder"/wheel/torch_npu-*.whl "$folder/torch_npu_wheel"
fi
# The CANN runtime's libraries: empty ones of the same names.
for library in ascendcl ascendc_runtime; do
  echo | g++ -x c++ -shared -fPIC -o "$cann/lib64/lib$library.so" -
done

export ASCEND_HOME_PATH=$cann
nm -DC --defined-only "$torch_npu/lib/libtorch_npu.so" >"$folder/torch_npu.txt"

# What the host side leaves to others must be there: torch_npu's stream in its own library, and
# from the kernels one function, which the stand-in cannot make.
check_preset() {
  local build=$folder/$1 symbol missing
  cmake --preset "$1" -B "$build" -DDEEPSELECT_PYBIND=OFF -DSKBUILD=ON \
    -DDEEPSELECT_TORCH_NPU_DIR="$torch_npu" -DASC_DIR="$PWD/tools/ascend_standin/cmake"
  # The stand-in's language knows no headers: nothing of an earlier run may stay.
  cmake --build "$build" --target deepselect_ascend --clean-first
  nm -DC --undefined-only "$build/lib/libdeepselect_ascend.so" >"$build/undefined.txt"
  grep -o 'c10_npu::.*' "$build/undefined.txt" | while IFS= read -r symbol; do
    grep -F "$symbol" "$folder/torch_npu.txt" >/dev/null ||
      { echo "error: torch_npu has no $symbol" >&2; exit 1; }
    echo "found in torch_npu: $symbol"
  done
  missing=$(grep -o 'deepselect::.*' "$build/undefined.txt" | grep -v 'ascend::launch(' || true)
  [ -z "$missing" ] || { echo "error: undefined: $missing" >&2; exit 1; }
  echo "$1: host side compiled against torch_npu and linked; kernels only type-checked"
}

check_preset ascend-3510
check_preset ascend-2201
