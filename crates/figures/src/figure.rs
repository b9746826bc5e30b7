//! Figures of the papers: tables of published numbers and ours.

use serde::Serialize;
use serde_json::Value;
use wireloom_np::description::NpSpec;

use super::Settings;
use super::store::Cost;
use super::table::PageTable;
use wireloom_machine::{Error, Result};

pub struct Figure {
    /// The name on the command line.
    pub name: &'static str,
    /// One sentence on the contents of the figure.
    pub what: &'static str,
    /// The values that `--on` accepts.
    pub choice: Choice,
    pub make: fn(&Settings) -> Result<Drawn>,
    /// The form in which docs/figures keeps the numbers.
    pub kept: Kept,
}

/// The form in which docs/figures keeps the numbers of a figure and pages show them.
pub struct Kept {
    /// The time that measuring them takes.
    pub cost: Cost,
    /// The measured program, with its constants where they are not the program's own.
    pub built: &'static str,
    /// Fields of the data that name the rows. Their contents are parts of the keys, in this order.
    pub names: &'static [&'static str],
    /// Fields of the data that are left out.
    pub skip: &'static [&'static str],
    /// Programs whose versions affect the numbers.
    pub tools: &'static [&'static str],
    /// Tables that pages can include.
    pub tables: &'static [PageTable],
}

/// The values that `--on` accepts for a benchmark.
pub enum Choice {
    /// `--on` is not accepted.
    None,
    /// Some of these machines or configurations.
    Some(fn() -> Vec<String>),
    /// Any network processor.
    Any,
    /// Any single network processor.
    AnyOne,
}

impl Choice {
    /// Refuses values that the benchmark `name` does not accept.
    ///
    /// # Errors
    /// If `--on` names a machine that the benchmark cannot measure.
    pub fn check(&self, name: &str, only: &[String]) -> Result {
        let Some(first) = only.first() else { return Ok(()) };
        match self {
            Self::None => Err(Error::new(format!(
                "{name} has no machine to choose: --on {first} changes nothing"
            ))
            .with_help("leave out --on")),
            Self::Some(all) => {
                let all = all();
                let Some(unknown) = only.iter().find(|wanted| !all.contains(wanted)) else {
                    return Ok(());
                };
                Err(Error::new(format!("{name} does not have '{unknown}'"))
                    .with_help(format!("--on takes one of {}", all.join(", "))))
            }
            Self::AnyOne if only.len() > 1 => Err(Error::new(format!(
                "{name} compares variants of one machine, and --on names {}",
                only.len()
            ))
            .with_help("give --on once")),
            Self::Any | Self::AnyOne => {
                only.iter().try_for_each(|name| NpSpec::find(name).map(|_| ()).map_err(Error::new))
            }
        }
    }
}

/// The result of making a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// Tables for people.
    #[serde(skip)]
    pub text: String,
    pub data: Value,
    /// The plot as SVG.
    #[serde(skip)]
    pub svg: String,
    /// Results that violate an invariant or miss a goal, one sentence each. All numbers are
    /// simulated or computed, and equal on every computer, except in the figures that
    /// [`publish::MEASURED`](super::publish::MEASURED) names.
    pub faults: Vec<String>,
}
