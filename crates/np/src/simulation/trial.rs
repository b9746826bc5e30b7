//! One run of packets through a machine that is empty before and after. It measures rate and loss.

use super::error::Fault;
use super::execution::Use;
use super::measure::{Distribution, Meter, Pace, Pacer};
use super::run::{Arrival, Fate, Simulation};
use wireloom_net::Packet;

/// Cycles between two polls of the output.
const CHUNK: u64 = 256;
/// The minimum number of packets queued at the input while there are more to come. A lane takes at
/// most one packet per cycle.
const AHEAD: u64 = 4 * CHUNK;

/// The reaction of a trial to a packet that is lost at the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// The trial counts the loss and continues.
    Count,
    /// The trial offers no more packets. One loss shows that the pace is too fast.
    Stop,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Number of packets offered to the machine.
    pub offered: u64,
    /// Simulated cycles from the first packet's arrival until the machine was empty.
    pub cycles: u64,
    /// Packets completed per cycle over the middle of the run; `None` if there were too few
    /// packets.
    pub packets_per_cycle: Option<f64>,
    /// Number of packets that left on a port.
    pub sent: u64,
    /// Beats of 64 bytes in the packets that left.
    pub sent_beats: u64,
    /// Number of packets that were lost at the input.
    pub lost: u64,
    /// Cycles from the first beat in to the last beat out of each packet.
    pub latency: Distribution,
    /// The utilisation of each part in these cycles.
    pub uses: Vec<Use>,
}

impl Simulation {
    /// Offers packets to the machine at this pace and waits until it is empty. The machine must be
    /// empty at the start. The contents of caches and counters persist from one trial to the next.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn trial(
        &mut self,
        packets: &[Packet],
        pace: Pace,
        on_loss: OnLoss,
    ) -> Result<Trial, Fault> {
        let (before, probed) = (self.state(), self.probes());
        let mut pacer = Pacer::new(pace);
        let mut coming = packets.iter();
        let (mut meter, mut offered) = (Meter::default(), 0);
        let (mut sent, mut sent_beats) = (0, 0);
        let mut state = before;
        loop {
            // Offer enough packets that the machine does not run out of them before the next poll
            // and does not stop early.
            while state.waiting < AHEAD
                && let Some(packet) = coming.next()
            {
                let arrival = match pacer.next(packet.arrival_ns) {
                    Arrival::At(cycle) => Arrival::At(before.now + cycle),
                    Arrival::Waiting => Arrival::Waiting,
                };
                self.offer(packet.frame(), arrival);
                offered += 1;
                state = self.state();
            }
            if state.waiting == 0 && state.inside == 0 {
                break;
            }
            self.run(CHUNK)?;
            while let Some(left) = self.take() {
                meter.note(&left);
                if left.fate == Fate::Finished {
                    sent += 1;
                    sent_beats += beats(&left.bytes);
                }
            }
            state = self.state();
            if on_loss == OnLoss::Stop && state.lost > before.lost {
                coming = [].iter();
            }
        }
        while self.take_lost().is_some() {}
        let cycles = state.cycles - before.cycles;
        let counts = self.probes();
        let uses = self.geometry().probes.iter().zip(counts.iter().zip(&probed)).map(
            |(probe, (after, before))| Use {
                name: probe.name.clone(),
                kind: probe.kind.clone(),
                share: (after - before) as f64 / (cycles * probe.most).max(1) as f64,
            },
        );
        Ok(Trial {
            offered,
            cycles,
            packets_per_cycle: meter.rate(),
            sent,
            sent_beats,
            lost: state.lost - before.lost,
            latency: meter.latency(),
            uses: uses.collect(),
        })
    }
}

/// Returns the beats of 64 bytes that a packet takes on a lane.
pub fn beats(packet: &[u8]) -> u64 {
    packet.len().div_ceil(64).max(1) as u64
}

impl Trial {
    /// Returns the total activity of all parts of a kind, in units of one fully used part. For
    /// example, five engines that are used half of the time give 2.5.
    pub fn used(&self, kind: &str) -> f64 {
        self.uses.iter().filter(|part| part.kind == kind).map(|part| part.share).sum()
    }
}
