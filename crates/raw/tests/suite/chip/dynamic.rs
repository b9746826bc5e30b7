//! The dynamic networks.

use proptest::prelude::*;
use wireloom_isa::raw::Network;
use wireloom_raw::device::{Sink, Source};
use wireloom_raw::{Chip, Header, Side, Spec};

fn header(length: u8, user: u8, to: (u8, u8), side: Side) -> u32 {
    let last = 1 + side as u8;
    Header { last, length, user, origin: (0, 0), destination: to }.word()
}

fn bare(columns: u32, rows: u32) -> Chip {
    super::chip(columns, rows, "")
}

#[test]
fn a_header_takes_a_cycle_a_hop_and_one_more_a_turn() {
    for (x, y) in [(1, 0), (3, 0), (0, 3), (3, 3), (1, 2)] {
        let mut chip = bare(4, 4);
        let word = header(1, 0, (x, y), Side::North);
        // From the west side of tile (0, 0) to the processor of the other tile.
        let word = word & 0x1fff_ffff;
        let source =
            format!(".tile {x} {y}\n move $t0, $cgni\n mfsr $t1, cycle\n move $t2, $cgni\n break");
        let mut with_program = super::chip(4, 4, &source);
        for chip in [&mut chip, &mut with_program] {
            let device = Source::new(Network::General, [word, 7], 0, 1);
            chip.attach((0, 0), Side::West, device).unwrap();
        }
        with_program.run(100).unwrap();
        assert_eq!(with_program.register((x, y), 8), word);
        assert_eq!(with_program.register((x, y), 10), 7);
        let hops = u32::from(x + y);
        let turns = u32::from(y > 0);
        // Written in cycle 1, moved from cycle 2 on, read one cycle after the last move.
        let read = with_program.register((x, y), 9) - 1;
        assert_eq!(read, 1 + hops + 1 + 1 + turns, "to ({x},{y})");
    }
}

#[test]
fn messages_that_meet_share_a_wire_whole_and_in_turn() {
    let mut chip = bare(3, 2);
    let message = |user| [header(2, user, (2, 0), Side::East), 10, 11];
    let words = |user| message(user).repeat(50);
    chip.attach((0, 0), Side::West, Source::new(Network::General, words(1), 0, 1)).unwrap();
    chip.attach((1, 0), Side::North, Source::new(Network::General, words(2), 0, 1)).unwrap();
    chip.attach((2, 0), Side::East, Sink::new(Network::General, 1)).unwrap();
    chip.run(2000).unwrap();
    let got = &chip.device::<Sink>((2, 0), Side::East).unwrap().words;
    assert_eq!(got.len(), 300);
    let users: Vec<_> = got.chunks(3).map(|words| Header::of(words[0].1).user).collect();
    assert!(got.chunks(3).all(|words| words[1].1 == 10 && words[2].1 == 11));
    assert!(users[4..].windows(2).take(80).all(|pair| pair[0] != pair[1]), "{users:?}");
    // One word a cycle: the shared wire is never idle.
    let (first, last) = (got[0].0, got[299].0);
    assert_eq!(last - first, 299);
}

/// Returns the fault of a chip whose tile (1,0) sends a message of one word in its first cycles.
fn fault(network: &str, header: u32) -> String {
    let source = format!(
        ".tile 1 0\n li $t0, {header:#x}\n move ${network}, $t0\n move ${network}, $0\n break"
    );
    super::chip(4, 2, &source).run(1000).expect_err("the message has no receiver").to_string()
}

#[test]
fn a_message_to_a_tile_that_is_not_there_is_reported() {
    let to = |x, y, last| {
        let header = Header { last, length: 1, user: 0, origin: (1, 0), destination: (x, y) };
        header.word()
    };
    for (network, name) in [("cgno", "general"), ("cmno", "memory")] {
        for (x, y) in [(4, 0), (31, 1), (1, 2), (0, 31)] {
            let fault = fault(network, to(x, y, 0));
            let begin = format!("{name} router (1,0) stops in cycle ");
            let end = format!(
                ": the message from (1,0) with 1 word goes to tile ({x},{y}), which a chip of \
                 4 x 2 does not have"
            );
            assert!(fault.starts_with(&begin) && fault.ends_with(&end), "{fault}");
        }
        let fault = fault(network, to(3, 1, 2));
        let begin = format!("{name} router (3,1) stops in cycle ");
        let end = "leaves the chip on the east side, where no device is";
        assert!(fault.starts_with(&begin) && fault.ends_with(end), "{fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_message_comes_whole_and_in_order_of_its_sender(
        messages in prop::collection::vec((0usize..4, 0usize..4, 0u8..32), 1..60),
        intervals in prop::array::uniform8(1u64..5),
        queue_words in 2u32..8,
    ) {
        let spec = Spec { columns: 3, rows: 3, queue_words, ..Spec::built_in() };
        let mut chip = Chip::new(&spec, &Default::default()).unwrap();
        let ports =
            [((0, 1), Side::West), ((1, 0), Side::North), ((2, 1), Side::East), ((1, 2), Side::South)];
        let mut sent = vec![Vec::new(); 4];
        let mut wanted = vec![vec![Vec::new(); 4]; 4];
        for (number, (from, to, length)) in messages.into_iter().enumerate() {
            let (tile, side) = ports[to];
            let mut words = vec![header(length, from as u8, tile, side)];
            words.extend((0..u32::from(length)).map(|word| (number as u32) << 8 | word));
            sent[from].extend(&words);
            wanted[to][from].extend(words);
        }
        // Sources and sinks share ports, so each device has its own port: sources enter at the
        // corners of the chip.
        let corners =
            [((0, 0), Side::West), ((2, 0), Side::North), ((2, 2), Side::East), ((0, 2), Side::South)];
        for (number, ((tile, side), words)) in corners.into_iter().zip(sent).enumerate() {
            let device = Source::new(Network::General, words, 0, intervals[number]);
            chip.attach(tile, side, device).unwrap();
        }
        for (number, (tile, side)) in ports.into_iter().enumerate() {
            chip.attach(tile, side, Sink::new(Network::General, intervals[4 + number])).unwrap();
        }
        chip.run(50_000).unwrap();
        for (to, (tile, side)) in ports.into_iter().enumerate() {
            let got: Vec<_> =
                chip.device::<Sink>(tile, side).unwrap().words.iter().map(|word| word.1).collect();
            let mut split = vec![Vec::new(); 4];
            let mut rest = &got[..];
            while let Some(first) = rest.first() {
                let header = Header::of(*first);
                let (message, after) = rest.split_at(1 + usize::from(header.length));
                split[usize::from(header.user)].extend_from_slice(message);
                rest = after;
            }
            prop_assert_eq!(&split, &wanted[to]);
        }
    }
}
