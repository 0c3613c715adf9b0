# headrace_module(NAME DEPENDS modules…): the static library of src/NAME, target headrace_NAME.
add_library(headrace_flags INTERFACE)
target_compile_options(headrace_flags INTERFACE -Wall -Wextra -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlaps in std::string that are not there (GCC bug 105651), and uninitialised
  # parts in temporaries of aggregates such as Error (GCC bug 105562).
  target_compile_options(headrace_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(HEADRACE_SANITIZE)
  target_compile_options(headrace_flags INTERFACE -fsanitize=${HEADRACE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(headrace_flags INTERFACE -fsanitize=${HEADRACE_SANITIZE})
endif()

function(headrace_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(TRANSFORM ARG_DEPENDS PREPEND headrace_ OUTPUT_VARIABLE modules)
  if(sources)
    add_library(headrace_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(headrace_${name} PRIVATE headrace_flags)
  else()
    add_library(headrace_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(headrace_${name} ${scope} ${CMAKE_SOURCE_DIR}/include
                             ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(headrace_${name} ${scope} ${modules} ${HEADRACE_${name}_LIBRARIES})
endfunction()
