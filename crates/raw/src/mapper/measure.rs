//! The rate of a mapping.

use std::collections::VecDeque;

use serde::Serialize;
use wireloom_ir::{Execute, Golden, Output, Program, Verdict};
use wireloom_machine::{Error, Machine, Options, Result};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

use crate::machine::{MachineSpec, Raw};

/// The results of a mapping under full load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Packets that left, in millions a second, over the middle half of the run.
    pub mpps: f64,
    /// Packets that left, in gigabits a second, over the middle half of the run.
    pub gbps: f64,
    /// Cycles of the chip from a packet to the next, over the middle half of the run.
    pub cycles: f64,
    /// Mean cycles from a packet's first word into the chip to its last word out of it.
    pub latency: f64,
    /// Energy of chip and memory over the whole run, divided by the number of packets, in
    /// nanojoules.
    pub nanojoules: f64,
}

/// Runs packets, which all wait at the ports from the beginning. Returns the machine after the run.
///
/// # Errors
/// If the engine does not fit, or a packet is not sent, or differs from golden's.
pub fn play(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
    packets: &[Packet],
) -> Result<Raw> {
    let mut machine = Raw::start(spec, program, store.clone(), &Options::default())?;
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let mut golden = Golden::new(program.clone(), store.clone());
    // Golden's results for earlier packets that have not left the machine.
    let (mut next, mut wanted) = (0, VecDeque::new());
    let (mut lost, mut wrong) = (0u64, None);
    let mut sink = |output: Output<'_>| {
        while let Some(frame) = frames.get(next)
            && wanted.is_empty()
        {
            golden.offer(&[*frame], &mut |output| wanted.push_back(owned(output)));
            next += 1;
        }
        let number = output.sequence;
        let expected = wanted.pop_front();
        // The machine does not show the bytes of packets that are not sent.
        if !matches!(output.verdict, Verdict::Sent { .. }) {
            lost += 1;
        } else if expected != Some(owned(output)) {
            wrong.get_or_insert(number);
        }
    };
    machine.offer(&frames, &mut sink)?;
    machine.finish(&mut sink)?;
    if let Some(number) = wrong {
        let message = format!("{}: packet {number} leaves otherwise than on golden", spec.name);
        return Err(Error::new(message));
    }
    if lost > 0 {
        return Err(Error::new(format!(
            "{}: {lost} of {} packets were dropped or left for the control processor",
            spec.name,
            packets.len()
        ))
        .with_help(
            "rates are those of packets that are forwarded: the tables must know their destinations",
        ));
    }
    Ok(machine)
}

/// Returns the number, the verdict and the bytes of a packet.
fn owned(output: Output<'_>) -> (u64, Verdict, Vec<u8>) {
    (output.sequence, output.verdict, output.bytes.to_vec())
}

/// Returns the rates of packets that are [run](play). They cover the cycles from the departure of
/// the first quarter of the packets to the departure of three quarters. In that time caches are
/// warm and all tiles have work.
///
/// # Errors
/// As [`play`]. Only packets that are sent count.
pub fn measure(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
    packets: &[Packet],
) -> Result<Rates> {
    rates(spec, &play(spec, program, store, packets)?, packets.len())
}

/// Returns the rates of a machine that has [run](play) `packets` packets, as [`measure`] defines
/// them.
///
/// # Errors
/// If there are too few packets.
pub fn rates(spec: &MachineSpec, machine: &Raw, packets: usize) -> Result<Rates> {
    let mut departures = machine.departures().to_vec();
    departures.sort_unstable();
    let (from, to) = (departures.len() / 4, departures.len() * 3 / 4);
    if to <= from {
        return Err(Error::new("ten packets are needed to measure a rate"));
    }
    let bytes: u64 = departures[from + 1..=to].iter().map(|(_, bytes)| u64::from(*bytes)).sum();
    let cycles = (departures[to].0 - departures[from].0).max(1) as f64;
    let mhz = f64::from(spec.chip.clock_mhz);
    let count = (to - from) as f64;
    Ok(Rates {
        mpps: count / cycles * mhz,
        gbps: 8.0 * bytes as f64 / cycles * mhz / 1000.0,
        cycles: cycles / count,
        latency: machine.mean_latency(),
        nanojoules: machine.energy().total().as_joules() * 1e9 / packets as f64,
    })
}
