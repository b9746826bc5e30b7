# Searches $a1 bytes from byte $a0 of the packet by an automaton: classes of bytes at $a2, the first
# row at $a3. $v0 is the record of what was found, or 0, and $v1 the byte after it.
.routine scan
scan:
        lw $v1, LENGTH($sp)
        addu $a1, $a0, $a1
        sltu $v0, $v1, $a1
        movn $a1, $v1, $v0
        li $v0, 0
        sltu $t0, $a0, $a1
        beq $t0, $zero, scan_done
        addu $a0, $gp, $a0
        addu $a1, $gp, $a1
scan_byte:
        lbu $t0, 0($a0)
        addiu $a0, $a0, 1
        sll $t0, $t0, 2
        addu $t0, $t0, $a2
        lw $t0, 0($t0)
        addu $t0, $t0, $a3
        lw $a3, 0($t0)
        beq $a3, $zero, scan_done
        bgez $a3, scan_dull
        sll $a3, $a3, 1
        srl $a3, $a3, 1
        lw $v0, 0($a3)
        subu $v1, $a0, $gp
scan_dull:
        bne $a0, $a1, scan_byte
scan_done:
        jr $ra
