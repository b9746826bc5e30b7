//! `meter`: token buckets in block RAM.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::kinds::meter::{
    MAX_RATE, Meter as Meters, RATE_NAMES as RATES, Rates, Used,
};
use wireloom_offloads::{Config, EntryKey, Instance};

use super::entries::{index, typed, typed_mut};
use super::interface::Realisation;
use super::wiring::{Ends, methods, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::processor::contents::{Contents, packed};
use crate::processor::{Plan, Service};

/// Bits of a rate or burst in `wl_meter`.
pub const RATE_BITS: u32 = MAX_RATE.ilog2() + 1;
/// Bits of the time at which a meter saw its last packet.
const TIME_BITS: u32 = 64;
/// The address bit that selects buckets and time instead of the rates.
const BUCKETS: u32 = 1 << 31;
/// The reason why a pipelined engine cannot use a service that works on one request at a time.
pub(super) const ONE_REQUEST: &str = "it works on one request at a time, so that others wait";

/// The description of the control target's contents.
const HOLDS: &str = "rates; a write fills the buckets. With address bit 31: the tokens missing \
                     from bucket C and from E or P, 41 bits each, and the time, 64 bits";

/// Token buckets.
pub(super) struct Meter;

impl Realisation for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn about(&self) -> &'static str {
        "token buckets in block RAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "meter"
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let config = &service.config;
        let declared = RATES.map(|name| Expr::Number(config.param(name).resize(RATE_BITS)));
        let meter = clocked("wl_meter", format!("i_{}", service.name))
            .parameter("Size", int(service.elements()))
            .parameter("TwoRates", Expr::number(1, u64::from(config.param("rates").low_u64() == 2)))
            .parameter("Declared", Expr::Concat(declared.to_vec()))
            .parameter("MethodCount", int(service.port.methods.len()))
            .parameter("Methods", methods(service, 1))
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64));
        on_bus(plan, service, Ends::behind_tree(service).whole(meter))
    }

    fn control_bits(&self, _service: &Service) -> usize {
        RATES.len() * RATE_BITS as usize
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let rates = packed(RATES.map(|name| (name.to_owned(), RATE_BITS)));
        let elements = service.elements() as u64;
        let contents = Contents::new(HOLDS, "index", elements, rates);
        vec![(service.offload.clone(), contents)]
    }

    fn after_reset(&self, service: &Service) -> Option<(&'static str, usize)> {
        Some(("as declared, with full buckets", service.elements()))
    }

    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        let index = index(path, config, key)?;
        let rates = value.cloned().unwrap_or_else(|| Rates::declared(config).pack());
        Ok((index, narrowed(&rates)))
    }

    /// Writes first the rates, which fills the buckets, and then the buckets.
    fn restore(
        &self,
        _service: &Service,
        old: &dyn Instance,
        new: &dyn Instance,
    ) -> Result<Vec<(u32, Bits)>, String> {
        let (old, new) = (typed::<Meters>(old), typed::<Meters>(new));
        let mut writes = Vec::new();
        for index in 0..new.size() as u64 {
            let (rates, mut used) = (new.rates(index), old.used(index));
            if old.rates(index) != rates {
                writes.push((index as u32, narrowed(&rates.pack())));
                used = Used::default();
            }
            if used != new.used(index) {
                writes.push((BUCKETS | index as u32, buckets(&new.used(index))));
            }
        }
        Ok(writes)
    }

    /// Reads buckets and times. The rates are taken from the instance, since only the control plane
    /// changes them.
    fn read_back(
        &self,
        _service: &Service,
        targets: &[u8],
        indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        let Some(&target) = targets.first() else { return Ok(()) };
        let addresses: Vec<u32> = indices.iter().map(|&index| BUCKETS | index as u32).collect();
        let meters = typed_mut::<Meters>(instance);
        for (&index, entry) in indices.iter().zip(bus.read_entries(target, &addresses)?) {
            let field = |low, bits| entry.slice(low, bits).low_u64();
            let used = Used {
                committed: field(TIME_BITS + RATE_BITS, RATE_BITS),
                other: field(TIME_BITS, RATE_BITS),
                last_ns: field(0, TIME_BITS),
            };
            let set = meters.set_used(index, used);
            set.map_err(|refused| ControlError::Refused(refused.0))?;
        }
        Ok(())
    }
}

/// Returns the data of a write of buckets and time.
fn buckets(used: &Used) -> Bits {
    let missing = |tokens: u64| Bits::new(RATE_BITS, tokens.into());
    let time = Bits::new(TIME_BITS, used.last_ns.into());
    missing(used.committed).concat(&missing(used.other)).concat(&time)
}

/// Converts rates of 64 bits each to the widths that `wl_meter` uses.
fn narrowed(packed: &Bits) -> Bits {
    let rates = (0..RATES.len() as u32).rev().map(|rate| packed.slice(64 * rate, RATE_BITS));
    rates.reduce(|high, low| high.concat(&low)).expect("there are five")
}
