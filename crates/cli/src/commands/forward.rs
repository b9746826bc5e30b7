//! `wireloom forward`: live packets between network interfaces.

pub mod configuration;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, ValueEnum, ValueHint};
use wireloom_compile::names::Names;
use wireloom_console::output::{self, JsonTarget};
use wireloom_control::{CpuRate, Load, Loaded, Settings, Status, logging, tracing};
use wireloom_lang::Checked;
use wireloom_live::{Io, LOCAL_AND_MAIN, conditions};
use wireloom_machine::{Error, Program, Result};

use super::Command;
use crate::CommandLine;
use crate::failure::{Failure, Outcome};
use crate::program::{ProgramArgs, show_diagnostics};

/// See `wireloom forward --help`.
#[derive(Args, Debug)]
pub struct Forward {
    #[command(flatten)]
    program: ProgramArgs,
    /// Take settings from a TOML file: its keys are the names of the options here, without `--`,
    /// and `file` for the program; options on the command line override the file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Forward on this interface: ports 0, 1, ... of the program in the order given. `tap:NAME`
    /// creates a TAP device, whose kernel side is the other end of the cable; `pcap:FILE@RATE`
    /// plays a capture (RATE as of `run --rate`) and discards what is sent there,
    /// `pcap-loop:FILE@RATE` again and again
    #[arg(long = "port", value_name = "INTERFACE", required = true)]
    ports: Vec<String>,
    /// Load a table file at the start (may be given several times); entries from the kernel replace
    /// those of a file with the same key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Do not follow the kernel's routes and neighbours: table files say everything
    #[arg(long = "static")]
    is_static: bool,
    /// Compare the tables with the kernel's state every so many seconds, even without a
    /// notification of a change, and have it verify the neighbours in use
    #[arg(long, value_name = "SECONDS", default_value_t = 30, conflicts_with = "is_static",
        value_parser = clap::value_parser!(u64).range(1..))]
    reconcile: u64,
    /// Follow this routing table of the kernel, by name or number (may be given several times). Of
    /// several, the first one that has a route for an address decides, as with `ip rule`; by
    /// default local, then main
    #[arg(long = "table", value_name = "TABLE", conflicts_with = "is_static",
        value_parser = kernel_table)]
    kernel_tables: Vec<u32>,
    /// Forward although this feature of the kernel is in use, which forwarding ignores (may be
    /// given several times)
    #[arg(long, value_name = "CONDITION", conflicts_with = "is_static",
        value_parser = PossibleValuesParser::new(conditions::ALL.map(|of| of.name)))]
    accept: Vec<String>,
    /// Hand at most so many packets a second to the kernel for each reason, or for one reason (may
    /// be given several times); 0 hands over none
    #[arg(long, value_name = "[REASON=]PACKETS")]
    cpu_rate: Vec<CpuRate>,
    /// Exchange frames with the interfaces in this way
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Way::Auto)]
    io: Way,
    /// Forward on so many cores: each receives a part of the flows, from queues of its own with
    /// AF_XDP, spread by the kernel with packet sockets. Engines whose packets change tables in an
    /// order that matters stay on one
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    cores: u16,
    /// Use at most so much memory, in bytes or with K, M or G (KiB, MiB, GiB): routes of the kernel
    /// for which there is no room are the kernel's to forward, and are counted
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// Never sleep: cores are busy all the time, and packets wait less
    #[arg(long)]
    busy: bool,
    /// Print the counters every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Write the counters as JSON at the end, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
    /// Serve the counters to Prometheus, at http://ADDRESS/metrics; without an address, or with a
    /// port alone, on loopback
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9999",
        value_parser = parse_address)]
    metrics: Option<SocketAddr>,
    /// Create a control socket there, for `wireloom top` and `wireloom ctl`
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    control: Option<PathBuf>,
    /// Permissions of the control socket, in octal
    #[arg(long, value_name = "MODE", default_value = "0600", requires = "control",
        value_parser = parse_mode)]
    control_mode: u32,
    /// The form of messages on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// The least important messages that are written
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    log_level: LogLevel,
}

/// See [`Io`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Way {
    /// AF_XDP where the driver and the rights allow it, otherwise packet sockets
    Auto,
    /// AF_XDP sockets
    Xdp,
    /// Packet sockets
    Packet,
    /// None: the engine is an XDP program in the kernel (Linux 5.18 or later, gcc-bpf)
    Kernel,
}

/// See [`logging::Format`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// A line of text
    Text,
    /// A line of JSON
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    /// What failed
    Error,
    /// What an operator should look at
    Warn,
    /// What happened
    Info,
    /// What explains it
    Debug,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let address = text.parse().or_else(|_| text.parse().map(loopback));
    address.map_err(|_| "write it as ADDRESS:PORT, such as 127.0.0.1:9999 or [::1]:9999".into())
}

/// Parses the name or number of a routing table.
fn kernel_table(text: &str) -> Result<u32, String> {
    match text {
        "local" => Ok(255),
        "main" => Ok(254),
        "default" => Ok(253),
        _ => text
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| "write a number from 1, or local, main or default".into()),
    }
}

/// Parses a size in bytes, possibly in units of 2^10, 2^20 or 2^30.
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let size = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    size.filter(|size| *size > 0).ok_or_else(|| "write it as bytes, or as 512M or 2G".into())
}

fn parse_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "write it in octal, such as 0660".into())
}

impl Forward {
    /// Forwards until a signal asks it to stop, and prints the counters.
    pub fn run(self) -> Outcome {
        self.start_logging();
        let format = self.log_format;
        match (self.forward(), format) {
            // A log collector expects every message, including the last one.
            (Err(Failure::Unusable { message, help, .. }), LogFormat::Json) => {
                tracing::error!(help, "{message}");
                Err(Failure::Told)
            }
            (outcome, _) => outcome,
        }
    }

