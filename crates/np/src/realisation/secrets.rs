//! `aes` and `siphash`: secrets in block RAM, and a cipher or hash that works on one request at a
//! time. Packets change nothing, so each cluster can have a copy.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item};
use wireloom_offloads::{Config, EntryKey, Store};

use super::entries::{index, instance, table_image};
use super::interface::Realisation;
use super::meter::ONE_REQUEST;
use super::wiring::{Ends, methods, on_bus};
use crate::processor::contents::{Contents, packed};
use crate::processor::{Image, NpError, Plan, Service};

/// Bits of a secret.
const SECRET_BITS: u32 = 128;

/// Secrets, and the module that uses them.
pub(super) struct Secrets {
    /// The kind, and the realisation's name.
    kind: &'static str,
    about: &'static str,
    module: &'static str,
    /// Connects the parameters that are the module's own.
    parameters: fn(Instance, &Service) -> Instance,
}

/// The block cipher AES-128.
pub(super) const AES: Secrets = Secrets {
    kind: "aes",
    about: "AES-128, a round a cycle",
    module: "wl_aes",
    parameters: |module, service| {
        module
            .parameter("MethodCount", int(service.port.methods.len()))
            .parameter("Methods", methods(service, 1))
    },
};

/// The keyed hash SipHash-2-4.
pub(super) const SIPHASH: Secrets = Secrets {
    kind: "siphash",
    about: "SipHash-2-4, a round a cycle",
    module: "wl_siphash",
    parameters: |module, service| module.parameter("KeyBits", int(service.key_bits())),
};

impl Realisation for Secrets {
    fn name(&self) -> &'static str {
        self.kind
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn describe(&self, service: &Service) -> String {
        format!("{} of {} secrets: {}", service.config.kind, service.elements(), self.about)
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == self.kind
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let module = clocked(self.module, format!("i_{}", service.name));
        let module = (self.parameters)(module, service)
            .parameter("Size", int(service.elements()))
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64))
            .parameter("Image", plan.image(&service.offload));
        on_bus(plan, service, Ends::behind_tree(service).whole(module))
    }

    fn control_bits(&self, _service: &Service) -> usize {
        SECRET_BITS as usize
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let secret = packed([("secret".to_owned(), SECRET_BITS)]);
        let contents = Contents::new("secrets", "index", service.elements() as u64, secret);
        vec![(service.offload.clone(), contents)]
    }

    fn images(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Vec<Image>, NpError> {
        let rows = instance(store, &service.offload).map(|(_, instance)| instance.rows());
        Ok(rows.map(|rows| table_image(&service.offload, &rows)).into_iter().collect())
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        let secret = value.cloned().unwrap_or_else(|| Bits::zero(SECRET_BITS));
        Ok((index(path, config, key)?, secret))
    }
}
