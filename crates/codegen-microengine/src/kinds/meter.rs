//! `meter`: packets are marked by their rate. Meters are in SRAM.

mod routines;

use std::any::Any;

use wireloom_codegen::refused::Refused;
use wireloom_offloads::kinds::meter::{Meter as Meters, Used};
use wireloom_offloads::{Config, Instance};

use self::routines::{LAST, SHIFT};
use super::declared::size;
use crate::calls::{Call, Methods};
use crate::kind::{KindOnMicroengines, Wanted};
use crate::memory;
use crate::operand::Operand;
use crate::unit::{Region, Unit};
use crate::words::Words;

const SECOND: u64 = 1_000_000_000;

pub struct Meter;

impl KindOnMicroengines for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        Ok(Some(Wanted::fixed(&[Unit::Sram], size(config) << SHIFT)))
    }

    /// Meters with their rates, in the layout of the routines.
    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        _: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        let any: &dyn Any = instance;
        let meters = any.downcast_ref::<Meters>().ok_or("it has no meters")?;
        let words = |index| {
            let (rates, used) = (meters.rates(index), meters.used(index));
            let other = if has_two_rates(config) { rates.pbs } else { rates.ebs };
            let all = [
                used.committed,
                used.other,
                used.last_ns / SECOND,
                used.last_ns % SECOND,
                rates.cir,
                rates.cbs,
                rates.pir,
                other,
            ];
            all.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32])
        };
        Ok((0..meters.size() as u64).flat_map(words).collect())
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        let any: &mut dyn Any = instance;
        let Some(meters) = any.downcast_mut::<Meters>() else { return };
        for index in 0..size(config) as u32 {
            let word = |at| word(region.first + (index << SHIFT) + at);
            let long = |first| u64::from(word(first + 1)) << 32 | u64::from(word(first));
            let last_ns = long(LAST) * SECOND + u64::from(word(LAST + 2));
            // The chip's buckets have the sizes of the declaration, so they suit the meter.
            let used = Used { committed: long(0), other: long(2), last_ns };
            let _ = meters.set_used(index.into(), used);
        }
    }
}

impl Methods for Meter {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "color" | "color_aware" => Ok(Some(color(call))),
            _ => Err(call.unsupported()),
        }
    }
}

fn has_two_rates(config: &Config) -> bool {
    config.param("rates").low_u64() == 2
}

/// Marks a packet. An index out of range is red.
fn color(call: &mut Call<'_, '_>) -> Words {
    let (base, size) = (call.region().first, size(call.config) as u32);
    let has_two_rates = has_two_rates(call.config);
    let Call { lower, args, .. } = call;
    let (index, bytes) = (lower.get(args[0]), lower.get(args[1])[0]);
    let color = args.get(2).map_or(Operand::Number(0), |color| lower.get(*color)[0]);
    let code = &mut *lower.code;
    let marker = routines::Meter::of(code);
    let outside = code.label();
    code.set(marker.bytes, bytes);
    let color = code.copy(color);
    code.set(marker.color, Operand::Number(2));
    let offset = memory::offset(code, &index, size, SHIFT, outside);
    code.set(marker.color, color.into());
    code.alu(marker.meter, offset.into(), "+", Operand::Number(base));
    code.call(match has_two_rates {
        true => &routines::Meter::TWO_RATES,
        false => &routines::Meter::ONE_RATE,
    });
    code.place(outside);
    vec![code.copy(marker.color.into()).into()]
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_offloads::Instance;
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::kinds::meter::{Meter as Golden, Used};

    use super::super::tests::{call, config, round_trip};

    fn used(instance: &dyn Instance) -> Vec<Used> {
        let any: &dyn Any = instance;
        let meters = any.downcast_ref::<Golden>().expect("meters");
        (0..meters.size() as u64).map(|index| meters.used(index)).collect()
    }

    proptest! {
        #[test]
        fn buckets_and_times_come_back(
            rates in 1_u64..=2,
            calls in prop::collection::vec((0_u64..3, 0_u64..3000, 0_u64..1 << 33), 0..30),
        ) {
            let params = [
                ("size", 3),
                ("rates", rates),
                ("cir", 1 << 38),
                ("cbs", 1 << 37),
                ("ebs", 9000),
                ("pir", 1 << 39),
                ("pbs", 20_000),
            ];
            let config = config("meter", None, None, &params);
            let mut instance = instantiate(&config).expect("a valid declaration");
            let mut now_ns = 0;
            for (index, bytes, later) in calls {
                now_ns += later;
                let args = [index, bytes].map(|number| Bits::new(32, number.into()));
                call(&config, instance.as_mut(), "color", &args, now_ns, None);
            }
            round_trip(&config, instance.as_mut(), |instance, fresh| {
                assert_eq!(used(fresh), used(instance));
            });
        }
    }
}
