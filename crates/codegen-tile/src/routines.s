# Inserts zeros: $a0 bytes are before them, and there are $a1. $v0 says whether that was possible.
.routine insert
insert:
        sltu $v0, $fp, $a0
        bne $v0, $zero, insert_not
        addu $v1, $fp, $a1
        sltiu $v0, $v1, 257
        beq $v0, $zero, insert_not
        lw $a2, LENGTH($sp)
        addu $a2, $a2, $a1
        srl $v0, $a2, 16
        bne $v0, $zero, insert_not
        sw $a2, LENGTH($sp)
        # A window whose end was cut off moves up if there is no room in front of it. Its address
        # modulo 4 stays.
        subu $a2, $gp, $a1
        li $v0, BUFFER
        sltu $v0, $a2, $v0
        beq $v0, $zero, insert_room
        addu $a2, $gp, $fp
        li $v0, REPLACED_END
        subu $v0, $v0, $a2
        srl $v0, $v0, 2
        sll $v0, $v0, 2
        addu $a3, $a2, $v0
insert_up:
        beq $a2, $gp, insert_up_done
        addiu $a2, $a2, -1
        addiu $a3, $a3, -1
        lbu $v0, 0($a2)
        sb $v0, 0($a3)
        j insert_up
insert_up_done:
        move $gp, $a3
insert_room:
        move $fp, $v1
        move $a2, $gp
        subu $gp, $gp, $a1
        move $a3, $gp
        beq $a0, $zero, insert_zeros
insert_byte:
        lbu $v0, 0($a2)
        addiu $a2, $a2, 1
        sb $v0, 0($a3)
        addiu $a3, $a3, 1
        addiu $a0, $a0, -1
        bne $a0, $zero, insert_byte
insert_zeros:
        beq $a1, $zero, insert_done
insert_zero:
        sb $zero, 0($a3)
        addiu $a3, $a3, 1
        addiu $a1, $a1, -1
        bne $a1, $zero, insert_zero
insert_done:
        li $v0, 1
        jr $ra
insert_not:
        li $v0, 0
        jr $ra
# Removes $a1 bytes, before which are $a0, likewise.
.routine remove
remove:
        addu $v1, $a0, $a1
        sltu $v0, $fp, $v1
        bne $v0, $zero, remove_not
        subu $fp, $fp, $a1
        lw $v1, LENGTH($sp)
        subu $v1, $v1, $a1
        sw $v1, LENGTH($sp)
        addu $a2, $gp, $a0
        addu $a3, $a2, $a1
        beq $a0, $zero, remove_done
remove_byte:
        lbu $v0, -1($a2)
        addiu $a2, $a2, -1
        addiu $a3, $a3, -1
        sb $v0, 0($a3)
        bne $a2, $gp, remove_byte
remove_done:
        addu $gp, $gp, $a1
        li $v0, 1
        jr $ra
remove_not:
        li $v0, 0
        jr $ra
# Replaces the packet by $a0 zeros, likewise.
.routine replace
replace:
        sltiu $v0, $a0, 257
        beq $v0, $zero, replace_done
        sw $a0, LENGTH($sp)
        move $fp, $a0
        li $gp, REPLACED_END
        subu $gp, $gp, $a0
        move $a1, $gp
        beq $a0, $zero, replace_done
replace_byte:
        sb $zero, 0($a1)
        addiu $a1, $a1, 1
        addiu $a0, $a0, -1
        bne $a0, $zero, replace_byte
replace_done:
        jr $ra
# Copies bytes of the packet to the frame, zeros in place of those past a limit. It keeps all
# registers.
.routine fetch
fetch:
        sw $v0, KEPT($sp)
        sw $v1, KEPT+4($sp)
        sw $a0, KEPT+8($sp)
        sw $a1, KEPT+12($sp)
        sw $a2, KEPT+16($sp)
        sw $a3, KEPT+20($sp)
        lw $v0, FETCH($sp)
        lw $v1, FETCH+4($sp)
        lw $a0, FETCH+8($sp)
        lw $a1, FETCH+12($sp)
        addu $a2, $gp, $v0
fetch_byte:
        sltu $a3, $v0, $v1
        beq $a3, $zero, fetch_past
        lbu $a3, 0($a2)
fetch_past:
        sb $a3, 0($a1)
        addiu $v0, $v0, 1
        addiu $a1, $a1, 1
        addiu $a2, $a2, 1
        addiu $a0, $a0, -1
        bne $a0, $zero, fetch_byte
        lw $v0, KEPT($sp)
        lw $v1, KEPT+4($sp)
        lw $a0, KEPT+8($sp)
        lw $a1, KEPT+12($sp)
        lw $a2, KEPT+16($sp)
        lw $a3, KEPT+20($sp)
        jr $ra
# Divides a value of $a0 words at WORK by that at DIVISOR. The quotient takes the place of the
# first; the remainder is at REMAINDER.
.routine divide
divide:
        sll $a1, $a0, 2
        addiu $a2, $sp, WORK
        addu $a3, $a2, $a1
        move $v0, $a2
divide_clear:
        sw $zero, OWN3($v0)
        addiu $v0, $v0, 4
        bne $v0, $a3, divide_clear
        sw $zero, OWN3($v0)
        sw $zero, OWN($v0)
        sll $t0, $a0, 5
divide_bit:
        move $v0, $a2
        li $v1, 0
divide_shift:
        lw $t1, 0($v0)
        srl $at, $t1, 31
        sll $t1, $t1, 1
        or $t1, $t1, $v1
        sw $t1, 0($v0)
        move $v1, $at
        addiu $v0, $v0, 4
        bne $v0, $a3, divide_shift
        move $v0, $a2
divide_rest:
        lw $t1, OWN3($v0)
        srl $at, $t1, 31
        sll $t1, $t1, 1
        or $t1, $t1, $v1
        sw $t1, OWN3($v0)
        move $v1, $at
        addiu $v0, $v0, 4
        sltu $at, $a3, $v0
        beq $at, $zero, divide_rest
        move $v0, $a2
        li $v1, 0
divide_compare:
        lw $t1, OWN3($v0)
        lw $at, OWN($v0)
        subu $a1, $t1, $at
        sltu $t1, $t1, $at
        sltu $at, $a1, $v1
        or $v1, $t1, $at
        addiu $v0, $v0, 4
        sltu $at, $a3, $v0
        beq $at, $zero, divide_compare
        bne $v1, $zero, divide_next
        move $v0, $a2
divide_subtract:
        lw $t1, OWN3($v0)
        lw $at, OWN($v0)
        subu $a1, $t1, $at
        sltu $t1, $t1, $at
        sltu $at, $a1, $v1
        subu $a1, $a1, $v1
        or $v1, $t1, $at
        sw $a1, OWN3($v0)
        addiu $v0, $v0, 4
        sltu $at, $a3, $v0
        beq $at, $zero, divide_subtract
        lw $t1, 0($a2)
        ori $t1, $t1, 1
        sw $t1, 0($a2)
divide_next:
        addiu $t0, $t0, -1
        bne $t0, $zero, divide_bit
        jr $ra
