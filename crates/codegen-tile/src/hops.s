# The way in and out of tiles of a chain whose messages go over the general network: in messages of at most 31
# words, the first of which has what belongs to a packet, and bytes as far as there is room. Registers of static
# networks stand for those of the general one.
.part hop_first
# Takes a packet: the header, the first word, which says port and length, then come the words that the program
# asked for, then two bytes that only align, then those of the packet.
begin:
        move $t3, $csti
        move $v0, $csti
        andi $a0, $v0, 0xffff
HOP_RECEIVE
.part hop_later
# Takes a message. One for a step of this tile is taken, others go through.
begin:
        move $t3, $csti
        move $v0, $csti
        srl $v1, $v0, 16
ENTRY_TESTS
take:
        andi $a0, $v0, 0xffff
HOP_RECEIVE
other:
        srl $a1, $v0, 28
        xori $a1, $a1, 15
        bne $a1, $zero, relay_left
.part hop_receive
        addiu $a1, $a0, 5
        srl $a1, $a1, 2
        li $gp, ARRIVES
BEFORE_BYTES
        srl $t3, $t3, 24
        andi $t3, $t3, 31
        addiu $t3, $t3, -COUNT_BEFORE
        move $a2, $gp
        bne $t3, $zero, take_some
# The header of a message with more of the bytes.
take_more:
        move $t3, $csti
        srl $t3, $t3, 24
        andi $t3, $t3, 31
take_some:
        subu $a1, $a1, $t3
        addiu $t3, $t3, -1
        sll $t3, $t3, 2
        addu $a2, $a2, $t3
        li $t4, take_last
        subu $t4, $t4, $t3
        jr $t4
.part hop_taken
        addiu $a2, $a2, 4
        bne $a1, $zero, take_more
.part hop_relay
# Messages go to the next tile as they come: $a1 counts the words of all, $a3 those of one.
        andi $a1, $v0, 0xffff
        addiu $a1, $a1, 5
        srl $a1, $a1, 2
        addiu $a1, $a1, STATE_WORDS
HOP_SAME
        addiu $a3, $a3, -1
        j relay_more
relay_left:
        bltz $v0, relay_none
LEFT_READ
        move $v1, $csti
        andi $a1, $v1, 0xffff
REST_PAST
        addiu $a1, $a1, 5
        srl $a1, $a1, 2
HOP_SAME
LEFT_OUT
        move $csto, $v1
        addiu $a3, $a3, -LEFT_WORDS+1
relay_more:
        subu $a1, $a1, $a3
relay_word:
        beq $a3, $zero, relay_next
        move $csto, $csti
        addiu $a3, $a3, -1
        j relay_word
relay_next:
        beq $a1, $zero, begin
        move $t3, $csti
        srl $a3, $t3, 24
        andi $a3, $a3, 31
        sll $a2, $a3, 24
        addu $csto, $t4, $a2
        j relay_more
relay_none:
HOP_SAME
        move $csto, $csti
        j begin
.part hop_same
# The header of a message of as many words as that which comes, and its first word.
        srl $a3, $t3, 24
        andi $a3, $a3, 31
        sll $a2, $a3, 24
        li $t4, NEXT_TILE
        addu $csto, $t4, $a2
        move $csto, $v0
.part hop_port_relay
# What becomes of a packet of an earlier tile goes to its port word by word: $t3 counts the words of the message
# that comes, $t4 those of the one that goes.
relay_left:
        bltz $v0, relay_none
        move $a0, $v0
LEFT_READ
        move $a1, $csti
        srl $t3, $t3, 24
        andi $t3, $t3, 31
        addiu $t3, $t3, -LEFT_WORDS+1
HEAD_LINES(relay)
        move $t4, $a2
        bne $t0, $zero, relay_in
relay_out:
        lw $v1, PORT_HEADER($sp)
        li $t4, 31
        sltu $t5, $a2, $t4
        movn $t4, $a2, $t5
        sll $t5, $t4, 24
        addu $csto, $v1, $t5
relay_in:
        bne $t3, $zero, relay_one
        move $t3, $csti
        srl $t3, $t3, 24
        andi $t3, $t3, 31
relay_one:
        move $csto, $csti
        addiu $t3, $t3, -1
        addiu $t4, $t4, -1
        addiu $a2, $a2, -1
        beq $a2, $zero, begin
        bne $t4, $zero, relay_in
        j relay_out
relay_none:
        move $a0, $v0
LEFT_PAST
        j leave_out
.part hop_send
# Ends with the packet sent to the next tile; the side word is in $a0.
finish:
FIRST_WORD
finish_send:
HOP_LEFT(finish)
        j begin
FINISH_CORE
# Ends without a packet.
leave:
        li $v0, NEXT_TILE
        lui $v1, 0x0200
        addu $csto, $v0, $v1
        move $csto, $a0
LEFT_LAST
        j begin
.part hop_emit
# Sends the packet and returns.
send_to_port:
FIRST_WORD
HOP_LEFT(send)
        jr $ra
.part hop_left
REST_OFF
        addiu $a2, $a2, 5
        srl $a2, $a2, 2
HOP_HEAD LEFT_WORDS+1
        move $csto, $a0
LEFT_OWN
        move $csto, $a1
PORT_BYTES(NAME)
.part hop_pass
# Goes on with step $a0 on another tile.
pass:
        lw $a2, LENGTH($sp)
REST_OFF
        sll $a0, $a0, 16
        or $a0, $a0, $a2
        addiu $a2, $a2, 5
        srl $a2, $a2, 2
HOP_HEAD MESSAGE_WORDS
        move $csto, $a0
PASS_LINES
PORT_BYTES(pass)
        j begin
.part hop_head
# The header of the first message, which has so many words besides the $a2 words of bytes; $t0 is not 0 if it has room
# for these as well.
        li $v0, NEXT_TILE
        sw $v0, PORT_HEADER($sp)
        addiu $a3, $a2, HOP_BESIDES
        sltiu $t0, $a3, 32
        li $v1, HOP_BESIDES
        movz $a3, $v1, $t0
        sll $a3, $a3, 24
        addu $csto, $v0, $a3
