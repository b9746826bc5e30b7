//! Checkpoints, single steps and breakpoints of a whole machine do not change a run.

use wireloom_description::Description;
use wireloom_mpsoc::synthetic::{PAPER, Synthetic};
use wireloom_mpsoc::{Multiprocessor, NoObjects, Options, Spec};
use wireloom_sim::stats::Value;
use wireloom_sim::{Effort, Happened, Time};

use super::with_options;

/// Machines with random choices, queues and pipelines of each kind.
const KEYS: [&str; 7] = [
    "[network]\njitter = 0.9\nlatency_ns = 40",
    "[network]\nkind = \"bus\"\nclock_mhz = 500\nwidth_bytes = 8\narbitration_cycles = 1\n\
     latency_cycles = 2\nqueue_messages = 4\narbiter = \"round-robin\"",
    "[network]\nkind = \"crossbar\"\nclock_mhz = 500\nwidth_bytes = 8\nlatency_cycles = 4\n\
     queue_messages = 2\nqueueing = \"fifo\"\narbiter = \"round-robin\"",
    "[network]\nkind = \"ring\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 1\n\
     link_cycles = 1\nqueue_messages = 2\nslots = 2\nboth_ways = true\n\
     arbiter = \"round-robin\"",
    "[network]\nkind = \"wormhole\"\nclock_mhz = 500\ncolumns = 3\nrows = 2\nwidth_bytes = 4\n\
     router_cycles = 1\nlink_cycles = 1\nqueue_messages = 2\nbuffer_flits = 4\n\
     arbiter = \"round-robin\"",
    "[processor]\nmultithreading = \"blocking\"",
    "[io]\npace = { poisson = 0.7 }",
];

const END: Time = Time::nanoseconds(60_000);

fn machine(keys: &str, effort: Effort) -> Multiprocessor<Synthetic, NoObjects> {
    let text = format!("extends = \"mpsoc\"\nprocessors = 3\nthreads = 4\n{keys}");
    let description = Description::parse("own", &text).expect("TOML");
    let spec = Spec::build("own", description).unwrap_or_else(|error| panic!("{keys}: {error}"));
    with_options(&spec, PAPER, 200, Options { effort, seed: 3, ..Options::default() })
}

/// The state that a machine reports, and the work of its kernel. A run in pieces has more turns
/// than an uninterrupted run, because a processor runs ahead only up to the end of a piece.
fn state(machine: &Multiprocessor<Synthetic, NoObjects>) -> (String, Option<Value>) {
    let record = machine.record();
    let value = |key: &str| serde_json::to_string(record.value(key).expect(key)).expect("JSON");
    let state = ["time", "instructions", "use", "kernel_events", "platform"].map(value).concat();
    (state + &format!("{:?}", machine.totals()), record.value("kernel_cycles").cloned())
}

/// The state at the end of a run.
fn at_end(mut machine: Multiprocessor<Synthetic, NoObjects>) -> (String, Option<Value>) {
    machine.run(END).expect("it runs");
    state(&machine)
}

#[test]
fn a_run_from_a_checkpoint_equals_the_run() {
    for keys in KEYS {
        for effort in [Effort::Active, Effort::Naive] {
            let whole = at_end(machine(keys, effort));
            let mut halves = machine(keys, effort);
            for at in [1, 777, 20_001] {
                halves.run(Time::nanoseconds(at)).expect("it runs");
                let (checkpoint, before) = (halves.clone(), state(&halves));
                let end = at_end(checkpoint.clone());
                assert_eq!(end.0, whole.0, "{keys} {effort:?} from {at} ns");
                assert_eq!(end, at_end(checkpoint.clone()), "{keys} {effort:?} from {at} ns");
                // The run of the copy leaves the checkpoint unchanged.
                assert_eq!(state(&checkpoint), before, "{keys} {effort:?} at {at} ns");
            }
            assert_eq!(at_end(halves).0, whole.0, "{keys} {effort:?}");
        }
    }
}

#[test]
fn single_steps_make_the_same_run() {
    for keys in KEYS {
        let mut stepped = machine(keys, Effort::Active);
        let (mut events, mut turns) = (0_u64, 0_u64);
        while let Some(happened) = stepped.step(END).expect("it runs") {
            match happened {
                Happened::Event => events += 1,
                Happened::Cycle(_) => turns += 1,
            }
            // A clone in the middle of an instant continues the run.
            if (events + turns) % 100 == 0 {
                stepped = stepped.clone();
            }
        }
        assert!(events > 200 && turns > 200, "{keys}: {events} events, {turns} turns");
        assert_eq!(state(&stepped).0, at_end(machine(keys, Effort::Active)).0, "{keys}");
    }
}

#[test]
fn a_run_stops_where_a_condition_first_holds_and_goes_on() {
    for keys in KEYS {
        let mut broken = machine(keys, Effort::Active);
        for done in [1, 2, 5] {
            let stop = broken.run_to(END, |view| view.packets().1 >= done).expect("it runs");
            assert_eq!(stop, Some(Happened::Event), "{keys}");
            assert_eq!(broken.totals().done, done, "{keys}");
        }
        assert_eq!(broken.run_to(END, |view| view.now() > END).expect("it runs"), None, "{keys}");
        assert_eq!(state(&broken).0, at_end(machine(keys, Effort::Active)).0, "{keys}");
    }
}
