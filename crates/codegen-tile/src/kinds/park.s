# Copies the packet and what belongs to it into the entry $a1.
.routine park_keep
park_keep:
        lw $t0, KEY_BYTES($a0)
        addu $t1, $a1, $t0
        lw $t0, INGRESS($sp)
        sw $t0, KEY($t1)
        lw $t0, EGRESS($sp)
        sw $t0, KEY+4($t1)
        lw $a3, LENGTH($sp)
        sw $a3, KEY+8($t1)
        sw $fp, KEY+12($t1)
        lw $t0, HAND($sp)
        sw $t0, KEY+16($t1)
        lw $t0, HAND+4($sp)
        sw $t0, KEY+20($t1)
        move $a1, $gp
        addiu $a2, $t1, KEY+26
        j park_copy
# Replaces the packet by that of the entry $a1.
.routine park_take
park_take:
        lw $t0, KEY_BYTES($a0)
        addu $t1, $a1, $t0
        lw $t0, KEY($t1)
        sw $t0, INGRESS($sp)
        lw $t0, KEY+4($t1)
        sw $t0, EGRESS($sp)
        lw $a3, KEY+8($t1)
        sw $a3, LENGTH($sp)
        lw $fp, KEY+12($t1)
        lw $t0, KEY+16($t1)
        sw $t0, HAND($sp)
        lw $t0, KEY+20($t1)
        sw $t0, HAND+4($sp)
        addiu $a1, $t1, KEY+26
        li $gp, ARRIVES
        move $a2, $gp
        j park_copy
# Copies $a3 bytes from $a1 to $a2, whose address modulo 4 is 2; in words if both addresses are so.
.routine park_copy
park_copy:
        andi $t0, $a1, 3
        xori $t0, $t0, 2
        bne $t0, $zero, park_bytes
        addiu $a1, $a1, -2
        addiu $a2, $a2, -2
        addiu $a3, $a3, 5
        srl $a3, $a3, 2
park_word:
        lw $t0, 0($a1)
        addiu $a1, $a1, 4
        sw $t0, 0($a2)
        addiu $a2, $a2, 4
        addiu $a3, $a3, -1
        bne $a3, $zero, park_word
        jr $ra
park_bytes:
        beq $a3, $zero, park_done
park_byte:
        lbu $t0, 0($a1)
        addiu $a1, $a1, 1
        sb $t0, 0($a2)
        addiu $a2, $a2, 1
        addiu $a3, $a3, -1
        bne $a3, $zero, park_byte
park_done:
        jr $ra
