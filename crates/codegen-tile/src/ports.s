# The way out of the last tile of a chain, if packets leave at the port of their egress: messages of
# the general network to the devices there.
.part port_relay
# What becomes of a packet of an earlier tile goes to its port word by word: the switch of this tile
# sends nothing, so none waits for all of it.
relay_left:
        bltz $v0, relay_none
        move $a0, $v0
LEFT_READ
        move $a1, $csti
HEAD_LINES(relay)
        beq $t0, $zero, relay_long
        addiu $a3, $a2, -1
        sll $a3, $a3, 2
        li $v1, relay_last
        subu $v1, $v1, $a3
        jr $v1
# Messages of 31 words, the most there are, and one of the rest.
relay_long:
        lw $t0, PORT_HEADER($sp)
        lui $v1, 0x1f00
        addu $v1, $v1, $t0
relay_many:
        addiu $a2, $a2, -31
        bltz $a2, relay_rest
        move $cgno, $v1
        TIMES 31 move $cgno, $csti
        j relay_many
relay_rest:
        addiu $a2, $a2, 31
        beq $a2, $zero, begin
        sll $a3, $a2, 24
        addu $cgno, $t0, $a3
        addiu $a3, $a2, -1
        sll $a3, $a3, 2
        li $v1, relay_last
        subu $v1, $v1, $a3
        jr $v1
relay_none:
        move $a0, $v0
LEFT_PAST
        j leave_out
.part port_idle
# A message without a packet made room for the packets before it.
idle:
        move $zero, $csti
        j begin
.part port_send
# Ends with the packet sent to its port, or to the control processor; the side word is in $a0.
finish:
FIRST_WORD
finish_send:
LEFT_PORT
HEAD_LINES(finish)
PORT_BYTES(finish)
        j begin
FINISH_CORE
# Ends without a packet.
leave:
LEFT_PORT
leave_out:
        lui $v0, LEAVE_LENGTH
        li $v1, OWN_PORT
        addu $cgno, $v0, $v1
        lw $v1, SERIAL($sp)
        lui $v0, 1
        addu $v0, $v1, $v0
        sw $v0, SERIAL($sp)
        addiu $cgno, $v1, LEFT_WORDS
        move $cgno, $a0
LEFT_OUT
        j begin
.part port_emit
# Sends the packet and returns.
send_to_port:
FIRST_WORD
LEFT_PORT
HEAD_LINES(send)
PORT_BYTES(send)
        jr $ra
.part port_head
# The first message of a packet, to the device at its port: the number of what leaves and that of
# its words, the side word $a0, the word $t1 that goes beside it if there is one, and the first word
# $a1. $a2 gets the words that follow, and the header of their messages is kept. If the message has
# room for them, they follow in it, and $t0 is not 0.
        srl $v0, $a0, 30
        bne $v0, $zero, NAME_own
        srl $v0, $a1, 16
PORT_MODULO
        sll $v0, $v0, 2
        li $v1, PORT_TABLE
        addu $v0, $v0, $v1
        lw $v0, 0($v0)
        j NAME_head
NAME_own:
        li $v0, OWN_PORT
NAME_head:
        sw $v0, PORT_HEADER($sp)
        andi $a2, $a1, 0xffff
REST_OUT
        addiu $a2, $a2, 5
        srl $a2, $a2, 2
        addiu $a3, $a2, HEAD_WORDS
        sltiu $t0, $a3, 32
        sll $a3, $a3, 24
        lui $v1, WHOLE
        addu $a3, $a3, $v1
        lui $v1, HEAD_LENGTH
        movz $a3, $v1, $t0
        addu $cgno, $v0, $a3
        lw $v1, SERIAL($sp)
        lui $v0, 1
        addu $v0, $v1, $v0
        sw $v0, SERIAL($sp)
        addiu $v0, $a2, LEFT_WORDS+1
        addu $cgno, $v1, $v0
        move $cgno, $a0
LEFT_OUT
        move $cgno, $a1
.part port_bytes
# The packet: in the first message, or in messages of at most 31 words.
        beq $t0, $zero, NAME_long
        addiu $v1, $gp, -2
        andi $a3, $v1, 3
        bne $a3, $zero, NAME_short_odd
        addiu $a3, $a2, -1
        sll $a3, $a3, 2
        li $t1, NAME_last
        subu $t1, $t1, $a3
        addu $v1, $gp, $a3
        jr $t1
NAME_short_odd:
ODD_BEGIN
NAME_short_two:
ODD_WORD
        or $cgno, $v0, $a1
        move $v0, $t1
        addiu $a2, $a2, -1
        bne $a2, $zero, NAME_short_two
        j NAME_done
# Messages of 31 words, the most there are, and one of the rest.
NAME_long:
        addiu $v1, $gp, -2
        andi $a3, $v1, 3
        bne $a3, $zero, NAME_odd
        lw $t0, PORT_HEADER($sp)
        lui $t1, 0x1f00
        addu $t1, $t1, $t0
NAME_many:
        addiu $a2, $a2, -31
        bltz $a2, NAME_rest
        move $cgno, $t1
        TIMES 31 lw $cgno, @($v1)
        addiu $v1, $v1, 124
        j NAME_many
NAME_rest:
        addiu $a2, $a2, 31
        beq $a2, $zero, NAME_done
        sll $a3, $a2, 24
        addu $cgno, $t0, $a3
        addiu $a3, $a2, -1
        sll $a3, $a3, 2
        li $t1, NAME_last
        subu $t1, $t1, $a3
        addiu $v1, $v1, 2
        addu $v1, $v1, $a3
        jr $t1
# The front is not where words begin: each word that leaves is made of two.
NAME_odd:
ODD_BEGIN
NAME_message:
        li $a0, 16
        sltu $t1, $a2, $a0
        movn $a0, $a2, $t1
        subu $a2, $a2, $a0
        sll $t1, $a0, 24
        lw $a1, PORT_HEADER($sp)
        addu $cgno, $a1, $t1
NAME_two:
ODD_WORD
        or $cgno, $v0, $a1
        move $v0, $t1
        addiu $a0, $a0, -1
        bne $a0, $zero, NAME_two
        bne $a2, $zero, NAME_message
NAME_done:
.part left_port
        lw $t1, BESIDE($sp)
.part left_out
        move $cgno, $t1
.part port_row
# The words of a packet that leaves in one message.
NAME_row:
        ROW NAME -126 lw $cgno, @($v1)
.part relay_row
# The words of a packet of an earlier tile that leaves in one message.
NAME_row:
        ROW NAME 0 move $cgno, $csti
