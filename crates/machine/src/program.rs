//! Programs in the forms that machines take.

use std::path::PathBuf;

use wireloom_compile::passes::PassOptions;
use wireloom_compile::size::{self, TooLarge};
use wireloom_compile::{lower, pipeline};
use wireloom_install::embedded;
use wireloom_ir as ir;
use wireloom_lang::diagnostics::{Diagnostic, Severity};
use wireloom_lang::{self as lang, Checked, LIBRARY, hir};
use wireloom_offloads::Layout;

use crate::{Error, Result};

/// A source file in Loom C, with the options for reading it.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file. A name that begins with [`LIBRARY`] is a file that comes with the command.
    pub file: PathBuf,
    /// Additional folders in which included files are searched.
    pub include: Vec<PathBuf>,
    /// File-level constants to set: name and value.
    pub set: Vec<(String, String)>,
    /// The engine that takes the packets. By default it is the last packet engine in the file.
    pub engine: Option<String>,
}

/// A program for machines of all kinds.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program before any pass. Machines in hardware have their own passes.
    pub lowered: ir::Program,
    /// The program after the passes for machines in software. Offloads, reasons and engines equal
    /// the ones in `lowered`.
    pub optimised: ir::Program,
}

impl Source {
    /// Creates a source from a file without options.
    pub fn of(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), ..Self::default() }
    }

    /// Checks the program. The result contains its diagnostics.
    ///
    /// # Errors
    /// If the file cannot be read, or if the only errors are in the options: a constant or an
    /// engine that the program does not have.
    pub fn check(&self) -> Result<Checked> {
        let is_embedded = self.file.to_str().is_some_and(|file| file.starts_with(LIBRARY));
        let is_on_disk = !is_embedded && !wireloom_files::is_standard_stream(&self.file);
        if is_on_disk && let Err(error) = std::fs::File::open(&self.file) {
            let message = format!("{}: cannot be read: {error}", self.file.display());
            return Err(Error::new(message).with_help("the first argument is a Loom C source file"));
        }
        if is_on_disk && self.file.is_dir() {
            let message = format!("{}: is a folder", self.file.display());
            return Err(Error::new(message).with_help(
                "the first argument is a Loom C source file, such as FOLDER/NAME.loom",
            ));
        }
        let extension = self.file.extension().and_then(|extension| extension.to_str());
        let help = match extension {
            Some("uc" | "uo" | "toml") => Some("run --on ixp1200 runs programs of microengines"),
            Some("rasm" | "robj") => Some(
                "run --on FILE.toml runs programs of tiles: a description of raw with a section \
                 [board] (`wireloom docs machines/raw`)",
            ),
            _ => None,
        };
        if let Some(help) = help {
            let message = format!("{} is no source file in Loom C", self.file.display());
            return Err(Error::new(message).with_help(help));
        }
        let options = lang::Options {
            include_dirs: self.include.clone(),
            library: Some(embedded::find),
            sets: self.set.clone(),
            engine: self.engine.clone(),
        };
        let mut checked = lang::check(&self.file, &options);
        if let Some(error) = wrong_usage(&checked) {
            return Err(error);
        }
        refuse_if_too_large(&mut checked);
        Ok(checked)
    }

    /// Returns the headers that the program declares: their names and leaves.
    ///
    /// # Errors
    /// As [`compiled`](Self::compiled).
    pub fn headers(&self) -> Result<Vec<(String, Layout)>> {
        Ok(self.checked()?.headers())
    }

    /// Checks and compiles the program. Warnings are not shown.
    ///
    /// # Errors
    /// If the file cannot be read or the program is refused. The error contains all diagnostics.
    pub fn compiled(&self) -> Result<Program> {
        Ok(Program::new(&self.checked()?))
    }

    fn checked(&self) -> Result<hir::Program> {
        let Checked { program, diagnostics, sources } = self.check()?;
        program.ok_or_else(|| Error::new(lang::render(&diagnostics, &sources, false)))
    }
}

/// The first wrong option, if there are no other errors. Otherwise a name may be unknown because of
/// errors in the program.
fn wrong_usage(checked: &Checked) -> Option<Error> {
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    let mut errors = checked.diagnostics.iter().filter(is_error).peekable();
    let first = *errors.peek()?;
    if !errors.all(|error| error.is_usage) {
        return None;
    }
    let place = &checked.sources.files[first.labels[0].span.file.0 as usize].path;
    let error = Error::new(format!("{}: {}", place.display(), first.message));
    Some(match &first.help {
        Some(help) => error.with_help(help),
        None => error,
    })
}

/// Refuses a program that is too large to compile in reasonable time.
fn refuse_if_too_large(checked: &mut Checked) {
    let Some(program) = &checked.program else { return };
    let Err(TooLarge { engine, step, largest, whole }) = size::check(&lower(program)) else {
        return;
    };
    let step = &program.engines[engine].steps[step];
    let what = format!(
        "the program becomes too large for compilers: {whole} operations, {largest} in step `{}`",
        step.name
    );
    let help = format!(
        "the limit is {} after inlining and unrolling, where a way out of a step counts as 18, a \
         call as 28 and a write of the packet as 5. Loop over steps instead, or keep constants in \
         a table",
        size::MOST
    );
    checked.diagnostics.push(Diagnostic::too_large(step.span, &what, &help));
    checked.program = None;
}

impl Program {
    /// Compiles a checked program.
    pub fn new(checked: &hir::Program) -> Self {
        Self::of_lowered(lower(checked))
    }

    /// Optimises a program for machines in software.
    pub fn of_lowered(lowered: ir::Program) -> Self {
        let mut optimised = lowered.clone();
        pipeline::optimise(&mut optimised, &PassOptions::default());
        Self { lowered, optimised }
    }
}
