# Tables of entries with keys, for `exact` and `park`: keyed.rs says what is where. $a0 is
# the table, which is also in the list by age, as if it were an entry; the key is at WORK.
#
# The word that points to the first entry of the key's bucket, in $v1; $a3 is where the key ends.
.routine table_hash
table_hash:
        lw $a3, KEY_BYTES($a0)
        addiu $a2, $sp, WORK
        addu $a3, $a2, $a3
        li $t1, HASH_FACTOR
        move $v1, $t1
key_word:
        lw $t0, 0($a2)
        addiu $a2, $a2, 4
        xor $v1, $v1, $t0
        mul $v1, $v1, $t1
        srl $t0, $v1, 16
        xor $v1, $v1, $t0
        bne $a2, $a3, key_word
        lw $t0, MASK($a0)
        and $v1, $v1, $t0
        addu $v1, $v1, $a0
        addiu $v1, $v1, BUCKETS
        jr $ra
# The first entry with the key, in $v0, or 0; then $v1 is the word at the end of the bucket.
.routine table_find
table_find:
        sw $ra, LINK+4($sp)
        jal table_hash
        lw $ra, LINK+4($sp)
find_next:
        lw $v0, 0($v1)
        beq $v0, $zero, find_done
        addiu $a2, $sp, WORK
        addiu $t1, $v0, KEY
find_word:
        lw $t0, 0($a2)
        lw $at, 0($t1)
        addiu $a2, $a2, 4
        addiu $t1, $t1, 4
        bne $t0, $at, find_other
        bne $a2, $a3, find_word
find_done:
        jr $ra
find_other:
        move $v1, $v0
        b find_next
# The word at the end of the key's bucket, in $v1.
.routine table_tail
table_tail:
        sw $ra, LINK+4($sp)
        jal table_hash
        lw $ra, LINK+4($sp)
tail_next:
        lw $v0, 0($v1)
        beq $v0, $zero, tail_done
        move $v1, $v0
        b tail_next
tail_done:
        jr $ra
# Advances the table's time to that of the packet, and removes entries that are too old.
.routine table_advance
table_advance:
        lw $v0, TIME($a0)
        lw $v1, TIME+4($a0)
        lw $a1, ARRIVAL($sp)
        lw $a2, ARRIVAL+4($sp)
        sltu $t0, $a2, $v1
        bne $t0, $zero, advance_kept
        bne $a2, $v1, advance_set
        sltu $t0, $v0, $a1
        beq $t0, $zero, advance_kept
advance_set:
        sw $a1, TIME($a0)
        sw $a2, TIME+4($a0)
advance_kept:
        lw $a1, LIFE($a0)
        lw $a2, LIFE+4($a0)
        or $t0, $a1, $a2
        bne $t0, $zero, table_sweep
        jr $ra
# Advances the time, then as `table_find`.
.routine table_begin
table_begin:
        sw $ra, LINK($sp)
        jal table_advance
        lw $ra, LINK($sp)
        j table_find
# Removes entries that were touched more than $a2 and $a1 nanoseconds ago, the upper and the lower
# word. $v0 is their number.
.routine table_sweep
table_sweep:
        sw $ra, LINK+4($sp)
        move $a3, $a1
        li $v0, 0
sweep_next:
        lw $a1, NEWER($a0)
        beq $a1, $a0, sweep_done
        lw $t0, TIME($a0)
        lw $t1, TOUCHED($a1)
        lw $v1, TIME+4($a0)
        lw $at, TOUCHED+4($a1)
        subu $v1, $v1, $at
        sltu $at, $t0, $t1
        subu $v1, $v1, $at
        subu $t0, $t0, $t1
        bne $a2, $v1, sweep_high
        sltu $at, $a3, $t0
        bne $at, $zero, sweep_one
sweep_done:
        lw $ra, LINK+4($sp)
        jr $ra
sweep_high:
        sltu $at, $a2, $v1
        beq $at, $zero, sweep_done
sweep_one:
        jal table_remove
        addiu $v0, $v0, 1
        b sweep_next
