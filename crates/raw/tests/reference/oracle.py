"""Runs programs on Unicorn as big-endian MIPS32 and writes what they do.

Reads one program a line: its words in hexadecimal. Answers a line for each: the registers $1 to $23 and $28 to $31 after each
instruction, in hexadecimal, states between commas; a state that equals the one before it is left out. Text begins at 0, data at
0x10000; all registers begin with 0. A program ends when it gets behind its last word.
"""

import struct
import sys

from unicorn import UC_ARCH_MIPS, UC_HOOK_CODE, UC_MODE_BIG_ENDIAN, UC_MODE_MIPS32, Uc
from unicorn import mips_const as mips

REGISTERS = [mips.UC_MIPS_REG_0 + number for number in (*range(1, 24), *range(28, 32))]


def run(words):
    emulator = Uc(UC_ARCH_MIPS, UC_MODE_MIPS32 | UC_MODE_BIG_ENDIAN)
    emulator.mem_map(0, 0x10000)
    emulator.mem_map(0x10000, 0x10000)
    emulator.mem_write(0, struct.pack(f">{len(words)}I", *words))
    for register in REGISTERS:
        emulator.reg_write(register, 0)
    states = []

    def record(*_):
        state = [emulator.reg_read(register) & 0xFFFFFFFF for register in REGISTERS]
        if not states or states[-1] != state:
            states.append(state)

    emulator.hook_add(UC_HOOK_CODE, record)
    emulator.emu_start(0, 4 * len(words))
    record()
    return states


def main():
    for line in sys.stdin:
        states = run([int(word, 16) for word in line.split()])
        print(",".join(" ".join(f"{value:x}" for value in state) for state in states), flush=True)


main()
