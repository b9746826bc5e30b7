//! Application services in hardware elements: from a source in Loom C to the machine's input.

use std::path::{Path, PathBuf};

use wireloom_codegen_hardware::pipelined::caller;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir as ir;
use wireloom_lang::{Options, check_source, hir};
use wireloom_mpsoc::Spec;
use wireloom_mpsoc::services::{InHardware, Services};
use wireloom_sidl::Interfaces;

use crate::failure::{Failure, Outcome};
use crate::program::show_diagnostics;
use wireloom_console::load_store;

/// Returns the services that a machine has in hardware, with the tables of their engines.
///
/// # Errors
/// If the machine has services in hardware that are missing from the application or from the
/// engines, or if engines or tables are given that no service uses.
pub fn in_hardware(
    spec: &Spec,
    interfaces: Option<&Interfaces>,
    engines: &[PathBuf],
    tables: &[PathBuf],
) -> Outcome<Services> {
    let of_machine =
        |message: String| Failure::unusable(format!("machine {}: {message}", spec.name));
    let Some(interfaces) = interfaces else {
        return match (spec.element.keys().next(), engines.first().or(tables.first())) {
            (Some(name), _) => {
                Err(of_machine(format!("`element.{name}`: the application has no services"))
                    .with_help("give its interfaces too, a file .sidl"))
            }
            (None, Some(file)) => Err(Failure::unusable(format!(
                "{}: the application has no services that could be in hardware",
                file.display()
            ))),
            (None, None) => Ok(Services::default()),
        };
    };
    let hardware = InHardware::of(spec, interfaces).map_err(of_machine)?;
    match engines {
        [] if hardware.is_empty() && tables.is_empty() => Ok(Services::default()),
        [] if hardware.is_empty() => {
            let message =
                format!("{}: no service of the application is in hardware", tables[0].display());
            Err(Failure::unusable(message).with_help("leave the tables out"))
        }
        [] => Err(of_machine(
            "services of the application are in hardware, and nothing says what they do".into(),
        )
        .with_help("give the engines of their methods too, a file .loom")),
        [_, second, ..] => {
            let message = format!("{}: one file has the engines of all services", second.display());
            Err(Failure::unusable(message).with_help("include one in the other"))
        }
        [file] if hardware.is_empty() => {
            let message = format!(
                "{}: machine {} has no service of the application in hardware",
                file.display(),
                spec.name
            );
            Err(Failure::unusable(message)
                .with_help("say [element.SERVICE] in a description of your own"))
        }
        [file] => {
            let program = compile(file, &hardware)?;
            let (store, _) = load_store(&program, tables)?;
            Services::new(spec, &hardware, &program, store).map_err(of_machine)
        }
    }
}

/// Compiles the engines, with a generated engine at the end that calls the engines of the services'
/// methods.
fn compile(file: &Path, hardware: &InHardware<'_>) -> Outcome<ir::Program> {
    let text =
        wireloom_files::read_text(file, wireloom_files::MAX_TEXT_BYTES).map_err(|error| {
            Failure::unusable(format!("{}: cannot be read: {error}", file.display()))
        })?;
    // Check the file alone first, so that diagnostics refer to the source as written.
    let alone = check(file, &format!("{text}{}", caller(&[])))?;
    let called =
        alone.engines.iter().filter(|engine| matches!(engine.kind, hir::EngineKind::Call { .. }));
    let called: Vec<&str> = called.map(|engine| engine.name.as_str()).collect();
    let named = |why: String| Failure::unusable(format!("{}: {why}", file.display()));
    hardware.check_names(&called).map_err(named)?;
    let mut program = lower(&check(file, &format!("{text}{}", hardware.caller()))?);
    pipeline::optimise(&mut program, &PassOptions::default());
    Ok(program)
}

fn check(file: &Path, text: &str) -> Outcome<hir::Program> {
    let checked = check_source(&file.display().to_string(), text, &Options::default());
    if checked.program.is_none() {
        show_diagnostics(&checked);
    }
    checked.program.ok_or(Failure::Negative)
}
