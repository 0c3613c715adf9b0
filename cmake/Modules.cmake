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
  list(FILTER sources EXCLUDE REGEX "/src/${name}/(${HEADRACE_LAZY_FOLDERS})/")
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

# headrace_lazy_library(NAME MODULE LIBRARIES…): libheadrace_NAME.so of src/MODULE/NAME, which is
# loaded when it is first needed (src/base/lazy_library.h). What may load it depends on the target
# lazy_libraries.
add_custom_target(lazy_libraries)
function(headrace_lazy_library name module)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${module}/${name}/*.cc)
  set(library headrace_${name})
  add_library(${library} MODULE ${sources})
  set_target_properties(${library} PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/headrace)
  # Of the module's own libraries it needs few.
  target_link_options(${library} PRIVATE $<$<PLATFORM_ID:Linux>:LINKER:--as-needed>)
  target_link_libraries(${library} PRIVATE headrace_flags headrace_${module} ${ARGN})
  add_dependencies(lazy_libraries ${library})
  install(TARGETS ${library} LIBRARY DESTINATION headrace COMPONENT python)
  if(NOT SKBUILD)
    install(TARGETS ${library} LIBRARY DESTINATION lib/headrace COMPONENT program)
  endif()
endfunction()
