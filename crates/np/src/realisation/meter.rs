//! `meter`: token buckets in block RAM.

use wireloom_bits::Bits;
use wireloom_codegen::hardware::core::OffloadPort;
use wireloom_codegen::hardware::sv::short::{clocked, int};
use wireloom_codegen::hardware::sv::{Expr, Item};
use wireloom_offloads::kinds::meter::{MAX_RATE, Rates};
use wireloom_offloads::{Config, EntryKey, Row};

use super::Realisation;
use super::entries::{index, packed as packed_row};
use super::wiring::{Ends, methods, on_bus};
use crate::processor::memory_map::{Contents, packed};
use crate::processor::{Plan, Service};

/// Bits of a rate or burst in `wl_meter`.
pub const RATE_BITS: u32 = MAX_RATE.ilog2() + 1;
/// The fields of a meter's rates, the most significant first.
const RATES: [&str; 5] = ["cir", "cbs", "ebs", "pir", "pbs"];
/// Why a pipelined engine cannot wait for a service that works on one request at a time.
pub(super) const ONE_REQUEST: &str = "it works on one request at a time, so that others wait";

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
        let meter = clocked("wl_meter", format!("u_{}", service.name))
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
        let contents = Contents::new("rates; a write fills the buckets", "index", elements, rates);
        vec![(service.offload.clone(), contents)]
    }

    // Rates are written over the control bus. The buckets are not read back: the hardware does not
    // report them.
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

    // The buckets keep their present contents when a row is written.
    fn row_value(&self, _service: &Service, row: &Row) -> Bits {
        let rates = Row { key: row.key.clone(), fields: row.fields[..RATES.len()].to_vec() };
        packed_row(&rates).expect("a meter has rates")
    }
}

/// Converts rates of 64 bits each to the widths that `wl_meter` uses.
fn narrowed(packed: &Bits) -> Bits {
    let rates = (0..RATES.len() as u32).rev().map(|rate| packed.slice(64 * rate, RATE_BITS));
    rates.reduce(|high, low| high.concat(&low)).expect("there are five")
}
