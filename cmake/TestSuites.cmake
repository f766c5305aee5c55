# Read by ctest, once a module: one test for each GoogleTest suite of a program, so that what the tests of a suite
# share is made once. ${name}, ${program}, ${folder} and ${suites_a_test} are set by whoever includes it.
#
# Where several suites are run by one test (${suites_a_test} > 1) it is named NAME.1, NAME.2, ...: neighbours, which are often
# alike in length, go to different ones.

# A list of names needs no search for leaks.
execute_process(COMMAND env ASAN_OPTIONS=detect_leaks=0 ${program} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE failed WORKING_DIRECTORY ${folder})
if(failed OR listed STREQUAL "")
  # Not built, or it does not start: that must be seen.
  add_test(${name}.NOT_BUILT ${program})
  return()
endif()
string(REPLACE ";" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(suites)
foreach(line IN LISTS lines)
  # "Suite." or "Suite/0.  # TypeParam = int"; tests are indented.
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.( *#.*)?$")
    list(APPEND suites ${CMAKE_MATCH_1})
  endif()
endforeach()
list(LENGTH suites count)
math(EXPR tests "(${count} + ${suites_a_test} - 1) / ${suites_a_test}")
set(next 0)
foreach(suite IN LISTS suites)
  math(EXPR test "${next} % ${tests} + 1")
  math(EXPR next "${next} + 1")
  string(APPEND filter_${test} "${suite}.*:")
  set(name_${test} "${name}.${suite}")
endforeach()
foreach(test RANGE 1 ${tests})
  set(processors 1)
  set(cost 0)
  set(timeout 300)
  if(suites_a_test GREATER 1)
    set(name_${test} "${name}.${test}")
    set(processors 2)  # so that fewer run beside tests that mostly wait (tools/run_ctest)
    set(cost 50)       # some take minutes: not last
    set(timeout 1800)
  endif()
  add_test("${name_${test}}" ${program} "--gtest_filter=${filter_${test}}" --gtest_brief=1)
  set_tests_properties("${name_${test}}" PROPERTIES LABELS unit TIMEOUT ${timeout} PROCESSORS ${processors}
    COST ${cost} WORKING_DIRECTORY ${folder})
  unset(filter_${test})
  unset(name_${test})
endforeach()
