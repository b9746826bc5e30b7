//! The data cache, and memories at ports.

use wireloom_isa::raw::Network;
use wireloom_raw::device::{Memory, MemorySpec, Sink, Source};
use wireloom_raw::{Error, Header, Side};

use super::chip;

#[test]
fn lines_are_fetched_written_back_and_fetched_again() {
    // 32 KB in two ways: addresses 16 KB apart share a set.
    let source = "
.tile 1 1
 li $t0, 0x10000
 lw $t1, 0($t0)          # a miss
 sb $t1, 1($t0)
 lw $t2, 0($t0)          # a hit
 lw $t3, 0x4000($t0)     # a miss in the other way
 addiu $t4, $t0, 0x4000
 lw $t5, 0x4000($t4)     # a miss that drops the first, which is dirty
 lbu $t6, 1($t0)         # a miss again
 break";
    let mut chip = chip(2, 2, source);
    let mut memory = Memory::new(MemorySpec::full_duplex(1 << 20));
    for (address, word) in [(0x10000, 0x1122_3344), (0x14000, 5), (0x18000, 6)] {
        *memory.word(address).unwrap() = word;
    }
    chip.attach((0, 0), Side::West, memory).unwrap();
    chip.run(10_000).unwrap();
    let register = |number| chip.register((1, 1), number);
    assert_eq!([9, 10, 11, 13, 14].map(register), [0x1122_3344, 0x1144_3344, 5, 6, 0x44]);
    let (_, hits, misses) = chip.counts((1, 1));
    // Each access hits in the end.
    assert_eq!((hits, misses), (6, 4));
    let memory = chip.device::<Memory>((0, 0), Side::West).unwrap();
    assert_eq!(*memory.word(0x10000).unwrap(), 0x1144_3344);
    assert_eq!(memory.refused, 0);
}

#[test]
fn a_miss_takes_the_way_there_the_memory_and_the_line() {
    let source = ".tile 0 0\n mfsr $t0, cycle\n lw $t1, 0($zero)\n mfsr $t2, cycle\n break";
    let mut chip = chip(1, 1, source);
    chip.attach((0, 0), Side::West, Memory::new(MemorySpec::full_duplex(4096))).unwrap();
    chip.run(1000).unwrap();
    let taken = chip.register((0, 0), 10) - chip.register((0, 0), 8);
    let issue = 1;
    let (request, router, arrival) = (2, 1, 1);
    let memory = 25;
    let (back, rest_of_line) = (2, 8);
    let (issue_again, next) = (1, 1);
    let wanted = issue + request + router + arrival + memory + back + rest_of_line;
    assert_eq!(taken, wanted + issue_again + next);
}

#[test]
fn an_address_without_memory_stops_the_tile() {
    let Err(Error::Fault { unit, why, .. }) = chip(1, 1, ".tile 0 0\n lw $t0, 0($zero)").run(10)
    else {
        panic!("it runs")
    };
    assert_eq!(unit, "tile (0,0)");
    assert!(why.contains("no memory holds address 0x0"), "{why}");
}

#[test]
fn a_memory_streams_a_word_in_every_cycle() {
    let mut chip = chip(2, 1, ".switch 0 0\nagain: j again route $cWi->$cNo");
    let mut memory = Memory::new(MemorySpec::full_duplex(4096));
    for word in 0..100 {
        *memory.word(4 * word).unwrap() = word;
    }
    chip.attach((0, 0), Side::West, memory).unwrap();
    let command = Header { last: 4, length: 2, user: 4, ..Header::default() };
    let words = [command.word(), 0, 60, command.word(), 240, 40];
    chip.attach((1, 0), Side::East, Source::new(Network::Memory, words, 0, 1)).unwrap();
    chip.attach((0, 0), Side::North, Sink::new(Network::Static1, 1)).unwrap();
    chip.run(1000).unwrap();
    let got = &chip.device::<Sink>((0, 0), Side::North).unwrap().words;
    assert!(got.iter().map(|word| word.1).eq(0..100));
    assert_eq!(got[99].0 - got[0].0, 99, "two commands without a gap");
}
