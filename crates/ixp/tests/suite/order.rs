//! Packets leave in the order of arrival and call offloads in that order, however long each takes.

use crate::agreed::{agree_on, agree_with, noise};
use crate::written::written;
use wireloom_ixp::Spec;
use wireloom_ixp::spec::Assignment;
use wireloom_net::Packet;

/// Packets take very different times, and some have several outputs. So many packets wait for one
/// and then leave together.
#[test]
fn packets_that_wait_for_others_leave_in_their_order() {
    let text = "
        enum Reason : u8 { LAST };
        header Ask { u8 kind; u8 times; u8 port; u64 value; };
        engine uneven() {
            u8 rounds;
            u8 outputs;
            Ask ask @ 0;
            step begin {
                packet.egress = (u16)(ask.port % 2);
                rounds = ask.kind % 16 == 3 ? ask.times % 24 : 0;
                next work;
            }
            step work {
                ask.value = ask.value * 77 + 1;
                rounds = rounds - 1;
                if (rounds < 24) next work;
                if (ask.kind % 4 == 0) drop(LAST);
                next leave;
            }
            step leave {
                outputs = outputs + 1;
                ask.port = outputs;
                if (ask.kind % 4 == 1 && outputs < 3) emit(more);
                finish;
            }
            step more {
                packet.push(4);
                packet.egress = (u16)(ask.kind % 2);
                outputs = outputs + 1;
                if (outputs == 2) emit(leave);
                finish;
            }
        }";
    let program = written(text);
    let mut packets = noise(67, 400);
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.arrival_ns = 40 * number as u64;
        if packet.bytes.len() < 11 {
            packet.bytes.resize(11, 0x77);
        }
    }
    agree_with(&program, &[], &packets);
}

/// Offloads that are called in packet order, with packets that take very different times. Some
/// packets call neither offload, or only one. All packets arrive on one port, so golden takes them
/// in the same order.
#[test]
fn packets_call_offloads_in_their_order() {
    let text = "
        header Ask { u8 kind; u8 times; u16 port; u64 value; };
        struct Seen { u32 count; u32 bytes; };
        engine in_order() {
            offload seen : exact<u8, Seen, size = 16>;
            offload sums : array<u64, size = 8>;
            u8 rounds;
            Ask ask @ 0;
            step begin {
                packet.egress = 0;
                rounds = ask.kind % 8 == 3 ? ask.times % 24 : 0;
                next work;
            }
            step work {
                ask.value = ask.value * 77 + 1;
                rounds = rounds - 1;
                if (rounds < 24) next work;
                if (ask.kind % 5 == 0) finish;
                if (ask.kind % 5 == 1) next sum;
                next look;
            }
            step look {
                auto now = seen.accumulate(ask.times % 12, { .count = 1, .bytes = (u32)ask.kind });
                ask.value = concat(now.value.count, now.value.bytes);
                next sum;
            }
            step sum {
                u64 sum = sums.read(ask.times % 8);
                sums.write(ask.times % 8, sum * 3 + ask.value);
                ask.value = sum;
                finish;
            }
        }";
    agree_in_order(text, 71, ["ixp1200", "ixp2400"]);
}

/// Two packets are in flight at a time. Their distance takes every nanosecond of a call and of
/// sending, so FIFO elements, turns to send and turns at an offload are handed over at every
/// moment.
#[test]
fn two_packets_are_in_order_at_every_distance() {
    let text = "
        header Ask { u8 kind; u8 times; u16 port; u64 value; };
        struct Seen { u32 count; };
        engine pairs() {
            offload seen : exact<u8, Seen, size = 16>;
            offload sums : array<u64, size = 8>;
            Ask ask @ 0;
            step begin {
                packet.egress = 0;
                auto now = seen.accumulate(ask.times % 3, { .count = 1 });
                u64 sum = sums.read(0);
                sums.write(0, sum * 3 + ask.kind + (u64)now.value.count);
                ask.value = sum;
                finish;
            }
        }";
    let program = written(text);
    let packets: Vec<Packet> = (0..700_u32)
        .map(|number| Packet {
            ingress: 0,
            // The first packet of a pair is done long before the next pair arrives.
            arrival_ns: u64::from(number / 2) * 40_000 + u64::from(number % 2 * (number / 2)) * 16,
            bytes: (0..60 + 8 * (number % 3)).map(|at| (at * 7 + number) as u8).collect(),
        })
        .collect();
    for name in ["ixp1200", "ixp2400"] {
        let mut spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.assignment = Assignment::Any;
        spec.ports.rate = 10_000_000_000;
        agree_on(spec, &program, &[], &packets);
    }
}

/// There are more such offloads than the scratchpad has words for, so some share their turns.
#[test]
fn many_offloads_are_called_in_the_order_of_packets() {
    let part = |from: u32, next: &str| {
        let calls = (from..from + 10).map(|number| {
            format!(
                "u32 was_{number} = sums_{number}.read(ask.kind % 4);
                 sums_{number}.write(ask.kind % 4, was_{number} * 3 + ask.value);
                 ask.value = ask.value ^ was_{number};
                "
            )
        });
        format!("step part_{from} {{ {} {next} }}\n", calls.collect::<String>())
    };
    let offloads = (0..30).map(|number| format!("offload sums_{number} : array<u32, size = 4>;\n"));
    let text = format!(
        "header Ask {{ u8 kind; u8 times; u32 value; }};
        engine many() {{
            {}
            Ask ask @ 0;
            step begin {{
                packet.egress = 0;
                if (ask.kind % 3 == 0) next part_0;
                if (ask.kind % 3 == 1) next part_10;
                next part_20;
            }}
            {}{}{}
        }}",
        offloads.collect::<String>(),
        part(0, "if (ask.kind % 2 == 0) next part_20; next part_10;"),
        part(10, "if (ask.times % 2 == 0) finish; next part_20;"),
        part(20, "finish;"),
    );
    agree_in_order(&text, 73, ["ixp1200", "ixp2800"]);
}

/// Plays packets on one port to threads of all ports.
fn agree_in_order(text: &str, seed: u64, machines: [&str; 2]) {
    let program = written(text);
    let mut packets = noise(seed, 240);
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.arrival_ns = 40 * number as u64;
        packet.ingress = 0;
        // Packets have one MPKT each, and a port has room for 256.
        packet.bytes.resize(packet.bytes.len().clamp(12, 64), 0x77);
    }
    for name in machines {
        let mut spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.assignment = Assignment::Any;
        agree_on(spec, &program, &[], &packets);
    }
}
