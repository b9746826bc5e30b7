//! The null routers of programs/raw.

use wireloom_raw::asm::assemble;
use wireloom_raw::board::{Board, BoardSpec};
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::routers::{NULL, NULL_SWITCHES, null_board};
use wireloom_raw::{Spec, Work};

fn board() -> BoardSpec {
    null_board(LineRate::UNLIMITED, Buffer::Stall)
}

/// Returns packets whose lengths cover every remainder of words and of blocks of eight words.
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

/// Returns the work of tile (1, 2) for 100 packets of a length, once caches are warm.
fn work(length: usize) -> (Work, u64, u64) {
    let program = assemble("null.rasm", NULL).unwrap();
    let after = |packets| {
        let sent = vec![vec![vec![7; length]; packets]; 4];
        let mut board = Board::new(&Spec::built_in(), &program, board(), sent).unwrap();
        board.play(20_000, 10_000_000).unwrap();
        (board.chip.work((1, 2)), board.chip.spent((1, 2)).0)
    };
    let ((few, few_cycles), (many, cycles)) = (after(50), after(150));
    let work = Work {
        taken: many.taken - few.taken,
        given: many.given - few.given,
        branches: many.branches - few.branches,
        others: many.others - few.others,
    };
    let executed = cycles.executed - few_cycles.executed;
    (work, executed, cycles.branches - few_cycles.branches)
}

#[test]
fn a_stage_of_the_null_router_does_what_its_program_says() {
    // A first word and 16 or 375 more words enter and leave. The switch gets two counts. Words move
    // in blocks of eight, and the remaining words one at a time.
    for (length, words, blocks, single) in [(64, 16, 2, 0), (1500, 375, 46, 7)] {
        let (work, executed, wrong) = work(length);
        let is_blockwise = u64::from(single == 0);
        assert_eq!(work.taken, 100 * (1 + words), "{length}");
        assert_eq!(work.given, 100 * (1 + words + 2), "{length}");
        // Two loops, each entered by a branch and left for single words by another branch. The
        // single words end with a jump back to the first word.
        let jump = 1 - is_blockwise;
        assert_eq!(work.branches, 100 * (2 * (blocks + single + 2) + jump), "{length}");
        assert_eq!(work.others, 100 * (10 + 2 * (2 * blocks + single)), "{length}");
        assert_eq!(executed, work.taken + work.given + work.branches + work.others);
        // The end of each loop is mispredicted. So is the branch around single words: it is a
        // forward branch in the loop that stores words, and a backward branch in the loop that
        // sends them.
        let wrongly = if single == 0 { 3 } else { 5 };
        assert_eq!(wrong, 100 * 3 * wrongly, "{length}");
    }
}