    fn forward(self) -> Outcome {
        let places = self.program.places().reads(&self.tables);
        let places = places.reads(&self.config).writes_json(self.json.as_ref());
        places.check()?;
        let loaded = loaded(&self, self.program.check()?, true)?;
        let loaded = loaded.ok_or(Failure::Negative)?;
        places.check()?;
        let is_shown = output::for_people(self.json.as_ref());
        let ticker = self.interval.map(|seconds| {
            let show: wireloom_control::Ticker = Box::new(move |status: &Status| {
                let text = status.text();
                match is_shown {
                    true => output::try_print(&text)?,
                    false => output::note(text),
                }
                Ok(())
            });
            (Duration::from_secs(seconds), show)
        });
        let started = || {
            let names = self.ports.iter().enumerate();
            let names: Vec<_> = names.map(|(number, name)| format!("{number} {name}")).collect();
            if is_shown {
                output::say(format!("forwarding on ports {}", names.join(", ")));
            }
        };
        let load = reload(self.config.as_deref())?;
        let status = wireloom_control::forward(&self.settings(), loaded, load, ticker, started)?;
        let Some(status) = status else {
            tracing::info!("stopped before packets were forwarded");
            return Ok(());
        };
        if is_shown {
            output::print(&status.text());
        }
        Ok(output::json(self.json.as_ref(), &status)?)
    }

    fn start_logging(&self) {
        let format = match self.log_format {
            LogFormat::Text => logging::Format::Text,
            LogFormat::Json => logging::Format::Json,
        };
        let level = match self.log_level {
            LogLevel::Error => tracing::Level::ERROR,
            LogLevel::Warn => tracing::Level::WARN,
            LogLevel::Info => tracing::Level::INFO,
            LogLevel::Debug => tracing::Level::DEBUG,
        };
        logging::start(format, level);
    }

    fn settings(&self) -> Settings {
        Settings {
            ports: self.ports.clone(),
            io: match self.io {
                Way::Auto => Io::Auto,
                Way::Xdp => Io::Xdp,
                Way::Packet => Io::Packet,
                Way::Kernel => Io::Kernel,
            },
            cores: self.cores.into(),
            busy: self.busy,
            memory: self.memory,
            kernel_tables: match self.kernel_tables[..] {
                [] => LOCAL_AND_MAIN.to_vec(),
                _ => self.kernel_tables.clone(),
            },
            accepted: self.accept.clone(),
            writes_at_end: self.json.is_some(),
            reconcile: (!self.is_static).then(|| Duration::from_secs(self.reconcile)),
            metrics: self.metrics,
            control: self.control.clone().map(|path| (path, self.control_mode)),
        }
    }
}

/// Compiles a checked program; returns `None` if it has errors. `shows` prints its diagnostics.
///
/// # Errors
/// Without `shows`, if the program has errors; the message holds all diagnostics.
fn loaded(options: &Forward, checked: Checked, shows: bool) -> Result<Option<Loaded>> {
    if shows {
        show_diagnostics(&checked);
    }
    let Some(program) = &checked.program else {
        return match shows {
            true => Ok(None),
            false => Err(Error::new(wireloom_lang::render(
                &checked.diagnostics,
                &checked.sources,
                false,
            ))),
        };
    };
    Ok(Some(Loaded {
        file: options.program.file.display().to_string(),
        program: Program::new(program),
        names: Names::new(program),
        tables: options.tables.clone(),
        cpu_rates: options.cpu_rate.clone(),
        needs_restart: Vec::new(),
    }))
}

/// Keys of the configuration that a reload applies.
const RELOADED: [&str; 6] = ["file", "include", "set", "engine", "tables", "cpu-rate"];

/// Returns the function that loads everything again, from the command line of this process and the
/// current contents of the configuration file.
fn reload(config: Option<&Path>) -> Result<Load> {
    let started_with = config.map(configuration::keys).transpose()?;
    let config = config.map(Path::to_owned);
    let args: Vec<OsString> = std::env::args_os().collect();
    Ok(Box::new(move || {
        let line = CommandLine::try_parse_from(configuration::expanded(args.clone())?);
        let line = line.map_err(|error| Error::new(error.to_string().trim_end().to_owned()))?;
        let Command::Forward(options) = line.command else {
            unreachable!("the arguments are those of this process");
        };
        let loaded = loaded(&options, options.program.source().check()?, false)?;
        let mut loaded = loaded.expect("errors were returned");
        if let (Some(config), Some(before)) = (&config, &started_with) {
            loaded.needs_restart = configuration::keys(config)?
                .differing(before)
                .filter(|key| !RELOADED.contains(&key.as_str()))
                .collect();
        }
        Ok(loaded)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_sizes_and_modes_are_read() {
        for (text, expected) in [
            ("9100", Some("127.0.0.1:9100")),
            ("0.0.0.0:9100", Some("0.0.0.0:9100")),
            ("[::1]:1", Some("[::1]:1")),
            ("host:1", None),
            ("70000", None),
        ] {
            let address = parse_address(text).map(|address| address.to_string()).ok();
            assert_eq!(address.as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("4096", Some(4096)),
            ("512M", Some(512 << 20)),
            ("2g", Some(2 << 30)),
            ("0", None),
            ("M", None),
            ("1.5G", None),
            ("-1", None),
            ("99999999999G", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
        assert_eq!(parse_mode("0660"), Ok(0o660));
        assert!(parse_mode("0888").is_err() && parse_mode("1777").is_err());
    }
}
