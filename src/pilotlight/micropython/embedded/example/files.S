/* Files as bytes of the program. Saved tensors at a multiple of 64 bytes are used where they are. */
#if defined(__arm__)
#define READ_ONLY .section .rodata.files, "a", %progbits
#else
#define READ_ONLY .section .rodata.files, "a", @progbits
#endif
    READ_ONLY
    .globl net_py, net_py_end, net_pt, net_pt_end, script_pt, script_pt_end
net_py:
    .incbin "net.py"
net_py_end:
    .balign 64
net_pt:
    .incbin "net.pt"
net_pt_end:
    .balign 64
script_pt:
    .incbin "script.pt"
script_pt_end:
#if defined(__linux__)
    .section .note.GNU-stack, "", %progbits
#endif
