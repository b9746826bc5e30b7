//! `flow-counter`: counters in QDR SRAM, for arrays of counters that do not fit on the chip.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::short::clocked;
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::{Config, EntryKey, Instance};

use super::counters::counts;
use super::direct::OUTSIDE;
use super::entries::{COUNTER_BITS, counter_entry, read_counters};
use super::interface::Realisation;
use super::wiring::{Ends, burst_channel, counter_parameters, off_chip};
use crate::control::bus::{ControlBus, ControlError};
use crate::description::NpSpec;
use crate::processor::contents::Contents;
use crate::processor::{Channel, Plan, Service};

/// Number of 72-bit bursts per counter.
const BURSTS: usize = 2;

/// Counters in QDR SRAM.
pub(super) struct FlowCounter;

impl Realisation for FlowCounter {
    fn name(&self) -> &'static str {
        "flow-counter"
    }

    fn about(&self) -> &'static str {
        "counters in QDR SRAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "counter"
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(OUTSIDE)
    }

    fn channels(
        &self,
        service: &Service,
        _lookups: &[Lookup],
        machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        burst_channel(service, BURSTS, machine)
    }

    fn writes_channels(&self) -> bool {
        true
    }

    fn items(&self, plan: &Plan, service: &Service, _tag_bits: usize, target: usize) -> Vec<Item> {
        let ends = Ends::behind_tree(service);
        let counters =
            counter_parameters(clocked("wl_flow_counter", format!("i_{}", service.name)), service)
                .parameter("CtlTarget", Expr::number(8, target as u64))
                .port("request_valid_i", ends.request_valid)
                .port("request_ready_o", ends.request_ready)
                .port("request_data_i", ends.request_data);
        off_chip(plan, service, vec![counters])
    }

    fn control_bits(&self, _service: &Service) -> usize {
        COUNTER_BITS as usize
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        vec![(service.offload.clone(), counts(service))]
    }

    fn is_outside(&self, _contents: &Contents) -> bool {
        true
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
