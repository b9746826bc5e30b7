//! The paper's IPv4 routers in programs/raw, compared with the golden model packet by packet.

use std::path::Path;

use wireloom_machine::Source;
use wireloom_raw::Spec;
use wireloom_raw::board::{Board, Played};
use wireloom_raw::dir24::Route;
use wireloom_raw::routers::{Checked, Reference, STEPS, Setting, Version};

pub const ROUTES: [Route; 6] = [
    Route { prefix: 0x0a00_0000, length: 8, port: 0 },
    Route { prefix: 0x0a01_0000, length: 16, port: 1 },
    Route { prefix: 0x0a01_0200, length: 24, port: 2 },
    Route { prefix: 0x0a01_0280, length: 25, port: 3 },
    Route { prefix: 0x0a01_0203, length: 32, port: 0 },
    Route { prefix: 0xc000_0200, length: 30, port: 1 },
];

fn sum(header: &[u8]) -> u16 {
    let halves = header.chunks(2).map(|half| u32::from(half[0]) << 8 | u32::from(half[1]));
    let sum: u32 = halves.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Returns an IPv4 packet with a correct checksum.
fn packet(number: u32, to: u32, ttl: u8, options: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x45 + options as u8, 0, (length >> 8) as u8, length as u8];
    bytes.extend([(number >> 8) as u8, number as u8, 0, 0, ttl, 17, 0, 0, 192, 168, 0, 1]);
    bytes.extend(to.to_be_bytes());
    bytes.extend((bytes.len()..length).map(|byte| (byte as u32 * 31 + number) as u8));
    let checksum = !sum(&bytes[..20 + 4 * options]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Returns packets of all kinds, including malformed ones.
pub fn packets(port: u32, most_options: usize) -> Vec<Vec<u8>> {
    let destinations =
        [0x0a02_0304, 0x0a01_0304, 0x0a01_0207, 0x0a01_0281, 0x0a01_0203, 0xc000_0203, 0xc000_0204];
    let mut packets = Vec::new();
    for number in 0..200 {
        let to = destinations[(number * 5 + port) as usize % destinations.len()];
        let ttl = if number % 11 == 3 { number as u8 % 3 } else { 64 };
        let options = if number % 7 == 2 { number as usize % (most_options + 1) } else { 0 };
        let length = match number % 5 {
            0 => 65 + number as usize,
            1 => 1500 - number as usize,
            rest => 60 + rest as usize,
        };
        let mut packet = packet(number << 2 | port, to, ttl, options, length);
        match number % 13 {
            5 => packet[11] ^= 1,
            6 => packet[0] = 0x65,
            7 => packet[0] = 0x44,
            _ => {}
        }
        packets.push(packet);
    }
    packets
}

fn play(version: &Version, setting: &Setting, sent: &[Vec<Vec<u8>>]) -> (Checked, Played) {
    let (checked, played, _) = play_on(version, setting, sent);
    (checked, played)
}

/// Plays packets as `play` does. Also returns the board after the run.
fn play_on(
    version: &Version,
    setting: &Setting,
    sent: &[Vec<Vec<u8>>],
) -> (Checked, Played, Board) {
    let program = version.program_for(setting).unwrap_or_else(|error| panic!("{}", error.render()));
    let board = version.board(setting);
    let mut board = Board::new(&Spec::built_in(), &program, board, sent.to_vec()).unwrap();
    version.write_routes(&mut board, &ROUTES).unwrap();
    let played = board.play(20_000, 3_000_000);
    let played = played.unwrap_or_else(|error| panic!("{}: {error}", version.name));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/raw/ipv4.loom");
    let program = Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message));
    let mut reference = Reference::new(&program, &ROUTES).unwrap();
    let checked = reference.check(sent, &setting.ports, &played);
    let checked = checked.unwrap_or_else(|error| panic!("{}: {}", version.name, error.message));
    (checked, played, board)
}

