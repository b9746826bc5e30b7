//! Line cards, the DMA protocol and interrupts of devices.

use wireloom_isa::raw::Network;
use wireloom_raw::device::{
    Buffer, InputCard, InputSpec, LineRate, Memory, MemorySpec, OutputCard, OutputSpec, Place,
    Sink, Source, framed,
};
use wireloom_raw::{Chip, Header, Side};

use super::chip;

const CLOCK: u64 = 425_000_000;

/// Returns a line on which a byte takes this number of cycles.
fn cycles_a_byte(cycles: u64) -> LineRate {
    LineRate { bits_per_second: 8 * CLOCK / cycles, clock_hertz: CLOCK }
}

fn input(rate: LineRate, buffer: Buffer) -> InputSpec {
    InputSpec { rate, buffer, ..InputSpec::new(2, Network::Static1) }
}

fn output(rate: LineRate) -> OutputSpec {
    OutputSpec { rate, ..OutputSpec::new(Network::Static1) }
}

/// Returns a tile whose switch passes words from west to east, one word every `interval` cycles.
fn pipe(interval: usize) -> Chip {
    let wait = " nop\n".repeat(interval - 1);
    chip(1, 1, &format!(".switch 0 0\nagain:\n{wait} j again route $cWi->$cEo"))
}

/// Returns packets of different lengths and contents.
fn packets(count: usize) -> Vec<Vec<u8>> {
    let packet = |number: usize| (0..number % 9 + 60).map(move |byte| (byte * 7 + number) as u8);
    (0..count).map(|number| packet(number).collect()).collect()
}

fn cards(chip: &mut Chip) -> (&mut InputCard, OutputCard) {
    let output = chip.device::<OutputCard>((0, 0), Side::East).unwrap().clone();
    (chip.device::<InputCard>((0, 0), Side::West).unwrap(), output)
}

#[test]
fn packets_pass_unchanged_at_the_rate_of_the_line() {
    let mut chip = pipe(1);
    let sent = packets(50);
    let spec = input(cycles_a_byte(2), Buffer::Stall);
    chip.attach((0, 0), Side::West, InputCard::new(spec, sent.clone())).unwrap();
    chip.attach((0, 0), Side::East, OutputCard::new(output(LineRate::UNLIMITED))).unwrap();
    chip.run(7_000).unwrap();
    let (input, output) = cards(&mut chip);
    assert!(input.is_done());
    let counts = input.counts();
    assert_eq!((counts.received, counts.sent, counts.lost, counts.stalled), (50, 50, 0, 0));
    assert!(output.delivered.iter().map(|packet| &packet.bytes).eq(&sent));
    assert!(output.delivered.iter().all(|packet| packet.port == 2));
    let mut bytes = 0;
    for (entered, packet) in input.entered.iter().zip(&sent) {
        bytes += packet.len() as u64;
        assert_eq!(entered.arrived, 2 * bytes, "packets follow each other on the line");
        assert_eq!(entered.begun, entered.arrived);
    }
}

#[test]
fn a_line_stalls_without_loss_while_the_chip_does() {
    let mut chip = pipe(10);
    let sent = packets(20);
    let spec = input(cycles_a_byte(1), Buffer::Stall);
    chip.attach((0, 0), Side::West, InputCard::new(spec, sent.clone())).unwrap();
    chip.attach((0, 0), Side::East, OutputCard::new(output(LineRate::UNLIMITED))).unwrap();
    chip.run(5_000).unwrap();
    let (input, output) = cards(&mut chip);
    let counts = input.counts();
    assert_eq!((counts.received, counts.sent, counts.lost), (20, 20, 0));
    // A packet of 16 words takes 170 cycles on the chip and 64 on the line.
    assert!(counts.stalled > 17 * 100, "{counts:?}");
    assert!(output.delivered.iter().map(|packet| &packet.bytes).eq(&sent));
}

#[test]
fn a_buffer_that_is_full_loses_packets_and_counts_them() {
    let mut chip = pipe(10);
    let sent: Vec<Vec<u8>> = (0..100).map(|number| vec![number; 64]).collect();
    let spec = input(cycles_a_byte(1), Buffer::Bytes(256));
    chip.attach((0, 0), Side::West, InputCard::new(spec, sent.clone())).unwrap();
    chip.attach((0, 0), Side::East, OutputCard::new(output(LineRate::UNLIMITED))).unwrap();
    chip.run(10_000).unwrap();
    let (input, output) = cards(&mut chip);
    let counts = input.counts();
    assert_eq!((counts.received, counts.stalled), (100, 0));
    assert_eq!(counts.sent + counts.lost, 100);
    // The packets take 6,400 cycles on the line. In that time the chip takes 37 of them, and 4 more
    // are in the buffer at the end.
    assert!((40..=43).contains(&counts.sent), "{counts:?}");
    assert_eq!(output.delivered.len() as u64, counts.sent);
    let numbers: Vec<u8> = output.delivered.iter().map(|packet| packet.bytes[0]).collect();
    assert!(numbers.is_sorted());
}

