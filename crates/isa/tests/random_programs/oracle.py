"""Runs programs on Unicorn and writes what they do, instruction by instruction.

Reads programs from standard input until it ends, and answers each on standard output. All numbers are 32 bits, little-endian.
A program is: the instruction set (0 RV32IM, 1 ARMv4), the address of its text, the number of words of it, the address of its
data, the number of bytes of it, the registers (RISC-V: x0 to x31; ARM: r0 to r14 and the CPSR), the words, the bytes. It begins
with its first word and ends when it gets behind its last.
The answer is: the number of states; each state, before the first instruction and behind each, as program counter, registers
as above, data. If the program fails, the answer is 0xffffffff and the length and text of a message.
"""

import struct
import sys

from unicorn import (
    UC_ARCH_ARM, UC_ARCH_RISCV, UC_HOOK_CODE, UC_MODE_ARM, UC_MODE_RISCV32, Uc, UcError,
)
from unicorn import arm_const as arm
from unicorn import riscv_const as riscv

PAGE = 0x1000


def registers_of(is_arm):
    if is_arm:
        general = [arm.UC_ARM_REG_R0 + number for number in range(13)]
        return general + [arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR, arm.UC_ARM_REG_CPSR]
    return [riscv.UC_RISCV_REG_X0 + number for number in range(32)]


def machine(is_arm):
    """An emulator of an instruction set; making one takes longer than running many programs on it."""
    if is_arm:
        emulator = Uc(UC_ARCH_ARM, UC_MODE_ARM)
        emulator.ctl_set_cpu_model(arm.UC_CPU_ARM_SA1110)  # a StrongARM: ARMv4 without Thumb
        return emulator
    return Uc(UC_ARCH_RISCV, UC_MODE_RISCV32)


def run(emulator, is_arm, text_address, text, data_address, data, values):
    regions = [begin for begin, _, _ in emulator.mem_regions()]
    for address, content in ((text_address, text), (data_address, data)):
        begin = address // PAGE * PAGE
        if begin not in regions:
            emulator.mem_map(begin, -(-(address + len(content) - begin) // PAGE) * PAGE)
        emulator.mem_write(address, content)
    end = text_address + len(text)
    emulator.ctl_remove_cache(text_address, end)
    registers = registers_of(is_arm)
    if is_arm:  # the mode first: it decides which r13 and r14 are meant
        emulator.reg_write(registers[-1], values[-1])
    for register, value in zip(registers, values):
        emulator.reg_write(register, value)
    states = []

    def record(emulator, address, _size, _data):
        now = emulator.reg_read_batch(registers)
        states.append(struct.pack(f"<{len(now) + 1}I", address, *now) + emulator.mem_read(data_address, len(data)))

    hook = emulator.hook_add(UC_HOOK_CODE, record)
    try:
        emulator.emu_start(text_address, end)
    finally:
        emulator.hook_del(hook)
    record(emulator, emulator.reg_read(arm.UC_ARM_REG_PC if is_arm else riscv.UC_RISCV_REG_PC), 0, None)
    return states


def main():
    source, answer = sys.stdin.buffer, sys.stdout.buffer
    machines = {}
    while header := source.read(20):
        set_number, text_address, words, data_address, size = struct.unpack("<5I", header)
        is_arm = set_number == 1
        count = 16 if is_arm else 32
        values = struct.unpack(f"<{count}I", source.read(4 * count))
        text, data = source.read(4 * words), source.read(size)
        if is_arm not in machines:
            machines[is_arm] = machine(is_arm)
        try:
            states = run(machines[is_arm], is_arm, text_address, text, data_address, data, values)
            answer.write(struct.pack("<I", len(states)) + b"".join(states))
        except UcError as error:
            message = str(error).encode()
            answer.write(struct.pack("<2I", 0xFFFFFFFF, len(message)) + message)
        answer.flush()


main()
