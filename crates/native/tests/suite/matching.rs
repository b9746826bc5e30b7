//! Searches of packets for patterns: long ones are searched in several parts at a time.

use crate::support::agree;
use crate::support::random::Random;
use wireloom_bits::Bits;
use wireloom_ir::Program;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Exit, Meta};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

/// Searches the packet from the offset in its second byte, and writes the reply over its beginning.
fn program() -> Program {
    let mut engine = EngineBuilder::packet("search");
    let patterns = engine.offload("patterns", config("match", &[], &[("", 16)], &[]));
    engine.regions("scan", |step| {
        let start = step.constant(16, 0);
        let from = step.read_packet(start, 8, 8);
        let from = step.extend(from, 16);
        let length = step.meta(Meta::Length);
        let reply = step.call(patterns, "scan", &[from, length]).expect("a reply");
        step.next_region();
        let width = step.width(reply);
        let whole = step.extend(reply, width.next_multiple_of(8));
        step.write_packet(start, 0, whole);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// Returns text of few letters, so that patterns begin everywhere and few are whole.
fn text(random: &mut Random, length: usize, letters: usize) -> Vec<u8> {
    (0..length).map(|_| b'a' + random.below(letters) as u8).collect()
}

/// Tests packets of all lengths around those at which the parts change, which lie in the window, the
/// payload, or both. Patterns are at their ends and across every boundary.
#[test]
fn parts_of_a_packet_are_searched_as_one() {
    let program = [program()];
    let random = &mut Random(3);
    for round in 0..20 {
        let letters = 2 + random.below(3);
        let longest = [1, 3, 8, 20, 70][round % 5];
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        for _ in 0..[0, 1, 4, 12][round % 4] {
            let length = 1 + random.below(longest);
            let pattern = text(random, length, letters);
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        let packets: Vec<Packet> = (0..400)
            .map(|number| {
                let length = if number < 330 { number } else { 300 + random.below(1200) };
                // Some texts have letters of no pattern, and then a pattern at some place.
                let mut bytes = match random.below(3) {
                    0 => text(random, length, letters),
                    1 => text(random, length, letters + 2),
                    _ => vec![b'z'; length],
                };
                for _ in 0..random.below(3) {
                    let pattern = patterns.get(random.below(patterns.len().max(1)));
                    let Some(pattern) = pattern.filter(|pattern| pattern.len() <= length) else {
                        continue;
                    };
                    let at = random.below(length - pattern.len() + 1);
                    bytes[at..][..pattern.len()].copy_from_slice(pattern);
                }
                bytes.splice(0..0, [0, 2 + random.below(90) as u8, 0, 0, 0, 0]);
                Packet { ingress: 0, arrival_ns: 0, bytes }
            })
            .collect();
        let load = |store: &mut Store| {
            let slot = store.find_mut("patterns").expect("it is there");
            let Content::Kind { instance, .. } = &mut slot.content else { panic!("a kind") };
            for (number, pattern) in patterns.iter().enumerate() {
                let key = EntryKey::Pattern(pattern.clone());
                let value = Bits::new(16, 1 + number as u128);
                instance.load(Entry { key, value }).expect("there is room");
            }
        };
        agree(&program, &packets, &load);
    }
}
