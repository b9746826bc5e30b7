//! Packets of unusual lengths: empty, shorter than any header, and of the maximum length.

use crate::agreed::agree_on;
use crate::written::written;
use wireloom_ixp::Spec;
use wireloom_net::Packet;

/// Packets with short lengths on all ports, between two of 60 bytes.
fn packets(longest: usize) -> Vec<Packet> {
    let lengths = [60, 0, 1, 13, 14, 0, 63, 64, 65, longest, 0, 60];
    let packet = |(number, &length): (usize, &usize)| Packet {
        ingress: (number % 3) as u16,
        arrival_ns: 2_000 * number as u64,
        bytes: (0..length).map(|at| (at * 7 + number) as u8).collect(),
    };
    lengths.iter().enumerate().map(packet).collect()
}

#[test]
fn packets_of_every_length_do_as_on_golden() {
    let pass = "engine pass() { step begin { packet.egress = packet.ingress; finish; } }";
    // Reads and writes beyond the end of short packets, and a `bytes` value without bytes.
    let touch = "
        enum Reason : u8 { SHORT };
        header Ask { u32 x; u32 y; };
        engine touch() {
            Ask ask @ 0;
            step begin {
                packet.egress = (u16)(ask.x % 3);
                if (packet.length == 13) drop(SHORT);
                ask.y = ask.x + (u32)packet.length;
                if (packet.length == 0) packet.push(4);
                finish;
            }
        }";
    for text in [pass, touch] {
        let program = written(text);
        for name in ["ixp1200", "ixp2400", "ixp2800"] {
            let spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
            // One program is enough for the longest packet, which takes most of the time.
            agree_on(spec, &program, &[], &packets(if text == pass { 65_535 } else { 1_514 }));
        }
    }
}
