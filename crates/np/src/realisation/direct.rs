//! `direct`: an array in QDR SRAM that packets only read.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::{Config, EntryKey, Store};

use super::entries::instance;
use super::entries::{array_entry, burst_image};
use super::interface::Realisation;
use super::table::elements;
use super::wiring::{Ends, burst_channel, off_chip};
use crate::description::NpSpec;
use crate::processor::contents::Contents;
use crate::processor::{Channel, Image, NpError, Plan, Service, Way};

/// Why services that use a memory channel are placed in the pipe.
pub(super) const OUTSIDE: &str = "a table in QDR SRAM belongs to the pipe: set `place = \"pipe\"`";

/// A table in QDR SRAM.
pub(super) struct Direct;

impl Realisation for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn about(&self) -> &'static str {
        "table in QDR SRAM"
    }

    fn suits(&self, kind: &str, port: &OffloadPort) -> bool {
        kind == "array" && port.methods.iter().all(|method| method.name == "read")
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(OUTSIDE)
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn channels(
        &self,
        service: &Service,
        _lookups: &[Lookup],
        machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        burst_channel(service, service.value_bits().div_ceil(72), machine)
    }

    fn items(&self, plan: &Plan, service: &Service, _tag_bits: usize, target: usize) -> Vec<Item> {
        let table = |way: &Way| {
            let table = clocked("wl_direct_table", format!("i_{}", way.prefix))
                .parameter("Width", int(service.value_bits()))
                .parameter("Size", int(service.elements()))
                .parameter("IndexBits", int(service.request_bits))
                .parameter("TagBits", int(way.tag_bits))
                .parameter("CtlTarget", Expr::number(8, target as u64));
            Ends::behind_way(way).whole(table)
        };
        off_chip(plan, service, plan.ways(service).iter().map(table).collect())
    }

    fn control_bits(&self, service: &Service) -> usize {
        service.value_bits()
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        vec![(service.offload.clone(), elements(service))]
    }

    fn is_outside(&self, _contents: &Contents) -> bool {
        true
    }

    fn images(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Vec<Image>, NpError> {
        let rows = instance(store, &service.offload).map(|(_, instance)| instance.rows());
        Ok(rows.map(|rows| burst_image(&service.name, &rows)).into_iter().collect())
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        array_entry(path, config, key, value)
    }
}
