# The beginning of a C program on a tile: link it first, at address 0.
        .text
        .set noreorder
        .globl _start
_start: lui $sp, 0x0010           # the stack grows down from 1 MB
        jal main
        nop
        break
