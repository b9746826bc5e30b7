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
