//! The static networks.

use std::fmt::Write;

use proptest::prelude::*;
use wireloom_isa::raw::Network;
use wireloom_raw::device::{Sink, Source};
use wireloom_raw::{Error, Side};

use super::chip;

/// Sends the cycle of its issue from the first tile of a row to the last. Returns the cycles until
/// the word is added there.
fn latency(hops: u32) -> u32 {
    let mut source = String::from(
        ".tile 0 0\n nop\n nop\n mfsr $csto, cycle\n break\n.switch 0 0\n route $csto->$cEo\n halt\n",
    );
    for column in 1..hops {
        let _ = writeln!(source, ".switch {column} 0\n route $cWi->$cEo\n halt");
    }
    let _ = writeln!(
        source,
        ".switch {hops} 0\n route $cWi->$csti\n halt\n.tile {hops} 0\n subu $t0, $zero, $csti\n \
         mfsr $t1, cycle\n addu $t2, $t1, $t0\n break"
    );
    let mut chip = chip(hops + 1, 1, &source);
    chip.run(1000).unwrap();
    // The instruction after the one that reads the word reads the cycle.
    chip.register((hops as u8, 0), 10) - 1
}

#[test]
fn a_word_takes_three_cycles_to_a_neighbour_and_one_a_hop_more() {
    for hops in 1..16 {
        assert_eq!(latency(hops), 2 + hops, "{hops} hops");
    }
}

#[test]
fn a_path_passes_a_word_in_every_cycle() {
    let source = "
.switch 0 0
again: j again route $cWi->$cEo, $cW2i->$cE2o
.switch 1 0
again: j again route $cWi->$cEo, $cW2i->$cE2o";
    let mut chip = chip(2, 1, source);
    chip.attach((0, 0), Side::West, Source::new(Network::Static1, 0..100, 0, 1)).unwrap();
    chip.attach((1, 0), Side::East, Sink::new(Network::Static1, 1)).unwrap();
    // The other network of the same route has no words, so no word of the first network may move.
    chip.run(500).unwrap();
    assert!(chip.device::<Sink>((1, 0), Side::East).unwrap().words.is_empty());

    let source = source.replace(", $cW2i->$cE2o", "");
    let mut chip = super::chip(2, 1, &source);
    chip.attach((0, 0), Side::West, Source::new(Network::Static1, 0..100, 0, 1)).unwrap();
    chip.attach((1, 0), Side::East, Sink::new(Network::Static1, 1)).unwrap();
    chip.run(500).unwrap();
    let words = &chip.device::<Sink>((1, 0), Side::East).unwrap().words;
    let wanted: Vec<_> = (0..100).map(|word| (4 + u64::from(word), word)).collect();
    assert_eq!(*words, wanted);
}

#[test]
fn a_count_in_a_switch_register_moves_that_many_words() {
    let source = ".tile 0 0\n li $csto, 4\n break\n.switch 0 0\n recv $2\n\
                  again: bnezd $2, $2, again route $cWi->$cEo\n halt";
    let mut chip = chip(1, 1, source);
    chip.attach((0, 0), Side::West, Source::new(Network::Static1, 0..100, 0, 1)).unwrap();
    chip.attach((0, 0), Side::East, Sink::new(Network::Static1, 1)).unwrap();
    chip.run(500).unwrap();
    let words = &chip.device::<Sink>((0, 0), Side::East).unwrap().words;
    assert_eq!(words.iter().map(|word| word.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(chip.device::<Source>((0, 0), Side::West).unwrap().left(), 91, "4 are queued");
}

#[test]
fn a_deadlock_is_a_circle_of_who_waits_for_whom() {
    let source = "
.tile 0 0
 addiu $csto, $csti, 1
.switch 0 0
 route $cEi->$csti
 route $csto->$cEo
.tile 1 0
 addiu $csto, $csti, 1
.switch 1 0
 route $cWi->$csti
 route $csto->$cWo";
    let Err(Error::Stuck { report, .. }) = chip(2, 1, source).run(5000) else { panic!("it runs") };
    assert_eq!(report.cycles.len(), 1, "{report}");
    let circle: Vec<_> =
        report.cycles[0].iter().map(|wait| (wait.who.as_str(), wait.why.as_str())).collect();
    assert_eq!(circle, [("switch (0,0)", "a word"), ("switch (1,0)", "a word")]);
}

proptest! {
    #[test]
    fn no_word_is_lost_or_repeated_whatever_stalls(
        source_interval in 1u64..6,
        sink_intervals in (1u64..6, 1u64..6),
        nops in prop::collection::vec(0usize..4, 3),
    ) {
        let mut source = String::new();
        for (column, nops) in nops.iter().enumerate() {
            let wait = " nop\n".repeat(*nops);
            let south = if column == 1 { ", $cWi->$cSo" } else { "" };
            let _ = writeln!(
                source,
                ".switch {column} 0\nagain:{wait} j again route $cWi->$cEo{south}"
            );
        }
        let mut chip = chip(3, 1, &source);
        let words = 0..200;
        let device = Source::new(Network::Static1, words.clone(), 0, source_interval);
        chip.attach((0, 0), Side::West, device).unwrap();
        chip.attach((2, 0), Side::East, Sink::new(Network::Static1, sink_intervals.0)).unwrap();
        chip.attach((1, 0), Side::South, Sink::new(Network::Static1, sink_intervals.1)).unwrap();
        chip.run(3000).unwrap();
        for (tile, side) in [((2, 0), Side::East), ((1, 0), Side::South)] {
            let got = &chip.device::<Sink>(tile, side).unwrap().words;
            prop_assert!(got.iter().map(|word| word.1).eq(words.clone()));
        }
    }
}
