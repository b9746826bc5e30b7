//! Energy: events are counted once each, and all sums agree.

use wireloom_isa::raw::Network;
use wireloom_power::Account;
use wireloom_raw::device::{Memory, MemorySpec, Sink, Source};
use wireloom_raw::energy::{groups, spent};
use wireloom_raw::{Chip, Header, Side};
use wireloom_sim::Energy;

use super::chip;

/// Returns the events of a class of a part of a tile.
fn events(account: &Account, tile: usize, part: &str, class: &str) -> u64 {
    account.unit_events(tile, part, class).0
}

fn around(account: &Account, part: &str, class: &str) -> u64 {
    account.part_events(part, class).0
}

fn spent_by(chip: &Chip) -> Account {
    let account = spent(chip).expect("an account");
    let total = account.total();
    assert!(total > Energy(0));
    assert_eq!(groups(&account).map(|(_, energy)| energy).sum::<Energy>(), total);
    assert_eq!(account.parts().map(|(_, energy)| energy).sum::<Energy>(), total);
    account
}

#[test]
fn each_instruction_counts_in_its_datapath_and_its_ports() {
    let source = "
.tile 1 0
 ori $t0, $zero, 3
loop: addiu $t1, $t1, 5
 sll $t2, $t1, 2
 mul $t3, $t1, $t2
 addiu $t0, $t0, -1
 bne $t0, $zero, loop
 divu $t3, $t1
 xor $t4, $t1, $t2
 break";
    let mut chip = chip(2, 1, source);
    chip.run(1000).unwrap();
    let cycles = chip.cycles();
    let account = spent_by(&chip);
    let of = |part: &str, class: &str| events(&account, 1, part, class);
    // Three rounds of two additions and a comparison.
    assert_eq!([of("alu", "add"), of("alu", "logic"), of("alu", "idle")], [9, 2, cycles - 11]);
    assert_eq!((of("shifter", "shift"), of("multiplier", "multiply")), (3, 3));
    assert_eq!(of("multiplier", "divide"), 1);
    // Each round reads seven registers. Reads of `$zero` count as well.
    let reads = 1 + 3 * 7 + 2 + 2;
    assert_eq!(of("registers", "read"), reads);
    assert_eq!(of("registers", "write"), 1 + 3 * 4 + 1);
    assert_eq!(of("registers", "idle"), 3 * cycles - reads - 14);
    // The last comparison is mispredicted: three instructions are fetched in vain.
    assert_eq!(of("instruction_memory", "fetch"), 1 + 3 * 5 + 3 + 3);
    assert_eq!(events(&account, 0, "alu", "add"), 0);
    assert_eq!(events(&account, 0, "alu", "idle"), cycles);
    assert!(account.unit(0) < account.unit(1));
}

#[test]
fn each_word_of_the_static_network_counts_at_each_hop_and_at_the_pins() {
    let source = "
.switch 0 0
 movei $1, 99
loop: bnezd $1, $1, loop route $cWi->$cEo
 halt
.switch 1 0
loop: j loop route $cWi->$cEo, $cWi->$csti
.tile 1 0
loop: move $t0, $csti
 b loop";
    let mut chip = chip(2, 1, source);
    chip.attach((0, 0), Side::West, Source::new(Network::Static1, 0..200, 0, 1)).unwrap();
    chip.attach((1, 0), Side::East, Sink::new(Network::Static1, 1)).unwrap();
    chip.run(800).unwrap();
    let sent = chip.device::<Sink>((1, 0), Side::East).unwrap().words.len() as u64;
    assert_eq!(sent, 100);
    let account = spent_by(&chip);
    let of = |tile, class: &str| events(&account, tile, "static_networks", class);
    let left = chip.device::<Source>((0, 0), Side::West).unwrap().left() as u64;
    let came = 200 - left;
    assert_eq!([of(0, "write"), of(0, "read"), of(0, "route"), of(0, "hop")], [came, 100, 100, 0]);
    // In tile 1 each word comes from the neighbour, and one word goes to the processor.
    assert_eq!([of(1, "write"), of(1, "read")], [200, 200]);
    assert_eq!([of(1, "route"), of(1, "hop")], [200, 100]);
    assert_eq!(around(&account, "pins", "word"), came + 100);
    // 24 ports of 12 queues.
    assert_eq!(of(1, "idle"), 24 * chip.cycles() - 400);
    let of = |class: &str| events(&account, 0, "switch_control", class);
    assert_eq!([of("read"), of("write"), of("add")], [100, 101, 100]);
}

#[test]
fn each_message_is_granted_once_at_each_router() {
    let mut chip = chip(3, 1, "");
    let header = Header { last: 2, length: 5, destination: (2, 0), ..Header::default() };
    let message = [header.word(), 1, 2, 3, 4, 5];
    let device = Source::new(Network::General, message.repeat(7), 0, 1);
    chip.attach((0, 0), Side::West, device).unwrap();
    chip.attach((2, 0), Side::East, Sink::new(Network::General, 1)).unwrap();
    chip.run(500).unwrap();
    let account = spent_by(&chip);
    for tile in 0..3 {
        let of = |class: &str| events(&account, tile, "general_network", class);
        let hops = if tile == 0 { 0 } else { 42 };
        assert_eq!(
            [of("write"), of("read"), of("route"), of("hop"), of("grant")],
            [42, 42, 42, hops, 7]
        );
        assert_eq!(events(&account, tile, "memory_network", "route"), 0);
    }
    assert_eq!(around(&account, "pins", "word"), 84);
}

#[test]
fn lines_and_streams_open_rows_and_carry_words() {
    let source = "
.tile 0 0
 lw $t0, 0x100($zero)    # a line comes
 sw $t0, 0x104($zero)
 wbinv 0x100($zero)      # and goes back
 lw $t0, 0x100($zero)    # and comes
 break
.switch 0 0
again: j again route $cWi->$cNo";
    let mut chip = chip(1, 1, source);
    chip.attach((0, 0), Side::West, Memory::new(MemorySpec::full_duplex(1 << 16))).unwrap();
    // Two streams of 40 words: one within a row of 4,096 bytes, one across a row boundary.
    let header = Header { last: 4, length: 2, user: 4, ..Header::default() };
    let words = [header.word(), 64, 40, header.word(), 4096 - 80, 40];
    chip.attach((0, 0), Side::East, Source::new(Network::Memory, words, 200, 1)).unwrap();
    chip.attach((0, 0), Side::North, Sink::new(Network::Static1, 1)).unwrap();
    chip.run(5000).unwrap();
    let account = spent_by(&chip);
    assert_eq!(around(&account, "dram", "activate"), 3 + 1 + 2);
    assert_eq!(around(&account, "dram", "word"), 3 * 8 + 80);
    let of = |class: &str| events(&account, 0, "data_cache", class);
    // Two loads and the write-back, and two accesses that missed at first.
    assert_eq!([of("read"), of("write"), of("line_word")], [3 + 2, 1, 3 * 8]);
}
