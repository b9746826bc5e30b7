//! A thread does not write the parts of its frame that no step reads.

use crate::written::{agree_while_tables_change, written};
use wireloom_ixp::Spec;
use wireloom_machine::Configured;
use wireloom_net::Packet;

/// The microcode of a program for `ixp1200`.
fn microcode(text: &str) -> String {
    let files =
        Spec::base().generate(&written(text)).unwrap_or_else(|error| panic!("{}", error.message));
    files.into_iter().next().expect("a text").1
}

/// The words of the context that a thread clears before it begins.
fn cleared_variables(microcode: &str) -> u32 {
    let (_, begin) = microcode.split_once("begin#:\n").expect("a begin");
    let (begin, _) = begin.split_once("step0#:").expect("a first step");
    let count = |line: &str| {
        let line = line.trim();
        let own = ["sram[write, ", "scratch[write, "];
        let count = own.iter().find_map(|own| line.strip_prefix(own))?.split_once(']')?.0;
        count.rsplit(", ").next()?.parse::<u32>().ok()
    };
    begin.lines().filter_map(count).sum()
}

#[test]
fn variables_that_packets_write_before_they_read_them_are_not_cleared() {
    let text = |guard: &str| {
        format!(
            "enum Reason : u8 {{ SHORT, EARLY }};
            header Ask {{ u32 x; u32 y; }};
            engine guarded() {{
                u32 kept;
                Ask ask @ 0;
                step begin {{
                    if (packet.length < sizeof(Ask)) drop(SHORT);
                    {guard}
                    next more;
                }}
                step more {{ ask.y = kept + ask.y; finish; }}
                step other {{ ask.y = ask.x + 1; finish; }}
            }}"
        )
    };
    // No later step reads it after a drop.
    assert_eq!(cleared_variables(&microcode(&text("kept = ask.x;"))), 0);
    let early = "if (ask.y == 7) drop(EARLY); kept = ask.x;";
    assert_eq!(cleared_variables(&microcode(&text(early))), 0);
    let elsewhere = "if (ask.y == 7) next other; kept = ask.x; if (ask.y == 9) next other;";
    assert_eq!(cleared_variables(&microcode(&text(elsewhere))), 0);
    let looped = "kept = kept + ask.x; if (kept < 1000) next begin;";
    assert_eq!(cleared_variables(&microcode(&text(looped))), 1);
}

/// A packet begins at byte 1,344 of the frame. After the packet, the frame is zero up to a word.
/// The test compares the index of this word.
#[test]
fn zeros_are_where_fields_may_be_read() {
    let cleared = |body: &str| {
        let text = format!(
            "header Wide {{ u32 x; u32 y; u8 z; }};
            engine fields() {{
                offload bytes : payload<u32>;
                u4 at;
                Wide first @ 0;
                Wide moved @ 3 + (u16)at;
                {body}
            }}"
        );
        let text = microcode(&text);
        let line = text.lines().find_map(|line| line.strip_prefix("#define CLEARED "));
        line.expect("a definition").parse::<u32>().expect("a number")
    };
    assert_eq!(cleared("step begin { packet.egress = packet.ingress; finish; }"), 0);
    let store = "packet.egress = first.x[15:0]; at = first.x[3:0];";
    assert_eq!(cleared(&format!("step begin {{ {store} finish; }}")), 337);
    assert_eq!(cleared("step begin { packet.egress = (u16)first.z; finish; }"), 339);
    let later = |begin: &str, more: &str| {
        cleared(&format!(
            "step begin {{ {store} {begin} next more; }} step more {{ {more} finish; }}"
        ))
    };
    // The sum of 3 and the variable has five bits, and nine bytes begin there.
    assert_eq!(later("", "packet.egress = (u16)moved.z;"), 346);
    // All written and removed bytes lie within the window.
    assert_eq!(later("", "moved.z = 3; packet.pop(4);"), 337);
    assert_eq!(later("bytes.truncate(60);", ""), 337);
    // Fields after a change of the front, and bytes of the packet, may be anywhere.
    assert_eq!(later("packet.pop(4);", "packet.egress = (u16)first.z;"), 368);
    assert_eq!(later("", "packet.egress = (u16)bytes.read(20);"), 368);
}

/// Short packets follow long ones, whose bytes are still in the frames of their threads.
#[test]
fn fields_behind_the_window_are_zero() {
    let program = written(
        "header Ask { u8 at; u32 sum; };
        header Far { u8 a; u32 b; u8 c; };
        engine far() {
            u5 at;
            Ask ask @ 0;
            Far fixed @ 70;
            Far moved @ 61 + (u16)at;
            step begin {
                packet.egress = packet.ingress;
                at = ask.at[4:0];
                if (ask.at[7:7] == 1) next cut;
                next more;
            }
            step cut { bytes.truncate(9); next more; }
            offload bytes : payload<u8>;
            step more {
                ask.sum = fixed.b + moved.b + (u32)fixed.a + (u32)fixed.c + (u32)moved.c;
                finish;
            }
        }",
    );
    let mut rng = wireloom_sim::Rng::new(71, "zeros");
    let packet = |number: u64| {
        let length = if rng.below(2) == 0 { 120 } else { 5 + rng.below(90) };
        let mut bytes = vec![0; length as usize];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        Packet { ingress: (number % 8) as u16, arrival_ns: 500 * number, bytes }
    };
    let all: Vec<Packet> = (0..600).map(packet).collect();
    for machine in ["ixp1200", "ixp2400"] {
        let mut spec = Spec::installed(machine).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.receive_mpkts = 2048;
        agree_while_tables_change(spec, &program, &[], &all, all.len());
    }
}
