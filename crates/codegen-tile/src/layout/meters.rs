//! Meters in memory.
//!
//! ```text
//! byte  0..4          8..12        16..20      32..36 40..44 48..52 56..60
//!       | C's missing | E's or P's | last time |      | cir  | cbs  | pir  | ebs or pbs
//! ```
//!
//! Buckets have the tokens that are missing in them.

use std::any::Any;

use wireloom_offloads::kinds::meter::{Meter, Used};
use wireloom_offloads::{Config, Instance};

use super::{Place, Room};

/// Bytes of a meter, and where its parts are.
pub const STRIDE: u32 = 64;
pub const OTHER: u32 = 8;
pub const LAST: u32 = 16;
pub const CIR: u32 = 32;
pub const CBS: u32 = 40;
pub const PIR: u32 = 48;
pub const OTHER_SIZE: u32 = 56;

/// Places meters.
///
/// # Errors
/// If they have no place.
pub(super) fn place(
    config: &Config,
    instance: &dyn Instance,
    room: &mut Room,
) -> Result<(Place, (u32, Vec<u32>)), String> {
    let any: &dyn Any = instance;
    let meter = any.downcast_ref::<Meter>().ok_or("it has no meters")?;
    let size = meter.size() as u32;
    let base = room.take(u64::from(STRIDE) * u64::from(size))?;
    let is_double = config.param("rates").low_u64() == 2;
    let image = (0..u64::from(size)).flat_map(|index| {
        let (used, rates) = (meter.used(index), meter.rates(index));
        let other = if is_double { rates.pbs } else { rates.ebs };
        let Used { committed, other: missing, last_ns } = used;
        let longs = [committed, missing, last_ns, 0, rates.cir, rates.cbs, rates.pir, other];
        longs.into_iter().flat_map(|long| [long as u32, (long >> 32) as u32])
    });
    Ok((Place::Elements { base, stride: STRIDE, size }, (base, image.collect())))
}

/// Takes what packets have changed back.
pub(super) fn read_back(instance: &mut dyn Instance, base: u32, word: &mut dyn FnMut(u32) -> u32) {
    let any: &mut dyn Any = instance;
    let Some(meter) = any.downcast_mut::<Meter>() else { return };
    for index in 0..meter.size() as u32 {
        let at = base + STRIDE * index;
        let mut long = |at: u32| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let (committed, other, last_ns) = (long(at), long(at + OTHER), long(at + LAST));
        // No more is missing than a bucket holds.
        let _ = meter.set_used(index.into(), Used { committed, other, last_ns });
    }
}
