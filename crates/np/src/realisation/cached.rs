//! `cached`: an array in QDR SRAM that packets only read, with a hash cache in each cluster.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item};
use wireloom_offloads::{Config, EntryKey, Store};

use super::direct::Direct;
use super::interface::Realisation;
use super::wiring::Ends;
use crate::description::{NpSpec, Place};
use crate::processor::contents::{Contents, Seed};
use crate::processor::probe_port::ProbePort;
use crate::processor::services::{first_target, index_bits};
use crate::processor::{Channel, Image, NpError, Plan, Service};

/// The address bit with which a write sets the seed of the caches. The bits below it are the seed.
const SEED: u32 = 1 << 31;
const SEED_BITS: u32 = 31;

/// A [`Direct`] table with caches.
pub(super) struct Cached;

impl Realisation for Cached {
    fn name(&self) -> &'static str {
        "cached"
    }

    fn about(&self) -> &'static str {
        "hash cache in each cluster, table in QDR SRAM"
    }

    fn suits(&self, kind: &str, port: &OffloadPort) -> bool {
        Direct.suits(kind, port)
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Direct.only_in_pipe()
    }

    fn takes_several(&self) -> bool {
        Direct.takes_several()
    }

    fn varies(&self) -> Option<&'static str> {
        Some("a cache replies sooner on a hit than on a miss (`realisation = \"direct\"` does not)")
    }

    fn channels(
        &self,
        service: &Service,
        lookups: &[Lookup],
        machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        Direct.channels(service, lookups, machine)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        Direct.items(plan, service, tag_bits, target)
    }

    fn has_cluster_part(&self) -> bool {
        true
    }

    fn cluster_part(&self, plan: &Plan, service: &Service) -> Vec<Item> {
        vec![Item::Instance(cache(plan, service))]
    }

    fn cluster_probes(&self, service: &Service) -> Vec<ProbePort> {
        let s = &service.name;
        vec![
            ProbePort::of_cluster(
                &format!("{s}_hits"),
                "The cache has answered a request,",
                &format!("hits of the cache of {s}"),
            ),
            ProbePort::of_cluster(
                &format!("{s}_misses"),
                "or has asked the table.",
                &format!("misses of the cache of {s}"),
            ),
        ]
    }

    fn control_bits(&self, service: &Service) -> usize {
        Direct.control_bits(service)
    }

    fn contents(&self, plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let seed = Seed { address: SEED, address_bits: SEED_BITS, data_bits: 0 };
        let with_seed = |(path, contents): (String, Contents)| {
            let address = format!("{}; with bit 31, bits 30:0 are a seed", contents.address);
            (path, Contents { address, ..contents }.seeded(seed))
        };
        Direct.contents(plan, service).into_iter().map(with_seed).collect()
    }

    fn after_reset(&self, service: &Service) -> Option<(&'static str, usize)> {
        Some((
            "the caches are empty and have the standard seed; the table stays",
            service.rule.sets,
        ))
    }

    fn is_outside(&self, contents: &Contents) -> bool {
        Direct.is_outside(contents)
    }

    fn images(&self, plan: &Plan, service: &Service, store: &Store) -> Result<Vec<Image>, NpError> {
        Direct.images(plan, service, store)
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        Direct.entry(path, config, key, value)
    }
}

/// Returns the cache of a cluster, between the cluster's request tree and its ports.
fn cache(plan: &Plan, service: &Service) -> Instance {
    let here = |what: &str| Expr::name(format!("{}_{what}", service.name));
    let cache = clocked("wl_hash_cache", format!("i_{}", service.name))
        .parameter("KeyBits", int(index_bits(service.elements())))
        .parameter("Size", int(service.elements()))
        .parameter("ValueBits", int(service.value_bits()))
        .parameter("IndexBits", int(service.request_bits))
        .parameter("TagBits", int(plan.cluster_tag_bits()))
        .parameter("Bins", int(service.rule.bins))
        .parameter("Sets", int(service.rule.sets))
        .parameter("CtlTarget", Expr::number(8, first_target(plan, service, Place::Pipe) as u64));
    Ends::behind_tree(service)
        .whole(cache)
        .port("miss_valid_o", here("request_valid_o"))
        .port("miss_ready_i", here("request_ready_i"))
        .port("miss_tag_o", here("request_tag_o"))
        .port("miss_data_o", here("request_data_o"))
        .port("fill_valid_i", here("reply_valid_i"))
        .port("fill_tag_i", here("reply_tag_i"))
        .port("fill_data_i", here("reply_data_i"))
        .port("ctl_valid_i", name("ctl_valid_i"))
        .port("ctl_write_i", name("ctl_write_i"))
        .port("ctl_target_i", name("ctl_target_i"))
        .port("ctl_address_i", name("ctl_address_i"))
        .port("ctl_done_i", name("ctl_finished_i"))
        .port("hit_o", here("hits_o"))
        .port("miss_o", here("misses_o"))
}
