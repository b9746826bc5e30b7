//! `counters`: counters in block RAM. Each copy counts independently; a counter is the sum of its
//! copies.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::clocked;
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::{Config, EntryKey, Instance};

use super::entries::{COUNTER_BITS, counter_entry, read_counters};
use super::interface::Realisation;
use super::wiring::{Ends, counter_parameters, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::processor::contents::{Contents, packed};
use crate::processor::{Plan, Service};

/// Counters in block RAM.
pub(super) struct Counters;

impl Realisation for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn about(&self) -> &'static str {
        "counters in block RAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "counter"
    }

    fn items(&self, plan: &Plan, service: &Service, _tag_bits: usize, target: usize) -> Vec<Item> {
        let ends = Ends::behind_tree(service);
        let counters =
            counter_parameters(clocked("wl_counter_table", format!("i_{}", service.name)), service)
                .parameter("CtlTarget", Expr::number(8, target as u64))
                .parameter("Image", plan.image(&service.offload))
                .port("request_valid_i", ends.request_valid)
                .port("request_ready_o", ends.request_ready)
                .port("request_data_i", ends.request_data);
        on_bus(plan, service, counters)
    }

    fn control_bits(&self, _service: &Service) -> usize {
        COUNTER_BITS as usize
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        vec![(service.offload.clone(), counts(service))]
    }

    // The hardware counters start at zero; the control plane writes the initial values of the
    // tables.
    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    fn sums_copies(&self) -> bool {
        true
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        counter_entry(path, config, key, value)
    }

    fn read_back(
        &self,
        _service: &Service,
        targets: &[u8],
        indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        read_counters(targets, indices, bus, instance)
    }
}

/// Returns the counters as the contents of a control target.
pub(super) fn counts(service: &Service) -> Contents {
    let counts = packed(["packets", "bytes"].map(|name| (name.to_owned(), 64)));
    Contents::new("counters", "index", service.elements() as u64, counts)
}
