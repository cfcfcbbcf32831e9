# The interpreter that owns torch. scikit-build-core names it; else the one of the active
# environment, else the first python3 on PATH.

if(NOT DEFINED Python_EXECUTABLE AND DEFINED ENV{VIRTUAL_ENV})
  set(Python_EXECUTABLE $ENV{VIRTUAL_ENV}/bin/python)
endif()
set(Python_FIND_STRATEGY LOCATION)
if(DEEPSELECT_PYBIND)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()
