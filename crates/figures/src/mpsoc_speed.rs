//! The speed at which this computer simulates a multiprocessor.

use std::time::Instant;

use wireloom_mpsoc::Options;
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_net::Packet;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic;

use super::Settings;
use super::mpsoc_rig::{Router, machine};
use wireloom_machine::{Error, Result};

/// Packets per sample.
const PACKETS: usize = 40_000;

/// Simulates the router on mpsoc-oc192 on one core. Returns a sample per run, in million simulated
/// instructions per second.
///
/// # Errors
/// If the simulation fails.
pub fn instructions_a_second(settings: &Settings) -> Result<Vec<f64>> {
    let tables = settings.file("programs/tests/router.tables")?;
    let prefixes = read_prefixes(&tables).map_err(Error::new)?.into_iter().collect();
    let router = Router::with(&settings.router()?, vec![tables], prefixes)?;
    let spec = machine("mpsoc-oc192")?;
    let traffic = traffic::Spec { dst_mac: [2, 0, 0, 0, 0, 0], ..traffic::Spec::default() };
    let packets: Vec<Packet> = router.traffic(&traffic)?.take(PACKETS).collect();
    let sample = |_| {
        let engine =
            MpsocEngine::new(&spec, router.program(), router.loaded()?, Options::default());
        let mut engine = engine.map_err(Error::new)?;
        let begin = Instant::now();
        engine.execute(&packets, &mut |_| {}).map_err(Error::new)?;
        engine.finish(&mut |_| {}).map_err(Error::new)?;
        Ok(engine.totals().instructions as f64 / begin.elapsed().as_secs_f64() / 1e6)
    };
    (0..settings.runs).map(sample).collect()
}
