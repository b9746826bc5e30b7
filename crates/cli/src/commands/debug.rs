//! `wireloom debug`: steps a simulated machine in the terminal.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueHint};
use wireloom_console::output;
use wireloom_monitor::{Answer, Debugger};

use crate::commands::watched::WatchedArgs;
use crate::failure::{Failure, Outcome};

/// See `wireloom debug --help`.
#[derive(Args, Debug)]
pub struct Debug {
    #[command(flatten)]
    watched: WatchedArgs,
    /// Take commands from a file instead of standard input, one a line; `#` begins a comment. The
    /// first wrong command ends the run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    script: Option<PathBuf>,
}

impl Debug {
    /// Starts the machine and executes commands.
    pub fn run(self) -> Outcome {
        let script = self.script.as_deref();
        let lines = script.map(|path| {
            wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES).map_err(|error| {
                Failure::unusable(format!("{}: cannot be read: {error}", path.display()))
            })
        });
        let lines = lines.transpose()?;
        let interrupt = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        wireloom_monitor::interrupt_on_signals(&interrupt)?;
        let session = self.watched.session(Arc::clone(&interrupt))?;
        let mut debugger = Debugger::new(session);
        output::print(&debugger.greeting());
        match (script, lines) {
            (Some(path), Some(lines)) => {
                let lines = lines.lines().map(|line| Ok(line.to_owned()));
                scripted(&mut debugger, &interrupt, &path.display().to_string(), lines)
            }
            _ if std::io::stdin().is_terminal() => interactive(&mut debugger, &interrupt),
            _ => {
                let lines = std::io::stdin().lock().lines();
                scripted(&mut debugger, &interrupt, "standard input", lines)
            }
        }
    }
}

/// Executes commands from a file. Each is shown before its answer.
fn scripted(
    debugger: &mut Debugger,
    interrupt: &AtomicBool,
    name: &str,
    lines: impl Iterator<Item = std::io::Result<String>>,
) -> Outcome {
    for (number, line) in lines.enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Failure::unusable(format!(
                "{name}: interrupted before line {}",
                number + 1
            )));
        }
        let line =
            line.map_err(|error| Failure::unusable(format!("{name}: cannot be read: {error}")))?;
        if !line.trim().is_empty() {
            output::print(&format!("> {}\n", line.trim()));
        }
        match debugger.execute(&line) {
            Ok(Answer::Text(text)) => output::print(&text),
            Ok(Answer::Quit) => break,
            Err(error) => {
                let failure = Failure::unusable(format!("{name}:{}: {error}", number + 1));
                return Err(match error.help {
                    Some(help) => failure.with_help(help),
                    None => failure,
                });
            }
        }
    }
    Ok(())
}

/// Executes commands that a user types: a wrong one is reported, and an empty line repeats the last
/// one.
fn interactive(debugger: &mut Debugger, interrupt: &AtomicBool) -> Outcome {
    let mut last = String::new();
    loop {
        interrupt.store(false, Ordering::Relaxed);
        output::print("(wireloom) ");
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        match read {
            Ok(0) => {
                output::print("\n");
                return Ok(());
            }
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::unusable(format!("standard input: cannot be read: {error}")));
            }
        }
        if !line.trim().is_empty() {
            last = line;
        }
        match debugger.execute(&last) {
            Ok(Answer::Text(text)) => output::print(&text),
            Ok(Answer::Quit) => return Ok(()),
            Err(error) => {
                output::note(format!("error: {error}"));
                if let Some(help) = error.help {
                    output::note(format!("help: {help}"));
                }
            }
        }
    }
}
