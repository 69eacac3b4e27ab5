# kaon_unit_test(NAME LINKS target... ): builds tests/unit/<folder>/NAME.cpp next to the calling list and registers it
# under the label of that folder's kind.
find_package(GTest REQUIRED)
include(GoogleTest)

# What the sanitizer builds build: every unit test and nothing else.
add_custom_target(unit_tests)

function(kaon_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINKS;SOURCES" ${ARGN})
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE kaon_flags ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  # What is tested is optimised as it ships; the tests themselves would only take longer to build.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(KAON_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(KAON_PRECOMPILE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # Headers read from a precompiled one are no system headers to GCC 12, which sees faults in std::string.
      target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    endif()
    # The first test compiles the headers for all: they are built alike.
    get_property(first GLOBAL PROPERTY KAON_FIRST_TEST)
    if(first)
      target_precompile_headers(${name} REUSE_FROM ${first})
    else()
      set_property(GLOBAL PROPERTY KAON_FIRST_TEST ${name})
      target_precompile_headers(${name} PRIVATE <gtest/gtest.h> <gmock/gmock.h> <map> <memory> <optional> <string> <vector>)
    endif()
  endif()
  add_dependencies(unit_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
