//! The null routers of programs/raw.

use wireloom_raw::Spec;
use wireloom_raw::asm::assemble;
use wireloom_raw::board::{Board, BoardSpec};
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::routers::{NULL, NULL_SWITCHES, null_board};

fn board() -> BoardSpec {
    null_board(LineRate::UNLIMITED, Buffer::Stall)
}

/// Packets of lengths that meet every rest of words and of blocks of eight.
fn packets(port: u8) -> Vec<Vec<u8>> {
    let lengths = (1..=100).chain([1500, 1499, 64, 4095]);
    lengths.map(|length| (0..length).map(|byte| (byte % 251) as u8 ^ port << 6).collect()).collect()
}

#[test]
fn packets_pass_unchanged_through_both_null_routers() {
    for (name, text) in [("null.rasm", NULL), ("null-switches.rasm", NULL_SWITCHES)] {
        let program = assemble(name, text).unwrap_or_else(|error| panic!("{}", error.render()));
        let sent: Vec<_> = (0..4).map(packets).collect();
        let mut board = Board::new(&Spec::built_in(), &program, board(), sent.clone()).unwrap();
        let played = board.play(20_000, 10_000_000).unwrap_or_else(|error| panic!("{error}"));
        for (port, sent) in sent.iter().enumerate() {
            let got = played.delivered[port].iter();
            assert!(got.map(|packet| &packet.bytes).eq(sent), "{name}, port {port}");
            assert_eq!(played.counts[port].sent, 104);
            assert!(played.delivered[port].iter().all(|packet| packet.port as usize == port));
        }
    }
}

#[test]
fn switches_alone_carry_a_word_in_every_cycle() {
    let program = assemble("null-switches.rasm", NULL_SWITCHES).unwrap();
    let sent = vec![vec![vec![7; 1500]; 20]; 4];
    let mut board = Board::new(&Spec::built_in(), &program, board(), sent).unwrap();
    let played = board.play(2_000, 1_000_000).unwrap();
    let (bytes, _) = played.rates();
    assert!((bytes - 4.0 * 4.0 * 375.0 / 376.0).abs() < 0.001, "{bytes}");
}
