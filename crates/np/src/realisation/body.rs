//! `body`: reads, writes and sums packet bodies in the body buffer of the pipe.

use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::core::port::{Body as Access, PLACE_BITS};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item};

use super::interface::Realisation;
use super::meter::ONE_REQUEST;
use super::wiring::Ends;
use crate::processor::contents::Contents;
use crate::processor::{Plan, Service};

/// Why services that use the body buffer are placed in the pipe.
pub(super) const BUFFER: &str = "the body buffer belongs to the pipe: set `place = \"pipe\"`";

/// Reads, writes and sums of packet bodies.
pub(super) struct Body;

impl Realisation for Body {
    fn name(&self) -> &'static str {
        "body"
    }

    fn about(&self) -> &'static str {
        "what reaches the body buffer"
    }

    fn describe(&self, service: &Service) -> String {
        format!("{}: {}", service.config.kind, self.about())
    }

    fn suits(&self, _kind: &str, port: &OffloadPort) -> bool {
        matches!(port.body, Some(Access::Chunks { .. } | Access::Sum))
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(BUFFER)
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, _target: usize) -> Vec<Item> {
        let u = format!("i_{}", service.name);
        let (ends, access) = turn(plan, service);
        let net = |what: &str| name(format!("{access}_{what}"));
        let instance = match service.port.body {
            Some(Access::Chunks { bytes, reads, writes }) => {
                let chunks = reader(clocked("wl_payload", u), tag_bits, &access)
                    .parameter("ChunkBytes", int(bytes as usize))
                    .parameter("HasRead", Expr::number(1, u64::from(reads)))
                    .parameter("HasWrite", Expr::number(1, u64::from(writes)));
                ["write", "write_address", "write_data"].into_iter().fold(chunks, |chunks, what| {
                    let port = format!("access_{what}_o");
                    if writes { chunks.port(port, net(what)) } else { chunks.open(port) }
                })
            }
            _ => reader(clocked("wl_body_sum", u), tag_bits, &access),
        };
        vec![Item::Instance(ends.whole(instance))]
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

/// Returns the ends of a service that uses the body buffer, and the name prefix of its nets to the
/// buffer. Several such services share the buffer in turn.
pub(super) fn turn(plan: &Plan, service: &Service) -> (Ends, String) {
    let (s, ends) = (&service.name, Ends::behind_tree(service));
    if !plan.shares_bodies() {
        return (ends, "access".to_owned());
    }
    let in_turn = |what: &str| name(format!("{s}_turn_{what}"));
    let ends = Ends { request_valid: in_turn("valid"), request_ready: in_turn("ready"), ..ends };
    (ends, format!("{s}_access"))
}

/// Connects a module that reads the body buffer.
pub(super) fn reader(instance: Instance, tag_bits: usize, access: &str) -> Instance {
    instance
        .parameter("AddressBits", Expr::int(u64::from(PLACE_BITS)))
        .parameter("TagBits", int(tag_bits))
        .port("access_read_o", name(format!("{access}_read")))
        .port("access_address_o", name(format!("{access}_address")))
        .port("access_data_i", name("access_data"))
}
