//! `wireloom explain`: the compiler's result for a program, and its reasons.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::explain::{explain, svg, text};
use wireloom_compile::passes::{PASSES, PassOptions};
use wireloom_compile::pipeline;

use crate::failure::{Failure, Outcome};
use crate::program::ProgramArgs;
use wireloom_console::output::{self, JsonTarget};

/// See `wireloom explain --help`.
#[derive(Args, Debug)]
pub struct Explain {
    #[command(flatten)]
    program: ProgramArgs,
    /// Draw the step graph (SVG)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Print the step IR instead: as lowered (lower), or after the last run of a pass
    #[arg(long, value_name = "PASS", conflicts_with_all = ["svg", "json"])]
    ir: Option<String>,
    /// Compile for hardware engines whose header memory has this number of read and write ports; by
    /// default a step accesses the whole header
    #[arg(long, value_name = "READS,WRITES", value_parser = ports)]
    ports: Option<(u32, u32)>,
    /// Set the bytes that such a port accesses at a time, at any byte offset
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
    port_bytes: u32,
    /// Write the explanation as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// The name of the step IR before any pass.
const LOWERED: &str = "lower";

/// Parses two numbers of ports, each at least 1.
fn ports(text: &str) -> Result<(u32, u32), String> {
    let numbers = text
        .split_once(',')
        .and_then(|(reads, writes)| Some((reads.parse().ok()?, writes.parse().ok()?)));
    numbers
        .filter(|(reads, writes)| *reads > 0 && *writes > 0)
        .ok_or_else(|| "two numbers, each at least 1, as in 2,1".to_owned())
}

impl Explain {
    /// Explains the program.
    pub fn run(self) -> Outcome {
        let header =
            self.ports.map(|(reads, writes)| HeaderPorts { reads, writes, bytes: self.port_bytes });
        let options = PassOptions::for_ports(header);
        if let Some(pass) = &self.ir {
            return self.print_ir(pass, &options);
        }
        let mut program = self.program.lowered()?;
        let places = self.program.places().writes("--svg", self.svg.as_deref());
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        pipeline::optimise(&mut program, &options);
        let explanation = explain(&program, &options);
        if let Some(path) = &self.svg {
            output::write_file(path, svg::step_graph(&explanation).as_bytes())?;
        }
        let mut text = text::render(&explanation, output::width());
        if let Some(path) = &self.svg {
            text += &format!("the step graph is in {}\n", path.display());
        }
        places.tell(&text);
        Ok(output::json(self.json.as_ref(), &explanation)?)
    }

    fn print_ir(&self, pass: &str, options: &PassOptions) -> Outcome {
        if pass != LOWERED && !PASSES.iter().any(|known| known.name == pass) {
            let names: Vec<_> =
                std::iter::once(LOWERED).chain(PASSES.iter().map(|pass| pass.name)).collect();
            return Err(Failure::unusable(format!("there is no pass '{pass}'"))
                .with_help(format!("there are {}", names.join(", "))));
        }
        let mut program = self.program.lowered()?;
        let last = pipeline::DEFAULT.iter().rposition(|name| *name == pass);
        let names = match last {
            Some(index) => &pipeline::DEFAULT[..=index],
            None => &[],
        };
        pipeline::run(&mut program, names, options, |_, _, _| {});
        if last.is_none() && pass != LOWERED {
            // A pass outside the default pipeline runs on the program as lowered.
            pipeline::run(&mut program, &[pass], options, |_, _, _| {});
        }
        output::print(&wireloom_ir::print(&program));
        Ok(())
    }
}
