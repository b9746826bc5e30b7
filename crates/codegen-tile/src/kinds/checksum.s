# The ones'-complement sum of $a1 bytes from byte $a0 of the packet and of $a2.
.routine checksum
checksum:
        lw $v1, LENGTH($sp)
        addu $a1, $a0, $a1
        sltu $v0, $v1, $a1
        movn $a1, $v1, $v0
        sltu $v0, $v1, $a0
        movn $a0, $v1, $v0
        subu $a1, $a1, $a0
        addu $a0, $gp, $a0
        move $v0, $a2
        andi $v1, $a0, 1
        bne $v1, $zero, checksum_odd
        srl $a3, $a1, 3
        andi $a1, $a1, 7
        beq $a3, $zero, checksum_two
checksum_eight:
        lhu $v1, 0($a0)
        lhu $a2, 2($a0)
        lhu $t0, 4($a0)
        lhu $t1, 6($a0)
        addu $v0, $v0, $v1
        addu $v0, $v0, $a2
        addu $v0, $v0, $t0
        addu $v0, $v0, $t1
        addiu $a0, $a0, 8
        addiu $a3, $a3, -1
        bne $a3, $zero, checksum_eight
checksum_two:
        sltiu $v1, $a1, 2
        bne $v1, $zero, checksum_one
        lhu $v1, 0($a0)
        addiu $a0, $a0, 2
        addiu $a1, $a1, -2
        addu $v0, $v0, $v1
        b checksum_two
checksum_one:
        beq $a1, $zero, checksum_fold
        lbu $v1, 0($a0)
        sll $v1, $v1, 8
        addu $v0, $v0, $v1
checksum_fold:
        srl $v1, $v0, 16
        andi $v0, $v0, 0xffff
        addu $v0, $v0, $v1
        srl $v1, $v0, 16
        andi $v0, $v0, 0xffff
        addu $v0, $v0, $v1
        jr $ra
checksum_odd:
        sltiu $v1, $a1, 2
        bne $v1, $zero, checksum_one
        lbu $v1, 0($a0)
        lbu $a2, 1($a0)
        sll $v1, $v1, 8
        addu $v0, $v0, $v1
        addu $v0, $v0, $a2
        addiu $a0, $a0, 2
        addiu $a1, $a1, -2
        b checksum_odd
