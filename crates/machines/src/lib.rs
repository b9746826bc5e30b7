//! All machines of Wireloom. A new kind is a line in [`REGISTRY`]; the conformance suite in `tests`
//! then compares it with golden.

use wireloom_machine::{Registry, golden};

/// All kinds of machines. A description without a kind describes a machine of kind `np`.
pub static REGISTRY: Registry = Registry::new(&[
    golden::KIND,
    wireloom_native::KIND,
    #[cfg(target_os = "linux")]
    wireloom_xdp::KIND,
    wireloom_np::KIND,
    wireloom_mpsoc::KIND,
    wireloom_ixp::KIND,
    wireloom_raw::KIND,
]);
