# `import _torch` for ports that are built with cmake: -DUSER_C_MODULES=path/to/this/file
add_library(usermod_torch INTERFACE)
file(GLOB PT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c ${CMAKE_CURRENT_LIST_DIR}/generated/*.c)
target_sources(usermod_torch INTERFACE ${PT_SOURCES})
target_include_directories(usermod_torch INTERFACE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/kernels)
target_link_libraries(usermod INTERFACE usermod_torch)
# Where MicroPython itself computes with objects, compares or formats them, it asks the module about tensors: core.h
set_property(SOURCE ${MICROPY_DIR}/py/vm.c ${MICROPY_DIR}/py/nativeglue.c
    APPEND PROPERTY COMPILE_DEFINITIONS mp_binary_op=pt_operate)
set_property(SOURCE ${MICROPY_DIR}/py/objfloat.c APPEND PROPERTY COMPILE_DEFINITIONS
    mp_obj_get_float_maybe=pt_float_maybe mp_get_buffer=pt_text_buffer)
set_property(SOURCE ${MICROPY_DIR}/py/objcomplex.c APPEND PROPERTY COMPILE_DEFINITIONS
    mp_obj_get_complex_maybe=pt_complex_maybe)
set_property(SOURCE ${MICROPY_DIR}/py/objstr.c APPEND PROPERTY COMPILE_OPTIONS
    -include ${CMAKE_CURRENT_LIST_DIR}/format.h)
set_property(SOURCE ${MICROPY_DIR}/py/modbuiltins.c ${MICROPY_DIR}/py/objlist.c ${MICROPY_DIR}/py/sequence.c
    ${MICROPY_DIR}/extmod/modheapq.c APPEND PROPERTY COMPILE_DEFINITIONS mp_binary_op=pt_compare)
set_property(SOURCE ${MICROPY_DIR}/py/sequence.c ${MICROPY_DIR}/py/objdict.c ${MICROPY_DIR}/py/runtime.c
    APPEND PROPERTY COMPILE_DEFINITIONS mp_obj_equal=pt_same_item)
set_property(SOURCE ${MICROPY_DIR}/py/map.c APPEND PROPERTY COMPILE_DEFINITIONS mp_obj_equal=pt_same_key)
set_property(SOURCE ${MICROPY_DIR}/py/builtinhelp.c APPEND PROPERTY COMPILE_DEFINITIONS mp_obj_print=pt_describe)
