; What every part of a program written from Loom C begins with. Each context of a part's engines is
; a thread. FIRST_THREAD is the number of the first one among those of all engines. In a chain each context of all engines is
; a thread, and packets take its number along (chain.uc).

.reg thread=a0 frame=a1 window=a2
.reg front=b0 payload=b1 egress=b2 control=b3
#ifdef NEAR_WORDS
; The first of a thread's words of the scratchpad.
.reg near=a3
#endif
#ifdef EMITS
; Where a thread goes on when its packet has been sent and it lives.
.reg resume
#endif

#macro zeros()
    alu[$0, --, B, 0]
    alu[$1, --, B, 0]
    alu[$2, --, B, 0]
    alu[$3, --, B, 0]
    alu[$4, --, B, 0]
    alu[$5, --, B, 0]
    alu[$6, --, B, 0]
    alu[$7, --, B, 0]
#endm

; Clears the frame from the end of the window to word CLEARED: no field is read behind it. The longest window ends
; at word 368, and what follows is zero anyway.
#macro clear_tail()
    .begin
    .reg at word keep mask old left
    ; `at` is the end of the window.
    alu[at, front, +, window]
    alu_shf[word, --, B, at, >>2]
    alu[keep, at, AND, 3]
    br=0[clear_words#]
    ; The bytes of this word before `at` stay.
    alu_shf[keep, --, B, keep, <<3]
    immed[mask, 31]
    alu[keep, mask, -, keep]
    sram[read, $0, frame, word, 1], ctx_swap
    alu_shf[old, --, B, $0, >>1]
    alu[--, keep, OR, 0]
    alu_shf[old, --, B, old, >>indirect]
    alu[--, keep, OR, 0]
    alu_shf[old, --, B, old, <<indirect]
    alu_shf[old, --, B, old, <<1]
    alu[$0, --, B, old]
    sram[write, $0, frame, word, 1], ctx_swap
    alu[word, word, +, 1]
clear_words#:
    ; The words that are left over from commands of eight, and then eight at a time.
    immed[left, CLEARED]
    alu[left, left, -, word]
    br<=0[cleared#]
    zeros()
    br_bclr[left, 0, two#]
    sram[write, $0, frame, word, 1], ctx_swap
    alu[word, word, +, 1]
two#:
    br_bclr[left, 1, four#]
    sram[write, $0, frame, word, 2], ctx_swap
    alu[word, word, +, 2]
four#:
    br_bclr[left, 2, eights#]
    sram[write, $0, frame, word, 4], ctx_swap
    alu[word, word, +, 4]
eights#:
    alu_shf[left, --, B, left, >>3]
clear_word#:
    alu[left, left, -, 1]
    br<0[cleared#]
    sram[write, $0, frame, word, 8], ctx_swap
    alu[word, word, +, 8]
    br[clear_word#]
cleared#:
    .end
#endm

#ifdef WINDOW_BASE
; The same of a window in local memory (window.rs), up to its end: zeros follow.
#macro clear_local_tail()
    .begin
    .reg at keep left old mask
    alu[at, front, +, window]
    alu[old, at, +, *l$index0[1]]
    local_csr_wr[active_lm_addr_1, old]
    immed[left, 368]
    alu_shf[old, --, B, at, >>2]
    alu[left, left, -, old]
    alu[keep, at, AND, 3]
    br=0[clear_words#]
    ; The bytes of this word before `at` stay.
    alu_shf[keep, --, B, keep, <<3]
    immed[mask, 31]
    alu[keep, mask, -, keep]
    alu_shf[old, --, B, *l$index1[0], >>1]
    alu[--, keep, OR, 0]
    alu_shf[old, --, B, old, >>indirect]
    alu[--, keep, OR, 0]
    alu_shf[old, --, B, old, <<indirect]
    alu_shf[*l$index1++, --, B, old, <<1]
    alu[left, left, -, 1]
clear_words#:
    ; The words that are left over from fours, and then four at a time.
    br_bclr[left, 0, two#]
    alu[*l$index1++, --, B, 0]
two#:
    br_bclr[left, 1, fours#]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
fours#:
    alu_shf[left, --, B, left, >>2]
clear_word#:
    alu[left, left, -, 1]
    br<0[cleared#]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    br[clear_word#]
cleared#:
    .end
#endm
#endif

; Threads send in the order in which packets came. One of the first words of the scratchpad is for each
; packet in hand, by its number: threads have 128 at most, on version 1 32. The thread with the packet sets bit 1 and
; its own number from bit 8 on, and waits for a signal, unless bit 0 is set: its turn has come. Who passes the turn on sets
; bit 0, and sends the signal if somebody waits. Both set bits and see those before at once, so one of them sees the
; other's, and nobody polls.
; On version 2 the turn goes to several packets at a time: who has it takes elements of TBUF for the next packets that
; wait as well, up to TAKEN, says in the mail of their threads which are theirs, and passes the turn to the first
; that does not wait. A word has bit 3 if its packet keeps the turn, and from bit 16 on the number of its elements.
; Words after those of packets are 0, so nobody waits there.
; Version 1 does the same for packets of one element. A word has bit 4 if its packet is one and waits; who takes an element
; for it sets bits 0 and 2 and, from bit 16 on, the number of the element, and sends the signal when all bits are set.
; Elements end before the first one that is to leave, so up to 15 packets may leave before one that has its element and has not looked: there are
; words for twice as many packets as threads.
#ifdef VERSION_2
#define TAKEN 7

; Takes elements, from `w` on, for the packet of word `after`, if that says that it waits; `word` is what was read.
#macro take_next(word, place, keeps)
    .begin
    .reg to count first
    alu[t, --, B, word]
    br_bclr[t, 1, last_taken#]
    ; Bit 31, and the low bits of the number of its first element, for the thread.
    alu_shf[first, --, B, w, <<8]
    alu_shf[first, --, B, first, >>8]
    alu_shf[word, first, OR, 1, <<31]
    alu_shf[to, --, B, t, <<16]
    alu_shf[to, --, B, to, >>22]
    alu[to, to, +, base_of_mail]
    scratch[write, word, to, 0, 1]
    alu_shf[count, --, B, t, >>16]
    alu[w, w, +, count]
    alu[place, --, B, after]
    br_bset[t, 3, keeps]
    scratch[write, $10, after, 0, 1]
    alu[after, after, +, 4]
    alu[number_after, number_after, +, 1]
    .end
#endm

; Wakes the thread of a packet whose elements were taken, and goes on if the next one's may have been.
#macro wake_next(word)
    alu[t, --, B, word]
    br_bclr[t, 1, taken#]
    alu_shf[u, --, B, t, <<16]
    alu_shf[u, --, B, u, >>24]
    cap[fast_wr, u, inter_thd_sig]
    br_bset[t, 3, taken#]
#endm

#macro turn_of(at, number)
    alu_shf[at, --, B, number, <<25]
    alu_shf[at, --, B, at, >>23]
#endm

; Passes the turn to the packet with a number.
#macro pass_turn(at, number, before)
    .begin
    turn_of(at, number)
    alu[$9, --, B, 1]
    scratch[test_and_set, $9, at, 0], ctx_swap[memory]
    alu[before, --, B, $9]
    br_bclr[before, 1, nobody_waits#]
    alu_shf[before, --, B, before, <<16]
    alu_shf[before, --, B, before, >>24]
    cap[fast_wr, before, inter_thd_sig]
nobody_waits#:
    .end
#endm
#else
#macro turn_of(at, number)
    alu_shf[at, --, B, number, <<26]
    alu_shf[at, --, B, at, >>26]
#endm

#define TAKEN 6

; Takes the element `limit` for the packet of word `after`, if that waits for one and an element is left; `word` is what was
; read.
#macro take_next(word)
    .begin
    alu[t, --, B, word]
    br_bclr[t, 4, last_taken#]
    alu[u, limit, +, 1]
    alu[--, u, -, TRANSMIT_ELEMENTS]
    br!=0[inside#]
    immed[u, 0]
inside#:
    alu[--, u, -, known]
    br=0[last_taken#]
    alu_shf[word, 5, OR, limit, <<16]
    scratch[bit_wr, word, after, 0, set_bits]
    alu[limit, --, B, u]
    alu[after, after, +, 1]
    alu[w, w, +, 1]
    .end
#endm

; Wakes the thread of a packet for which an element was taken, `w` of them.
#macro wake_next(word)
    alu[w, w, -, 1]
    br<0[last#]
    alu_shf[t, --, B, word, >>8]
    fast_wr[t, inter_thd_sig]
#endm

; Passes the turn to the packet of a word. From bit 16 of it on are the next element of the transmit
; FIFO and, eight bits later, the first that is to leave, as far as is known.
#macro pass_turn(at, before, elements)
    .begin
    alu_shf[$7, 1, OR, elements, <<16]
    scratch[bit_wr, $7, at, 0, test_and_set_bits], ctx_swap
    alu[before, --, B, $7]
    br_bclr[before, 1, nobody_waits#]
    alu_shf[before, --, B, before, >>8]
    fast_wr[before, inter_thd_sig]
nobody_waits#:
    .end
#endm
#endif

; The number of the packet.
#ifdef WINDOW_BASE
#macro number_of_packet(number)
    alu[number, --, B, *l$index0[2]]
#endm
#else
#macro number_of_packet(number)
    sram[read, $0, frame, 0, 1], ctx_swap
    alu[number, --, B, $0]
#endm
#endif

; Offloads that are called in the order of packets have RING words each, one for each packet in hand, with the same bits:
; who waits for its turn, and whether it has come.
#ifdef VERSION_2
#macro gate_of(at, gate, number)
    immed[at, (RING - 1)]
    alu[at, at, AND, number]
    alu[at, at, +, gate]
    alu_shf[at, --, B, at, <<2]
#endm

#macro set_at_gate(at, bits, before)
    alu[$2, --, B, bits]
    scratch[test_and_set, $2, at, 0], ctx_swap[memory]
    alu[before, --, B, $2]
#endm

#macro signal(to)
    cap[fast_wr, to, inter_thd_sig]
#endm
#else
#macro gate_of(at, gate, number)
    immed[at, (RING - 1)]
    alu[at, at, AND, number]
    alu[at, at, +, gate]
#endm

#macro set_at_gate(at, bits, before)
    alu[$2, --, B, bits]
    scratch[bit_wr, $2, at, 0, test_and_set_bits], ctx_swap
    alu[before, --, B, $2]
#endm

#macro signal(to)
    fast_wr[to, inter_thd_sig]
#endm
#endif

; The number of the context among those of all engines.
#macro own_context(own)
#ifdef CHAIN
    .begin
    .reg number
    local_csr_rd[me_number]
    immed[number, 0]
    local_csr_rd[active_ctx]
    immed[own, 0]
    alu_shf[own, own, OR, number, <<CONTEXT_BITS]
    .end
#else
    immed[own, FIRST_THREAD]
    alu[own, own, +, thread]
#endif
#endm

#macro wait_at_gate(gate, number)
    .begin
    .reg at own before
    gate_of(at, gate, number)
    own_context(own)
    alu_shf[own, 2, OR, own, <<8]
    set_at_gate(at, own, before)
    br_bset[before, 0, turn_is_here#]
#ifdef VERSION_2
    ctx_arb[s4]
#else
    ctx_arb[inter_thread]
#endif
turn_is_here#:
    .end
#endm

; Gives the turn to the packet whose word is `at`.
#macro open_gate(at, before)
    set_at_gate(at, 1, before)
    br_bclr[before, 1, nobody_waits#]
    alu_shf[before, --, B, before, <<16]
    alu_shf[before, --, B, before, >>24]
    signal(before)
nobody_waits#:
#endm

#macro pass_gate(gate, number)
    .begin
    .reg at before
    gate_of(at, gate, number)
    alu[$1, --, B, 0]
    scratch[write, $1, at, 0, 1]
    alu[before, number, +, 1]
    gate_of(at, gate, before)
    open_gate(at, before)
    .end
#endm

    .begin
    .reg engine context first
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    alu_shf[thread, context, OR, engine, <<CONTEXT_BITS]
#ifndef CHAIN
    immed[first, FIRST_THREAD]
    alu[thread, thread, -, first]
#endif
    alu_shf[frame, --, B, thread, <<FRAME_BITS]
#ifdef VERSION_2
    ; Frames begin in different channels of SRAM.
    alu_shf[first, --, B, thread, <<5]
    alu[frame, frame, +, first]
    ; Pointer 0: the first 16 words of the context in local memory.
    alu_shf[first, --, B, context, <<6]
    local_csr_wr[active_lm_addr_0, first]
#ifdef WINDOW_BASE
    ; The window: 192 bytes for each context. The zeros after it begin where byte 1472 of the frame would be.
    alu_shf[engine, --, B, context, <<7]
    alu[engine, engine, +, first]
    immed[first, WINDOW_BASE]
    alu[engine, engine, -, first]
    alu[*l$index0[1], --, B, engine]
    immed[first, 1472]
    alu[first, first, +, engine]
    local_csr_wr[active_lm_addr_1, first]
    nop
    nop
    nop
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
#endif
#endif
#ifdef NEAR_WORDS
    find_near()
#endif
    .end
#ifdef FIRST_PART
    ; Thread 0 gives the first packet its turn.
    .begin
    .reg at number before
    alu[--, --, B, thread]
    br!=0[later#]
    immed[number, 0]
#ifdef VERSION_2
    pass_turn(at, number, before)
#else
    alu[at, --, B, number]
    pass_turn(at, before, number)
#endif
    ; The same at each gate.
    .reg gate left
    immed[gate, FIRST_GATE]
    immed[left, GATES]
each_gate#:
    alu[left, left, -, 1]
    br<0[later#]
    immed[number, 0]
    gate_of(at, gate, number)
    open_gate(at, before)
    immed[before, RING]
    alu[gate, gate, +, before]
    br[each_gate#]
later#:
    .end
#endif
