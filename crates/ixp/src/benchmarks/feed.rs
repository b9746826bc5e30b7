//! Feeds a benchmark's packets to a running chip, either as fast as the chip takes them or at a
//! given rate.

use std::collections::VecDeque;

use wireloom_sim::{EnergySink, Rng, Time};

use super::traffic::{Generated, Traffic};

use crate::processor::{Processor, RunError};
use crate::spec::MPKT_BYTES;

/// The time by which packets are offered in advance.
const STEP: Time = Time(10_000_000);
/// MPKTs of the longest packet.
const LARGEST: u32 = 24;

/// Offers packets to the ports.
///
/// A full port loses large packets before small ones, so an overloaded chip would see another mix
/// than one below saturation. [`full`](Self::full) therefore offers only packets for which the
/// ports have room, and nothing is lost.
pub struct Feed {
    packets: Box<dyn Iterator<Item = Generated>>,
    /// Packets that were drawn for each port and wait for room there.
    drawn: Vec<VecDeque<Vec<u8>>>,
    rng: Rng,
    /// The arrival time of the next packet, in nanoseconds, and the mean length of a packet in
    /// bits.
    at: f64,
    bits: f64,
    /// The count of offered packets.
    pub offered: u64,
    /// The length of each packet in bytes, indexed by its number.
    lengths: Vec<u32>,
}

impl Feed {
    /// Creates a feed of this traffic.
    pub fn new(traffic: &Traffic) -> Self {
        let weights: f64 = traffic.sizes.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let bytes = traffic.sizes.iter().map(|(size, weight)| *size as f64 * f64::from(*weight));
        Self {
            packets: Box::new(traffic.packets()),
            drawn: vec![VecDeque::new(); usize::from(traffic.ports)],
            rng: Rng::new(traffic.seed, "arrivals"),
            at: 0.0,
            bits: 8.0 * bytes.sum::<f64>() / weights,
            offered: 0,
            lengths: Vec::new(),
        }
    }

    fn offer<E: EnergySink>(&mut self, processor: &mut Processor<E>, packet: Generated, at: f64) {
        processor.offer(packet.port, self.offered, at as u64, &packet.bytes);
        self.offered += 1;
        self.lengths.push(packet.bytes.len() as u32);
    }

    /// The length of an offered packet on arrival, in bytes.
    pub fn length(&self, number: u64) -> u32 {
        self.lengths.get(number as usize).copied().unwrap_or_default()
    }

    /// Keeps all ports full for `time`. The lines must be faster than the chip.
    ///
    /// # Errors
    /// If a program does something undefined.
    pub fn full<E: EnergySink>(
        &mut self,
        processor: &mut Processor<E>,
        time: Time,
    ) -> Result<(), RunError> {
        let end = processor.now() + time;
        while processor.now() < end {
            let now = processor.now().0 as f64 / 1e3;
            for port in 0..self.drawn.len() {
                let mut room = processor.chip.spec.ports.receive_mpkts;
                room = room.saturating_sub(processor.chip.cards.held(port).0);
                while room >= LARGEST {
                    while self.drawn[port].is_empty() {
                        let Some(packet) = self.packets.next() else { return Ok(()) };
                        self.drawn[usize::from(packet.port)].push_back(packet.bytes);
                    }
                    let Some(bytes) = self.drawn[port].pop_front() else { break };
                    room = room.saturating_sub((bytes.len() as u32).div_ceil(MPKT_BYTES));
                    self.offer(processor, Generated { port: port as u16, bytes }, now);
                }
            }
            processor.run(STEP.min(end - processor.now()))?;
            self.at = processor.now().0 as f64 / 1e3;
        }
        Ok(())
    }

    /// Offers packets of a Poisson process for `time`, at this mean rate in Gb/s of frames.
    ///
    /// # Errors
    /// If a program does something undefined.
    pub fn poisson<E: EnergySink>(
        &mut self,
        processor: &mut Processor<E>,
        gbps: f64,
        time: Time,
    ) -> Result<(), RunError> {
        let end = processor.now() + time;
        while self.at < end.0 as f64 / 1e3 {
            if let Some(packet) = self.packets.next() {
                self.offer(processor, packet, self.at);
            }
            self.at += self.rng.exponential() * self.bits / gbps;
        }
        processor.run(time)?;
        Ok(())
    }
}
