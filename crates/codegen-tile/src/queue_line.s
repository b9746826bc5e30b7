# How a queue gives its line card a packet: over the first static network, as one message, or over the general
# network, in messages of at most 31 words.
.part static_count
        addiu $csto, $a0, -1
.part static_short
        sltiu $v0, $a0, 33
        beq $v0, $zero, queue_send_long
.part static_long
        addiu $v1, $s0, 4
        move $s0, $a3
queue_send_many:
        TIMES 16 lw $csto, @($v1)
        addiu $v1, $v1, 64
        addiu $a0, $a0, -16
        sltiu $v0, $a0, 33
        beq $v0, $zero, queue_send_many
        sll $t0, $a0, 2
.part static_around
queue_send_word_around:
        xor $t0, $v1, $s5
        movz $v1, $s6, $t0
        lw $csto, 0($v1)
        addiu $v1, $v1, 4
        addiu $a0, $a0, -1
        bne $a0, $zero, queue_send_word_around
.part general_count
.part general_short
        sltiu $v0, $a0, 32
        beq $v0, $zero, queue_send_long
        sll $v0, $a0, 24
        addu $cgno, $gp, $v0
.part general_long
        addiu $v1, $s0, 4
        move $s0, $a3
        lui $t1, 0x1f00
        addu $t1, $t1, $gp
queue_send_many:
        move $cgno, $t1
        TIMES 31 lw $cgno, @($v1)
        addiu $v1, $v1, 124
        addiu $a0, $a0, -31
        sltiu $v0, $a0, 32
        beq $v0, $zero, queue_send_many
        sll $v0, $a0, 24
        addu $cgno, $gp, $v0
        sll $t0, $a0, 2
.part general_around
queue_send_part_around:
        li $t1, 31
        sltu $t2, $a0, $t1
        movn $t1, $a0, $t2
        subu $a0, $a0, $t1
        sll $t2, $t1, 24
        addu $cgno, $gp, $t2
queue_send_word_around:
        xor $t0, $v1, $s5
        movz $v1, $s6, $t0
        lw $cgno, 0($v1)
        addiu $v1, $v1, 4
        addiu $t1, $t1, -1
        bne $t1, $zero, queue_send_word_around
        bne $a0, $zero, queue_send_part_around
