//! Line cards at the ports of engines: packets that arrive at given times, lines that stop, and
//! buffers.

use wireloom_machine::{Contender, Machine, Options, Program, Rate, load_store};
use wireloom_net::traffic::{Generator, Spec};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::programs::{folder, forwarded, machine, program};

/// Runs packets. Returns the number of packets compared with golden, and the lines of the report.
fn ran(
    name: &str,
    (program, store): (&Program, &Store),
    packets: &[Packet],
    options: &Options,
) -> (u64, Vec<(String, String)>) {
    let contender = Contender::new(machine(name), program, store, options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    // Packets come in batches, as the command reads captures: the machine must not wait for packets
    // that it has not seen.
    for packets in packets.chunks(100) {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let offered = contender.offer(&program.optimised, &frames, &mut |_| ());
        offered.unwrap_or_else(|error| panic!("{}", error.message));
    }
    let finished = contender.finish(&program.optimised, &mut |_| ());
    finished.unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
    let record = contender.machine.record().expect("it has a report");
    let lines = record.lines.iter().map(|line| (line.name.to_string(), line.text.clone()));
    (contender.compared, lines.collect())
}

fn at(rate: Rate, buffer: Option<u32>) -> Options {
    Options { rate: Some(rate), buffer, ..Options::default() }
}

/// Returns the departures of a run, in cycles.
fn departures(
    name: &str,
    (program, store): (&Program, &Store),
    packets: &[Packet],
    options: &Options,
) -> Vec<u64> {
    let machine = machine(name);
    let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
    let mut raw = Raw::start(spec, &program.optimised, store.clone(), options)
        .unwrap_or_else(|error| panic!("{}", error.message));
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    raw.offer(&frames, &mut |_| ()).and_then(|_| raw.finish(&mut |_| ())).expect("it runs");
    let mut cycles: Vec<u64> = raw.departures().iter().map(|(cycle, _)| *cycle).collect();
    cycles.sort_unstable();
    cycles
}

#[test]
fn packets_leave_at_the_rate_at_which_they_come_whatever_the_gaps() {
    let (program, store, packets) = forwarded(200);
    for on in ["raw-1", "raw-3", "raw-rows", "raw-egress", "raw-queues"] {
        // 4,250 cycles between packets, in which nothing else moves.
        let options = at(Rate::Mpps(0.1), None);
        let cycles = departures(on, (&program, &store), &packets[..40], &options);
        assert_eq!(cycles.len(), 40);
        let whole = cycles[39] - cycles[0];
        assert!((39 * 4250 - 2000..=39 * 4250 + 2000).contains(&whole), "{on}: {whole}");
    }
}

#[test]
fn a_line_without_a_buffer_waits_and_loses_nothing() {
    let (program, store, packets) = forwarded(400);
    for on in ["raw-1", "raw-rows", "raw-egress"] {
        let (compared, lines) = ran(on, (&program, &store), &packets, &at(Rate::Mpps(100.0), None));
        assert_eq!(compared, 400, "{on}");
        let card = lines.iter().find(|(name, _)| name == "line cards");
        let text = &card.expect("it says what lines did").1;
        assert!(
            text.starts_with("each line stood still for ") && !text.contains("for 0 "),
            "{text}"
        );
    }
    // The packets take as long as packets that wait at the port from the beginning.
    let last = |options: &Options| {
        let cycles = departures("raw-1", (&program, &store), &packets, options);
        cycles.last().copied().unwrap_or_default()
    };
    let (waits, all) = (last(&at(Rate::Mpps(100.0), None)), last(&Options::default()));
    assert!(waits.abs_diff(all) < 100, "{waits} and {all}");
}

#[test]
fn a_card_with_a_buffer_loses_what_finds_no_room_and_the_rest_is_as_on_golden() {
    let (ipv4, routes, packets) = forwarded(200);
    let nat = program("nat");
    let tables = [folder("../../programs/tests/nat.tables")];
    let (rules, _) = load_store(&nat.optimised, &tables, &|_| ()).expect("its tables");
    let spec = Spec { count: Some(200), ports: 4, ..Spec::default() };
    let others: Vec<Packet> = Generator::new(&spec).expect("it can be generated").collect();
    // The state of `nat` on `raw-rows` has an owner, which takes packets in the order of their
    // numbers.
    for (on, of, packets) in
        [("raw-1", (&ipv4, &routes), &packets), ("raw-rows", (&nat, &rules), &others)]
    {
        let lost = |count: usize, mpps, room| {
            let packets = &packets[..count];
            let (compared, lines) = ran(on, of, packets, &at(Rate::Mpps(mpps), Some(room)));
            let text =
                &lines.iter().find(|(name, _)| name == "line cards").expect("it has cards").1;
            let lost: u64 = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
            assert_eq!(compared + lost, count as u64, "{on}: {text}");
            lost
        };
        assert_eq!(lost(40, 0.2, 2), 0, "{on}");
        let (few, many) = (lost(200, 40.0, 2), lost(200, 40.0, 16));
        assert!(few > many && many > 0, "{on}: {few} with room for 2, {many} with 16");
    }
}

#[test]
fn a_buffer_without_a_rate_is_refused() {
    let (program, store, _) = forwarded(1);
    let refused =
        Contender::new(machine("raw-1"), &program, &store, &at(Rate::Max, Some(4)), &|_| ());
    let error = refused.err().expect("it is refused");
    assert!(error.message.contains("a buffer changes nothing"), "{}", error.message);
}

#[test]
fn profiles_have_each_cycle_of_processors_and_switches_at_a_line() {
    let (program, store, packets) = forwarded(60);
    // At a low rate, so that the chip rests between packets.
    for (on, rate) in [("raw-3", Rate::Max), ("raw-rows", Rate::Mpps(0.1))] {
        let machine = machine(on);
        let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
        let mut raw = Raw::start(spec, &program.optimised, store.clone(), &at(rate, None))
            .unwrap_or_else(|error| panic!("{}", error.message));
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        raw.offer(&frames, &mut |_| ()).and_then(|_| raw.finish(&mut |_| ())).expect("it runs");
        let (mut executed, mut waited) = (0, 0);
        for place in (0..4).flat_map(|y| (0..4).map(move |x| (x, y))) {
            let (tile, switch) = raw.chip().spent(place);
            executed += tile.executed + switch.executed;
            waited += tile.total() - tile.executed + switch.total() - switch.executed;
        }
        let profile = raw.profile().expect("it counts");
        assert_eq!((profile.total.executing, profile.total.waiting), (executed, waited), "{on}");
        assert_eq!(profile.total.instructions, executed, "{on}");
        let cycles: Vec<u64> = profile.lines.iter().map(|line| line.counts.cycles()).collect();
        assert_eq!(cycles.iter().sum::<u64>(), executed + waited);
        assert!(cycles.is_sorted_by(|one, next| one >= next), "{cycles:?}");
        let of_source = profile.lines.iter().filter(|line| line.place.contains(".loom:"));
        assert!(of_source.count() > 5, "{:?}", profile.lines);
    }
}

#[test]
fn code_after_an_update_is_that_of_a_start_with_these_tables() {
    let (program, store, _) = forwarded(1);
    let machine = machine("raw-rows");
    let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
    let fresh = |store: &Store| {
        let raw = Raw::start(spec, &program.optimised, store.clone(), &Options::default());
        raw.unwrap_or_else(|error| panic!("{}", error.message)).source().to_owned()
    };
    let mut raw = Raw::start(spec, &program.optimised, store.clone(), &Options::default())
        .unwrap_or_else(|error| panic!("{}", error.message));
    assert_eq!(raw.source(), fresh(&store));
    // Without entries its tables take less memory, so later tables move.
    for other in [&store, &wireloom_ir::store(&program.optimised).expect("a store"), &store] {
        let snapshot = wireloom_machine::Snapshot::of(other);
        raw.restore(&snapshot).unwrap_or_else(|error| panic!("{}", error.message));
        assert_eq!(raw.source(), fresh(raw.store()));
    }
}
