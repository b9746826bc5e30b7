//! Counts of executed instructions and simulated cache misses by function, from a command that runs
//! under Valgrind's callgrind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Stdio};

use wireloom_machine::{Error, Result};

/// The costs of a function itself, without the functions that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub instructions: u64,
    /// Data accesses that miss the simulated first-level cache.
    pub first_misses: u64,
    /// Data accesses that miss the last-level cache too.
    pub last_misses: u64,
    /// Branches that the simulated predictor mispredicts.
    pub mispredictions: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.first_misses += other.first_misses;
        self.last_misses += other.last_misses;
        self.mispredictions += other.mispredictions;
    }
}

/// Runs a command under callgrind and counts the costs while the function `inside` runs. Functions
/// have the names of the program's symbols.
///
/// # Errors
/// If Valgrind is missing, the command fails, or it never calls that function.
pub fn counted(
    command: &[&OsStr],
    environment: &[(&str, &str)],
    inside: &str,
    folder: &Path,
) -> Result<BTreeMap<String, Counts>> {
    let out = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes"])
        .arg(format!("--toggle-collect={inside}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .args(command)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::missing_tool("valgrind is not installed")
                .with_help("'make bench' installs it (apt-get install valgrind)"),
            _ => Error::new(format!("valgrind does not start: {error}")),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(Error::new(format!(
            "`{}` fails under valgrind:\n{}",
            command.join(OsStr::new(" ")).display(),
            last.join("\n")
        )));
    }
    let text = std::fs::read_to_string(&out)
        .map_err(|error| Error::new(format!("{}: {error}", out.display())))?;
    let counts = parse(&text).map_err(|what| Error::new(format!("callgrind's output: {what}")))?;
    if counts.is_empty() {
        return Err(Error::new(format!("the command never is in `{inside}`")));
    }
    Ok(counts)
}

/// Parses callgrind's output (the manual's chapter "Callgrind Format Specification") into each
/// function's own counts.
fn parse(text: &str) -> Result<BTreeMap<String, Counts>, String> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut events: Vec<&str> = Vec::new();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut function = "";
    let mut is_of_call = false;
    for (number, line) in text.lines().enumerate() {
        if let Some(list) = line.strip_prefix("events: ") {
            events = list.split_whitespace().collect();
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = resolved(name, &mut names);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            resolved(name, &mut names);
        } else if line.starts_with("calls=") {
            // The next line is the inclusive cost of the call, which belongs to the callee.
            is_of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if std::mem::take(&mut is_of_call) {
                continue;
            }
            let costs: Result<Vec<u64>, _> =
                line.split_whitespace().skip(1).map(str::parse).collect();
            let costs = costs.map_err(|_| format!("line {}: `{line}`", number + 1))?;
            // Trailing events that are zero are omitted.
            let of = |event: &str| {
                let at = events.iter().position(|name| *name == event);
                at.and_then(|at| costs.get(at)).copied().unwrap_or(0)
            };
            *counts.entry(function.to_owned()).or_default() += Counts {
                instructions: of("Ir"),
                first_misses: of("D1mr") + of("D1mw"),
                last_misses: of("DLmr") + of("DLmw"),
                mispredictions: of("Bcm") + of("Bim"),
            };
        }
    }
    counts.retain(|_, counts| counts.instructions > 0);
    Ok(counts)
}

/// Resolves `(ID) NAME`, in which the name is written out only at its first occurrence.
fn resolved<'a>(text: &'a str, names: &mut BTreeMap<&'a str, &'a str>) -> &'a str {
    match text.split_once(' ') {
        Some((id, name)) => {
            names.insert(id, name);
            name
        }
        None => names.get(text).copied().unwrap_or(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_its_own_counts_and_not_those_of_its_callees() {
        let text = "\
            events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\
            ob=(1) engines.so\n\
            fl=(1) engines.c\n\
            fn=(1) step\n\
            16 10 2 1 0 1 1 0 0 1 3 1 1 1\n\
            cfn=(2) helper\n\
            calls=4 30\n\
            17 400 9 9 9 9\n\
            fi=(2) runtime.h\n\
            +3 5\n\
            fn=(2)\n\
            30 400 9 9 0 4\n\
            fn=(1)\n\
            * 1\n\
            fn=(3) idle\n\
            50 0\n";
        let counts = parse(text).expect("the format");
        let step = Counts { instructions: 16, first_misses: 2, last_misses: 1, mispredictions: 2 };
        let helper =
            Counts { instructions: 400, first_misses: 4, last_misses: 0, mispredictions: 0 };
        let expected = [("helper".to_owned(), helper), ("step".to_owned(), step)];
        assert_eq!(counts, BTreeMap::from(expected));
        assert!(parse("events: Ir\nfn=(1) f\n1 x\n").is_err());
    }
}
