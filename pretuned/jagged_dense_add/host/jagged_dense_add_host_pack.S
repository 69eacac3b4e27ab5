// Embeds jagged_dense_add_host.kpack; KAON_PACK_FILE is its path in quotes.
    .section .rodata
    .balign 64
    .globl kaon_pack_jagged_dense_add_host_begin
    .hidden kaon_pack_jagged_dense_add_host_begin
    .type kaon_pack_jagged_dense_add_host_begin, %object
kaon_pack_jagged_dense_add_host_begin:
    .incbin KAON_PACK_FILE
    .globl kaon_pack_jagged_dense_add_host_end
    .hidden kaon_pack_jagged_dense_add_host_end
    .type kaon_pack_jagged_dense_add_host_end, %object
kaon_pack_jagged_dense_add_host_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
