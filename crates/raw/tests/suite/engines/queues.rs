//! Queues at egress ports: order, drops, refusals.

use std::sync::Arc;

use wireloom_isa::raw::Network;
use wireloom_machine::{Configured, Contender, Machine, Options, Program, Record};
use wireloom_net::{Frame, Packet};
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::mapping::{compiled, machine, packets};

const ROWS: &str = "chains = [[[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 1], [2, 1]], \
                    [[0, 2], [1, 2], [2, 2]], [[0, 3], [1, 3], [2, 3]]]\nreplicas = [2, 1]\n\
                    outputs = \"egress\"\n";
const TILES: &str = "tiles = [[3, 0], [3, 1], [3, 2], [3, 3]]\n";

/// Returns the machine with queues, with more lines in the section.
fn queued(mapping: &str, queues: &str) -> Result<Arc<dyn Configured>, String> {
    machine(&format!("[mapping]\n{mapping}\n[mapping.queues]\n{queues}\n"))
}

/// Runs packets and compares them with golden. Returns the packets that left, and the packets that
/// were dropped.
fn ran(machine: &Arc<dyn Configured>, program: &Program, packets: &[Packet]) -> (u64, u64, Record) {
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let options = Options::default();
    let contender = Contender::new(Arc::clone(machine), program, &store, &options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()))
        .unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    assert_eq!(contender.compared, packets.len() as u64);
    let record = contender.machine.record().expect("it has a report");
    (contender.outputs, contender.lost_outputs, record)
}

#[test]
fn packets_of_all_chains_leave_by_the_queue_of_their_egress_in_order() {
    for (ready, network) in [
        ("polling", "static"),
        ("interrupts", "static"),
        ("polling", "general"),
        ("interrupts", "general"),
    ] {
        let queues = format!(
            "{TILES}memory = \"tile\"\nbytes = 16384\nready = \"{ready}\"\nnetwork = \"{network}\""
        );
        for program in ["spread.loom", "hot.loom", "counted.loom"] {
            let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
            let (left, lost, _) = ran(&machine, &compiled(program), &packets());
            assert!(left >= 190 && lost == 0, "{queues}, {program}: {left} left, {lost} lost");
        }
    }
}

