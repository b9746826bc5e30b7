//! The engine with the tasks of the paper's Table 2 as steps, compared with the engine of two
//! steps.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{Execute, Golden, Reason, Verdict};
use wireloom_machine::{Configured, Contender, Options, Program};
use wireloom_net::Packet;
use wireloom_offloads::{EntryKey, Update};
use wireloom_raw::dir24::Route;
use wireloom_raw::routers::store;

use super::mapping::machine;
use super::programs::program;

const CHAIN: &str = "[mapping]\nchains = [[[3, 3], [2, 3], [1, 3], [0, 3]]]\n\
    steps = [[\"lookup\"], [\"check\", \"options\"], [\"rewrite\"], [\"send\"]]\n";

/// Returns an IPv4 header with option words and a correct checksum, and some bytes.
fn header(number: u8, options: u8, ttl: u8) -> Vec<u8> {
    let length = 20 + 4 * usize::from(options);
    let mut header = vec![0x45 + options, 0, 0, 64 + number, 0, number, 0, 0, ttl, 17, 0, 0];
    header.extend([192, 0, 2, number, 10, 0, number % 5, 7]);
    header.extend((20..length).map(|at| at as u8 ^ number));
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    header.extend([number; 44]);
    header
}

fn packets() -> Vec<Packet> {
    let mut all = Vec::new();
    for number in 0..60 {
        let mut bytes = header(number, number % 11, if number % 4 == 0 { 1 } else { 64 });
        match number % 6 {
            0 => bytes[0] ^= 0x20,
            1 => bytes[13] ^= 1,
            2 => bytes.truncate(usize::from(number)),
            3 => bytes[0] &= 0xf3,
            _ => {}
        }
        all.push(Packet { ingress: 0, arrival_ns: 0, bytes });
    }
    all
}

fn routes() -> Vec<Route> {
    let route = |third: u32| Route {
        prefix: 0x0a00_0007 | third << 8,
        length: 24 + 8 * (third as u8 % 2),
        port: third as u16,
    };
    (1..5).map(route).collect()
}

fn golden(program: &Program) -> Vec<(Verdict, Vec<u8>)> {
    let store = store(program, &routes()).unwrap_or_else(|error| panic!("{}", error.message));
    let mut all = Vec::new();
    let mut golden = Golden::new(program.optimised.clone(), store);
    golden.execute(&packets(), &mut |output| all.push((output.verdict, output.bytes.to_vec())));
    all
}

#[test]
fn the_engine_with_the_tasks_as_steps_does_what_that_with_two_steps_does() {
    let (tasks, whole) = (golden(&program("raw/ipv4-tasks")), golden(&program("raw/ipv4")));
    assert_eq!(tasks, whole);
    let count = |is: &dyn Fn(&Verdict) -> bool| whole.iter().filter(|(one, _)| is(one)).count();
    assert!(count(&|one| matches!(one, Verdict::Sent { .. })) > 8);
    for reason in 0..3 {
        let is = |one: &Verdict| matches!(one, Verdict::Dropped(Reason::Program(_, value)) if *value == reason);
        assert!(count(&is) > 2, "reason {reason}");
    }
}

#[test]
fn the_tasks_do_on_a_tile_each_what_they_do_on_golden() {
    agree(machine(CHAIN).unwrap_or_else(|error| panic!("{error}")), &packets());
}

/// Packets from all ports, and longer packets, whose tails go around the tiles.
#[test]
fn the_tasks_do_as_the_papers_stages_what_they_do_on_golden() {
    let mut packets = packets();
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.ingress = number as u16 % 4;
        let length = [0, 62, 63, 64, 200, 1500][number / 4 % 6];
        packet.bytes.resize(packet.bytes.len().max(length), number as u8);
    }
    for name in ["1", "2", "3", "3d", "4", "5"] {
        agree(version(name), &packets);
    }
}

/// Returns the machine of the paper's version, with its stages.
fn version(version: &str) -> Arc<dyn Configured> {
    let root = wireloom_install::checkout().expect("tests run in a checkout");
    let file = root.join(format!("programs/raw/tasks-version-{version}.toml"));
    super::programs::machine(&file.to_string_lossy())
}

/// A table update starts another chip, which begins with the turn of the first chain.
#[test]
fn tables_change_between_packets_whosever_turn_it_is() {
    let program = program("raw/ipv4-tasks");
    let store = store(&program, &routes()).unwrap_or_else(|error| panic!("{}", error.message));
    let contender = Contender::new(version("5"), &program, &store, &Options::default(), &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let packets = packets();
    let mut rest = &packets[..];
    for (port, size) in [(3, 7), (2, 1), (1, 30), (0, 2), (3, 20)] {
        let (batch, after) = rest.split_at(size);
        let frames: Vec<_> = batch.iter().map(Packet::frame).collect();
        let update = Update {
            packet: 0,
            offload: "routes".into(),
            key: EntryKey::Prefix { bits: Bits::new(32, 0x0a00_0100), length: 24 },
            value: Some(Bits::new(16, port)),
            line: 0,
        };
        contender.offer(&program.optimised, &frames, &mut |_| ()).expect("it works");
        contender.update(&program.optimised, &update, &mut |_| ()).expect("it works");
        rest = after;
    }
    contender.finish(&program.optimised, &mut |_| ()).expect("it works");
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    assert_eq!((contender.compared, rest.len()), (60, 0));
}

fn agree(machine: Arc<dyn Configured>, packets: &[Packet]) {
    let program = program("raw/ipv4-tasks");
    let store = store(&program, &routes()).unwrap_or_else(|error| panic!("{}", error.message));
    let contender = Contender::new(machine, &program, &store, &Options::default(), &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    assert_eq!(contender.compared, packets.len() as u64);
}
