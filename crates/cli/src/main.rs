//! The `wireloom` command.

mod captures;
mod commands;
mod differences;
mod failure;
mod job;
mod leaving;
mod machine;
mod pager;
mod pages;
mod program;
mod rows;
mod services;
mod simulation;
mod updates;

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser};
use wireloom_console::output;

/// Compiles packet-processing engines and runs them on many machines.
///
/// An engine is written in Loom C (a `.loom` file) as if it processed one packet at a time. It runs
/// on a machine: `golden`, which defines its meaning; `native`, which is fast; or a network
/// processor in SystemVerilog (`np-2-2-4`), which is simulated. Every machine is compared with
/// golden, packet by packet.
#[derive(Parser, Debug)]
#[command(name = "wireloom", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 fine, 1 the program has errors, machines differ or a benchmark failed, 2 wrong usage or input."
)]
pub struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let args = std::env::args_os().collect();
    #[cfg(target_os = "linux")]
    let args = match commands::forward::configuration::expanded(args) {
        Ok(args) => args,
        Err(error) => return failure::Failure::from(error).report(),
    };
    let args: Vec<std::ffi::OsString> = args;
    let parsed = definition().try_get_matches_from(args);
    let command = match parsed.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        Ok(line) => line.command,
        Err(error) => return told(&error),
    };
    let handled = wireloom_files::fail_at_size_limit().and_then(|()| {
        if command.handles_signals() { Ok(()) } else { wireloom_files::remove_on_signals() }
    });
    if let Err(error) = handled {
        output::note(format!("warning: signals cannot be handled: {error}"));
    }
    let status = match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    };
    // A stopped forwarder may still be compiling a specialised engine.
    wireloom_files::leave_nothing();
    status
}

/// The command line with its help.
fn definition() -> clap::Command {
    let command = CommandLine::command();
    let help = commands::help_template(&command);
    command.help_template(help)
}

/// Prints the help, the version or a usage error, and returns the exit status.
fn told(message: &clap::Error) -> ExitCode {
    if let Some(ContextValue::String(name)) = message.get(ContextKind::InvalidSubcommand)
        && let Some(now) = commands::moved(name)
    {
        output::note(format!("error: `wireloom {name}` is `wireloom {now}`"));
        return ExitCode::from(2);
    }
    let printed = match message.use_stderr() {
        true => message.print(),
        false => wireloom_files::standard_output()
            .and_then(|mut out| message.print().and_then(|()| out.flush())),
    };
    match printed {
        // Standard error may be closed.
        _ if message.use_stderr() => ExitCode::from(2),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            output::note(format!("error: standard output: cannot be written: {error}"));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wireloom_guide::{examples, files};

    use super::*;

    /// Splits an example into words or quoted texts, up to a pipe, a redirection, or an explanation
    /// after two blanks. Braces are expanded as in a shell.
    fn words(example: &str) -> Vec<String> {
        let end = ["  ", " | ", " > "].iter().filter_map(|stop| example.find(stop)).min();
        // Every second part is in quotes.
        let parts = example[..end.unwrap_or(example.len())].split('\'').enumerate();
        let words = parts.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        words.flat_map(expanded).collect()
    }

    fn expanded(word: &str) -> Vec<String> {
        let Some((before, rest)) = word.split_once('{') else { return vec![word.to_owned()] };
        let (inside, after) = rest.split_once('}').expect("a closing brace");
        inside.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
    }

    /// Returns the examples in a help text, and the files that they may use: an example's folder,
    /// if the text names one.
    fn examples_of(help: &str) -> (Vec<&str>, BTreeSet<String>) {
        let lines = help.lines().map(str::trim).filter(|line| line.starts_with("wireloom "));
        let name = help.split("folder of `wireloom example ").nth(1);
        let name = name.and_then(|rest| rest.split('`').next());
        let example = name.map(|name| examples::find(name).expect("an example of this name"));
        (lines.collect(), example.map(|example| example.names()).unwrap_or_default())
    }

    /// Returns all subcommands, nested ones included.
    fn all() -> Vec<clap::Command> {
        let whole = CommandLine::command();
        let below =
            |command: &clap::Command| command.get_subcommands().cloned().collect::<Vec<_>>();
        let mut found = below(&whole);
        found.extend(whole.get_subcommands().flat_map(below).collect::<Vec<_>>());
        found
    }

    #[test]
    fn the_help_has_each_subcommand_once() {
        let whole = CommandLine::command();
        let help = commands::help_template(&whole);
        for command in whole.get_subcommands() {
            let entry = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&entry).count(), 1, "{entry}\n{help}");
        }
    }

    /// Whether a word is a file name.
    fn is_file(word: &str) -> bool {
        const ENDINGS: [&str; 15] = [
            "c", "gz", "html", "json", "loom", "packets", "pcap", "pcapng", "rasm", "robj", "sidl",
            "tables", "toml", "uc", "uo",
        ];
        !word.contains(' ')
            && word.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
    }

    #[test]
    fn examples_in_the_help_are_commands_whose_files_are_there() {
        // Options for files that a command writes.
        const WRITTEN: [&str; 8] =
            ["-o", "--out", "--json", "--report", "--svg", "--timeline", "--html", "--plot"];
        // Machine descriptions in files are read while the command line is parsed.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let placed = |word: &String| match files::text(word) {
            Some(text) if word.ends_with(".toml") => {
                let path = folder.path().join(word.replace('/', "-"));
                std::fs::write(&path, text).expect("a file");
                path.display().to_string()
            }
            _ => word.clone(),
        };
        let mut count = 0;
        for command in all() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (lines, mut known) = examples_of(&help);
            for example in lines {
                let words = words(example);
                for pair in words.windows(2) {
                    if WRITTEN.contains(&pair[0].as_str()) {
                        known.insert(pair[1].clone());
                    }
                    assert!(
                        !is_file(&pair[1]) || known.contains(&pair[1]),
                        "{example}: {}",
                        pair[1]
                    );
                }
                if let Err(error) = CommandLine::try_parse_from(words.iter().map(placed)) {
                    panic!("{example}\n{error}");
                }
                count += 1;
            }
        }
        assert!(count > 20, "{count} examples were found");
    }

    #[test]
    fn groups_of_options_hold_only_those_that_they_name() {
        for command in all() {
            for arg in command.get_arguments().filter(|arg| arg.get_help_heading().is_some()) {
                let id = arg.get_id().as_str();
                let is_general = ["on", "file", "json", "out", "updates", "dump", "rows"];
                assert!(!is_general.contains(&id), "{} {id}", command.get_name());
            }
        }
    }
}
