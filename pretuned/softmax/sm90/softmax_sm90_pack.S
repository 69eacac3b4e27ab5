// Embeds softmax_sm90.kpack; KAON_PACK_FILE is its path in quotes.
    .section .rodata
    .balign 64
    .globl kaon_pack_softmax_sm90_begin
    .hidden kaon_pack_softmax_sm90_begin
    .type kaon_pack_softmax_sm90_begin, %object
kaon_pack_softmax_sm90_begin:
    .incbin KAON_PACK_FILE
    .globl kaon_pack_softmax_sm90_end
    .hidden kaon_pack_softmax_sm90_end
    .type kaon_pack_softmax_sm90_end, %object
kaon_pack_softmax_sm90_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
