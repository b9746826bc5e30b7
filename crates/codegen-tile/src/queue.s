# The program of a queue. Messages of the general network bring packets, short ones in one of them,
# others in several; the packets of a sender come one after the other. The first message of a packet
# says how many words it has, and takes room for all of it; so packets leave in the order in which
# they began to come, each once it is whole. A packet in the ring: the number of its words, 0 until
# it is whole, then these: the header of its first message, which says the sender, and what came.
#
#   $s0  the packet that leaves next        $s1  where the next one begins
#   $s2  the bytes that are free            $s3  the bytes of the ring
#   $s4  whether the line takes a packet    $s5  where the ring ends
#   $s6  where the ring begins              $s7  the senders
#   $fp  the header of messages to the device at the port
#   $gp  that of messages with packets, if these go over the general network
#
# A sender has four words: where its next words go, or 0 if its packet found no room; how many words
# of its packet are to come; where that begins; and the number of its words.
        li $s6, QUEUE_RING
        li $s5, QUEUE_END
        li $s7, QUEUE_SENDERS
        li $s3, QUEUE_BYTES
        li $fp, QUEUE_PORT
        move $s0, $s6
        move $s1, $s6
        move $s2, $s3
LINE_BEGIN
# Nothing can leave now: waits for a message.
queue_take:
        move $t0, $cgni
        srl $a0, $t0, 24
        andi $a0, $a0, 31
        srl $v0, $t0, WHOLE_BIT
        andi $v0, $v0, 1
        beq $v0, $zero, queue_part
# A whole packet: its number, side word, the word beside it if there is one, first word and bytes.
        move $t1, $cgni
        sll $t2, $a0, 2
        addiu $t4, $t2, 8
        sltu $t5, $s2, $t4
        bne $t5, $zero, queue_full_whole
        addiu $t3, $a0, 1
        addu $t6, $s1, $t4
        subu $s2, $s2, $t4
        sltu $t5, $s5, $t6
        bne $t5, $zero, queue_whole_around
        sw $t3, 0($s1)
        sw $t0, 4($s1)
        sw $t1, 8($s1)
        li $t5, queue_whole_around
        subu $t5, $t5, $t2
        xor $t4, $t6, $s5
        move $s1, $t6
        movz $s1, $s6, $t4
        jr $t5
# Its words after the number, which end at $t6: the jump leads to where as many are left, one for each word of
# the message and one for the jump at their end.
        ROW -128 sw $cgni, @($t6)
        j queue_line
queue_whole_around:
        addiu $a0, $a0, -1
        sw $t3, 0($s1)
        addiu $a3, $s1, 4
        subu $s1, $t6, $s3
TWO_AROUND
queue_whole_word_around:
        xor $t5, $a3, $s5
        movz $a3, $s6, $t5
        sw $cgni, 0($a3)
        addiu $a3, $a3, 4
        addiu $a0, $a0, -1
        bne $a0, $zero, queue_whole_word_around
        j queue_line
# One of several messages of a packet.
queue_part:
        srl $a1, $t0, 6
        andi $a1, $a1, 0x3ff0
        addu $a1, $a1, $s7
        lw $a2, 4($a1)
        beq $a2, $zero, queue_head
# More of a packet.
        lw $a3, 0($a1)
        subu $a2, $a2, $a0
        sw $a2, 4($a1)
        beq $a3, $zero, queue_discard
        sll $t0, $a0, 2
        addu $a3, $a3, $t0
        sltu $t1, $s5, $a3
        bne $t1, $zero, queue_part_around
        li $t1, queue_stored
        subu $t1, $t1, $t0
        jr $t1
# Its words, which end at $a3: the jump leads to where as many are left.
        ROW -128 sw $cgni, @($a3)
queue_stored:
        xor $t0, $a3, $s5
        movz $a3, $s6, $t0
        sw $a3, 0($a1)
        beq $a2, $zero, queue_is_whole
# Sends a packet if one is whole and the line takes it, or takes a message: whichever can be first.
queue_line:
        lw $a0, 0($s0)
        beq $s2, $s3, queue_empty
        beq $a0, $zero, queue_take
