//! External tests of the `mpsoc` machine: the synthetic load against closed forms, and compiled
//! programs.

mod checkpoints;
mod compiled;
mod objects;
mod synthetic;

use wireloom_mpsoc::{Multiprocessor, NoObjects, Options, Spec, Workload};
use wireloom_sim::Time;
use wireloom_sim::parts::channel::ChannelSpec;
use wireloom_sim::parts::interconnect::InterconnectSpec;

/// A machine of `processors` processors with `threads` threads each, a one-way latency in
/// nanoseconds and no jitter.
fn shaped(processors: u32, threads: u32, latency_ns: u64) -> Spec {
    let mut spec = Spec::base();
    (spec.processors, spec.threads) = (processors, threads);
    let latency = Time::nanoseconds(latency_ns);
    spec.network = InterconnectSpec::Channel(ChannelSpec {
        latency,
        jitter: 0.0,
        keep_order: false,
        beat: None,
    });
    spec
}

/// The machine with line rates of `gbps` Gb/s in both directions.
fn with_lines(mut spec: Spec, gbps: f64) -> Spec {
    (spec.io.input.rate, spec.io.output.rate) = ((gbps * 1e9) as u64, (gbps * 1e9) as u64);
    spec
}

/// The size of packets without contents, in bytes.
const PACKET_BYTES: u32 = 54;

/// A machine without objects, whose line brings `packets` packets without contents.
fn machine<W: Workload>(spec: &Spec, workload: W, packets: u64) -> Multiprocessor<W, NoObjects> {
    with_options(spec, workload, packets, Options::default())
}

fn with_options<W: Workload>(
    spec: &Spec,
    workload: W,
    packets: u64,
    options: Options,
) -> Multiprocessor<W, NoObjects> {
    let mut machine = Multiprocessor::new(spec, workload, NoObjects, options).expect("a machine");
    machine.offer_plain(PACKET_BYTES, packets);
    machine
}
