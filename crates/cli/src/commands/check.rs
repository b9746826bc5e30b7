//! `wireloom check`: diagnostics.

use clap::Args;
use serde::Serialize;
use wireloom_lang::diagnostics::{Diagnostic, Severity};
use wireloom_lang::hir;
use wireloom_lang::source::{FileId, SourceFile, SourceMap, Span};
use wireloom_machine::{Program, Refusal};

use crate::commands::docs;
use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;
use crate::program::{ProgramArgs, say_how_to_learn_more, show_diagnostics};
use wireloom_console::Working;
use wireloom_console::output::{self, JsonTarget};

/// See `wireloom check --help`.
#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    program: Option<ProgramArgs>,
    /// Also report what this machine cannot hold (may be given several times)
    #[arg(long, value_name = "MACHINE")]
    on: Vec<MachineName>,
    /// Treat warnings as errors
    #[arg(long)]
    deny_warnings: bool,
    /// Write the diagnostics as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
    /// Explain a diagnostic by its code (E0201), instead of checking a program
    #[arg(long, value_name = "CODE", exclusive = true)]
    explain: Option<String>,
}

#[derive(Serialize)]
struct Report {
    accepted: bool,
    diagnostics: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    message: String,
    help: Option<String>,
    places: Vec<Place>,
}

#[derive(Serialize)]
struct Place {
    file: String,
    line: u32,
    /// Byte within the line, counted from 1.
    column: u32,
    text: String,
}

impl Check {
    /// Checks the program and prints diagnostics.
    pub fn run(self) -> Outcome {
        if let Some(code) = &self.explain {
            return docs::explain(code);
        }
        let source = self.program.as_ref().expect("clap asks for it without --explain");
        let mut checked = source.check()?;
        source.places().writes_json(self.json.as_ref()).check()?;
        let refused = match &checked.program {
            Some(program) => refused(program, &checked.sources, &self.on),
            None => Vec::new(),
        };
        let held = refused.is_empty();
        checked.diagnostics.extend(refused);
        let warnings =
            checked.diagnostics.iter().filter(|d| d.severity == Severity::Warning).count();
        let accepted = checked.program.is_some() && held && !(self.deny_warnings && warnings > 0);
        if let Some(target) = &self.json {
            let diagnostics =
                checked.diagnostics.iter().map(|d| finding(d, &checked.sources)).collect();
            output::write_json(target, &Report { accepted, diagnostics })?;
        } else {
            show_diagnostics(&checked);
            say_how_to_learn_more(checked.diagnostics.iter().map(|diagnostic| diagnostic.code));
        }
        if let Some(program) =
            checked.program.as_ref().filter(|_| held && output::for_people(self.json.as_ref()))
        {
            let engine = &program.engines[program.main.index()];
            let engines = match program.engines.len() {
                1 => String::new(),
                n => format!(", {n} engines in all"),
            };
            output::say(format!(
                "{}: no errors, {}; engine {}: {}, {}{engines}",
                source.file.display(),
                count(warnings, "warning"),
                engine.name,
                count(engine.steps.len(), "step"),
                count(engine.offloads.len(), "offload"),
            ));
        }
        if accepted { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// Formats a number of things; `one` is the word for one of them.
fn count(number: usize, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {one}{ending}")
}

/// Returns the parts of a program that machines cannot hold.
fn refused(
    checked: &hir::Program,
    sources: &SourceMap,
    machines: &[MachineName],
) -> Vec<Diagnostic> {
    if machines.is_empty() {
        return Vec::new();
    }
    let program = Program::new(checked);
    let of = |machine: &MachineName| {
        let name = machine.0.name().to_owned();
        let mut refusals = machine.0.refusals(&program);
        if refusals.is_empty() {
            refusals.extend(tried_out(machine, &program));
        }
        refusals.into_iter().map(move |refusal| {
            let line = refusal.line.as_ref().and_then(|(file, line)| line_of(sources, file, *line));
            let declared = || checked.declared(refusal.offload.as_deref(), refusal.step.as_deref());
            let span = line.unwrap_or_else(declared);
            Diagnostic::refused(&name, span, &refusal.message)
        })
    };
    machines.iter().flat_map(of).collect()
}

/// Returns the refusal of a program by compilers or the kernel, where they are available.
fn tried_out(machine: &MachineName, program: &Program) -> Option<Refusal> {
    let name = machine.0.name();
    let working = Working::on(format!("trying {name}"));
    let error = machine.0.try_out(program, &|what| working.now(what)).err()?;
    drop(working);
    if error.needs_tool {
        output::note(format!(
            "warning: {name}: the program is not tried out, so it may still be refused: {}",
            error.message
        ));
        return None;
    }
    let message = match error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message,
    };
    Some(Refusal { offload: None, step: error.step, line: None, message })
}

/// Returns the text of a line, without the blanks around it, as a span.
fn line_of(sources: &SourceMap, path: &str, line: u32) -> Option<Span> {
    let is_it = |(_, file): &(u32, &SourceFile)| file.path.display().to_string() == path;
    let (number, file) = (0..).zip(&sources.files).find(is_it)?;
    let text = file.text.lines().nth(line.checked_sub(1)? as usize)?;
    let start = text.trim_start().as_ptr() as usize - file.text.as_ptr() as usize;
    let (start, length) = (start as u32, text.trim().len() as u32);
    Some(Span { file: FileId(number), start, end: start + length })
}

fn finding(diagnostic: &Diagnostic, sources: &SourceMap) -> Finding {
    Finding {
        code: diagnostic.code,
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        message: diagnostic.message.clone(),
        help: diagnostic.help.clone(),
        places: diagnostic
            .labels
            .iter()
            .map(|label| place(sources, label.span, &label.text))
            .collect(),
    }
}

fn place(sources: &SourceMap, span: Span, text: &str) -> Place {
    let file = &sources.files[span.file.0 as usize];
    let before = &file.text.as_bytes()[..(span.start as usize).min(file.text.len())];
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() as u32 + 1;
    Place {
        file: file.path.display().to_string(),
        line: sources.line(span),
        column,
        text: text.to_owned(),
    }
}
