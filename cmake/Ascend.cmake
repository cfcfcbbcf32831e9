# The Ascend C toolchain and torch_npu. Included before project(): the package ASC brings the
# language ASC, which project() then enables.

if(NOT DEFINED ENV{ASCEND_HOME_PATH})
  message(FATAL_ERROR "ASCEND_HOME_PATH is not set; source CANN's set_env.sh first")
endif()
set(CMAKE_ASC_ARCHITECTURES ${DEEPSELECT_ASCEND_ARCH})
set(CMAKE_ASC_STANDARD 20)
list(APPEND CMAKE_PREFIX_PATH $ENV{ASCEND_HOME_PATH})
find_package(ASC REQUIRED)

# torch::npu — torch_npu's headers and library, and the CANN runtime that they need. Called after
# project(), when the interpreter is known.
function(deepselect_find_torch_npu)
  execute_process(
    COMMAND
      ${Python_EXECUTABLE} -I -c
      "import importlib.util as u; s = u.find_spec('torch_npu'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE torch_npu_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
  )
  if(DEFINED DEEPSELECT_TORCH_NPU_DIR)
    set(torch_npu_dir ${DEEPSELECT_TORCH_NPU_DIR})
  endif()
  if(NOT torch_npu_dir)
    message(
      FATAL_ERROR
      "torch_npu is not installed for ${Python_EXECUTABLE}; install the release that fits its torch"
    )
  endif()
  add_library(torch_npu INTERFACE)
  add_library(torch::npu ALIAS torch_npu)
  target_include_directories(
    torch_npu
    SYSTEM
    INTERFACE
      ${torch_npu_dir}/include
      $ENV{ASCEND_HOME_PATH}/include
      ${DEEPSELECT_TORCH_DIR}/include
      ${DEEPSELECT_TORCH_DIR}/include/torch/csrc/api/include
  )
  target_link_directories(torch_npu INTERFACE ${torch_npu_dir}/lib $ENV{ASCEND_HOME_PATH}/lib64)
  target_link_libraries(torch_npu INTERFACE torch_npu ascendcl ascendc_runtime)
endfunction()
