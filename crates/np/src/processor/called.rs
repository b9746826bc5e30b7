//! The engines that packets call as offloads.

use wireloom_codegen_hardware::pipelined::lookup::TABLE_LATENCY;
use wireloom_codegen_hardware::pipelined::{MemoryPort, Pipeline, pipeline};
use wireloom_ir::{EngineId, Program};

/// An engine that packets call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The name of the engine in the source.
    pub engine: String,
    pub pipeline: Pipeline,
    /// The paths of the engine's tables below the offload, in the order of the pipeline's memories.
    pub tables: Vec<String>,
}

impl Called {
    /// Returns the core cycles from a request to its reply.
    pub fn latency(&self) -> u32 {
        self.pipeline.latency(&vec![TABLE_LATENCY; self.pipeline.memories.len()])
    }
}

/// Builds the pipeline of an engine that is called as `offload`.
///
/// # Errors
/// If the engine cannot be a pipeline. The error says why.
pub(super) fn called(program: &Program, engine: EngineId, offload: &str) -> Result<Called, String> {
    let pipeline = pipeline(program, engine).map_err(|refusal| refusal.to_string())?;
    if pipeline.request_bits == 0 {
        return Err("it takes no arguments, so that there is nothing to ask it".to_owned());
    }
    let body = &program.engines[engine.index()];
    let ports = wireloom_codegen_hardware::core::offload::ports(program, engine);
    let path = |memory: &MemoryPort| {
        let port = ports
            .iter()
            .find(|port| port.name == memory.name)
            .expect("memories stand behind ports");
        format!("{offload}.{}", body.offloads[port.offload.index()].name)
    };
    let tables = pipeline.memories.iter().map(path).collect();
    Ok(Called { engine: body.name.clone(), pipeline, tables })
}
