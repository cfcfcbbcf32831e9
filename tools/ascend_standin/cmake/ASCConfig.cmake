# Stand-in for CANN's CMake package ASC: brings the language ASC, whose compiler is ../bin/bisheng.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(ASC_FOUND TRUE)
