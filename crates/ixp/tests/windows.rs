//! Header windows in local memory, and packets that leave from there in their order.

#[path = "support/agreed.rs"]
mod agreed;
#[path = "support/written.rs"]
mod written;

use agreed::{agree_on, agree_with, noise, own_program};
use wireloom_ixp::Spec;
use wireloom_machine::Configured;
use written::written;

#[test]
fn windows_in_local_memory_and_in_frames_hold_what_they_do_on_golden() {
    let program = own_program("windows");
    let packets = noise(61, 600);
    agree_with(&program, &[], &packets);
    // Its control stores have room for all steps, so windows are in local memory.
    let spec = Spec::installed("ixp2800").unwrap_or_else(|error| panic!("{error}"));
    let microcode = spec.generate(&program).unwrap_or_else(|error| panic!("{}", error.message));
    assert!(microcode[0].1.contains("#define WINDOW_BASE"));
    agree_on(spec, &program, &[], &packets);
}

/// Packets that take very different times, some with several outputs, so that many wait for one and then leave
/// together.
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
