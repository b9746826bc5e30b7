/* The first instructions: set the stack to the end of the thread's local memory, then run the
 * engine. The registers of the first two arguments hold the number of the thread among all
 * threads, and its number in its part of an engine that is split. */
#ifndef WL_START_H
#define WL_START_H

static void wl_main(uint32_t thread, uint32_t part);

#if defined(__arm__)
__asm__(".section .text.start, \"ax\"\n"
        ".global _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    mov sp, #0x10000000\n"
        "    add sp, sp, #0x1000\n"
        "    b wl_main\n"
        ".size _start, . - _start\n"
        ".text\n");
#elif defined(__riscv)
__asm__(".section .text.start, \"ax\"\n"
        ".global _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    lui sp, 0x10001\n"
        "    j wl_main\n"
        ".size _start, . - _start\n"
        ".text\n");
#else
#error "the Wireloom runtime of threads is written for ARM and RISC-V"
#endif

#endif
