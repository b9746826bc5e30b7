//! The reasons why a processor cannot be built.

use wireloom_codegen_hardware::core::Refusal;

/// A reason why a program cannot be built for a machine.
#[derive(Debug, thiserror::Error)]
pub enum NpError {
    /// The engine cannot become hardware.
    #[error(transparent)]
    Engine(#[from] Refusal),
    /// The machine cannot provide an offload.
    #[error("offload `{offload}` cannot be had on machine {machine}: {why}")]
    Offload {
        offload: String,
        machine: String,
        /// The missing feature, and a remedy.
        why: String,
    },
    /// The machine cannot be built.
    #[error("machine {machine} cannot be built: {message}")]
    Illegal { machine: String, message: String },
}
