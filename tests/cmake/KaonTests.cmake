# kaon_unit_tests(FOLDER SOURCES file... LINKS target... [DEFINES name=value...]): builds FOLDER_tests of the sources beside
# the calling list. Each *_test.cpp is a test of its name, run in a process of its own (tests/support/unit_main.cpp).
find_package(GTest REQUIRED)

# What the sanitizer builds build: every unit test and nothing else.
add_custom_target(unit_tests)

# How programs of unit tests are compiled and linked.
function(kaon_unit_program name)
  target_link_libraries(${name} PRIVATE kaon_flags kaon_unit_main GTest::gtest GTest::gmock)
  # What is tested is optimised as it ships; the tests themselves would only take longer to build.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(KAON_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
    target_compile_definitions(${name} PRIVATE KAON_SANITIZED)
  endif()
  add_dependencies(unit_tests ${name})
endfunction()

function(kaon_unit_tests folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;DEFINES" ${ARGN})
  set(program ${folder}_tests)
  add_executable(${program} ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE ${ARG_LINKS})
  target_compile_definitions(${program} PRIVATE ${ARG_DEFINES})
  kaon_unit_program(${program})
  foreach(source IN LISTS ARG_SOURCES)
    if(source MATCHES "^(.*_test)\\.cpp$")
      add_test(NAME ${CMAKE_MATCH_1} COMMAND ${program} ${CMAKE_MATCH_1})
      set_tests_properties(${CMAKE_MATCH_1} PROPERTIES LABELS unit TIMEOUT 300)
    endif()
  endforeach()
endfunction()
