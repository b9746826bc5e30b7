# The program of a state owner. An arriving request is kept in the slot of its tile. The tile sends
# no other request before it has the reply. A slot holds the next request of its list, the header,
# the number of the call, the number of the packet, and what the call needs.
owner_begin:
        move $v0, $cgni
        srl $a0, $v0, 24
        andi $a0, $a0, 31
        srl $gp, $v0, 10
        andi $gp, $gp, 0x3ff
        sll $gp, $gp, 7
        li $v1, OWNER_SLOTS
        addu $gp, $gp, $v1
        sw $v0, 4($gp)
        addiu $a1, $gp, 8
owner_word:
        sw $cgni, 0($a1)
        addiu $a1, $a1, 4
        addiu $a0, $a0, -1
        bne $a0, $zero, owner_word
        lw $a0, 12($gp)
        lw $a1, OWNER_TURN($sp)
        bne $a0, $a1, owner_wait
owner_serve:
        lw $v0, 8($gp)
        sll $v0, $v0, 2
        la $v1, owner_calls
        addu $v0, $v0, $v1
        jr $v0
# It is not the packet's turn: the request waits in a list, by the lowest bits of the number.
owner_wait:
        andi $a0, $a0, 63
        sll $a0, $a0, 2
        li $a1, OWNER_LISTS
        addu $a0, $a0, $a1
        lw $a1, 0($a0)
        sw $a1, 0($gp)
        sw $gp, 0($a0)
        j owner_begin
# The packet is over. It is the next one's turn, whose request may wait.
owner_over:
        lw $v0, 4($gp)
        srl $v0, $v0, 10
        andi $v0, $v0, 0x3ff
        move $cgno, $v0
        lw $a1, OWNER_TURN($sp)
        addiu $a1, $a1, 1
        sw $a1, OWNER_TURN($sp)
        andi $a0, $a1, 63
        sll $a0, $a0, 2
        li $v0, OWNER_LISTS
        addu $a0, $a0, $v0
owner_next:
        lw $gp, 0($a0)
        beq $gp, $zero, owner_begin
        lw $v0, 12($gp)
        beq $v0, $a1, owner_found
        move $a0, $gp
        j owner_next
owner_found:
        lw $v0, 0($gp)
        sw $v0, 0($a0)
        j owner_serve
owner_calls:
        j owner_over
