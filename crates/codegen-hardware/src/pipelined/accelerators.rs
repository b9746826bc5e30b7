//! The accelerators that are written in Loom C.

use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_install::embedded;
use wireloom_ir::{EngineId, EngineKind, Program};
use wireloom_lang::{LIBRARY, Options, check_source, render};

/// A called engine of `programs/accelerators`, ready for the shell.
#[derive(Clone, Debug)]
pub struct Accelerator {
    /// The optimised program that contains it.
    pub program: Program,
    pub engine: EngineId,
}

/// Returns the accelerator of the file `programs/accelerators/NAME.loom`. Its engine has the same
/// name.
///
/// # Errors
/// If the file cannot be read or the compiler refuses it. The error contains the compiler's
/// messages.
pub fn accelerator(name: &str) -> Result<Accelerator, String> {
    let file = format!("programs/accelerators/{name}.loom");
    let text =
        embedded::find(&file).ok_or_else(|| format!("there is no accelerator `{name}`"))??;
    let mut accelerator = called(&format!("{LIBRARY}{file}"), &text, name)?;
    // Generated code refers to lines of files by their paths in the repository.
    for file in &mut accelerator.program.files {
        if let Some(inside) = file.strip_prefix(LIBRARY) {
            *file = inside.to_owned();
        }
    }
    Ok(accelerator)
}

/// Returns text to append to the source of called engines, since a program needs an engine that
/// takes packets: an engine that drops all packets, with offloads of these names that are these
/// engines.
pub fn caller(offloads: &[(&str, &str)]) -> String {
    let offloads: String = offloads
        .iter()
        .map(|(name, engine)| format!("    offload {name} : engine {engine};\n"))
        .collect();
    format!(
        "\nenum Wl_nothing {{ WL_NEVER }};\nengine wl_caller() {{\n{offloads}    step only {{ \
         drop(WL_NEVER); }}\n}}\n"
    )
}

/// Compiles a called engine from source text.
pub(super) fn called(file: &str, text: &str, name: &str) -> Result<Accelerator, String> {
    let text = format!("{text}{}", caller(&[("called", name)]));
    let checked =
        check_source(file, &text, &Options { library: Some(embedded::find), ..Options::default() });
    let Some(program) = checked.program else {
        return Err(render(&checked.diagnostics, &checked.sources, false));
    };
    let mut program = lower(&program);
    pipeline::optimise(&mut program, &PassOptions::default());
    let is_it = |engine: &wireloom_ir::Engine| {
        engine.name == name && matches!(engine.kind, EngineKind::Call { .. })
    };
    let engine = program.engines.iter().position(is_it);
    let engine = engine.ok_or_else(|| format!("{file}: there is no engine `{name}`"))?;
    Ok(Accelerator { program, engine: EngineId(engine as u32) })
}
