.part first
# Takes a packet: the first word says port and length, then come the words that the program asked
# for, then two bytes that only align, then those of the packet. What can wait comes after these.
begin:
        move $v0, $csti
        andi $a0, $v0, 0xffff
RECEIVE
.part first_taken
        srl $v1, $v0, 16
        sw $v1, INGRESS($sp)
REST_ADD
        sw $a0, LENGTH($sp)
        sw $zero, EGRESS($sp)
        li $fp, 128
        sltiu $v0, $a0, 128
        movn $fp, $a0, $v0
CLEARED
        j engine0_step0
.part later_taken
REST_ADD
        sw $a0, LENGTH($sp)
CLEARED
ENTRY_JUMPS
.part idle_test
        addiu $v1, $v0, 1
        beq $v1, $zero, idle
.part later
# Takes a message. One for a step of this tile is taken, others go through.
begin:
        move $v0, $csti
        srl $v1, $v0, 16
ENTRY_TESTS
take:
        andi $a0, $v0, 0xffff
RECEIVE
other:
        srl $a1, $v0, 28
        xori $a1, $a1, 15
        bne $a1, $zero, relay_left
IDLE_TEST
.part relay
        andi $a1, $v0, 0xffff
        addiu $a1, $a1, 5
        srl $a1, $a1, 2
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
REST_PAST
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
        move $csto, $a3
        move $csto, $v0
        li $a2, RELAYED
relay_word:
        lw $csto, 0($a2)
        addiu $a2, $a2, 4
        addiu $a3, $a3, -1
        bne $a3, $zero, relay_word
        j begin
relay_none:
        addiu $csto, $zero, 1
        move $csto, $v0
        move $csto, $csti
        j begin
.part receive
        addiu $a1, $a0, 1
        srl $a3, $a1, 7
        andi $a2, $a1, 124
        bne $a3, $zero, take_many
        li $gp, ARRIVES
BEFORE_BYTES
        li $a3, take_last
        subu $a3, $a3, $a2
        addu $a2, $gp, $a2
        jr $a3
# Rows of words before the last one. A message without a packet has the greatest length.
take_many:
MANY_TEST
        li $gp, ARRIVES
BEFORE_BYTES
        move $a1, $gp
take_rows:
        ROW -2 sw $csti, @($a1)
        addiu $a1, $a1, 128
        addiu $a3, $a3, -1
        bne $a3, $zero, take_rows
        li $a3, take_last
        subu $a3, $a3, $a2
        addu $a2, $a1, $a2
        jr $a3
.part take_row
# The last words of a packet that comes: a jump leads to where as many are left.
take_row:
        ROW take -126 sw $csti, @($a2)
.part send_row
# The last words of a packet that leaves.
NAME_row:
        ROW NAME -126 lw $csto, @($v1)
.part idle
# A message without a packet goes on: it makes room for the packets before it.
idle:
        addiu $csto, $zero, 1
        addiu $csto, $zero, -1
        move $csto, $csti
        j begin
.part send
# Ends with the packet sent to its port, or to the control processor; the side word is in $a0.
finish:
FIRST_WORD
finish_send:
SEND_LINES(finish)
FINISH_CORE
# Ends without a packet.
leave:
        addiu $csto, $zero, 1
        move $csto, $a0
LEFT_LAST
        j begin
.part emit
# Sends the packet and returns. A 0 says that more leaves after it.
send_to_port:
FIRST_WORD
        move $csto, $zero
SEND_LINES(send)
.part send_lines
REST_OFF
        addiu $v0, $a2, 1
        srl $a2, $v0, 2
BYTES_BEGIN(NAME)
# The number of words but one, the side word, the first word, and bytes from the front on with two
# before them.
NAME_head:
        addiu $csto, $a2, LEFT_WORDS+1
        move $csto, $a0
LEFT_OWN
        move $csto, $a1
BYTES_LINES(NAME)
.part send_row
# The last words of a packet that leaves.
NAME_row:
        ROW -126 lw $csto, @($v1)
END(NAME)
.part bytes_begin
        andi $a3, $v0, 124
        li $t0, NAME_last
        subu $t0, $t0, $a3
        addu $v1, $gp, $a3
        srl $a3, $v0, 7
        bne $a3, $zero, NAME_long
ODD_TEST(NAME)
.part odd_test
        addiu $a3, $gp, -2
        andi $a3, $a3, 3
        bne $a3, $zero, NAME_shifted
.part bytes_lines
        jr $t0
# Rows of words before the last one.
NAME_long:
ODD_TEST(NAME)
        li $t0, NAME_many
        j NAME_head
NAME_many:
        srl $a3, $v0, 7
        move $v1, $gp
NAME_rows:
        ROW -2 lw $csto, @($v1)
        addiu $v1, $v1, 128
        addiu $a3, $a3, -1
        bne $a3, $zero, NAME_rows
        andi $a3, $v0, 124
        li $t0, NAME_last
        subu $t0, $t0, $a3
        addu $v1, $v1, $a3
        jr $t0
SHIFTED_LINES(NAME)
.part shifted_lines
# The front is not where words begin: each word that leaves is made of two.
NAME_shifted:
        li $t0, NAME_odd
        j NAME_head
NAME_odd:
        addiu $a2, $a2, 1
        addiu $v1, $gp, -2
        andi $a3, $v1, 3
ODD_BEGIN
NAME_two:
ODD_WORD
        or $csto, $v0, $a1
        move $v0, $t1
        addiu $a2, $a2, -1
        bne $a2, $zero, NAME_two
END(NAME)
.part pass
# Goes on with step $a0 on another tile.
pass:
        lw $a2, LENGTH($sp)
REST_OFF
        sll $a0, $a0, 16
        or $a0, $a0, $a2
        addiu $v0, $a2, 1
        srl $a2, $v0, 2
BYTES_BEGIN(pass)
pass_head:
        addiu $csto, $a2, MESSAGE_WORDS
        move $csto, $a0
PASS_LINES
BYTES_LINES(pass)
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
.part left_own
        lw $csto, BESIDE($sp)
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
.part left_none
        move $csto, $zero
.part left_past
        move $zero, $csti
.part rest_add
        lhu $v0, REST+2($sp)
        addu $a0, $a0, $v0
.part rest_off
        lhu $v1, REST+2($sp)
        subu $a2, $a2, $v1
.part rest_past
        andi $a2, $t1, 0xffff
        subu $a1, $a1, $a2
.part rest_out
        andi $v1, $t1, 0xffff
        subu $a2, $a2, $v1
