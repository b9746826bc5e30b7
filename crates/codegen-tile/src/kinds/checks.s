# CRC-32 of $a1 bytes from $a0, with the table at $a2.
.routine crc32
crc32:
        nor $v0, $zero, $zero
crc32_byte:
        lbu $v1, 0($a0)
        addiu $a0, $a0, 1
        xor $v1, $v1, $v0
        andi $v1, $v1, 255
        sll $v1, $v1, 2
        addu $v1, $v1, $a2
        lw $v1, 0($v1)
        srl $v0, $v0, 8
        xor $v0, $v0, $v1
        addiu $a1, $a1, -1
        bne $a1, $zero, crc32_byte
        nor $v0, $v0, $zero
        jr $ra