#[test]
fn a_slow_output_line_holds_up_the_chip() {
    let mut chip = pipe(1);
    let spec = input(LineRate::UNLIMITED, Buffer::Stall);
    chip.attach((0, 0), Side::West, InputCard::new(spec, vec![vec![1; 64]; 10])).unwrap();
    chip.attach((0, 0), Side::East, OutputCard::new(output(cycles_a_byte(4)))).unwrap();
    chip.run(4_000).unwrap();
    let (_, output) = cards(&mut chip);
    let ends: Vec<u64> = output.delivered.iter().map(|packet| packet.ended).collect();
    assert_eq!(ends.len(), 10);
    assert!(ends.windows(2).all(|two| two[1] - two[0] == 4 * 64), "{ends:?}");
}

#[test]
fn an_output_card_fetches_the_rest_of_a_packet_from_memory() {
    // The message has the first five words. The tail begins in the middle of a line.
    let packet: Vec<u8> = (0..150u8).collect();
    let words = framed(1, &packet);
    let (first, rest) = words.split_at(6);
    let mut memory = Memory::new(MemorySpec { base: 0x1000, ..MemorySpec::full_duplex(4096) });
    assert!(memory.load(0x1108, rest));
    assert!(!memory.load(0x1ff0, rest), "it does not fit");
    let header = Header { last: 2, length: 7, user: 8, destination: (1, 1), origin: (0, 1) };
    let mut message = vec![header.word(), first[0], 0x1108];
    message.extend(&first[1..]);
    let mut chip = chip(2, 2, ".tile 0 0\n break");
    let place = Place { base: 0x1000, bytes: 4096, tile: (0, 0), side: Side::North };
    let spec = OutputSpec {
        network: Network::General,
        memories: vec![place],
        ..output(LineRate::UNLIMITED)
    };
    chip.attach((0, 0), Side::North, memory).unwrap();
    chip.attach((1, 1), Side::East, OutputCard::new(spec)).unwrap();
    chip.attach((0, 1), Side::West, Source::new(Network::General, message, 0, 1)).unwrap();
    chip.run(1_000).unwrap();
    let card = chip.device::<OutputCard>((1, 1), Side::East).unwrap();
    assert_eq!(card.delivered.len(), 1);
    assert_eq!(card.delivered[0].bytes, packet);
    let memory = chip.device::<Memory>((0, 0), Side::North).unwrap();
    assert_eq!(memory.refused, 0);
}

#[test]
fn dma_writes_the_bytes_of_the_mask_and_reads_lines() {
    let mut memory = Memory::new(MemorySpec::full_duplex(4096));
    assert!(memory.load(64, &[0x1111_1111; 8]));
    let to_memory = Header { last: 1, destination: (0, 0), ..Header::default() };
    let write = Header { length: 10, user: 7, ..to_memory };
    let read = Header { length: 2, user: 6, ..to_memory };
    let back = Header { last: 2, destination: (1, 0), ..Header::default() };
    let mut words = vec![write.word(), 64, 0x9000_000f];
    words.extend([0x2222_2222; 8]);
    words.extend([read.word(), 64, back.word()]);
    let mut chip = chip(2, 1, ".tile 0 0\n break");
    chip.attach((0, 0), Side::North, memory).unwrap();
    chip.attach((0, 0), Side::West, Source::new(Network::Memory, words, 0, 1)).unwrap();
    chip.attach((1, 0), Side::East, Sink::new(Network::Memory, 1)).unwrap();
    chip.run(1_000).unwrap();
    let got = &chip.device::<Sink>((1, 0), Side::East).unwrap().words;
    let words: Vec<u32> = got.iter().map(|word| word.1).collect();
    let middle = 0x1111_1111;
    assert_eq!(Header::of(words[0]).length, 8);
    assert_eq!(words[1], 0x2211_1122);
    assert_eq!(words[2..8], [middle; 6]);
    assert_eq!(words[8], 0x2222_2222);
}

#[test]
fn a_device_interrupts_a_tile_while_its_cache_misses() {
    let source = "
.tile 0 0
 la $t0, handler
 mtsr $t0, vector
 li $t0, 4
 mtsr $t0, mask
 inton
again:
 lw $t1, 0($t2)
 addiu $t2, $t2, 32
 slti $t3, $t2, 3200
 bne $t3, $zero, again
 break
handler:
 mfsr $t4, external
 addu $s0, $s0, $t4
 addiu $s1, $s1, 1
 eret
.switch 0 0
again: j again route $cWi->$csti";
    let mut chip = chip(1, 1, source);
    let interrupts = Some((0, 0));
    let spec = InputSpec { interrupts, ..input(cycles_a_byte(8), Buffer::Stall) };
    chip.attach((0, 0), Side::North, Memory::new(MemorySpec::full_duplex(4096))).unwrap();
    chip.attach((0, 0), Side::West, InputCard::new(spec, vec![vec![]; 3])).unwrap();
    chip.run(10_000).unwrap();
    assert!(chip.is_halted());
    assert_eq!((chip.register((0, 0), 16), chip.counts((0, 0)).2), (3, 100));
    assert!(chip.register((0, 0), 17) >= 1);
}
