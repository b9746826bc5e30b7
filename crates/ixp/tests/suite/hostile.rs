//! Packets of all lengths, all offered at once. The steps have many exits, need many values while
//! bytes are inserted and removed, and their context does not fit into the scratchpad.

use crate::agreed::{agree_on, agree_with};
use crate::written::written;
use wireloom_ixp::Spec;
use wireloom_ixp::network::NetworkKind;
use wireloom_net::Packet;

const HOSTILE: &str = "
enum Reason : u8 { SHORT, ODD, FULL, EMPTY, BIG, LATE };
header Head { u8 kind; u8 by; u16 port; u32 a; u64 b; u32 c; u32 d; u48 e; u48 f; };
header Far { u7 before; u33 own; u24 after; };
engine hostile() {
    offload bytes : payload<u8>;
    u64 w0; u64 w1; u64 w2; u64 w3; u64 w4; u64 w5; u64 w6; u64 w7; u64 w8; u64 w9; u64 w10; u64 w11;
    u128 q; u256 wide;
    u16 at; u8 rounds; bool last;
    Head head @ 0;
    Far far @ at;

    step begin {
        if (packet.length < 6) drop(SHORT);
        u16 by = (u16)head.by;
        u32 a = head.a;
        u64 b = head.b;
        u48 e = head.e;
        u48 f = head.f;
        packet.egress = (u16)head.port[2:0];
        at = by % 140;
        if (head.kind == 3) to_cpu(ODD);
        bool fits = true;
        if (by[0:0] == 1) fits = packet.push(by % 40);
        if (!fits) drop(FULL);
        w0 = b; w1 = (u64)e; w2 = (u64)f; w3 = (u64)a;
        if (by[1:1] == 1) fits = packet.pop(by % 13);
        head.a = a ^ (u32)e;
        head.e = f;
        head.f = e + 1;
        if (!fits) drop(EMPTY);
        if (a[31:31] == 1 && e[47:47] == 1) drop(BIG);
        head.c = a + 7;
        head.d = (u32)b;
        w4 = b + 1; w5 = b * 3; w6 = w0 ^ w1; w7 = (u64)far.own;
        w8 = w7 + 1; w9 = (u64)far.after; w10 = w9 ^ w0; w11 = b - w8;
        q = concat(b, w11);
        wide = concat(q, w10, w9);
        far.own = far.own + 1;
        next check;
    }
    step check {
        last = head.kind[0:0] == 1;
        rounds = rounds + 1;
        if (rounds > 3) drop(LATE);
        if (w4[3:0] == 2) to_cpu(ODD);
        if (w7 == w9 && w9 != 0) drop(BIG);
        if (w11[7:0] < 9) drop(ODD);
        if (packet.length > 70 && last) bytes.truncate(packet.length - at);
        head.b = w0 + w1 + w2 + w3;
        far.after = (u24)wide;
        if (w5[0:0] == 1) {
            w5 = w5 >> 1;
            head.port = head.port + 1;
            next begin;
        }
        next away;
    }
    step away {
        if (q[0:0] == 1 && !packet.push(6)) drop(FULL);
        head.e = (u48)(w4 ^ w5 ^ w6);
        head.f = (u48)(w8 ^ w10);
        head.d = (u32)q;
        if (last) finish;
        far.before = 5;
        head.kind = rounds;
        finish;
    }
}
";

/// Random packets of 1 to 300 bytes and some longer ones, `between_ns` apart.
fn packets(seed: u64, between_ns: u64) -> Vec<Packet> {
    let mut rng = wireloom_sim::Rng::new(seed, "hostile");
    let packet = |number: usize| {
        let length = if number % 50 == 49 { 1500 } else { 1 + number * 7 % 300 };
        let mut bytes = vec![0; length];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        // Some fields often have small values.
        for at in (0..length).step_by(9) {
            if rng.below(3) == 0 {
                bytes[at] = rng.below(4) as u8;
            }
        }
        Packet { ingress: (number % 8) as u16, arrival_ns: between_ns * number as u64, bytes }
    };
    (0..300).map(packet).collect()
}

#[test]
fn packets_of_all_lengths_do_what_they_do_on_golden() {
    let program = written(HOSTILE);
    // Packets wait for each other to leave, or pass through alone.
    agree_with(&program, &[], &packets(3, 200));
    agree_with(&program, &[], &packets(5, 100_000));
}

/// Whatever network carries commands, a signal never arrives before the data that the signalling
/// thread has written.
#[test]
fn packets_wait_for_their_turn_on_every_network() {
    let program = written(HOSTILE);
    for (kind, _) in NetworkKind::ALL {
        let mut spec = Spec::base();
        spec.command_bus.kind = kind;
        agree_on(spec, &program, &[], &packets(7, 200));
    }
}

/// A thread takes transmit elements for waiting packets as long as one element stays free.
#[test]
fn few_elements_are_enough_for_packets_that_wait() {
    let program =
        written("engine back() { step begin { packet.egress = packet.ingress; finish; } }");
    for elements in [2, 3, 5, 16] {
        let mut spec = Spec::base();
        spec.fbi.transmit_elements = elements;
        agree_on(spec, &program, &[], &packets(9, 200));
    }
}
