# `import _torch` for ports that are built with cmake: -DUSER_C_MODULES=path/to/this/file
add_library(usermod_torch INTERFACE)
file(GLOB PT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c ${CMAKE_CURRENT_LIST_DIR}/generated/*.c)
target_sources(usermod_torch INTERFACE ${PT_SOURCES})
target_include_directories(usermod_torch INTERFACE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/kernels)
target_link_libraries(usermod INTERFACE usermod_torch)
