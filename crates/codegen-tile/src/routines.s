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
# Goes down a trie from the entry $a0, with the key at WORK; $v0 is the entry with a value.
.routine walk
walk:
        addiu $a1, $sp, WORK+2
walk_byte:
        bgez $a0, walk_done
        lbu $a2, 0($a1)
        addiu $a1, $a1, 1
        srl $a3, $a2, 4
        addu $a0, $a0, $a3
        sll $a0, $a0, 2
        lw $a0, 0($a0)
        bgez $a0, walk_done
        andi $a2, $a2, 15
        addu $a0, $a0, $a2
        sll $a0, $a0, 2
        lw $a0, 0($a0)
        b walk_byte
walk_done:
        move $v0, $a0
        jr $ra
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
# The product of a key of $a0 words and a multiplier modulo a generator of degree $a1, over GF(2).
# WORK has the generator and the multiplier from bit 63 on; the key follows 32 bytes after. The
# result is in $v1 and $v0, from bit 63 on.
.routine hash
hash:
        li $v0, 0
        li $v1, 0
        addiu $a2, $sp, WORK+32
hash_word:
        lw $a3, 0($a2)
        addiu $a2, $a2, 4
        li $t0, 32
hash_bit:
        srl $t1, $v1, 31
        sll $v1, $v1, 1
        srl $at, $v0, 31
        or $v1, $v1, $at
        sll $v0, $v0, 1
        beq $t1, $zero, hash_even
        lw $t1, WORK($sp)
        lw $at, WORK+4($sp)
        xor $v1, $v1, $t1
        xor $v0, $v0, $at
hash_even:
        srl $t1, $a3, 31
        subu $at, $zero, $a1
        sllv $t1, $t1, $at
        xor $v0, $v0, $t1
        sll $a3, $a3, 1
        addiu $t0, $t0, -1
        bne $t0, $zero, hash_bit
        addiu $a0, $a0, -1
        bne $a0, $zero, hash_word
        move $t0, $v1
        move $a0, $v0
        lw $a2, WORK+8($sp)
        lw $a3, WORK+12($sp)
        li $v0, 0
        li $v1, 0
hash_product:
        srl $t1, $v1, 31
        sll $v1, $v1, 1
        srl $at, $v0, 31
        or $v1, $v1, $at
        sll $v0, $v0, 1
        beq $t1, $zero, hash_double
        lw $t1, WORK($sp)
        lw $at, WORK+4($sp)
        xor $v1, $v1, $t1
        xor $v0, $v0, $at
hash_double:
        bgez $a2, hash_next
        xor $v1, $v1, $t0
        xor $v0, $v0, $a0
hash_next:
        sll $a2, $a2, 1
        srl $at, $a3, 31
        or $a2, $a2, $at
        sll $a3, $a3, 1
        addiu $a1, $a1, -1
        bne $a1, $zero, hash_product
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
