//! Options for reading captures.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use wireloom_console::output;
use wireloom_io::{Captures, Input};
use wireloom_machine::Result;
use wireloom_net::capture::{Damaged, ReadOptions, Truncated, Unfinished};

/// How captures are read: those of the option `--in`, whose argument is `input`.
#[derive(Args, Debug, Default)]
pub struct CaptureArgs {
    /// What becomes of packets that were captured in part (snap length): padded with zeros to their
    /// length on the wire, skipped, or used as they are
    #[arg(long, value_enum, value_name = "HOW", default_value_t, requires = "input")]
    truncated: OnTruncated,
    /// What becomes of a capture that ends in the middle of a record: it is used up to there, with
    /// a warning, or refused
    #[arg(long, value_enum, value_name = "HOW", default_value_t, requires = "input")]
    unfinished: OnUnfinished,
    /// What becomes of a damaged packet if the next one can be found, as in pcapng: it is refused,
    /// or skipped, with a warning that counts such packets
    #[arg(long, value_enum, value_name = "HOW", default_value_t, requires = "input")]
    damaged: OnDamaged,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum OnTruncated {
    Pad,
    Skip,
    #[default]
    Use,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum OnUnfinished {
    #[default]
    Use,
    Refuse,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum OnDamaged {
    #[default]
    Refuse,
    Skip,
}

/// Parses a capture of the option `--in` that may have a port.
pub fn input_parser() -> impl TypedValueParser<Value = Input> {
    OsStringValueParser::new().try_map(|text| Input::parse(&text))
}

/// The captures of a run, and how many of their packets it takes.
#[derive(Args, Debug)]
pub struct InputArgs {
    /// Read packets from a capture: pcap or pcapng, optionally gzipped (may be given several
    /// times). PORT:CAPTURE brings all packets on that port, and merges all captures by time
    #[arg(
        long = "in",
        value_name = "[PORT:]CAPTURE",
        required = true,
        value_parser = input_parser(),
        value_hint = ValueHint::FilePath
    )]
    pub input: Vec<Input>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Stop after this number of packets
    #[arg(long, value_name = "N")]
    pub packets: Option<u64>,
}

impl InputArgs {
    /// Opens the captures.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn open(&self) -> Result<Captures> {
        Captures::open_inputs(&self.input, self.packets, self.captures.options())
    }
}

impl CaptureArgs {
    /// The options as the reader of captures takes them.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            truncated: match self.truncated {
                OnTruncated::Pad => Truncated::Pad,
                OnTruncated::Skip => Truncated::Skip,
                OnTruncated::Use => Truncated::Use,
            },
            unfinished: match self.unfinished {
                OnUnfinished::Use => Unfinished::Use,
                OnUnfinished::Refuse => Unfinished::Refuse,
            },
            damaged: match self.damaged {
                OnDamaged::Refuse => Damaged::Refuse,
                OnDamaged::Skip => Damaged::Skip,
            },
        }
    }
}

/// Prints the warnings about captures that have been read.
pub fn warn_of(captures: &Captures) {
    for warning in captures.warnings() {
        output::note(format!("warning: {warning}"));
    }
}

/// Reports the number of packets to the control processor that a plain pcap capture omits.
pub fn warn_of_left_out(count: u64) {
    if count > 0 {
        output::note(format!(
            "warning: packets to the cpu that plain pcap cannot hold: {count}; name the file .pcapng"
        ));
    }
}
