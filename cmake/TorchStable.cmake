# torch::stable — torch's headers and library for code on the stable ABI.
#
# Not find_package(Torch): with a CUDA wheel it demands a whole toolkit even for C++ and overrides
# CMAKE_CUDA_ARCHITECTURES. The stable ABI needs an include directory and one library.

# -I: also right inside pip's build isolation, where PYTHONPATH hides the environment's torch.
execute_process(
  COMMAND
    ${Python_EXECUTABLE} -I -c
    "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
  OUTPUT_VARIABLE DEEPSELECT_TORCH_DIR
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY
)
if(NOT DEEPSELECT_TORCH_DIR)
  message(
    FATAL_ERROR
    "torch is not installed for ${Python_EXECUTABLE}; run: ${Python_EXECUTABLE} -m pip install 'torch>=2.10'"
  )
endif()
if(NOT EXISTS ${DEEPSELECT_TORCH_DIR}/include/torch/csrc/stable/c/shim.h)
  message(FATAL_ERROR "torch in ${DEEPSELECT_TORCH_DIR} is older than 2.10, the oldest supported")
endif()

add_library(torch_stable INTERFACE)
add_library(torch::stable ALIAS torch_stable)
target_include_directories(torch_stable SYSTEM INTERFACE ${DEEPSELECT_TORCH_DIR}/include)
# One binary for every torch from 2.10 on.
target_compile_definitions(torch_stable INTERFACE TORCH_TARGET_VERSION=0x020a000000000000)
# libtorch.so by name and always recorded: the CPU and the CUDA builds of torch both have it, and
# it brings whichever of libtorch_cpu.so and libtorch_cuda.so the build consists of.
target_link_directories(torch_stable INTERFACE ${DEEPSELECT_TORCH_DIR}/lib)
target_link_options(torch_stable INTERFACE -Wl,--no-as-needed)
target_link_libraries(torch_stable INTERFACE torch torch_cpu)
