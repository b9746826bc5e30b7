//! Timers run while no packet arrives, and send packets of their own.

use std::time::Instant;

use super::{Forwarding, each_way};
use crate::network::Network;
use crate::patience::patience;
use crate::wire::{Wire, interface_index};

/// One frame of type 0x88b5 makes four of type 0x88b6 on the other side, one after the other. Each
/// is made by a timer that the one before has set.
const PROGRAM: &str = "
header Ethernet { u48 dst; u48 src; u16 type; };
header Left { u8 timers; };
enum Reason : u8 { OTHER };

engine countdown() {
    offload left : timer<u8, size = 8>;
    Ethernet eth @ 0;
    Left shown @ sizeof(Ethernet);
    u8 more;

    step begin {
        if (eth.type != 0x88b5) drop(OTHER);
        left.set(3, 20000000);
        done;
    }
    step over on left(u8 key) {
        packet.reset(60);
        eth = { .dst = ~0, .src = 02:00:00:00:00:07, .type = 0x88b6 };
        shown.timers = key;
        packet.egress = 1;
        more = key;
        next again;
    }
    step again {
        if (more != 0) left.set(more - 1, 20000000);
        finish;
    }
}
";

#[test]
fn timers_run_while_nothing_arrives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("countdown.loom");
    std::fs::write(&program, PROGRAM).expect("a file");
    let program = program.to_str().expect("a path in UTF-8");
    each_way(|way| {
        // One core executes an engine with state, and the engine in the kernel has no timers.
        if way.ends_with(&["2"]) || way.contains(&"kernel") {
            return;
        }
        let network = match Network::new() {
            Ok(network) => network,
            Err(error) => return eprintln!("warning: nothing was tested: {error}"),
        };
        let started = Forwarding::start_program(program, &network.router, &["r1", "r2"], way);
        let Some(forwarding) = started else { return };
        let wire = network.right.run(|| Wire::open().expect("a raw socket"));
        network.left.run(|| {
            let frame = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[0; 46]].concat();
            let port = interface_index("ha").expect("the left host's interface");
            Wire::open().expect("a raw socket").send(port, &frame).expect("a frame is sent");
        });
        let deadline = Instant::now() + patience();
        let mut seen = Vec::new();
        while seen.len() < 4 {
            let frame = wire.receive(deadline).expect("the socket works");
            let frame = frame.unwrap_or_else(|| panic!("only {seen:?} came"));
            if frame.bytes[12..14] == [0x88, 0xb6] {
                seen.push(frame.bytes[14]);
            }
        }
        assert_eq!(seen, [3, 2, 1, 0]);
        forwarding.stop();
    });
}
