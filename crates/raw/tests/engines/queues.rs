//! Queues at outputs: order, drops, refusals.

use std::sync::Arc;

use wireloom_machine::{Configured, Contender, Options, Program, Record};
use wireloom_net::{Frame, Packet};

use super::mapping::{compiled, machine, packets};

const ROWS: &str = "chains = [[[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 1], [2, 1]], \
                    [[0, 2], [1, 2], [2, 2]], [[0, 3], [1, 3], [2, 3]]]\nreplicas = [2, 1]\n\
                    outputs = \"egress\"\n";
const TILES: &str = "tiles = [[3, 0], [3, 1], [3, 2], [3, 3]]\n";

/// The machine with queues, whose section has more lines.
fn queued(mapping: &str, queues: &str) -> Result<Arc<dyn Configured>, String> {
    machine(&format!("[mapping]\n{mapping}\n[mapping.queues]\n{queues}\n"))
}

/// Runs packets next to golden: those that left, and those that found no room.
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
    for ready in ["polling", "interrupts"] {
        let queues = format!("{TILES}memory = \"tile\"\nbytes = 16384\nready = \"{ready}\"");
        for program in ["spread.loom", "hot.loom", "counted.loom"] {
            let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
            let (left, lost, _) = ran(&machine, &compiled(program), &packets());
            assert!(left >= 190 && lost == 0, "{ready}, {program}: {left} left, {lost} lost");
        }
    }
}

/// A number of the record.
fn number(record: &Record, name: &str) -> u64 {
    let values = serde_json::to_value(record).expect("values");
    values[name].as_u64().unwrap_or_else(|| panic!("{name} of {values}"))
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_and_all_else_is_as_on_golden() {
    let line = "line_mbps = 200";
    for (ready, memory, bytes) in [
        ("polling", "tile", 2048),
        ("interrupts", "tile", 2080),
        ("interrupts", "dram", 2112),
        ("polling", "dram", 3072),
    ] {
        let what = format!("{ready}, {memory}, {bytes}");
        let queues =
            format!("{TILES}memory = \"{memory}\"\nbytes = {bytes}\nready = \"{ready}\"\n{line}");
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{what}: {error}"));
        for program in ["spread.loom", "hot.loom"] {
            let (left, lost, record) = ran(&machine, &compiled(program), &packets()[..120]);
            assert!(left > 10 && lost > 2, "{what}, {program}: {left} left, {lost} lost");
            assert_eq!(number(&record, "dropped_in_queues"), lost, "{what}, {program}");
            let line = record.lines.iter().find(|line| line.name == "dropped in full queues");
            let text = &line.expect("it says where").text;
            // All of `hot` go to port 1.
            let hot = format!("0: 0, 1: {lost}, 2: 0, 3: 0");
            assert_eq!(*text == hot, program == "hot.loom", "{what}: {text}");
        }
    }
}

#[test]
fn a_longer_queue_loses_less_and_a_faster_line_too() {
    let lost = |bytes: u32, mbps: u32| {
        let queues = format!(
            "{TILES}memory = \"tile\"\nbytes = {bytes}\nready = \"polling\"\nline_mbps = {mbps}"
        );
        let machine = queued(ROWS, &queues).unwrap_or_else(|error| panic!("{error}"));
        ran(&machine, &compiled("hot.loom"), &packets()).1
    };
    let lost = [lost(2048, 500), lost(8192, 500), lost(28_672, 500), lost(2048, 2000)];
    assert!(lost[0] > lost[1] && lost[1] > lost[2] && lost[0] > lost[3], "{lost:?}");
}
