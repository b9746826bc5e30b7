//! The speed at which this computer simulates a network processor of microengines.

use std::time::Instant;

use wireloom_ixp::benchmarks::{Benchmark, Mapping};
use wireloom_sim::Time;

use super::{MHZ, Trial};
use crate::Settings;
use wireloom_machine::{Error, Result};

const TIME: Time = Time(5_000_000_000);

/// Simulates `ipfwdr` on six engines. Returns a sample per run, in million engine cycles per
/// second.
///
/// # Errors
/// If the simulation fails.
pub fn cycles_a_second(settings: &Settings) -> Result<Vec<f64>> {
    let trial = Trial::new(Benchmark::Ipfwdr, Mapping::usual(6), MHZ);
    let sample = |_| {
        let mut processor = trial.processor()?;
        let begin = Instant::now();
        let measured =
            wireloom_ixp::benchmarks::measure(&mut processor, &trial.traffic(), Time::ZERO, TIME);
        measured.map_err(Error::new)?;
        let engines = &processor.chip.engines;
        let cycles = engines.iter().enumerate();
        let cycles: u64 = cycles.map(|(at, engine)| engine.cycles() + processor.sleeping(at)).sum();
        Ok(cycles as f64 / begin.elapsed().as_secs_f64() / 1e6)
    };
    (0..settings.runs).map(sample).collect()
}
