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
