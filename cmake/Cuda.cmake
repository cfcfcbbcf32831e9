# Flags for the CUDA targets of the project. The language is enabled by the top-level file, after
# CMAKE_CUDA_ARCHITECTURES is known.

find_package(CUDAToolkit 12.8 REQUIRED)

set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# No -use_fast_math: keys rely on subnormals and on what NaN turns into.
function(deepselect_cuda_options target)
  target_compile_options(
    ${target}
    PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
      # Read by tools/resource_report.py from the build's log.
      $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>
  )
endfunction()
