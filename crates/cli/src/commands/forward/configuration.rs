//! The configuration file of `wireloom forward`.
//!
//! ```toml
//! file = "programs/router.loom"
//! port = ["eth1", "eth2"]
//! metrics = "127.0.0.1:9999"
//! [set]
//! CHECK_SOURCE = false
//! ```
//!
//! A file is equivalent to options by construction: each of its keys is the name of an option, and
//! becomes arguments in front of the ones on the command line. So values are checked in one place,
//! and every option has a key. An option on the command line overrides the key of the file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory};
use toml::de::{DeTable, DeValue};
use wireloom_machine::{Error, Result};

use crate::CommandLine;

/// The name of the subcommand.
const COMMAND: &str = "forward";
/// The option that names the file.
const OPTION: &str = "config";

/// The keys of a file with their values.
#[derive(Debug, PartialEq)]
pub struct Keys(toml::Table);

impl Keys {
    /// Returns the names of keys whose values differ from another file's, or that only one of the
    /// files has.
    pub fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        let names: BTreeSet<_> = self.0.keys().chain(other.0.keys()).cloned().collect();
        names.into_iter().filter(|name| self.0.get(name) != other.0.get(name))
    }
}

/// Reads the keys of a file.
///
/// # Errors
/// If the file cannot be read, or is not TOML.
pub fn keys(path: &Path) -> Result<Keys> {
    let text = read(path)?;
    text.parse()
        .map(Keys)
        .map_err(|error: toml::de::Error| wrong(path, &text, error.span(), error.message(), None))
}

/// Returns the command line with the options of its configuration file, if it names one.
///
/// # Errors
/// If the file cannot be read, or has a key or a value that no option accepts.
pub fn expanded(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some((given, config)) = given(&args) else { return Ok(args) };
    let text = read(&config)?;
    let wrong = |at: Range<usize>, what: &str, help: Option<String>| {
        wrong(&config, &text, Some(at), what, help)
    };
    let table = DeTable::parse(&text)
        .map_err(|error| self::wrong(&config, &text, error.span(), error.message(), None))?;
    let mut from_file = Vec::new();
    let mut file = None;
    for (key, value) in table.into_inner() {
        let (name, at) = (key.get_ref().as_ref(), key.span());
        let command = command();
        let Some(option) = option(&command, name) else {
            let names = command.get_arguments().filter_map(name_of).collect::<Vec<_>>();
            let help = format!("there is {}", names.join(", "));
            return Err(wrong(at, &format!("unknown key `{name}`"), Some(help)));
        };
        let at = value.span();
        let values = values(option, value.into_inner())
            .map_err(|what| wrong(at.clone(), &format!("`{name}`: {what}"), None))?;
        for value in &values {
            check(option, value)
                .map_err(|what| wrong(at.clone(), &format!("`{name}`: {what}"), None))?;
        }
        if given.contains(option.get_id().as_str()) {
            continue;
        }
        match option.is_positional() {
            true => file = values.into_iter().next(),
            false => from_file.extend(values.iter().map(|value| argument(option, value))),
        }
    }
    // Options of the file come first, after the name of the subcommand; its program comes last.
    let at = args.iter().position(|arg| arg == COMMAND).map_or(args.len(), |at| at + 1);
    let (before, after) = args.split_at(at);
    let file = file.map(OsString::from);
    Ok(before.iter().cloned().chain(from_file).chain(after.iter().cloned()).chain(file).collect())
}

/// Returns the options that a command line gives, and its configuration file. `None` if it names no
/// file, or is wrong in a way that is reported later anyway.
fn given(args: &[OsString]) -> Option<(BTreeSet<String>, PathBuf)> {
    let all = CommandLine::command();
    let names: Vec<_> = command().get_arguments().map(|arg| arg.get_id().clone()).collect();
    let lenient = all.mut_subcommand(COMMAND, |mut command| {
        for name in names {
            command = command.mut_arg(name, |arg| arg.required(false));
        }
        command
    });
    let matches = lenient.try_get_matches_from(args).ok()?;
    let matches: &ArgMatches = matches.subcommand_matches(COMMAND)?;
    let config = matches.get_one::<PathBuf>(OPTION)?.clone();
    let is_given = |id: &&clap::Id| {
        matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    Some((matches.ids().filter(is_given).map(ToString::to_string).collect(), config))
}

fn command() -> clap::Command {
    let all = CommandLine::command();
    all.find_subcommand(COMMAND).expect("it is declared").clone()
}

/// Returns the key of an argument: its long name, or the identifier of the program.
fn name_of(arg: &Arg) -> Option<String> {
    let id = arg.get_id().as_str();
    let name = arg.get_long().or_else(|| arg.is_positional().then_some(id))?;
    (![OPTION, "help"].contains(&name)).then(|| name.to_owned())
}

fn option<'a>(command: &'a clap::Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| name_of(arg).is_some_and(|own| own == name))
}

/// Converts the value of a key to values of its option. A flag has one empty value, or none.
fn values(option: &Arg, value: DeValue<'_>) -> Result<Vec<String>, String> {
    let one = |value: DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.into_owned()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Boolean(is) => Ok(is.to_string()),
        _ => Err("a string or a number is expected".to_owned()),
    };
    let is_list = matches!(option.get_action(), ArgAction::Append);
    match (option.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(is)) => {
            Ok(if is { vec![String::new()] } else { Vec::new() })
        }
        (ArgAction::SetTrue, _) => Err("true or false is expected".into()),
        (_, DeValue::Array(values)) if is_list => {
            values.into_iter().map(|value| one(value.into_inner())).collect()
        }
        (_, DeValue::Table(table)) if option.get_long() == Some("set") => table
            .into_iter()
            .map(|(name, value)| Ok(format!("{}={}", name.get_ref(), one(value.into_inner())?)))
            .collect(),
        (_, DeValue::Array(_)) => Err("one value is expected, not several".into()),
        (_, value) => Ok(vec![one(value)?]),
    }
}

