# sharewell_module(core
#   SOURCES cluster.cc ...       without main.cc; none yet: the module is headers only
#   DEPS    platform ...         modules it links: the table in DESIGN.md, checked by tools/check_layers.py
#   LIBS    fmt::fmt ...         libraries from outside
#   PCH     <CLI/CLI.hpp> ...    heavy headers of this module alone, precompiled with the common ones
#   TESTS   cluster_test.cc ...  one GoogleTest program: core_tests
#   TEST_DEPS policy ...         modules only the tests link (testing/ comes by itself)
#   COLD                         heavy to compile and never waited for: optimised little
#   HOT                          its tests compute for minutes: optimised under a sanitizer too
#   TSAN_SOURCES ^usage/ ...     of the sources, the ones that ThreadSanitizer's build needs, as regular expressions (default: all).
#                                It has what has threads, and what that uses: no studies
#   TSAN_TESTS ^service/ ...     of the tests, the ones that have threads: the only ones of that build (default: none)
#   ALONE   spec.cc ...)         sources and tests whose file-local names clash with a neighbour's: most presets
#                                compile the others several at a time
#
# Tests run with the repository's root as working folder, so they may open "tests/fixtures/...".

# The code of a test runs once: to optimise it costs more than it gains. What it tests is optimised all the same.
set(SHAREWELL_TEST_OPTIONS -O0)
set(SHAREWELL_HOT_OPTIONS -O1)

if(SHAREWELL_PCH)
  add_library(sharewell_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch/empty.cc)
  target_link_libraries(sharewell_pch PRIVATE fmt::fmt tl::expected)
  target_precompile_headers(sharewell_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch/common.h)
  if(SHAREWELL_SANITIZE)
    add_library(sharewell_hot_pch OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/pch/empty.cc)
    target_link_libraries(sharewell_hot_pch PRIVATE fmt::fmt tl::expected)
    target_compile_options(sharewell_hot_pch PRIVATE ${SHAREWELL_HOT_OPTIONS})
    target_precompile_headers(sharewell_hot_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch/common.h)
  endif()
  if(BUILD_TESTING)
    add_library(sharewell_test_pch OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/pch/empty.cc)
    target_link_libraries(sharewell_test_pch PRIVATE fmt::fmt tl::expected GTest::gmock)
    target_compile_options(sharewell_test_pch PRIVATE ${SHAREWELL_TEST_OPTIONS})
    target_precompile_headers(sharewell_test_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch/test.h)
  endif()
endif()

# ctest has one test for each suite of `program`, named NAME.Suite. AddressSanitizer's search for leaks at the end of a process
# takes three seconds of CPU on aarch64 even where nothing was allocated (it looks at 2^28 possible regions of memory), so there
# one process runs several suites.
function(sharewell_suites name program)
  set(suites_a_test 1)
  if(SHAREWELL_SANITIZE MATCHES "address")
    set(suites_a_test 12)
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  file(GENERATE OUTPUT ${file} CONTENT
"set(name ${name})
set(program [[$<TARGET_FILE:${program}>]])
set(folder [[${CMAKE_SOURCE_DIR}]])
set(suites_a_test ${suites_a_test})
include([[${CMAKE_SOURCE_DIR}/cmake/TestSuites.cmake]])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# Whether $UNIT_TESTS of tools/compile asks for the tests of this module.
function(sharewell_tests_wanted name result)
  set(wanted ${BUILD_TESTING})
  if("but" IN_LIST SHAREWELL_UNIT_TESTS)
    if(name IN_LIST SHAREWELL_UNIT_TESTS)
      set(wanted OFF)
    endif()
  elseif(NOT SHAREWELL_UNIT_TESTS STREQUAL "all" AND NOT name IN_LIST SHAREWELL_UNIT_TESTS)
    set(wanted OFF)
  endif()
  set(${result} ${wanted} PARENT_SCOPE)
endfunction()

# Of a list, what one of the patterns matches.
function(sharewell_filter list)
  list(JOIN ARGN "|" any)
  set(kept)
  foreach(item IN LISTS ${list})
    if(item MATCHES "${any}")
      list(APPEND kept ${item})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

function(sharewell_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "COLD;HOT" "" "SOURCES;DEPS;LIBS;PCH;TESTS;TEST_DEPS;TSAN_SOURCES;TSAN_TESTS;ALONE")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sharewell_module(${name}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(SHAREWELL_SANITIZE MATCHES "thread")
    if(ARG_TSAN_SOURCES)
      sharewell_filter(ARG_SOURCES ${ARG_TSAN_SOURCES})
    endif()
    if(ARG_TSAN_TESTS)
      sharewell_filter(ARG_TESTS ${ARG_TSAN_TESTS})
    else()
      set(ARG_TESTS)
    endif()
  endif()
  set(target sharewell_${name})
  if(ARG_ALONE)
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(ARG_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${ARG_SOURCES})
    # A precompiled header serves those that are compiled alike.
    if(SHAREWELL_PCH AND (ARG_PCH OR (ARG_COLD AND NOT SHAREWELL_SANITIZE)))
      target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch/common.h ${ARG_PCH})
    elseif(SHAREWELL_PCH AND ARG_HOT AND SHAREWELL_SANITIZE)
      target_precompile_headers(${target} REUSE_FROM sharewell_hot_pch)
    elseif(SHAREWELL_PCH)
      target_precompile_headers(${target} REUSE_FROM sharewell_pch)
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  if(ARG_HOT AND SHAREWELL_SANITIZE)
    target_compile_options(${target} PRIVATE ${SHAREWELL_HOT_OPTIONS})
  elseif(ARG_COLD AND NOT SHAREWELL_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  add_library(sharewell::${name} ALIAS ${target})
  list(TRANSFORM ARG_DEPS PREPEND sharewell::)
  target_include_directories(${target} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${target} ${scope} ${ARG_DEPS} ${ARG_LIBS})

  sharewell_tests_wanted(${name} tests)
  if(tests AND ARG_TESTS)
    add_executable(${name}_tests ${ARG_TESTS})
    # Half of what compiling a test takes is templates that its neighbours have too.
    set_target_properties(${name}_tests PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${name}_tests PRIVATE ${SHAREWELL_TEST_OPTIONS})
    list(TRANSFORM ARG_TEST_DEPS PREPEND sharewell::)
    # testing/ is added after some modules that use it: linked by its plain name, if it is there.
    if(EXISTS ${CMAKE_SOURCE_DIR}/src/testing/CMakeLists.txt)
      list(APPEND ARG_TEST_DEPS sharewell_testing)
    endif()
    target_link_libraries(${name}_tests PRIVATE ${ARG_TEST_DEPS} ${target} GTest::gmock GTest::gtest_main)
    if(SHAREWELL_PCH)
      target_precompile_headers(${name}_tests REUSE_FROM sharewell_test_pch)
    endif()
    sharewell_suites(${name} ${name}_tests)
  endif()
endfunction()