/// Checks that every packet that golden sends leaves as on golden, in order.
fn forwards_as_golden(name: &str) {
    let version = Version::named(name);
    // If the first three stages see eight words, a header has up to three options.
    let has_short_heads = name == "I" || name == "II" || name == "turned" || name.starts_with("I-");
    let most_options = if has_short_heads { 3 } else { 10 };
    let sent: Vec<_> = (0..4).map(|port| packets(port, most_options)).collect();
    let (checked, _) = play(version, &Setting::default(), &sent);
    assert_eq!((checked.lost, checked.reordered), (0, 0), "{name}");
    assert!(checked.forwarded > 400 && checked.dropped > 100, "{name}: {checked:?}");
    // Long packets under full load: fetches of cards share wires with requests of others.
    let destinations = [0x0a02_0304, 0x0a01_0304, 0x0a01_0207, 0x0a01_0281];
    let to = |number: u32, port: u32| destinations[((number * 7 + port * 3) >> 1) as usize % 4];
    let long = |port| {
        (0..60)
            .map(move |number| packet(number << 2 | port, to(number, port), 64, 0, 1500))
            .collect()
    };
    let sent: Vec<Vec<_>> = (0..4).map(long).collect();
    let (checked, _) = play(version, &Setting::default(), &sent);
    assert_eq!((checked.forwarded, checked.lost, checked.reordered), (240, 0, 0), "{name}");
}

#[test]
fn version_1_forwards_as_golden() {
    forwards_as_golden("I");
}

#[test]
fn version_2_forwards_as_golden() {
    forwards_as_golden("II");
}

#[test]
fn version_3_forwards_as_golden() {
    forwards_as_golden("III");
}

#[test]
fn version_3_without_static_networks_forwards_as_golden() {
    forwards_as_golden("III.d");
}

#[test]
fn version_4_forwards_as_golden() {
    forwards_as_golden("IV");
}

#[test]
fn version_5_forwards_as_golden() {
    forwards_as_golden("V");
}

#[test]
#[ignore = "takes long: make test-all"]
fn steps_from_version_1_to_2_forward_as_golden() {
    STEPS[..4].iter().for_each(|step| forwards_as_golden(step.name));
}

#[test]
#[ignore = "takes long: make test-all"]
fn steps_from_version_2_to_3_forward_as_golden() {
    STEPS[4..7].iter().for_each(|step| forwards_as_golden(step.name));
}

#[test]
fn versions_3_and_4_with_ports_in_rows_forward_as_golden() {
    STEPS[7..].iter().for_each(|step| forwards_as_golden(step.name));
}

#[test]
fn version_5_gives_columns_without_cards_to_their_neighbours() {
    for ports in [vec![0, 2], vec![1, 3], vec![0, 1, 3], vec![2]] {
        let setting = Setting { ports: ports.clone(), ..Setting::default() };
        // Routes lead to all ports. Packets to ports without cards would never be taken.
        let to = |number: u32| match ports[number as usize % ports.len()] {
            0 => 0x0a01_0203,
            1 => 0xc000_0201,
            2 => 0x0a01_0207,
            _ => 0x0a01_0281,
        };
        let of = |port: &u8| {
            let length = |number: u32| if number % 3 == 2 { 300 + number as usize } else { 64 };
            let packet =
                |number| packet(number << 2 | u32::from(*port), to(number), 9, 0, length(number));
            (0..80).map(packet).collect::<Vec<_>>()
        };
        let sent: Vec<_> = ports.iter().map(of).collect();
        let (checked, _) = play(Version::named("V"), &setting, &sent);
        assert_eq!((checked.forwarded, checked.lost), (80 * ports.len(), 0), "{ports:?}");
    }
}

/// The paper's lookup is "by cache missing to a forwarding table in an external DRAM".
#[test]
fn lookups_read_both_tables_from_memory_if_the_setting_says_so() {
    // Each packet uses both tables: the route has 32 bits.
    let of =
        |port: u32| (0..40).map(move |number| packet(number << 2 | port, 0x0a01_0203, 9, 0, 64));
    let sent: Vec<Vec<_>> = (0..4).map(|port| of(port).collect()).collect();
    for name in ["I", "III", "III.d", "IV", "V"] {
        let version = Version::named(name);
        let run = |reads_tables_from_memory| {
            let setting = Setting { reads_tables_from_memory, ..Setting::default() };
            let (checked, _, board) = play_on(version, &setting, &sent);
            assert_eq!((checked.forwarded, checked.lost), (160, 0), "{name}");
            board.chip.counts(version.tile(0, 1)).2
        };
        let (cached, cold) = (run(false), run(true));
        assert!(cached < 10 && cold >= 80, "{name}: {cached} and {cold} misses");
    }
}
