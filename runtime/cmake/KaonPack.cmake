# add_kaon_pack(TARGET NAME KPACK FILE): embeds a .kpack into TARGET, byte for byte and on a 64-byte boundary, as the
# symbols kaon_pack_NAME_begin and kaon_pack_NAME_end that generated tables refer to. A changed pack is embedded again.
function(add_kaon_pack target name)
  cmake_parse_arguments(ARG "" "KPACK" "" ${ARGN})
  get_filename_component(pack "${ARG_KPACK}" ABSOLUTE)
  if(NOT EXISTS "${pack}")
    message(FATAL_ERROR "add_kaon_pack(${target} ${name}): ${pack} does not exist; make it with aot_runner tune")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/kaon_pack_${name}.S")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
/* The pack of @name@, embedded. Hidden, so that several libraries in one process may each have theirs. */
    .section .rodata.kaon_pack_@name@, "a", %progbits
    .balign 64
    .globl kaon_pack_@name@_begin
    .hidden kaon_pack_@name@_begin
    .type kaon_pack_@name@_begin, %object
kaon_pack_@name@_begin:
    .incbin "@pack@"
    .globl kaon_pack_@name@_end
    .hidden kaon_pack_@name@_end
kaon_pack_@name@_end:
    .byte 0
    .size kaon_pack_@name@_begin, kaon_pack_@name@_end - kaon_pack_@name@_begin
    .section .note.GNU-stack, "", %progbits
]])
  set_source_files_properties("${source}" PROPERTIES LANGUAGE ASM OBJECT_DEPENDS "${pack}")
  target_sources(${target} PRIVATE "${source}")
endfunction()

# add_kaon_kernels(TARGET FOLDER...): builds what aot_runner left in each FOLDER (the .gen.cpp and .kpack files of one or
# several kernels, such as scale_rows/sm90) into TARGET, which links kaon::runtime. `#include "kaon_kernels.h"` then gives
#   kaon::Status register_kaon_kernels();
# which registers all of their tables, for kaon::Kernel::find("scale_rows") or kaon_kernel_find() in C.
function(add_kaon_kernels target)
  set(declarations "")
  set(registrations "")
  foreach(folder ${ARGN})
    get_filename_component(folder "${folder}" ABSOLUTE)
    file(GLOB packs CONFIGURE_DEPENDS "${folder}/*.kpack")
    if(NOT packs)
      message(FATAL_ERROR "add_kaon_kernels(${target} ${folder}): no .kpack there; make one with aot_runner tune")
    endif()
    foreach(pack ${packs})
      get_filename_component(name "${pack}" NAME_WE)
      if(NOT EXISTS "${folder}/${name}.gen.cpp")
        message(FATAL_ERROR "add_kaon_kernels(${target} ${folder}): ${name}.gen.cpp is missing beside ${name}.kpack; "
                            "make it with aot_runner emit --from ${folder}")
      endif()
      target_sources(${target} PRIVATE "${folder}/${name}.gen.cpp")
      add_kaon_pack(${target} ${name} KPACK "${pack}")
      string(APPEND declarations "namespace kaon::tables { extern const KernelTableList ${name}_list; }\n")
      string(APPEND registrations
        "  if (kaon::Status status = kaon::register_tables(kaon::tables::${name}_list); !status.is_ok()) return status;\n")
    endforeach()
  endforeach()
  set(header_folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_kaon_kernels")
  file(CONFIGURE OUTPUT "${header_folder}/kaon_kernels.h" @ONLY CONTENT [[
// The kernels of @target@, as add_kaon_kernels() found them.
#pragma once

#include <kaon/kaon.hpp>

@declarations@
/// Registers the tables of all of them. kInvalidArgument, kUnsupported for tables of another version.
inline kaon::Status register_kaon_kernels() {
@registrations@  return kaon::Status::ok();
}
]])
  target_include_directories(${target} PRIVATE "${header_folder}")
endfunction()
