//! `random`: a generator of pseudo-random numbers. It has no state that the control plane could
//! read.

use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};

use super::interface::Realisation;
use super::meter::ONE_REQUEST;
use super::wiring::Ends;
use crate::processor::contents::Contents;
use crate::processor::{Plan, Service};

/// A generator of pseudo-random numbers.
pub(super) struct Random;

impl Realisation for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn about(&self) -> &'static str {
        "SplitMix64"
    }

    fn describe(&self, service: &Service) -> String {
        format!("{}: {}", service.config.kind, self.about())
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "random"
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn items(&self, _plan: &Plan, service: &Service, tag_bits: usize, _target: usize) -> Vec<Item> {
        let random = clocked("wl_random", format!("i_{}", service.name))
            .parameter("Seed", Expr::Number(service.config.param("seed").resize(64)))
            .parameter("TagBits", int(tag_bits));
        vec![Item::Instance(Ends::behind_tree(service).whole(random))]
    }

    fn control_bits(&self, _service: &Service) -> usize {
        0
    }

    fn targets(&self, _plan: &Plan, _service: &Service) -> usize {
        0
    }

    fn contents(&self, _plan: &Plan, _service: &Service) -> Vec<(String, Contents)> {
        Vec::new()
    }
}
