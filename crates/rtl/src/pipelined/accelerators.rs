//! The accelerators that are written in Loom C.

use std::path::Path;

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
    let repository = tools::repository();
    let path = repository.join(format!("programs/accelerators/{name}.loom"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut accelerator = called(&path.display().to_string(), &text, name)?;
    // What is built from it names its lines, and is the same wherever the repository lies.
    for file in &mut accelerator.program.files {
        if let Ok(inside) = Path::new(file.as_str()).strip_prefix(repository) {
            *file = inside.display().to_string();
        }
    }
    Ok(accelerator)
}

/// What is put behind a source text of engines that are called, since a program needs one that takes packets: one that drops them all, with offloads of
/// these names that are these engines.
pub fn caller(offloads: &[(&str, &str)]) -> String {
    let offloads: String =
        offloads.iter().map(|(name, engine)| format!("    offload {name} : engine {engine};\n")).collect();
    format!(
        "\nenum Wl_nothing {{ WL_NEVER }};\nengine wl_caller() {{\n{offloads}    step only {{ drop(WL_NEVER); }}\n}}\n"
    )
}

/// A called engine of a source text.
pub(super) fn called(file: &str, text: &str, name: &str) -> Result<Accelerator, String> {
    let text = format!("{text}{}", caller(&[("called", name)]));
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
