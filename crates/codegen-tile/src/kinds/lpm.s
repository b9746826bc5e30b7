# Goes down a trie from the entry $a0, with the key at WORK; $v0 is the entry with a value.
.routine walk
walk:
        addiu $a1, $sp, WORK+2
walk_byte:
        bgez $a0, walk_done
        lbu $a2, 0($a1)
        addiu $a1, $a1, 1
        srl $a3, $a2, 4
        addu $a0, $a0, $a3
        sll $a0, $a0, 2
        lw $a0, 0($a0)
        bgez $a0, walk_done
        andi $a2, $a2, 15
        addu $a0, $a0, $a2
        sll $a0, $a0, 2
        lw $a0, 0($a0)
        b walk_byte
walk_done:
        move $v0, $a0
        jr $ra