# Removes the entry $a1 from its bucket and from the list by age. Its room is the next to be taken.
.routine table_remove
table_remove:
        lw $t0, OLDER($a1)
        lw $t1, NEWER($a1)
        sw $t1, NEWER($t0)
        sw $t0, OLDER($t1)
        lw $t0, BACK($a1)
        lw $t1, 0($a1)
        sw $t1, 0($t0)
        beq $t1, $zero, gone_last
        sw $t0, BACK($t1)
gone_last:
        lw $t0, FREE($a0)
        sw $t0, 0($a1)
        sw $zero, BACK($a1)
        sw $a1, FREE($a0)
        jr $ra
# Makes the entry $a1 the newest, unless it is static.
.routine table_touch
table_touch:
        move $v0, $a1
        lw $t0, OLDER($a1)
        beq $t0, $a1, touch_static
        lw $t1, NEWER($a1)
        sw $t1, NEWER($t0)
        sw $t0, OLDER($t1)
        j table_link
touch_static:
        jr $ra
# Puts the entry $v0 at the new end of the list by age, with the table's time.
.routine table_link
table_link:
        lw $t0, TIME($a0)
        sw $t0, TOUCHED($v0)
        lw $t0, TIME+4($a0)
        sw $t0, TOUCHED+4($v0)
        lw $t0, OLDER($a0)
        sw $t0, OLDER($v0)
        sw $v0, NEWER($t0)
        sw $a0, NEWER($v0)
        sw $v0, OLDER($a0)
        jr $ra
# Makes an entry for the key at the end of its bucket, the word at $a1. $v0 is the entry, or 0 if
# the table is full.
.routine table_enter
table_enter:
        lw $v0, FREE($a0)
        beq $v0, $zero, enter_fresh
        lw $t0, 0($v0)
        sw $t0, FREE($a0)
enter_here:
        sw $zero, 0($v0)
        sw $v0, 0($a1)
        sw $a1, BACK($v0)
        lw $a3, KEY_BYTES($a0)
        addiu $a2, $sp, WORK
        addu $a3, $a2, $a3
        addiu $t1, $v0, KEY
enter_word:
        lw $t0, 0($a2)
        addiu $a2, $a2, 4
        sw $t0, 0($t1)
        addiu $t1, $t1, 4
        bne $a2, $a3, enter_word
        j table_link
enter_fresh:
        lw $v0, FRESH($a0)
        lw $t0, LIMIT($a0)
        beq $v0, $t0, enter_full
        lw $t0, STRIDE($a0)
        addu $t0, $v0, $t0
        sw $t0, FRESH($a0)
        b enter_here
enter_full:
        li $v0, 0
        jr $ra
# The entry with the key that is not too old, in $v0, or 0. Its age is at WORK.
.routine table_age
table_age:
        sw $ra, LINK($sp)
        jal table_find
        lw $ra, LINK($sp)
        beq $v0, $zero, age_done
        sw $zero, WORK($sp)
        sw $zero, WORK+4($sp)
        lw $t0, OLDER($v0)
        beq $t0, $v0, age_done
        lw $a1, ARRIVAL($sp)
        lw $a2, ARRIVAL+4($sp)
        lw $t0, TIME($a0)
        lw $t1, TIME+4($a0)
        sltu $at, $a2, $t1
        bne $at, $zero, age_earlier
        bne $a2, $t1, age_now
        sltu $at, $a1, $t0
        beq $at, $zero, age_now
age_earlier:
        move $a1, $t0
        move $a2, $t1
age_now:
        lw $t0, TOUCHED($v0)
        lw $t1, TOUCHED+4($v0)
        sltu $at, $a1, $t0
        subu $a1, $a1, $t0
        subu $a2, $a2, $t1
        subu $a2, $a2, $at
        sw $a1, WORK($sp)
        sw $a2, WORK+4($sp)
        lw $t0, LIFE($a0)
        lw $t1, LIFE+4($a0)
        or $at, $t0, $t1
        beq $at, $zero, age_done
        bne $a2, $t1, age_high
        sltu $at, $t0, $a1
        bne $at, $zero, age_gone
age_done:
        jr $ra
age_high:
        sltu $at, $t1, $a2
        beq $at, $zero, age_done
age_gone:
        li $v0, 0
        jr $ra
