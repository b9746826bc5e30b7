//! `wireloom explain`: what the compiler made of a program, and why.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_compile::explain::{Explanation, explain, svg, text};
use wireloom_compile::passes::{PASSES, PassOptions};
use wireloom_compile::pipeline;

use crate::failure::{Failure, Outcome};
use crate::output::{self, JsonTarget};
use crate::program::ProgramArgs;

/// See `wireloom explain --help`.
#[derive(Args, Debug)]
pub struct Explain {
    #[command(flatten)]
    program: ProgramArgs,
    /// Draw the step graph
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Print the step IR instead: as lowered (lower), or after the last run of a pass
    #[arg(long, value_name = "PASS", conflicts_with_all = ["svg", "json"])]
    ir: Option<String>,
    /// Words of the header that a step's request and edit regions may each touch; 0 is any number
    #[arg(long, value_name = "N", default_value_t = 0)]
    words: u32,
    /// Width of such a word, in bits
    #[arg(long, value_name = "BITS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(8..=1024))]
    word_bits: u32,
    /// Write the explanation as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// The name of the step IR before any pass.
const LOWERED: &str = "lower";

impl Explain {
    /// Explains the program.
    pub fn run(self) -> Outcome {
        let options = PassOptions { word_bits: self.word_bits, header_words: self.words };
        if let Some(pass) = &self.ir {
            return self.print_ir(pass, &options);
        }
        let mut program = self.program.lowered()?;
        pipeline::optimise(&mut program, &options);
        let explanation = explain(&program, &options);
        if let Some(path) = &self.svg {
            output::write_file(path, svg::step_graph(&explanation).as_bytes())?;
        }
        if output::for_people(self.json.as_ref()) {
            self.show(&explanation);
        }
        self.json.map_or(Ok(()), |target| output::write_json(&target, &explanation))
    }

    fn show(&self, explanation: &Explanation) {
        output::print(&text::render(explanation, output::width()));
        if let Some(path) = &self.svg {
            output::say(format!("the step graph is in {}", path.display()));
        }
    }

    fn print_ir(&self, pass: &str, options: &PassOptions) -> Outcome {
        if pass != LOWERED && !PASSES.iter().any(|known| known.name == pass) {
            let names: Vec<_> = std::iter::once(LOWERED).chain(PASSES.iter().map(|pass| pass.name)).collect();
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
            // A pass that does not run by default runs on the program as lowered.
            pipeline::run(&mut program, &[pass], options, |_, _, _| {});
        }
        output::print(&wireloom_ir::print(&program));
        Ok(())
    }
}
