//! The accelerators that are written in Loom C.

use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{EngineId, EngineKind, Program};
use wireloom_lang::{Options, check_source, render};

use crate::tools;

/// A called engine of `programs/accelerators`, ready for the shell.
#[derive(Clone, Debug)]
pub struct Accelerator {
    /// The program that it is part of, optimised.
    pub program: Program,
    /// The engine.
    pub engine: EngineId,
}

/// The accelerator of the file `programs/accelerators/NAME.loom`, whose engine has the same name.
///
/// # Errors
/// If the file cannot be read or is refused: what the compiler says.
pub fn accelerator(name: &str) -> Result<Accelerator, String> {
    let file = format!("programs/accelerators/{name}.loom");
    let path = tools::repository().join(&file);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    called(&file, &text, name)
}

/// A called engine of a source text.
pub(super) fn called(file: &str, text: &str, name: &str) -> Result<Accelerator, String> {
    // A program needs an engine that takes packets: one that never calls anything stands behind the others.
    let text = format!(
        "{text}\nengine nobody() {{ offload called : engine {name}; step only {{ drop(NEVER); }} }}\nenum Nobody {{ NEVER }};\n"
    );
    let checked = check_source(file, &text, &Options::default());
    let Some(program) = checked.program else {
        return Err(render(&checked.diagnostics, &checked.sources, false));
    };
    let mut program = lower(&program);
    pipeline::optimise(&mut program, &PassOptions::default());
    let is_it =
        |engine: &wireloom_ir::Engine| engine.name == name && matches!(engine.kind, EngineKind::Call { .. });
    let engine = program.engines.iter().position(is_it);
    let engine = engine.ok_or_else(|| format!("{file}: there is no engine `{name}`"))?;
    Ok(Accelerator { program, engine: EngineId(engine as u32) })
}
