//! Runs engines as programs of the Linux kernel, in its XDP hook.
//!
//! `wireloom_codegen_c::bpf` writes C. [`compiler`] has gcc compile it for BPF, in a form that
//! [`compiled`] chooses. [`object`] and [`link`] put the program together. [`kernel`] loads it into
//! the kernel, whose verifier proves that it ends and stays within its memory. Offloads are in
//! [`tables`] that the program and this process share.
//!
//! [`KIND`] is a machine: it runs packets through the loaded program without any interface
//! (`BPF_PROG_TEST_RUN`). [`Live`] executes the same program at live ports. See
//! docs/machines/xdp.md.
//!
//! On other systems than Linux this crate is empty.

#![cfg(target_os = "linux")]

mod compiled;
mod compiler;
mod engine;
pub mod kernel;
mod link;
mod live;
mod machine;
mod object;
mod ring;
mod steps;
mod tables;
mod types;
mod watch;

pub use live::{InKernel, Interface, Limits, Links, Live, PortCounts};
pub use machine::KIND;
pub use watch::{Event, Events, Place, WatchedPrograms};
pub use wireloom_codegen_c::bpf::{Comparison, Header, Test, Watch};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wireloom_offloads::sources::named_kinds;

    #[test]
    fn no_file_names_an_offload_kind() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(named_kinds(&sources, "kinds").expect("the sources"), Vec::<String>::new());
    }
}
