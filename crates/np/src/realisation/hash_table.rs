//! `hash-table`: keys and values in block RAM, with chains of entries.

use wireloom_bits::Bits;
use wireloom_codegen::hardware::core::OffloadPort;
use wireloom_codegen::hardware::sv::short::{clocked, int};
use wireloom_codegen::hardware::sv::{Expr, Item};
use wireloom_offloads::{Config, EntryKey, Instance, Row};

use super::Realisation;
use super::entries::{load, refused};
use super::wiring::{Ends, cuts, methods, on_bus};
use crate::control::{ControlBus, ControlError};
use crate::processor::memory_map::{Contents, leaves_of, packed};
use crate::processor::{Plan, Service};

/// Number of entries that are read together.
const READ_TOGETHER: u64 = 64;
/// One-bit flags above the key of an entry that is read from `wl_exact_table`.
const FLAGS: [&str; 3] = ["used", "live", "static"];

/// A hash table of keys and values.
pub(super) struct HashTable;

impl Realisation for HashTable {
    fn name(&self) -> &'static str {
        "hash-table"
    }

    fn about(&self) -> &'static str {
        "chains of keys in block RAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "exact"
    }

    fn varies(&self) -> Option<&'static str> {
        Some("chains of keys are of different lengths")
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let table = clocked("wl_exact_table", format!("u_{}", service.name))
            .parameter("KeyBits", int(service.key_bits()))
            .parameter("ValueBits", int(service.value_bits()))
            .parameter("Size", int(service.elements()))
            .parameter("MethodCount", int(service.port.methods.len()))
            .parameter("Methods", methods(service, 3))
            .parameter("ArgumentBits", Expr::int(u64::from(service.port.argument_bits)))
            .parameter("ReplyBits", int(service.reply_bits))
            .parameter("HasTime", Expr::number(1, u64::from(service.port.arrival)))
            .parameter("Age", Expr::Number(service.config.param("age").resize(64)))
            .parameter("Cuts", Expr::Number(cuts(service)))
            .parameter("Chains", int(service.elements().next_power_of_two().max(2)));
        let table = table
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64));
        on_bus(plan, service, Ends::behind_tree(service).whole(table))
    }

    fn control_bits(&self, service: &Service) -> usize {
        FLAGS.len() + service.key_bits() + service.value_bits()
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let config = &service.config;
        let flag = |name: &str| (name.to_owned(), 1);
        let entry =
            [leaves_of("key", config.key.as_ref()), leaves_of("value", config.value.as_ref())]
                .concat();
        let written = packed([flag("remove")].into_iter().chain(entry.clone()));
        let read = packed(FLAGS.map(flag).into_iter().chain(entry));
        let address = "to be read: number of an entry; to be written: any, the key says which";
        let contents =
            Contents::new("entries", address, service.elements() as u64, written).reading(read);
        vec![(service.offload.clone(), contents)]
    }

    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    fn entry(
        &self,
        _path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        let EntryKey::Exact(key) = key else { return Err(refused(config)) };
        let width = config.value.as_ref().map_or(0, |layout| layout.width());
        let removes = Bits::bool(value.is_none());
        let value = value.cloned().unwrap_or_else(|| Bits::zero(width));
        Ok((0, removes.concat(key).concat(&value)))
    }

    /// Reads entries by number, up to the first one that has never been used.
    fn read_back(
        &self,
        service: &Service,
        targets: &[u8],
        _indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<bool, ControlError> {
        let Some(&target) = targets.first() else { return Ok(true) };
        let stale: Vec<EntryKey> = instance.rows().into_iter().map(|row: Row| row.key).collect();
        for key in stale {
            instance.unload(&key).map_err(|refused| ControlError::Refused(refused.0))?;
        }
        let (key_bits, value_bits) = (service.key_bits() as u32, service.value_bits() as u32);
        let size = service.elements() as u64;
        let mut first = 0;
        while first < size {
            let end = (first + READ_TOGETHER).min(size);
            let addresses: Vec<u32> = (first..end).map(|number| number as u32).collect();
            for entry in bus.read_entries(target, &addresses)? {
                let flag =
                    |number: u32| entry.slice(value_bits + key_bits + number, 1).low_u64() == 1;
                let (is_used, is_live) = (flag(2), flag(1));
                if !is_used {
                    return Ok(true);
                }
                if is_live {
                    let key = EntryKey::Exact(entry.slice(value_bits, key_bits));
                    load(instance, key, entry.slice(0, value_bits))?;
                }
            }
            first = end;
        }
        Ok(true)
    }
}
