.part first
# Takes a packet: the first word says port and length, then come the words that the program asked
# for, then the bytes. The switch is told how many words to bring.
begin:
        move $v0, $csti
        srl $v1, $v0, 16
        sw $v1, INGRESS($sp)
        andi $a0, $v0, 0xffff
        sw $a0, LENGTH($sp)
        sw $zero, EGRESS($sp)
        addiu $a1, $a0, 3
        srl $a1, $a1, 2
        addiu $csto, $a1, EXTRA_WORDS
EXTRA_LINES
        li $gp, ARRIVES
        li $fp, 128
        sltiu $v0, $a0, 128
        movn $fp, $a0, $v0
.part later
# Takes a message: the first word says step and length. One for a step of this tile is taken, others
# go through.
begin:
        move $v0, $csti
        srl $v1, $v0, 16
        andi $a0, $v0, 0xffff
        addiu $a1, $a0, 3
        srl $a1, $a1, 2
ENTRY_TESTS
        sltiu $a2, $v1, 0x7ffe
        bne $a2, $zero, relay_step
RELAY
take:
        addiu $csto, $a1, STATE_WORDS
TAKE_LINES
        sw $a0, LENGTH($sp)
        li $gp, ARRIVES
.part relay_inner
        addiu $a1, $a1, 2
        xori $a2, $v1, 0x7fff
        sltiu $a2, $a2, 1
        li $a3, 1
        movn $a1, $a3, $a2
        j relay
relay_step:
        addiu $a1, $a1, STATE_WORDS
relay:
        move $csto, $zero
        addiu $csto, $zero, 1
        move $csto, $v0
        move $csto, $a1
        move $csto, $zero
        j begin
.part relay_last
relay_step:
        addiu $csto, $zero, 1
        move $a0, $csti
        move $csto, $zero
        addiu $a1, $a1, 1
        xori $a2, $v1, 0x7fff
        movz $a1, $zero, $a2
        move $csto, $a1
        move $csto2, $a0
        move $csto, $zero
        j begin
.part receive
        move $a2, $gp
        sll $v0, $a1, 2
        addu $a3, $a2, $v0
        srl $v0, $a1, 3
        beq $v0, $zero, begin_rest
begin_eight:
        sw $csti, 0($a2)
        sw $csti, 4($a2)
        sw $csti, 8($a2)
        sw $csti, 12($a2)
        sw $csti, 16($a2)
        sw $csti, 20($a2)
        sw $csti, 24($a2)
        sw $csti, 28($a2)
        addiu $a2, $a2, 32
        addiu $v0, $v0, -1
        bne $v0, $zero, begin_eight
begin_rest:
        beq $a2, $a3, begin_done
begin_word:
        sw $csti, 0($a2)
        addiu $a2, $a2, 4
        bne $a2, $a3, begin_word
begin_done:
.part last
# Ends with the packet sent to its port, or to the control processor; the side word is in $a0.
finish:
        jal send_to_port
        j begin
finish_core:
        lw $a1, LENGTH($sp)
        lui $at, 0xffff
        or $a1, $a1, $at
        jal send
        j begin
# Ends without a packet.
leave:
        move $csto, $zero
THROUGH_NONE
        move $csto2, $a0
        move $csto, $zero
        j begin
# Sends the packet: the number of words for the switch, the first word, the bytes from the front on,
# the side word, and whether more follows.
send_to_port:
        lw $a1, EGRESS($sp)
        lw $a2, LENGTH($sp)
        sll $a1, $a1, 16
        or $a1, $a1, $a2
send:
        lw $a2, LENGTH($sp)
        addiu $a2, $a2, 3
        srl $a2, $a2, 2
        addiu $csto, $a2, 1
        move $csto, $a1
.part inner
# Ends with the packet sent to its port, or to the control processor; the side word is in $a0. Both
# go through the tiles that follow.
finish:
        jal send_to_port
        j begin
finish_core:
        lw $a1, LENGTH($sp)
        lui $at, 0xffff
        or $a1, $a1, $at
        jal send
        j begin
# Ends without a packet.
leave:
        addiu $csto, $zero, 2
        lui $csto, 0x7fff
        move $csto, $a0
THROUGH_NONE
        move $csto, $zero
        j begin
# Goes on with step $a0 on another tile.
pass:
        lw $a2, LENGTH($sp)
        sll $v0, $a0, 16
        or $v0, $v0, $a2
        addiu $a2, $a2, 3
        srl $a2, $a2, 2
        addiu $csto, $a2, MESSAGE_WORDS
        move $csto, $v0
PASS_LINES
        lui $a0, 0x2000
        jal send_bytes
        j begin
send_to_port:
        lw $a1, EGRESS($sp)
        lw $a2, LENGTH($sp)
        sll $a1, $a1, 16
        or $a1, $a1, $a2
send:
        lw $a2, LENGTH($sp)
        lui $v0, 0x7ffe
        or $v0, $v0, $a2
        addiu $a2, $a2, 3
        srl $a2, $a2, 2
        addiu $csto, $a2, 3
        move $csto, $v0
        move $csto, $a0
        move $csto, $a1
.part bytes
send_bytes:
        andi $a3, $gp, 3
        bne $a3, $zero, send_odd
        move $v1, $gp
        srl $v0, $a2, 3
        andi $a2, $a2, 7
        beq $v0, $zero, send_rest
send_eight:
        lw $csto, 0($v1)
        lw $csto, 4($v1)
        lw $csto, 8($v1)
        lw $csto, 12($v1)
        lw $csto, 16($v1)
        lw $csto, 20($v1)
        lw $csto, 24($v1)
        lw $csto, 28($v1)
        addiu $v1, $v1, 32
        addiu $v0, $v0, -1
        bne $v0, $zero, send_eight
send_rest:
        beq $a2, $zero, send_side
send_word:
        lw $csto, 0($v1)
        addiu $v1, $v1, 4
        addiu $a2, $a2, -1
        bne $a2, $zero, send_word
send_side:
THROUGH_NONE
SIDE
        srl $v0, $a0, 29
        andi $v0, $v0, 1
        xori $csto, $v0, 1
        jr $ra
# The front is not at a word: each word that leaves is made of two.
send_odd:
        subu $v1, $gp, $a3
        sll $a3, $a3, 3
        li $v0, 32
        subu $t0, $v0, $a3
        lw $v0, 0($v1)
        beq $a2, $zero, send_side
send_two:
        lw $t1, 4($v1)
        sllv $v0, $v0, $a3
        srlv $a1, $t1, $t0
        addiu $v1, $v1, 4
        or $csto, $v0, $a1
        move $v0, $t1
        addiu $a2, $a2, -1
        bne $a2, $zero, send_two
        j send_side
