//! Measures a benchmark under load: the packets that leave in a time window, and the use of each
//! part.

use wireloom_sim::{EnergySink, Time};

use super::feed::Feed;
use super::traffic::Traffic;
use crate::mpkt::Way;
use crate::processor::{Processor, RunError};
use crate::report::Shares;

/// The interval between samples.
const STEP: Time = Time(10_000_000);

/// The measurements over the time window.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The length of the window in seconds.
    pub seconds: f64,
    /// Packets that left by a port.
    pub packets: u64,
    /// The length of these packets on arrival in bytes, without line overhead.
    pub bytes: u64,
    /// Packets that left by no port: the program dropped them or handed them to the processor core.
    pub dropped: u64,
    /// The shares of each engine's cycles.
    pub engines: Vec<Shares>,
    /// The share of time in which each unit and bus was in use. `sdram` counts its data only;
    /// `sdram with rows` adds the time for opening rows and for bus turnaround.
    pub use_of: Vec<(&'static str, f64)>,
    /// The mean number of free buffers.
    pub free_buffers: f64,
}

/// The chip's counters at one time.
struct Counts {
    /// Busy, aborted, stalled and idle cycles of each engine.
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

/// Runs a chip with its ports always full. An initial time does not count.
///
/// The description must accept packets at the times at which they are offered
/// ([`Pace::Given`](wireloom_sim::parts::line::Pace::Given)), on lines that are faster than the
/// chip.
///
/// # Errors
/// If a program does something undefined.
pub fn measure<E: EnergySink>(
    processor: &mut Processor<E>,
    traffic: &Traffic,
    before: Time,
    window: Time,
) -> Result<Measured, RunError> {
    let mut feed = Feed::new(traffic);
    let mut out = Departures::default();
    out.run(processor, &mut feed, before)?;
    let first = Counts::of(processor);
    out = Departures::default();
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

/// The packets that have left, and the free buffers at each sample.
#[derive(Default)]
struct Departures {
    packets: u64,
    bytes: u64,
    dropped: u64,
    free: u64,
    samples: u64,
}

impl Departures {
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