/// Returns a number of the record.
fn number(record: &Record, name: &str) -> u64 {
    let values = serde_json::to_value(record).expect("values");
    values[name].as_u64().unwrap_or_else(|| panic!("{name} of {values}"))
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_and_all_else_is_as_on_golden() {
    let line = "line_mbps = 200";
    for (ready, memory, bytes, network) in [
        ("polling", "tile", 2048, "static"),
        ("interrupts", "tile", 2080, "static"),
        ("interrupts", "dram", 2112, "general"),
        ("polling", "dram", 3072, "general"),
    ] {
        let what = format!("{ready}, {memory}, {bytes}, {network}");
        let queues = format!(
            "{TILES}memory = \"{memory}\"\nbytes = {bytes}\nready = \"{ready}\"\nnetwork = \"{network}\"\n{line}"
        );
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{what}: {error}"));
        for program in ["spread.loom", "hot.loom"] {
            let (left, lost, record) = ran(&machine, &compiled(program), &packets()[..120]);
            assert!(left > 10 && lost > 2, "{what}, {program}: {left} left, {lost} lost");
            assert_eq!(number(&record, "dropped_in_queues"), lost, "{what}, {program}");
            let line = record.lines.iter().find(|line| line.name == "dropped in full queues");
            let text = &line.expect("it says where").text;
            // All packets of `hot` go to port 1.
            let hot = format!("0: 0, 1: {lost}, 2: 0, 3: 0");
            assert_eq!(*text == hot, program == "hot.loom", "{what}: {text}");
        }
    }
}

#[test]
fn a_longer_queue_loses_less_and_a_faster_line_too() {
    // All packets have one length: a queue without room for a long packet may have room for many
    // short ones.
    let mut packets = packets();
    packets.iter_mut().for_each(|packet| packet.bytes.resize(64, 7));
    let lost = |bytes: u32, mbps: u32| {
        let queues = format!(
            "{TILES}memory = \"tile\"\nbytes = {bytes}\nready = \"polling\"\nline_mbps = {mbps}"
        );
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
        ran(&machine, &compiled("hot.loom"), &packets).1
    };
    let lost = [lost(2048, 500), lost(8192, 500), lost(28_672, 500), lost(2048, 2000)];
    assert!(lost[0] > lost[1] && lost[1] > lost[2] && lost[0] > lost[3], "{lost:?}");
}

#[test]
fn the_installed_machine_has_queues_and_a_state_owner() {
    let machine = super::programs::machine("raw-queues");
    for program in ["owned.loom", "counted.loom"] {
        let (left, lost, _) = ran(&machine, &compiled(program), &packets());
        assert!(left > 100 && lost == 0, "{program}: {left} left, {lost} lost");
    }
}

#[test]
fn senders_do_not_wait_for_the_line() {
    // Cycles in which the last tiles of chains found no room on the general network, and dropped
    // packets.
    let waited = |line: &str| {
        let queues =
            format!("{TILES}memory = \"tile\"\nbytes = 4096\nready = \"interrupts\"\n{line}");
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
        let program = compiled("hot.loom");
        let store = wireloom_ir::store(&program.optimised).expect("a store");
        let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
        let raw = Raw::start(spec, &program.optimised, store, &Options::default());
        let mut raw = raw.unwrap_or_else(|error| panic!("{}", error.message));
        let packets = packets();
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let mut settled = raw.offer(&frames, &mut |_| ()).expect("it runs");
        settled.extend(&raw.finish(&mut |_| ()).expect("it runs"));
        let full = |row| raw.chip().spent((2, row)).0.full_of(Network::General);
        ((0..4).map(full).sum::<u64>(), settled.lost_outputs.len(), raw.chip().cycles())
    };
    let (fast, none, _) = waited("");
    let (slow, dropped, cycles) = waited("line_mbps = 50");
    assert!(none < 50 && dropped > 100, "{none} and {dropped} dropped");
    // With the slow line the run lasts as long as the line takes. All four senders together wait
    // for less than that: they wait for the tile, which has fewer packets to send.
    assert!(slow <= fast && 4 * slow < 3 * cycles, "{slow} and {fast} of {cycles} cycles");
}

#[test]
fn a_queue_in_tile_memory_takes_its_lines_from_memory_once() {
    let misses = |memory: &str, bytes: u32| {
        let queues = format!("{TILES}memory = \"{memory}\"\nbytes = {bytes}\nready = \"polling\"");
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
        let (.., record) = ran(&machine, &compiled("hot.loom"), &packets());
        let values = serde_json::to_value(&record).expect("values");
        values["tiles"]["3,1"]["misses"].as_u64().expect("a number")
    };
    // 256 lines, and the state of four senders.
    let tile = misses("tile", 8192);
    assert!((200..=260).contains(&tile), "{tile}");
    // All packets together have 48 KB, which are written once.
    let dram = misses("dram", 1 << 20);
    assert!(dram > 1300, "{dram}");
}

#[test]
fn queues_that_cannot_be_are_refused_by_key() {
    let good = "memory = \"tile\"\nbytes = 16384\nready = \"polling\"";
    let changed = |old: &str, new: &str| format!("{TILES}{}", good.replace(old, new));
    for (mapping, queues, why) in [
        (ROWS.replace("outputs = \"egress\"", ""), changed("", ""), "say `outputs = \"egress\"`"),
        (ROWS.to_owned(), changed("16384", "16390"), "`mapping.queues.bytes` is 16390; it must be"),
        (ROWS.to_owned(), changed("16384", "1024"), "`mapping.queues.bytes` is 1024; it can be"),
        (ROWS.to_owned(), changed("16384", "32768"), "make it 30720 at most, or say `memory ="),
        (ROWS.to_owned(), changed("polling", "asking"), "unknown variant `asking`"),
        (ROWS.to_owned(), changed("\"tile\"", "\"sram\""), "unknown variant `sram`"),
        (ROWS.to_owned(), format!("tiles = []\n{good}"), "`mapping.queues.tiles` is empty"),
        (ROWS.to_owned(), format!("tiles = [[2, 0]]\n{good}"), "tile (2,0) is named twice"),
        (ROWS.to_owned(), format!("tiles = [[4, 0]]\n{good}"), "there is no tile (4,0) on a chip"),
        (
            "chains = [[[0, 0]]]\noutputs = \"egress\"".to_owned(),
            format!("tiles = [[1, 1]]\n{good}"),
            "tile (1,1) has no free port of the chip, so its queue has no line",
        ),
        (
            format!("{ROWS}state_owner = [3, 2]"),
            changed("", ""),
            "`mapping.state_owner`: tile (3,2) is a queue; name another",
        ),
        (ROWS.to_owned(), changed("\"polling\"", "\"polling\"\nline_mbps = 0"), "line_mbps` is 0"),
    ] {
        let error = queued(&mapping, &queues).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains(why), "{error}");
    }
    // A size that is too large for the memory is refused with the engine.
    let large = changed("\"tile\"", "\"dram\"").replace("16384", "33554432");
    let machine = queued(ROWS, &large).expect("a machine");
    let refused = machine.refusals(&compiled("hot.loom"));
    assert!(refused[0].message.contains("queues do not fit the memory of"), "{refused:?}");
}

#[test]
fn queues_go_with_other_numbers_of_chains_and_with_state_owners_and_parked_packets() {
    let two = "tiles = [[3, 0], [0, 3]]\nmemory = \"tile\"\nbytes = 8192\nready = \"interrupts\"";
    let row = "outputs = \"egress\"\nchains = [[[0, 0], [1, 0], [2, 0]]]";
    for (mapping, queues, program) in [
        // One chain and two queues, with one tile for each stage.
        (format!("{row}\nreplicas = [1, 1, 1]"), two.to_owned(), "stages.loom"),
        (format!("{row}\nreplicas = [1, 1, 1]"), two.to_owned(), "keyed.loom"),
        // Chains of one tile, three queues, a state owner in the middle.
        (
            "outputs = \"egress\"\nchains = [[[0, 0]], [[1, 0]], [[2, 0]], [[0, 1]], [[0, 2]]]\n\
             state_owner = [1, 1]"
                .to_owned(),
            two.replace("[[3, 0], ", "[[3, 0], [3, 2], "),
            "owned.loom",
        ),
        // The last tile has steps too, as in the paper.
        (
            format!("{row}\nsteps = [[\"count\"], [\"grow\"], [\"send\"]]"),
            two.replace("[[3, 0], [0, 3]]", "[[3, 0]]"),
            "spread.loom",
        ),
    ] {
        let machine = queued(&mapping, &queues).unwrap_or_else(|error| panic!("{error}"));
        let (left, lost, _) = ran(&machine, &compiled(program), &packets());
        assert!(left > 100 && lost == 0, "{program}: {left} left, {lost} lost");
    }
}
