//! The native router, specialised to the contents of its tables, next to the general one.

use std::time::Instant;

use wireloom_bits::Bits;
use wireloom_console::load_store;
use wireloom_ir::Execute;
use wireloom_machine::{Error, Result};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, StateRow, Store};

use super::Settings;
use super::workload::packets;

/// Next-hop fields that a network without tags and labels leaves zero.
const UNUSED: [&str; 4] = ["vlan", "labels", "label", "second"];

/// Returns the function that takes one sample: the rate of the specialised router as a multiple of
/// the general one's, with the same packets. The tables are the demonstration's, but no next hop
/// has a tag or labels, and no label is known.
///
/// # Errors
/// If a file is missing, or the compiler fails.
pub fn sampler(settings: &Settings) -> Result<impl FnMut() -> Result<f64>> {
    let program = settings.router()?.compiled()?;
    let options = BuildOptions::default();
    let library = Library::build(&program.optimised, &options).map_err(Error::new)?;
    let machine = || {
        let (mut store, _) = load_store(&program.optimised, &[settings.tables()?])?;
        make_plain(&mut store)?;
        Ok::<_, Error>(Native::new(library.clone(), store))
    };
    let (mut general, mut special) = (machine()?, machine()?);
    if !special.specialise_now(options).map_err(Error::new)? {
        return Err(Error::new("the tables say nothing that makes the router another one"));
    }
    let packets = packets(settings, "ipv4")?;
    Ok(move || {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        Ok(rate(&mut special, &frames) / rate(&mut general, &frames))
    })
}

fn rate(machine: &mut Native, frames: &[Frame<'_>]) -> f64 {
    let mut outputs = 0;
    let begin = Instant::now();
    machine.offer_in_pieces(frames, &mut |_, _| outputs += 1);
    assert_eq!(outputs, frames.len(), "every packet has one outcome");
    frames.len() as f64 / begin.elapsed().as_secs_f64()
}

fn make_plain(store: &mut Store) -> Result {
    for path in ["next_hops", "labels"] {
        let missing = || Error::new(format!("the router has no table {path}"));
        let Content::Kind { instance, .. } = &mut store.find_mut(path).ok_or_else(missing)?.content
        else {
            return Err(missing());
        };
        for row in instance.rows() {
            let plain = |(name, value): &(String, Bits)| {
                let is_unused = path == "labels" || UNUSED.contains(&name.as_str());
                (name.clone(), if is_unused { Bits::zero(value.width()) } else { value.clone() })
            };
            let fields = row.fields.iter().map(plain).collect();
            let entry = instance.entry(&StateRow { key: row.key.clone(), fields });
            instance.load(entry).map_err(|refused| Error::new(refused.0))?;
        }
    }
    Ok(())
}
