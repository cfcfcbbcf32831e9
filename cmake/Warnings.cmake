# Flags for every C++ target of the project, as functions so that nothing leaks to other code.

function(deepselect_compile_options target)
  target_compile_options(
    ${target}
    PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wall>
      $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
      # Keeps the builder's directories out of messages and symbols.
      $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
  )
  if(DEEPSELECT_ASAN)
    target_compile_options(
      ${target}
      PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-omit-frame-pointer>
    )
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# An op library: loaded by torch.ops.load_library, never linked against.
function(deepselect_op_library target)
  deepselect_compile_options(${target})
  set_target_properties(
    ${target}
    PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${DEEPSELECT_LIBRARY_DIR} CXX_VISIBILITY_PRESET hidden
  )
  install(TARGETS ${target} LIBRARY DESTINATION deepselect/lib)
endfunction()
