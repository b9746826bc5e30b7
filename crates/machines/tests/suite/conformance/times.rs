//! Times that end at ticks: steps that run for keys, on every machine that has them.

use std::sync::Arc;

use wireloom_ir::{MOST_TICKS, Output, TIMERS, Verdict};
use wireloom_machine::{Configured, Contender, Machine, Program, golden};
use wireloom_machines::REGISTRY;
use wireloom_net::Packet;

use super::{empty, frames, options, start};
use crate::conformance::features::compiled;

/// Machines that run programs with such steps.
fn machines() -> impl Iterator<Item = Arc<dyn Configured>> {
    let all = REGISTRY.kinds().map(|kind| REGISTRY.find(kind.example()).expect("an example"));
    all.filter(|machine| machine.refusals(&heartbeat()).is_empty())
}

/// A timer that sets itself again, once a millisecond, and sends a packet with its time.
fn heartbeat() -> Program {
    let text = "
header Time { u64 ns; };
engine heartbeat() {
    offload beats : timer<u8, size = 4>;
    Time time @ 0;
    step begin {
        beats.set(packet.ingress[7:0], 1000000);
        finish;
    }
    step beat on beats(u8 key) {
        packet.reset(8);
        time.ns = packet.arrival;
        packet.egress = key;
        beats.set(key, 1000000);
        finish;
    }
}
";
    compiled("heartbeat.loom", text)
}

fn packet(ingress: u16, arrival_ns: u64) -> Packet {
    Packet { ingress, arrival_ns, bytes: vec![0; 60] }
}

/// Returns the sequence number, the port and the time in the packet of each output.
fn outputs(machine: &mut dyn Machine, packets: &[Packet]) -> Vec<(u64, u16, u64)> {
    let mut all = Vec::new();
    let mut keep = |output: Output<'_>| {
        let Verdict::Sent { port } = output.verdict else { panic!("{:?}", output.verdict) };
        let time = <[u8; 8]>::try_from(&output.bytes[..8]).expect("eight bytes");
        all.push((output.sequence, port, u64::from_be_bytes(time)));
    };
    machine.offer(&frames(packets), &mut keep).expect("it works");
    machine.finish(&mut keep).expect("it works");
    all
}

#[test]
fn golden_native_and_mpsoc_have_times() {
    let names: Vec<String> = machines().map(|machine| machine.name().to_owned()).collect();
    assert_eq!(names, ["golden", "native", "mpsoc-oc48"]);
}

#[test]
fn timers_run_before_the_first_packet_at_their_tick_or_after() {
    for machine in machines() {
        let program = heartbeat();
        let mut running = start(&machine, &program, empty(&program));
        let sent = [(7, 0), (3, 999_999), (5, 2_000_000), (5, 2_000_000), (6, 1_500_000)];
        let packets: Vec<Packet> = sent.iter().map(|(port, at)| packet(*port, *at)).collect();
        let all = outputs(running.as_mut(), &packets);
        let (timer, ms) = (|number: u64| TIMERS + number, 1_000_000);
        let expected = vec![
            (0, 0, 0),
            // Set at 0 and due at 1 ms.
            (1, 0, 0),
            (timer(0), 7, ms),
            // Set at 0.999999 ms and at 1 ms: both are due at 2 ms, in the order of keys.
            (timer(1), 3, 2 * ms),
            (timer(2), 7, 2 * ms),
            (2, 0, 0),
            (3, 0, 0),
            // It comes late: at 2 ms of engine time.
            (4, 0, 0),
        ];
        assert_eq!(all, expected, "{}", machine.name());
        let mut last = Vec::new();
        let keep = &mut |output: Output<'_>| last.push((output.sequence, output.arrival_ns));
        running.advance_to(3 * ms, keep).expect("it works");
        let due = [3, 4, 5, 6].map(|number| (timer(number), 3 * ms));
        assert_eq!(last, due, "{}: 3, 5, 6 and 7", machine.name());
        assert_eq!(running.next_timer(), Some(4 * ms));
    }
}

#[test]
fn a_timer_that_sets_itself_again_ends_when_time_stamps_are_years_apart() {
    let program = heartbeat();
    let years = 10 * 365 * 86_400_000_000_000;
    // A simulated machine takes minutes for a million ticks.
    let others = machines().filter(|machine| !machine.capabilities().times);
    for machine in others.filter(|machine| machine.name() != "golden") {
        let name = machine.name().to_owned();
        let contender = Contender::new(machine, &program, &empty(&program), &options(), &|_| ());
        let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let mut beats = 0;
        let mut count = |output: Output<'_>| beats += u64::from(output.sequence >= TIMERS);
        let packets = [packet(1, 0), packet(1, years), packet(2, years + 10)];
        let program = &program.optimised;
        contender.offer(program, &frames(&packets), &mut count).expect("it works");
        contender.finish(program, &mut count).expect("it works");
        contender.compare_state(&|_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
        assert_eq!(beats, u64::from(MOST_TICKS) + 1, "{name}");
    }
    let mut golden = start(&golden::machine(), &program, empty(&program));
    outputs(golden.as_mut(), &[packet(1, 0), packet(1, u64::MAX)]);
}
