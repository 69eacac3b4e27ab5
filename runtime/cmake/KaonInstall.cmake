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

# kaon_install_headers(FOLDER file...): installs headers so that they are included as FOLDER/file, or kaon/FOLDER/file.
function(kaon_install_headers folder)
  foreach(header ${ARGN})
    get_filename_component(subfolder "${header}" DIRECTORY)
    install(FILES "${header}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kaon/${folder}/${subfolder})
  endforeach()
endfunction()
