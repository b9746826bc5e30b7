//! Programs that fill several control stores of version 2, either as a chain of parts or with jumps
//! back to earlier parts.

use crate::agreed::{agree_on, noise};
use crate::written::written;
use wireloom_ixp::{Spec, compile};
use wireloom_machine::Program;
use wireloom_net::Packet;

/// Steps that continue with the next step or skip some, drop packets, change the window at both
/// ends, need it in the frame, call offloads in packet order, and send packets several times.
const STEPS: &str = "
enum Reason : u8 { SHORT, ODD, FULL };
header Bytes { u8 kind; u8 by; u16 port; u32 value; u64 wide; };
engine steps() {
    offload sums : array<u64, size = 8>;
    offload cut : payload<u8>;
    offload checks : checksum;
    u8 kind; u8 by; u32 value; u64 wide; u128 long; bool is_odd; u64 other; u32 rest; u16 sum; u96 far;
    Bytes head @ 0;
    step begin {
        if (packet.length < sizeof(Bytes)) drop(SHORT);
        packet.egress = 0;
        kind = head.kind % 16; by = head.by; value = head.value * 3; wide = head.wide + 1;
        long = concat(head.wide, wide); other = wide ^ (u64)value; rest = value + 7;
        far = concat(value, other);
        if (kind == 0) next last;
        if (kind == 1) drop(ODD);
        is_odd = kind[0:0] == 1;
        next window;
    }
    step window {
        head.value = value ^ rest;
        if (kind == 2 && !packet.push(8)) drop(FULL);
        if (kind == 3 && !packet.pop(3)) drop(FULL);
        if (kind == 4) cut.truncate(packet.length - 5);
        if (kind == 5 || kind == 6) next whole;
        if (kind == 7) emit(ordered);
        next ordered;
    }
    step whole {
        sum = checks.sum(0, packet.length, 0);
        head.wide = concat(sum, head.wide[47:0]);
        next ordered;
    }
    step ordered {
        u64 was = sums.read(by % 8);
        sums.write(by % 8, was * 5 + wide);
        head.wide = head.wide ^ was ^ other;
        if (kind == 8) finish;
        if (is_odd) next mixed;
        next last;
    }
    step mixed {
        long = long * (u128)(value + 3) + (u128)wide;
        head.value = long[95:64] ^ head.value ^ far[63:32];
        if (kind == 9) emit(last);
        next last;
    }
    step last {
        if (packet.length < sizeof(Bytes)) finish;
        head.wide = head.wide + long[63:0] + other + (u64)sum;
        head.kind = by;
        finish;
    }
}
";

/// Packets on one port, so golden takes them in the same order.
fn packets(seed: u64) -> Vec<Packet> {
    let mut packets = noise(seed, 100);
    for (number, packet) in packets.iter_mut().enumerate() {
        (packet.ingress, packet.arrival_ns) = (0, 500 * number as u64);
    }
    packets
}

/// The texts of a program's parts on `ixp2400` with control stores of `words` words.
fn parts(program: &Program, words: u32) -> (Spec, Vec<String>) {
    let mut spec = Spec::installed("ixp2400").unwrap_or_else(|error| panic!("{error}"));
    spec.engine.control_store = words;
    let mut store = wireloom_ir::store(&program.optimised).expect("a store");
    let compiled = compile(&spec, program, &mut store);
    let compiled = compiled.unwrap_or_else(|refused| panic!("{refused:?}"));
    let texts = compiled.named().into_iter().map(|(_, text)| text).collect();
    (spec, texts)
}

fn is_chain(texts: &[String]) -> bool {
    texts.iter().all(|text| text.contains("#define CHAIN 1"))
}

#[test]
fn chains_of_parts_do_as_golden_does() {
    let program = written(STEPS);
    let mut counts = Vec::new();
    for words in [4096, 1536, 1152] {
        let (spec, texts) = parts(&program, words);
        assert_eq!(is_chain(&texts), texts.len() > 1, "{words}");
        counts.push(texts.len());
        agree_on(spec, &program, &[], &packets(u64::from(words)));
    }
    assert!(counts.is_sorted() && counts[0] == 1 && counts[2] > 2, "{counts:?}");
}

/// The steps of the loop exceed a control store, so packets return to the first part.
#[test]
fn parts_of_a_long_loop_do_as_golden_does() {
    let again = STEPS.replace(
        "if (kind == 8) finish;",
        "rounds = rounds + 1; if (rounds < 3) next window; if (kind == 8) finish;",
    );
    let again = again.replace("u8 kind; u8 by; u32 value", "u8 rounds; u8 kind; u8 by; u32 value");
    let program = written(&again);
    let (spec, texts) = parts(&program, 1024);
    assert!(texts.len() > 1 && !is_chain(&texts), "{} parts", texts.len());
    agree_on(spec, &program, &[], &packets(83));
}

/// The rounds of arithmetic in a step of [`carrying`].
const ROUNDS: usize = 50;

/// A program that takes `count` words of a header into the context in its first step, and writes
/// them back in the opposite order in its last one. The arithmetic in between is too long for one
/// part. It uses `others` further variables, which have the first places of the context, and which
/// the last step does not need.
fn carrying(count: usize, others: usize) -> String {
    let words = |text: &dyn Fn(usize) -> String| (1..=count).map(text).collect::<String>();
    let all_others = |text: &dyn Fn(usize) -> String| (0..others).map(text).collect::<String>();
    let rounds = |from: usize| {
        let round = |number: usize| {
            let other = number % others;
            format!("t{other} = (t{other} ^ {number}) * 77 + (t{other} >> 5);\n")
        };
        (from..from + ROUNDS).map(round).collect::<String>()
    };
    format!(
        "enum Reason : u8 {{ SHORT }};
        header Words {{ u32 sum; {} }};
        engine carrying() {{
            {} {}
            Words head @ 0;
            step begin {{
                if (packet.length < sizeof(Words)) drop(SHORT);
                packet.egress = 0;
                {} {} {}
                next between;
            }}
            step between {{
                {}
                head.sum = 0 {};
                next end;
            }}
            step end {{
                {}
                finish;
            }}
        }}",
        words(&|word| format!("u32 w{word}; ")),
        all_others(&|other| format!("u32 t{other}; ")),
        words(&|word| format!("u32 c{word}; ")),
        words(&|word| format!("c{word} = head.w{word};\n")),
        all_others(&|other| format!("t{other} = head.sum + {other};\n")),
        rounds(0),
        rounds(1000),
        all_others(&|other| format!("^ t{other}")),
        words(&|word| format!("head.w{word} = c{};\n", count + 1 - word)),
    )
}

/// Words of the context beyond those in next-neighbour registers go through the frame, whichever
/// groups of local memory they are in.
#[test]
fn all_words_of_the_context_reach_later_parts() {
    for (count, others) in [(8, 1), (10, 2), (12, 2), (12, 4), (14, 2), (20, 4)] {
        let program = written(&carrying(count, others));
        let (spec, texts) = parts(&program, 1536);
        assert!(texts.len() > 1 && is_chain(&texts), "{count} words: {} parts", texts.len());
        agree_on(spec, &program, &[], &packets(count as u64));
    }
}
