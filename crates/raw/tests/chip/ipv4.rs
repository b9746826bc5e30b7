//! The IPv4 router of programs/raw, against its meaning in Rust.

use wireloom_raw::Spec;
use wireloom_raw::asm::assemble;
use wireloom_raw::board::Board;
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::dir24::Route;
use wireloom_raw::routers::{IPV4, ipv4_board, write_routes};

const ROUTES: [Route; 6] = [
    Route { prefix: 0x0a00_0000, length: 8, port: 0 },
    Route { prefix: 0x0a01_0000, length: 16, port: 1 },
    Route { prefix: 0x0a01_0200, length: 24, port: 2 },
    Route { prefix: 0x0a01_0280, length: 25, port: 3 },
    Route { prefix: 0x0a01_0203, length: 32, port: 0 },
    Route { prefix: 0xc000_0200, length: 30, port: 1 },
];

fn lookup(address: u32) -> Option<u16> {
    let covers = |route: &&Route| {
        (address ^ route.prefix).checked_shr(32 - u32::from(route.length)) == Some(0)
    };
    ROUTES.iter().filter(covers).max_by_key(|route| route.length).map(|route| route.port)
}

fn sum(header: &[u8]) -> u16 {
    let halves = header.chunks(2).map(|half| u32::from(half[0]) << 8 | u32::from(half[1]));
    let sum: u32 = halves.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// A packet of IPv4 with a correct checksum.
fn packet(number: u32, to: u32, ttl: u8, options: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x45 + options as u8, 0, (length >> 8) as u8, length as u8];
    bytes.extend([(number >> 8) as u8, number as u8, 0, 0, ttl, 17, 0, 0, 192, 168, 0, 1]);
    bytes.extend(to.to_be_bytes());
    bytes.extend((bytes.len()..length).map(|byte| (byte as u32 * 31 + number) as u8));
    let checksum = !sum(&bytes[..20 + 4 * options]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// What becomes of a packet: its port, TTL less one.
fn forwarded(packet: &[u8]) -> Option<(u16, Vec<u8>)> {
    let header = 4 * usize::from(packet[0] & 15);
    if packet[0] >> 4 != 4 || header < 20 || sum(&packet[..header]) != 0xffff || packet[8] < 2 {
        return None;
    }
    let port = lookup(u32::from_be_bytes(packet[16..20].try_into().unwrap()))?;
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    let checksum = u32::from(packet[10]) << 8 | u32::from(packet[11]);
    let checksum = checksum + 0x100;
    let checksum = (checksum & 0xffff) + (checksum >> 16);
    packet[10..12].copy_from_slice(&(checksum as u16).to_be_bytes());
    Some((port, packet))
}

/// Packets of all kinds, wrong ones among them.
fn packets(port: u32) -> Vec<Vec<u8>> {
    let destinations =
        [0x0a02_0304, 0x0a01_0304, 0x0a01_0207, 0x0a01_0281, 0x0a01_0203, 0xc000_0203, 0xc000_0204];
    let mut packets = Vec::new();
    for number in 0..200 {
        let to = destinations[(number * 5 + port) as usize % destinations.len()];
        let ttl = if number % 11 == 3 { number as u8 % 3 } else { 64 };
        let options = if number % 7 == 2 { number as usize % 11 } else { 0 };
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

#[test]
fn the_router_forwards_as_the_table_says_and_drops_what_is_wrong() {
    let program = assemble("ipv4.rasm", IPV4).unwrap_or_else(|error| panic!("{}", error.render()));
    let sent: Vec<_> = (0..4).map(packets).collect();
    let board = ipv4_board(LineRate::UNLIMITED, Buffer::Stall);
    let mut board = Board::new(&Spec::built_in(), &program, board, sent.clone()).unwrap();
    write_routes(&mut board, &ROUTES).unwrap();
    let played = board.play(5_000, 1_000_000).unwrap_or_else(|error| panic!("{error}"));
    let mut wanted = vec![Vec::new(); 4];
    for packet in sent.iter().flatten() {
        if let Some((port, packet)) = forwarded(packet) {
            wanted[usize::from(port)].push(packet);
        }
    }
    assert!(wanted.iter().all(|packets| packets.len() > 50));
    for (port, mut wanted) in wanted.into_iter().enumerate() {
        let got = &played.delivered[port];
        assert!(got.iter().all(|packet| usize::from(packet.port) == port));
        // Packets of one input keep their order.
        for input in 0..4 {
            let of_input = |bytes: &&Vec<u8>| bytes[5] & 3 == input;
            let got: Vec<_> = got.iter().map(|packet| &packet.bytes).filter(of_input).collect();
            let wanted: Vec<_> = wanted.iter().filter(of_input).collect();
            assert!(got == wanted, "from {input} to {port}");
        }
        wanted.clear();
    }
}

#[test]
fn long_packets_under_full_load_do_not_block_each_other() {
    // Cards fetch from memories on both sides over the same wires as requests go the other way.
    let program = assemble("ipv4.rasm", IPV4).unwrap();
    let destinations = [0x0a02_0304, 0x0a01_0304, 0x0a01_0207, 0x0a01_0281];
    let to = |number: u32, port: u32| destinations[((number * 7 + port * 3) >> 1) as usize % 4];
    let packets = |port| (0..120).map(move |number| packet(number, to(number, port), 64, 0, 1500));
    let sent: Vec<Vec<_>> = (0..4).map(|port| packets(port).collect()).collect();
    let board = ipv4_board(LineRate::UNLIMITED, Buffer::Stall);
    let mut board = Board::new(&Spec::built_in(), &program, board, sent).unwrap();
    write_routes(&mut board, &ROUTES).unwrap();
    let played = board.play(20_000, 1_000_000).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.delivered.iter().map(Vec::len).sum::<usize>(), 480);
}
