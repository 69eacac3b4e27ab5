# kaon_install_library(TARGET EXPORT_NAME): makes a static library part of the installed package as kaon::EXPORT_NAME, and
# gives it that name for add_subdirectory() users. Its own headers are installed by its folder, under include/kaon.
include(GNUInstallDirs)

function(kaon_install_library target export_name)
  add_library(kaon::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${export_name}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  # Build flags are nobody else's business: they must not be asked for by the exported target.
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(REMOVE_ITEM links "$<LINK_ONLY:kaon_flags>")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
  install(TARGETS ${target} EXPORT kaonTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# kaon_shared_library(TARGET OUTPUT_NAME EXPORT_NAME SOURCES file... LINKS target...): a shared library that exports the C
# interface and nothing else. SOURCES define what is exported; all other code comes from the static LINKS. Installed as
# kaon::EXPORT_NAME, for programs in other languages and for plugins.
function(kaon_shared_library target output_name export_name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exports.map)
  add_library(${target} SHARED ${ARG_SOURCES})
  if(NOT KAON_SANITIZE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    # On systems older than glibc 2.34 the functions that older_systems.cpp names live in libraries of their own.
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:kaon_older_systems>)
    target_link_options(${target} PRIVATE LINKER:--push-state,--no-as-needed,-l:libdl.so.2,-l:libpthread.so.0,--pop-state)
  endif()
  add_library(kaon::${export_name} ALIAS ${target})
  target_compile_definitions(${target} PRIVATE KAON_BUILDS_SHARED)
  target_link_libraries(${target} PRIVATE kaon_flags ${ARG_LINKS})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/kaon>)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output_name}
    EXPORT_NAME ${export_name}
    VERSION ${PROJECT_VERSION}
    SOVERSION 1  # KAON_ABI_VERSION
    LINK_DEPENDS ${exports}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  if(CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  endif()
  install(TARGETS ${target} EXPORT kaonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# kaon_install_headers(FOLDER file...): installs headers so that they are included as FOLDER/file, or kaon/FOLDER/file.
function(kaon_install_headers folder)
  foreach(header ${ARGN})
    get_filename_component(subfolder "${header}" DIRECTORY)
    install(FILES "${header}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kaon/${folder}/${subfolder})
  endforeach()
endfunction()

# kaon_build_for_size(TARGET HOT file...): a library that every serving binary carries. Release builds optimise it for size,
# but for HOT files, which hold what runs on every call; --gc-sections leaves out what a program does not use.
function(kaon_build_for_size target)
  cmake_parse_arguments(ARG "" "" "HOT" ${ARGN})
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections $<$<CONFIG:Release>:-Os>)
  set_source_files_properties(${ARG_HOT} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
endfunction()
