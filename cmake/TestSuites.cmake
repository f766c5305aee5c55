# Read by ctest, once a module: one test for each GoogleTest suite of a program, so that what the tests of a suite
# share is made once. ${name} and ${program} are set by whoever includes it.
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed
  WORKING_DIRECTORY ${folder})
if(failed)
  # Not built, or it does not start: that must be seen.
  add_test(${name}.NOT_BUILT ${program})
  return()
endif()
string(REPLACE ";" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
foreach(line IN LISTS lines)
  # "Suite." or "Suite/0.  # TypeParam = int"; tests are indented.
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.( *#.*)?$")
    set(test "${name}.${CMAKE_MATCH_1}")
    add_test("${test}" ${program} "--gtest_filter=${CMAKE_MATCH_1}.*" --gtest_brief=1)
    set_tests_properties("${test}" PROPERTIES LABELS unit TIMEOUT 300 WORKING_DIRECTORY ${folder})
  endif()
endforeach()
