# Copies $a2 bytes from $a0 to $a1.
.routine copy
copy:
        beq $a2, $zero, copy_done
copy_byte:
        lbu $v0, 0($a0)
        addiu $a0, $a0, 1
        sb $v0, 0($a1)
        addiu $a1, $a1, 1
        addiu $a2, $a2, -1
        bne $a2, $zero, copy_byte
copy_done:
        jr $ra
