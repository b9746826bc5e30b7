//! How many instructions a second are simulated, on one core: `cargo run --release -p wireloom-machines --example speed`.
//!
//! The paper's machine for OC-192 (48 processors of 16 threads, 80 ns) under its synthetic load, at the full rate of the line and at a twentieth of it; with
//! a kernel that lets who has nothing to do sleep, and with one that gives every processor every cycle.

use std::time::Instant;

use wireloom_description::Description;
use wireloom_machines::mpsoc::evaluation::PACKET_BYTES;
use wireloom_machines::mpsoc::synthetic::PAPER;
use wireloom_machines::mpsoc::{Machine, NoObjects, Options, Spec};
use wireloom_sim::{Effort, Time, Timeline};

fn main() {
    let (name, description) =
        Description::find("mpsoc-oc192").expect("it can be read").expect("it is installed with this");
    let spec = Spec::build(&name, description).expect("it is a machine");
    for gbps in [10.0, 0.5] {
        for effort in [Effort::Active, Effort::Naive] {
            let mut rates: Vec<f64> = (0..5).map(|_| rate(&spec, gbps, effort)).collect();
            rates.sort_by(f64::total_cmp);
            println!(
                "{gbps:4} Gb/s, {effort:?}: {:.1} million instructions a second (median of 5; {:.1} to {:.1})",
                rates[2], rates[0], rates[4]
            );
        }
    }
}

/// In millions of instructions a second, behind the time in which the machine fills.
fn rate(spec: &Spec, gbps: f64, effort: Effort) -> f64 {
    let mut spec = spec.clone();
    (spec.io.input.rate, spec.io.output.rate) = ((gbps * 1e9) as u64, (gbps * 1e9) as u64);
    let options = Options { effort, timeline: Timeline::off(), ..Options::default() };
    let mut machine = Machine::new(&spec, PAPER, NoObjects, options).expect("a machine");
    machine.offer_plain(PACKET_BYTES, u64::MAX);
    machine.run(Time::nanoseconds(100_000)).expect("it runs");
    let (begin, before) = (Instant::now(), machine.totals());
    // About 20 million instructions.
    machine.run(Time::nanoseconds(100_000 + (10_000_000.0 / gbps) as u64)).expect("it runs");
    (machine.totals().instructions - before.instructions) as f64 / begin.elapsed().as_secs_f64() / 1e6
}
