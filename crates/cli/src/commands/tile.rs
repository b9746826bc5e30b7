//! `wireloom raw tile`: runs a program in C on a tile of a tiled processor.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::{Places, thousands};
use wireloom_raw::c::{self, Ran};
use wireloom_raw::mapper::MachineSpec;

use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;

/// See `wireloom raw tile --help`.
#[derive(Args, Debug)]
pub struct Tile {
    /// Files of the program in C
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Run on the first tile of this machine: raw, or a description (.toml)
    #[arg(long, value_name = "MACHINE", default_value = "raw")]
    on: MachineName,
    /// Print this number of words of memory from an address on, as the program left them (may be
    /// given several times)
    #[arg(long, value_name = "ADDRESS:COUNT")]
    words: Vec<Words>,
    /// Stop after this number of cycles
    #[arg(long, value_name = "N", default_value_t = 100_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    cycles: u64,
    /// Write the report as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// A range of memory.
#[derive(Clone, Copy, Debug)]
struct Words {
    address: u32,
    count: u32,
}

impl FromStr for Words {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let (address, count) = text.split_once(':').ok_or("an address and a count have a `:`")?;
        let address = number(address).filter(|address| address % 4 == 0);
        let address = address.ok_or("the address is a multiple of 4, such as 0x10000")?;
        let count = number(count).filter(|count| (1..=1 << 20).contains(count));
        Ok(Self { address, count: count.ok_or("the count is 1 to 1,048,576")? })
    }
}

#[derive(Serialize)]
struct Report {
    files: Vec<String>,
    machine: String,
    #[serde(flatten)]
    ran: Ran,
    /// Simulated time, in microseconds.
    time_us: f64,
    words: Vec<Memory>,
}

#[derive(Serialize)]
struct Memory {
    address: u32,
    words: Vec<u32>,
}

impl Tile {
    /// Compiles and runs the program, and prints a report.
    pub fn run(self) -> Outcome {
        let Some(spec) = self.on.of_kind::<MachineSpec>() else {
            let message = format!("{} has no tiles", self.on.0.name());
            return Err(
                Failure::unusable(message).with_help("say --on raw, or a description of that kind")
            );
        };
        let places = Places::default().reads(&self.files).writes_json(self.json.as_ref());
        places.check()?;
        if let Some(missing) = self.files.iter().find(|path| !path.is_file()) {
            return Err(Failure::unusable(format!("{}: there is no such file", missing.display())));
        }
        let folder = wireloom_files::TemporaryFolder::new()
            .map_err(|error| Failure::unusable(format!("no folder for objects: {error}")))?;
        let elf = c::compile(&self.files, folder.path()).map_err(refused)?;
        let (ran, chip) = c::execute(spec, &elf, self.cycles).map_err(refused)?;
        let mut words = Vec::new();
        for Words { address, count } in &self.words {
            let all = (0..*count).map(|at| chip.word(address.checked_add(4 * at)?));
            let all = all.collect::<Option<Vec<u32>>>().ok_or_else(|| {
                Failure::unusable(format!(
                    "the memory of {} megabytes does not have {count} words from {address:#x} on",
                    spec.memory.megabytes
                ))
            })?;
            words.push(Memory { address: *address, words: all });
        }
        let returned = ran.returned;
        let report = Report {
            files: self.files.iter().map(|file| file.display().to_string()).collect(),
            machine: spec.name.clone(),
            time_us: ran.cycles as f64 / f64::from(spec.chip.clock_mhz),
            ran,
            words,
        };
        places.tell(&report.text());
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        if returned == Some(0) { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// A program with errors is a negative result; a missing compiler makes the command unusable.
fn refused(error: c::Error) -> Failure {
    match error {
        c::Error::Refused(said) => {
            output::note(said);
            Failure::Negative
        }
        other => Failure::unusable(other.to_string()),
    }
}

impl Report {
    fn text(&self) -> String {
        let Ran { cycles, executed, hits, misses, spent, .. } = &self.ran;
        let waited =
            spent.total() - spent.executed - spent.misses - spent.branches - spent.operands;
        let end = match self.ran.returned {
            Some(value) => format!("main returned {value} after {} cycles", thousands(*cycles)),
            None => format!("main is still running after {} cycles", thousands(*cycles)),
        };
        let mut text = format!(
            "{}: {end} ({:.1} us)\n{} instructions; cycles lost: {} to wrong predictions, {} to operands, \
             {} to the cache ({} hits, {} misses), {} to networks\n",
            self.files.join(", "),
            self.time_us,
            thousands(*executed),
            thousands(spent.branches),
            thousands(spent.operands),
            thousands(spent.misses),
            thousands(*hits),
            thousands(*misses),
            thousands(waited),
        );
        for Memory { address, words } in &self.words {
            for (row, words) in words.chunks(8).enumerate() {
                let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
                text += &format!("{:#010x}  {}\n", address + 32 * row as u32, words.join(" "));
            }
        }
        text
    }
}
