/* The text of device_kernels.ptx inside the program, ended by a zero byte as the driver wants it. */
    .section .rodata
    .balign 64
    .globl kaon_device_kernels_ptx
kaon_device_kernels_ptx:
    .incbin KAON_DEVICE_KERNELS_PTX
    .byte 0
    .section .note.GNU-stack, "", %progbits
