//! A benchmark under load: what leaves in a time, and what is in use meanwhile.

use wireloom_sim::{EnergySink, Time};

use super::traffic::Traffic;
use crate::processor::{Processor, RunError};
use crate::report::Shares;
use crate::spec::Spec;

/// The interval of samples, and of offers.
const STEP: Time = Time(10_000_000);

/// What was measured in the window of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Packets that left in a second, in millions.
    pub mpps: f64,
    /// Bits of these packets as they had come, without overhead of the line, in Gb/s.
    pub gbps: f64,
    /// Packets that left.
    pub packets: u64,
    /// The shares of each engine's cycles.
    pub engines: Vec<Shares>,
    /// The share of time in which each unit and bus was in use: `sdram` counts its data, `sdram with
    /// rows` the time to open rows and to turn as well.
    pub use_of: Vec<(&'static str, f64)>,
    /// Buffers that were free on average.
    pub free_buffers: f64,
}

/// What a chip has counted so far.
struct Counts {
    /// Busy, aborted, stalled, idle cycles of each engine.
    engines: Vec<[f64; 4]>,
    units: Vec<(&'static str, f64)>,
    at: Time,
}

impl Counts {
    fn of<E: EnergySink>(processor: &Processor<E>) -> Self {
        let engines = processor.chip.engines.iter().enumerate().map(|(number, engine)| {
            let idle = engine.used.idle + processor.sleeping(number);
            [engine.used.busy, engine.used.aborted, engine.used.stalled, idle].map(|n| n as f64)
        });
        let at = processor.now();
        let seconds = at.as_seconds();
        let cycles = processor.chip.core_cycle(at).max(1) as f64;
        let occupied = processor.chip.sdram.sum(|channel| channel.occupied);
        let rows = occupied as f64 / cycles;
        let units = processor.utilisation().into_iter().chain([("sdram with rows", rows)]);
        Self {
            engines: engines.collect(),
            units: units.map(|(name, share)| (name, share * seconds)).collect(),
            at,
        }
    }
}

/// Lets a chip run with its lines always full, first for some time that does not count.
///
/// The description must let packets come as fast as lines carry them
/// ([`Pace::Line`](wireloom_sim::parts::line::Pace::Line)); what finds no room at a port is lost.
///
/// # Errors
/// If a program does something without a meaning.
pub fn measure<E: EnergySink>(
    processor: &mut Processor<E>,
    traffic: &Traffic,
    before: Time,
    window: Time,
) -> Result<Measured, RunError> {
    let mut source = Source::new(traffic, &processor.chip.spec);
    let begin = processor.now();
    source.run(processor, begin + before)?;
    let first = Counts::of(processor);
    source.reset();
    source.run(processor, first.at + window)?;
    let last = Counts::of(processor);
    let seconds = (last.at - first.at).as_seconds();
    let engines = first.engines.iter().zip(&last.engines).map(|(first, last)| {
        let cycles: Vec<f64> = first.iter().zip(last).map(|(first, last)| last - first).collect();
        let all = cycles.iter().sum::<f64>().max(1.0);
        Shares {
            busy: cycles[0] / all,
            aborted: cycles[1] / all,
            stalled: cycles[2] / all,
            idle: cycles[3] / all,
        }
    });
    let units = first.units.iter().zip(&last.units);
    Ok(Measured {
        mpps: source.packets as f64 / seconds / 1e6,
        gbps: source.bytes as f64 * 8.0 / seconds / 1e9,
        packets: source.packets,
        engines: engines.collect(),
        use_of: units.map(|(first, last)| (first.0, (last.1 - first.1) / seconds)).collect(),
        free_buffers: source.free as f64 / source.samples.max(1) as f64,
    })
}

/// Offers packets, and counts those that leave.
struct Source {
    /// For each port its packets.
    traffic: Box<dyn Iterator<Item = super::Generated>>,
    /// When the lines have carried what was offered, in picoseconds.
    until: Vec<u64>,
    rate: u64,
    overhead: u64,
    offered: u64,
    /// The lengths of packets by number, from `lengths_from` on.
    lengths: std::collections::HashMap<u64, u64>,
    packets: u64,
    bytes: u64,
    free: u64,
    samples: u64,
}

impl Source {
    fn new(traffic: &Traffic, spec: &Spec) -> Self {
        Self {
            traffic: Box::new(traffic.packets()),
            until: vec![0; usize::from(traffic.ports)],
            rate: spec.ports.rate,
            overhead: spec.ports.overhead_bytes.into(),
            offered: 0,
            lengths: std::collections::HashMap::new(),
            packets: 0,
            bytes: 0,
            free: 0,
            samples: 0,
        }
    }

    fn reset(&mut self) {
        (self.packets, self.bytes, self.free, self.samples) = (0, 0, 0, 0);
    }

    fn run<E: EnergySink>(
        &mut self,
        processor: &mut Processor<E>,
        end: Time,
    ) -> Result<(), RunError> {
        while processor.now() < end {
            // A step ahead, so that no line is idle.
            let ahead = processor.now() + STEP + STEP;
            while self.until.iter().any(|until| *until < ahead.0) {
                let Some(packet) = self.traffic.next() else { break };
                let length = packet.bytes.len() as u64;
                let time = (length + self.overhead) as u128 * 8_000_000_000_000 / self.rate as u128;
                self.until[usize::from(packet.port)] += time as u64;
                processor.offer(packet.port, self.offered, 0, &packet.bytes);
                self.lengths.insert(self.offered, length);
                self.offered += 1;
            }
            processor.run(STEP.min(end - processor.now()))?;
            for lost in processor.chip.cards.lost.drain(..) {
                self.lengths.remove(&lost);
            }
            processor.chip.cards.accepted.clear();
            for out in processor.delivered() {
                self.packets += 1;
                self.bytes += self.lengths.remove(&out.offered).unwrap_or_default();
            }
            self.samples += 1;
            let free = processor.chip.sram.list(super::memory::FREE_BUFFERS);
            self.free += free.map_or(0, <[u32]>::len) as u64;
        }
        Ok(())
    }
}
