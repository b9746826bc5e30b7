//! The offload kinds that have their own C code, one file each. On the host, a call of any other
//! kind goes through the host's instance; on a 32-bit processor, it becomes a message to an object
//! over the network; in the Linux kernel, it is refused.
//!
//! To give a kind its own C code, write its file here and, if it needs functions of the runtime, a
//! header in `runtime/c`, then add it to [`KINDS`]. A header for the kernel is in `runtime/c/bpf`
//! and in [`bpf::RUNTIME`](super::bpf::RUNTIME).

mod array;
mod checksum;
mod clock;
mod counter;
mod crc;
mod exact;
mod hash;
mod kind;
mod lpm;
mod matching;
mod meter;
mod payload;
mod random;
mod siphash;
mod timer;

use wireloom_offloads::{Config, Method, registry};

pub use self::kind::{
    Access, ByThread, InKernel, InLanes, KernelCall, KindInC, Search, SplitPhase,
};
use super::ops::Operand;
use super::tree::Expr;
use super::types::Model;

/// All kinds with their own C code.
pub const KINDS: &[&KindInC] = &[
    &array::KIND,
    &checksum::KIND,
    &clock::KIND,
    &counter::KIND,
    &crc::KIND,
    &exact::KIND,
    &hash::KIND,
    &lpm::KIND,
    &matching::KIND,
    &meter::KIND,
    &payload::KIND,
    &random::KIND,
    &siphash::KIND,
    &timer::KIND,
];

/// Returns the C implementation of an offload's kind, if there is one.
pub fn find(config: &Config) -> Option<&'static KindInC> {
    KINDS.iter().find(|kind| kind.name == config.kind).copied()
}

/// Returns how a hardware thread executes a call itself, if it does.
pub fn by_thread(config: &Config, method: &Method) -> Option<ByThread> {
    (find(config)?.by_thread)(method)
}

/// Returns how a hardware vector's lanes call a method together, if they do.
pub fn in_lanes(config: &Config, method: &Method) -> Option<InLanes> {
    (find(config)?.in_lanes)(config, method)
}

/// Returns how programs in the Linux kernel use an offload's kind.
pub fn in_kernel(config: &Config) -> &'static InKernel {
    find(config).map_or(&InKernel::NONE, |kind| &kind.in_kernel)
}

/// Returns the expression of a method that is a function. `packet` is the current packet, a
/// pointer.
pub fn evaluate(
    model: Model,
    config: &Config,
    method: usize,
    args: &[Operand],
    packet: &Expr,
) -> Expr {
    let method = &registry::kind(&config.kind).expect("a verified program").methods[method];
    let kind = find(config).expect("the kinds with functions have C code");
    match model {
        Model::Bits64 => (kind.function)(config, method, args).expect("the method is a function"),
        Model::Bits32 => {
            let by_thread =
                (kind.by_thread)(method).expect("a method without a message has code for threads");
            by_thread(packet.clone(), args.iter().map(|arg| arg.c.clone()).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use wireloom_offloads::sources;

    use super::*;
    use crate::bpf;

    #[test]
    fn each_kind_is_in_the_registry_once_with_a_header_of_its_own() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        for name in names {
            assert!(registry::kind(name).is_some(), "{name}");
        }
        for (name, text) in KINDS.iter().filter_map(|kind| kind.header) {
            let runtime = super::super::RUNTIME.iter().filter(|(other, _)| *other == name);
            assert_eq!(runtime.map(|(_, text)| *text).collect::<Vec<_>>(), [text], "{name}");
        }
    }

    #[test]
    fn headers_of_kinds_in_the_kernel_are_in_its_runtime() {
        let runtime: BTreeSet<&str> = bpf::RUNTIME.iter().map(|(name, _)| *name).collect();
        let headers = KINDS.iter().filter_map(|kind| kind.in_kernel.header);
        let headers: BTreeSet<&str> = headers.collect();
        assert!(!headers.is_empty() && headers.is_subset(&runtime), "{headers:?}");
    }

    #[test]
    fn no_other_file_names_a_kind() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let own = std::fs::read_to_string(sources.join("kinds/array.rs")).expect("a kind's file");
        assert!(own.contains("name: \"array\""));
        assert_eq!(
            sources::named_kinds(&sources, "kinds").expect("the sources"),
            Vec::<String>::new()
        );
    }
}
