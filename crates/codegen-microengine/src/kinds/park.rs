//! `park`: packets kept in SDRAM. Routines make and remove entries, and copy packets.

mod contents;
mod routines;

use wireloom_codegen::refused::Refused;
use wireloom_offloads::{Config, Instance};

use self::routines::{Dequeue, Enqueue, Keep, Parking, SWEEP, Take};
use super::declared::{key_width, size};
use super::exact::bucket;
use super::exact::routines::{Advance, ENTRY, Find, Sweep, padded};
use super::hash;
use crate::calls::{Call, Methods};
use crate::kind::{HashUnit, KindOnMicroengines, Wanted};
use crate::lower::Lower;
use crate::memory::branch_zero;
use crate::operand::{Operand, Register};
use crate::routines::give;
use crate::unit::{Region, Unit};
use crate::words::Words;

pub struct Park;

impl KindOnMicroengines for Park {
    fn name(&self) -> &'static str {
        "park"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        Ok(Some(Wanted::fixed(&[Unit::Sdram], contents::wanted(config))))
    }

    fn hash_unit(&self, _: &Config) -> HashUnit {
        HashUnit::Prefers(hash::default_multipliers())
    }

    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        multiplier: u64,
    ) -> Result<Vec<u32>, String> {
        contents::image(config, instance, header(region), multiplier)
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        contents::read_back(config, instance, header(region), word);
    }

    fn reaches_packet(&self, _: &str) -> bool {
        true
    }

    fn changes_window(&self, _: &str) -> bool {
        true
    }

    /// The packet that is taken may be another one than the packet that was kept.
    fn moves_front(&self, _: &str) -> bool {
        true
    }
}

impl Methods for Park {
    fn before_turn(&self, call: &mut Call<'_, '_>) {
        if call.method != "expire" {
            let base = header(call.region());
            let buckets = (size(call.config) as u32).next_power_of_two();
            bucket(call.lower, call.args[0], base, buckets);
        }
    }

    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "keep" | "take" | "expire" => Ok(Some(access(call))),
            _ => Err(call.unsupported()),
        }
    }
}

/// Returns the first quad word of the header.
fn header(region: Region) -> u32 {
    region.first / 2
}

fn access(call: &mut Call<'_, '_>) -> Words {
    let base = header(call.region());
    let key = key_width(call.config);
    let age = call.config.param("age").low_u64();
    let lower = &mut *call.lower;
    if call.method == "expire" {
        advance(lower, key, base, age);
        let older = lower.again(call.args[0]);
        let count = sweep(lower, &older);
        return vec![lower.code.copy(count.into()).into()];
    }
    let Find { entry, .. } = Find::of(lower.code);
    advance(lower, key, base, age);
    lower.code.call(&Find::routine(Unit::Sdram));
    if call.method == "keep" {
        lower.code.call(&Enqueue::ROUTINE);
    }
    // The entry is 0 if no packet has the key, or if the park has no room for another packet.
    let code = &mut *lower.code;
    let (none, done, is_done) = (code.label(), code.label(), code.register());
    branch_zero(code, entry, none);
    Parking::of(code).find_buffer(code, entry);
    if call.method == "keep" {
        code.call(&Keep::ROUTINE);
    } else {
        code.call(&Dequeue::ROUTINE);
        code.call(&Take::ROUTINE);
    }
    code.set(is_done, Operand::Number(1));
    code.branch("br", done);
    code.place(none);
    code.set(is_done, Operand::Number(0));
    code.place(done);
    vec![is_done.into()]
}

/// Sets the time of the park to the arrival of the packet, and removes expired packets.
fn advance(lower: &mut Lower<'_>, key: u32, base: u32, age: u64) {
    let code = &mut *lower.code;
    let (at, table) = (Parking::of(code).at, Find::of(code).table);
    code.set(at, Operand::Number(ENTRY + padded(key)));
    code.set(table, Operand::Number(base));
    code.call(&Advance::routine(Unit::Sdram));
    if age != 0 {
        let age = [age as u32, (age >> 32) as u32].map(Operand::Number);
        sweep(lower, &age.to_vec());
    }
}

/// Removes packets that are older than the limit. Returns the register with their number.
fn sweep(lower: &mut Lower<'_>, limit: &Words) -> Register {
    let sweep = Sweep::of(lower.code);
    lower.code.set(sweep.most, Operand::Number(u32::MAX));
    give(lower.code, sweep.limit, limit);
    lower.code.call(&SWEEP);
    sweep.count
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use proptest::prelude::*;
    use wireloom_net::{Frame, PacketInHand};
    use wireloom_offloads::Instance;
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::kinds::park::{Park as Golden, State};

    use super::super::tests::{call, config, round_trip, value};

    fn state(instance: &dyn Instance) -> State {
        let any: &dyn Any = instance;
        any.downcast_ref::<Golden>().expect("a park").state()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn packets_come_back_in_the_order_of_their_queues(
            key_width in 1_u32..300,
            calls in prop::collection::vec((any::<bool>(), 0_u64..4, 0_usize..600, 0_u64..9), 0..20),
        ) {
            let config = config("park", Some(key_width), None, &[("size", 5), ("age", 20)]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            let mut now_ns = 1 << 40;
            for (number, (is_keep, key, length, later)) in (0..).zip(calls) {
                now_ns += later;
                let bytes: Vec<u8> = (0..length).map(|at| (at as u8) ^ number).collect();
                let frame = Frame { ingress: number.into(), arrival_ns: now_ns, bytes: &bytes };
                let mut packet = PacketInHand::arrive(frame, 0);
                packet.egress = 7 * u16::from(number);
                let method = if is_keep { "keep" } else { "take" };
                let key = value(key_width, key);
                call(&config, instance.as_mut(), method, &[key], now_ns, Some(&mut packet));
            }
            round_trip(&config, instance.as_mut(), |instance, fresh| {
                assert_eq!(state(fresh), state(instance));
            });
        }
    }
}