fn argument(option: &Arg, value: &str) -> OsString {
    let name = option.get_long().unwrap_or_default();
    match option.get_action() {
        ArgAction::SetTrue => format!("--{name}").into(),
        _ => format!("--{name}={value}").into(),
    }
}

/// Checks a value by parsing a command line with only this option.
fn check(option: &Arg, value: &str) -> Result<(), String> {
    if option.is_positional() {
        return Ok(());
    }
    let taken = command().no_binary_name(true).try_get_matches_from([argument(option, value)]);
    match taken {
        // The other required arguments are missing, as expected.
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").to_owned())
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String> {
    wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
        .map_err(|error| Error::new(format!("{}: cannot be read: {error}", path.display())))
}

/// Returns an error at a position in a file.
fn wrong(
    path: &Path,
    text: &str,
    at: Option<Range<usize>>,
    what: &str,
    help: Option<String>,
) -> Error {
    let before = text.get(..at.map_or(0, |at| at.start)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let error = Error::new(format!("{}:{line}: {}", path.display(), what.replace('\n', " ")));
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Expands a command line whose `CONFIG` is a file with this text.
    fn expand(text: &str, args: &[&str]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("f.toml");
        fs::write(&path, text).expect("a file");
        let path = path.display().to_string();
        let args = args.iter().map(|arg| OsString::from(arg.replace("CONFIG", &path)));
        let args = [OsString::from("wireloom")].into_iter().chain(args).collect();
        let expanded = expanded(args).map_err(|error| {
            let message = error.message.replace(&path, "f.toml");
            format!("{message} {}", error.help.unwrap_or_default())
        })?;
        let words = expanded[1..].iter().map(|arg| arg.to_string_lossy().replace(&path, "CONFIG"));
        Ok(words.collect())
    }

    #[test]
    fn a_file_is_equal_to_options() {
        let text = "\
            file = \"r.loom\"\n\
            port = [\"eth1\", \"eth2\"]\n\
            busy = true\nstatic = false\n\
            table = [100, \"main\"]\ncpu-rate = [\"TTL_EXPIRED=50\", 1000]\n\
            reconcile = 5\nmetrics = \"9100\"\ncontrol-mode = \"0660\"\ncontrol = \"/c\"\n\
            [set]\nA = 1\nB = false\n";
        let words = expand(text, &["forward", "--config", "CONFIG"]).expect("a file");
        let mut words: Vec<_> = words.iter().map(String::as_str).collect();
        assert_eq!((words[0], words.last()), ("forward", Some(&"r.loom")));
        words.sort_unstable();
        let mut expected = [
            "forward",
            "--config",
            "CONFIG",
            "r.loom",
            "--port=eth1",
            "--port=eth2",
            "--busy",
            "--reconcile=5",
            "--table=100",
            "--table=main",
            "--cpu-rate=TTL_EXPIRED=50",
            "--cpu-rate=1000",
            "--metrics=9100",
            "--control-mode=0660",
            "--control=/c",
            "--set=A=1",
            "--set=B=false",
        ];
        expected.sort_unstable();
        assert_eq!(words, expected);
    }

    #[test]
    fn options_replace_keys() {
        let text = "file = \"r.loom\"\nport = [\"eth1\"]\nio = \"xdp\"\n";
        let args = ["forward", "other.loom", "--port", "eth7", "--config", "CONFIG"];
        let words = expand(text, &args).expect("a file");
        let expected =
            ["forward", "--io=xdp", "other.loom", "--port", "eth7", "--config", "CONFIG"];
        assert_eq!(words, expected);
    }

    #[test]
    fn command_lines_without_a_file_stay() {
        for args in [&["forward", "r.loom", "--port", "x"][..], &["check", "x.loom"], &[]] {
            assert_eq!(expand("", args).expect("no file"), args);
        }
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, part) in [
            ("\nprot = 1\n", "f.toml:2: unknown key `prot` there is file, include"),
            ("config = \"x\"\n", "f.toml:1: unknown key `config`"),
            ("port = [\"a\"]\n\nio = \"fast\"\n", "f.toml:3: `io`: invalid value 'fast'"),
            ("table = \"mian\"\n", "f.toml:1: `table`: invalid value 'mian'"),
            ("cpu-rate = [\"A=x\"]\n", "f.toml:1: `cpu-rate`: invalid value 'A=x'"),
            ("interval = 0\n", "f.toml:1: `interval`: invalid value '0'"),
            ("interval = [1, 2]\n", "f.toml:1: `interval`: one value is expected"),
            ("busy = 1\n", "f.toml:1: `busy`: true or false is expected"),
            ("port = [[1]]\n", "f.toml:1: `port`: a string or a number"),
            ("port = [\"a\n", "f.toml:1: "),
            ("[set]\n\"=\" = 1\n", "`set`: "),
        ] {
            let error = expand(text, &["forward", "--config", "CONFIG"]).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn every_option_has_a_key() {
        let command = command();
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            assert!(name_of(arg).is_some() || [OPTION, "help"].contains(&id), "{id}");
        }
        assert!(option(&command, "control-mode").is_some());
    }

    #[test]
    fn changed_keys_are_named() {
        let keys = |text: &str| Keys(text.parse().expect("TOML"));
        let (old, new) = (keys("a = 1\nb = 2\nc = 3"), keys("a = 1\nb = 3\nd = 4"));
        assert_eq!(new.differing(&old).collect::<Vec<_>>(), ["b", "c", "d"]);
    }
}
