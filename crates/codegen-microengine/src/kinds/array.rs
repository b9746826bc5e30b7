//! `array`: elements in any memory, packed.

use wireloom_codegen::refused::Refused;
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Instance, Layout};

use super::declared::value_width;
use super::indexed::Indexed;
use crate::calls::{Call, Methods};
use crate::kind::{KindOnMicroengines, Wanted};
use crate::lower::Lower;
use crate::operand::Operand;
use crate::unit::{Region, Unit};
use crate::words::{self, Words};

pub struct Array;

impl KindOnMicroengines for Array {
    fn name(&self) -> &'static str {
        "array"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        indexed(config).wanted(config, &[Unit::Sram, Unit::Sdram])
    }

    fn scratchpad_words(&self, config: &Config, _: Version) -> Option<u64> {
        indexed(config).all(config)
    }

    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        Ok(indexed(config).image(instance, region, |_| {}))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        indexed(config).read_back(config, instance, region, word, |_| {});
    }

    fn keeps_registers(&self, method: &str) -> bool {
        method == "read"
    }
}

impl Methods for Array {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "read" if !call.is_ordered => Ok(Some(indexed(call.config).read(call))),
            "read" | "write" | "add" | "fetch_add" | "exchange" | "compare_swap" => {
                Ok(change(call))
            }
            _ => Err(call.unsupported()),
        }
    }
}

fn indexed(config: &Config) -> Indexed {
    let width = value_width(config);
    Indexed { words: words::count(width), width }
}

/// Reads an element, then writes it. Calls come in the order of packets, so no other packet is
/// between the read and the write. The reply is the element before, and whether it was swapped.
fn change(call: &mut Call<'_, '_>) -> Option<Words> {
    let elements = indexed(call.config).elements(call.config, call.region());
    let width = value_width(call.config);
    let Call { lower, method, args, .. } = call;
    let index = lower.get(args[0]);
    let zero = Operand::Number(0);
    let before = words::registers(lower.code, width);
    let swapped = lower.code.copy(zero);
    before.iter().for_each(|word| lower.code.set(*word, zero));
    let outside = lower.code.label();
    let offset = elements.offset(lower.code, &index, outside);
    if *method != "write" {
        let read = elements.read(lower.code, offset, before.len());
        for (word, read) in before.iter().zip(read) {
            lower.code.set(*word, read.into());
        }
    }
    let old = words::of(&before);
    match *method {
        "read" => {}
        "write" | "exchange" => {
            let value = lower.get(args[1]);
            elements.write(lower.code, offset, &value);
        }
        "compare_swap" => {
            let (expected, value) = (lower.get(args[1]), lower.get(args[2]));
            let is_equal = words::equal(lower.code, &old, &expected);
            lower.code.set(swapped, is_equal[0]);
            lower.code.branch_clear(swapped, 0, outside);
            elements.write(lower.code, offset, &value);
        }
        _ => {
            let delta = lower.get(args[1]);
            let lanes = call.config.value.as_ref().map_or_else(Vec::new, lanes);
            let sum = add(lower, &old, &delta, &lanes);
            elements.write(lower.code, offset, &sum);
        }
    }
    lower.code.place(outside);
    match *method {
        "write" | "add" => None,
        "compare_swap" => {
            Some(words::concat(lower.code, &[(vec![swapped.into()], 1), (old, width)]))
        }
        _ => Some(old),
    }
}

/// Returns the lowest bit and the width of each leaf of a value.
pub fn lanes(layout: &Layout) -> Vec<(u32, u32)> {
    let mut top = layout.width();
    let lane = |(_, width): &(String, u32)| {
        top -= width;
        (top, *width)
    };
    layout.fields.iter().map(lane).collect()
}

/// Adds leaf by leaf.
pub fn add(lower: &mut Lower<'_>, a: &Words, b: &Words, lanes: &[(u32, u32)]) -> Words {
    let code = &mut *lower.code;
    let mut sums = Vec::new();
    for (lo, width) in lanes {
        let (a, b) = (words::slice(code, a, *lo, *width), words::slice(code, b, *lo, *width));
        sums.push((words::sum(code, "+", &a, &b, *width), *width));
    }
    words::concat(code, &sums)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_offloads::kinds::instantiate;

    use super::super::tests::{call, config, round_trip, value};
    use super::{indexed, lanes};
    use wireloom_offloads::Layout;

    proptest! {
        #[test]
        fn elements_come_back_from_every_memory(
            width in 1_u32..=256,
            writes in prop::collection::vec((0_u32..9, any::<u32>()), 0..20),
        ) {
            let config = config("array", None, Some(width), &[("size", 9)]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for (index, seed) in writes {
                let args = [Bits::new(32, index.into()), value(width, seed.into())];
                call(&config, instance.as_mut(), "write", &args, 0, None);
            }
            round_trip(&config, instance.as_mut(), |_, _| {});
        }
    }

    #[test]
    fn an_element_takes_a_power_of_two_of_words_and_one_command() {
        let words = |width| {
            let config = config("array", None, Some(width), &[("size", 5)]);
            indexed(&config).all(&config)
        };
        assert_eq!([1, 32, 33, 65, 129, 256].map(words), [5, 5, 10, 20, 40, 40].map(Some));
        assert_eq!(words(257), None);
    }

    #[test]
    fn the_first_leaf_of_a_value_has_the_highest_bits() {
        let layout = Layout::plain(vec![("a".into(), 3), ("b".into(), 16), ("c".into(), 1)]);
        assert_eq!(lanes(&layout), [(17, 3), (1, 16), (0, 1)]);
    }
}
