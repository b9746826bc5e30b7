.part first
# Takes a packet: the first word says port and length, then come the words that the program asked
# for, then two bytes that only align, then those of the packet.
begin:
        move $v0, $csti
IDLE_TEST
        srl $v1, $v0, 16
        sw $v1, INGRESS($sp)
        andi $a0, $v0, 0xffff
        sw $a0, LENGTH($sp)
        sw $zero, EGRESS($sp)
        addiu $a1, $a0, 5
        srl $a1, $a1, 2
EXTRA_LINES
        li $gp, ARRIVES
        li $fp, 128
        sltiu $v0, $a0, 128
        movn $fp, $a0, $v0
.part idle_test
        addiu $v1, $v0, 1
        beq $v1, $zero, idle
.part later
# Takes a message. One for a step of this tile is taken, others go through.
begin:
        move $v0, $csti
        srl $a1, $v0, 28
        xori $a1, $a1, 15
        bne $a1, $zero, relay_left
IDLE_TEST
        srl $v1, $v0, 16
        andi $v1, $v1, 0xfff
        andi $a0, $v0, 0xffff
        addiu $a1, $a0, 5
        srl $a1, $a1, 2
ENTRY_TESTS
.part relay
        addiu $a1, $a1, STATE_WORDS
        move $a3, $a1
        li $a2, RELAYED
        j relay
# What becomes of a packet: a word, and then the packet if there is one. All of it comes before any
# of it goes, as the switch does.
relay_left:
        bltz $v0, relay_none
LEFT_READ
        move $v1, $csti
        andi $a1, $v1, 0xffff
        addiu $a1, $a1, 5
        srl $a1, $a1, 2
        addiu $a3, $a1, 1
        li $a2, RELAYED
LEFT_KEEP
        sw $v1, 0($a2)
        addiu $a2, $a2, 4
relay:
        sw $csti, 0($a2)
        addiu $a2, $a2, 4
        addiu $a1, $a1, -1
        bne $a1, $zero, relay
        addiu $csto, $a3, 1
        move $csto, $v0
        li $a2, RELAYED
relay_word:
        lw $csto, 0($a2)
        addiu $a2, $a2, 4
        addiu $a3, $a3, -1
        bne $a3, $zero, relay_word
        move $csto, $zero
        j begin
relay_none:
        addiu $csto, $zero, LEFT_WORDS
        move $csto, $v0
LEFT_PASS
        move $csto, $zero
        j begin
.part take
take:
TAKE_LINES
        sw $a0, LENGTH($sp)
        li $gp, ARRIVES
.part receive
        addiu $a2, $gp, -2
        sll $v0, $a1, 2
        addu $a3, $a2, $v0
        srl $v0, $a1, 4
        beq $v0, $zero, begin_rest
begin_many:
        SIXTEEN sw $csti, @($a2)
        addiu $a2, $a2, 64
        addiu $v0, $v0, -1
        bne $v0, $zero, begin_many
begin_rest:
        beq $a2, $a3, begin_done
begin_word:
        sw $csti, 0($a2)
        addiu $a2, $a2, 4
        bne $a2, $a3, begin_word
begin_done:
.part idle
# A message without a packet goes on: it makes room for the packets before it.
idle:
        addiu $csto, $zero, 1
        addiu $csto, $zero, -1
        move $csto, $zero
        j begin
.part send
# Ends with the packet sent to its port, or to the control processor; the side word is in $a0. A 0
# ends what leaves of a packet.
finish:
FIRST_WORD
finish_send:
SEND_LINES(finish)
        move $csto, $zero
        j begin
FINISH_CORE
# Ends without a packet.
leave:
        addiu $csto, $zero, LEFT_WORDS
        move $csto, $a0
LEFT_OWN
        move $csto, $zero
        j begin
# Sends the packet and returns.
send_to_port:
FIRST_WORD
SEND_LINES(send)
        jr $ra
.part send_lines
# The number of words, the side word, the first word, and bytes from the front on with two before
# them.
        addiu $a2, $a2, 5
        srl $a2, $a2, 2
        addiu $csto, $a2, LEFT_WORDS+1
        move $csto, $a0
LEFT_OWN
        move $csto, $a1
.part bytes_lines
MANY_BEGIN
        SIXTEEN lw $csto, @($v1)
MANY_END
NAME_word:
        lw $csto, 0($v1)
        addiu $v1, $v1, 4
        addiu $a2, $a2, -1
        bne $a2, $zero, NAME_word
        j NAME_done
ODD_LINES
NAME_two:
ODD_WORD
        or $csto, $v0, $a1
        move $v0, $t1
        addiu $a2, $a2, -1
        bne $a2, $zero, NAME_two
NAME_done:
.part pass
# Goes on with step $a0 on another tile.
pass:
        lw $a2, LENGTH($sp)
        sll $v0, $a0, 16
        or $v0, $v0, $a2
        addiu $a2, $a2, 5
        srl $a2, $a2, 2
        addiu $csto, $a2, MESSAGE_WORDS
        move $csto, $v0
PASS_LINES
BYTES_LINES(pass)
        move $csto, $zero
        j begin
.part hand
        lw $t0, ARRIVAL($sp)
        sw $t0, HAND($sp)
        lw $t0, ARRIVAL+4($sp)
        sw $t0, HAND+4($sp)
.part left_read
        move $t1, $csti
.part left_keep
        sw $t1, 0($a2)
        addiu $a2, $a2, 4
        addiu $a3, $a3, 1
.part left_pass
        move $csto, $csti
.part left_own
        lw $csto, INGRESS($sp)
.part first_word
        lw $a1, EGRESS($sp)
        lw $a2, LENGTH($sp)
        sll $a1, $a1, 16
        or $a1, $a1, $a2
.part finish_core
finish_core:
        lw $a2, LENGTH($sp)
        lui $a1, 0xffff
        or $a1, $a1, $a2
        j finish_send
.part many_begin
        addiu $v1, $gp, -2
        andi $a3, $v1, 3
        bne $a3, $zero, NAME_odd
        srl $v0, $a2, 4
        andi $a2, $a2, 15
        beq $v0, $zero, NAME_rest
NAME_many:
.part many_end
        addiu $v0, $v0, -1
        addiu $v1, $v1, 64
        bne $v0, $zero, NAME_many
NAME_rest:
        beq $a2, $zero, NAME_done
.part odd_lines
# The front is not where words begin: each word that leaves is made of two.
NAME_odd:
ODD_BEGIN
.part odd_begin
        subu $v1, $v1, $a3
        sll $a3, $a3, 3
        li $v0, 32
        subu $t0, $v0, $a3
        lw $v0, 0($v1)
.part odd_word
        lw $t1, 4($v1)
        sllv $v0, $v0, $a3
        srlv $a1, $t1, $t0
        addiu $v1, $v1, 4
