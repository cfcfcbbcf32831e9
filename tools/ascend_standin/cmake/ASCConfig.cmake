# Stand-in for CANN's CMake package ASC: brings a language ASC whose compiler makes empty objects.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(ASC_FOUND TRUE)
