//! A benchmark under load: what leaves in a time, and what is in use meanwhile.

use wireloom_sim::{EnergySink, Time};

use super::feed::Feed;
use super::traffic::Traffic;
use crate::mpkt::Way;
use crate::processor::{Processor, RunError};
use crate::report::Shares;

/// The interval of samples.
const STEP: Time = Time(10_000_000);

/// What was measured in the window of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The time that counts, in seconds.
    pub seconds: f64,
    /// Packets that left by a port.
    pub packets: u64,
    /// The bytes of these packets as they had come, without overhead of the line.
    pub bytes: u64,
    /// Packets that left by no port: dropped, or handed to the processor core.
    pub dropped: u64,
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

/// Lets a chip run with its ports always full, first for some time that does not count.
///
/// The description must let packets come when they are offered
/// ([`Pace::Given`](wireloom_sim::parts::line::Pace::Given)), on lines that are faster than the chip.
///
/// # Errors
/// If a program does something without a meaning.
pub fn measure<E: EnergySink>(
    processor: &mut Processor<E>,
    traffic: &Traffic,
    before: Time,
    window: Time,
) -> Result<Measured, RunError> {
    let mut feed = Feed::new(traffic);
    let mut out = Left::default();
    out.run(processor, &mut feed, before)?;
    let first = Counts::of(processor);
    out = Left::default();
    out.run(processor, &mut feed, window)?;
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
        seconds,
        packets: out.packets,
        bytes: out.bytes,
        dropped: out.dropped,
        engines: engines.collect(),
        use_of: units.map(|(first, last)| (first.0, (last.1 - first.1) / seconds)).collect(),
        free_buffers: out.free as f64 / out.samples.max(1) as f64,
    })
}

/// What has left, and the buffers that were free at samples.
#[derive(Default)]
struct Left {
    packets: u64,
    bytes: u64,
    dropped: u64,
    free: u64,
    samples: u64,
}

impl Left {
    fn run<E: EnergySink>(
        &mut self,
        processor: &mut Processor<E>,
        feed: &mut Feed,
        time: Time,
    ) -> Result<(), RunError> {
        let end = processor.now() + time;
        while processor.now() < end {
            feed.full(processor, STEP.min(end - processor.now()))?;
            processor.chip.cards.accepted.clear();
            for out in processor.delivered() {
                match out.control.way {
                    Way::Port => {
                        self.packets += 1;
                        self.bytes += u64::from(feed.length(out.offered));
                    }
                    Way::Core | Way::Drop => self.dropped += 1,
                    Way::Done => {}
                }
            }
            self.samples += 1;
            let free = processor.chip.sram.list(super::memory::FREE_BUFFERS);
            self.free += free.map_or(0, <[u32]>::len) as u64;
        }
        Ok(())
    }
}