queue_poll:
LINE_POLL
LINE_TAKEN
        sll $t0, $a0, 2
        addu $a3, $s0, $t0
        addiu $a3, $a3, 4
        sltu $t1, $s5, $a3
LINE_COUNT
        addu $s2, $s2, $t0
        addiu $s2, $s2, 4
        bne $t1, $zero, queue_send_around
LINE_SHORT
        li $t1, queue_sent
        subu $t1, $t1, $t0
        move $s0, $a3
        jr $t1
# The last words of a packet that leaves, which end at $a3.
        ROW -128 lw LINE_NETWORK, @($a3)
queue_sent:
        xor $t0, $s0, $s5
        movz $s0, $s6, $t0
# A message that waits comes before the next packet, so that senders do not wait for several.
queue_next:
        mfsr $t0, available
        srl $t0, $t0, 16
        andi $t0, $t0, 0xff
        bne $t0, $zero, queue_take
        j queue_line
queue_empty:
        j queue_take
# A packet of several messages has come wholly.
queue_is_whole:
        lw $t0, 8($a1)
        lw $t1, 12($a1)
        sw $t1, 0($t0)
        j queue_line
# The words go around the end of the ring.
queue_part_around:
        subu $a3, $a3, $t0
queue_around:
        xor $t0, $a3, $s5
        movz $a3, $s6, $t0
        sw $cgni, 0($a3)
        addiu $a3, $a3, 4
        addiu $a0, $a0, -1
        bne $a0, $zero, queue_around
        j queue_stored
queue_wait:
LINE_WAIT
        srl $t0, $t0, 16
        andi $t0, $t0, 0xff
        beq $t0, $zero, queue_poll
        j queue_take
queue_send_long:
LINE_LONG
        li $t1, queue_sent
        subu $t1, $t1, $t0
        jr $t1
queue_send_around:
        addiu $v1, $s0, 4
        subu $s0, $a3, $s3
LINE_AROUND
        j queue_next
# The first message of a packet: its number, side word, the word beside it if there is one, and first
# word.
queue_head:
        move $t1, $cgni
        andi $t2, $t1, 0xffff
        addiu $t3, $t2, 2
        sll $t4, $t3, 2
        addiu $t4, $t4, 4
        addiu $a2, $t2, -HEAD_WORDS
        sw $a2, 4($a1)
        sltu $t5, $s2, $t4
        bne $t5, $zero, queue_full
        subu $s2, $s2, $t4
        sw $zero, 0($s1)
        sw $s1, 8($a1)
        sw $t3, 12($a1)
        addiu $a3, $s1, 4
        addu $s1, $s1, $t4
        sltu $t5, $s1, $s5
        subu $t6, $s1, $s3
        movz $s1, $t6, $t5
        addiu $a0, $a0, 1
        sll $t5, $a0, 2
        addu $t5, $a3, $t5
        sltu $t5, $s5, $t5
        bne $t5, $zero, queue_head_around
        sw $t0, 0($a3)
        sw $t1, 4($a3)
HEAD_STORE
        j queue_stored
queue_head_around:
TWO_AROUND
        addiu $a0, $a0, -2
        j queue_around
# There is no room: the device at the port gets what the first message said, and the other words of
# the packet are let go.
queue_full_whole:
        lui $t2, FULL_LENGTH
        addu $cgno, $fp, $t2
        move $cgno, $t0
        move $cgno, $t1
        addiu $a0, $a0, -AFTER_HEAD
FULL_MOVE
        j queue_discard
queue_full:
        sw $zero, 0($a1)
        lui $t2, FULL_LENGTH
        addu $cgno, $fp, $t2
        move $cgno, $t0
        move $cgno, $t1
        addiu $a0, $a0, -1
queue_full_word:
        move $cgno, $cgni
        addiu $a0, $a0, -1
        bne $a0, $zero, queue_full_word
        j queue_line
queue_discard:
        move $zero, $cgni
        addiu $a0, $a0, -1
        bne $a0, $zero, queue_discard
        j queue_line
LINE_END
