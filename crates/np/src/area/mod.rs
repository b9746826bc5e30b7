//! Estimates the cost of a design before placement: synthesises each distinct module with Yosys,
//! and multiplies the costs up the hierarchy.
//!
//! The units are the generated modules (engine, cluster, pipe, services, top); templates are
//! flattened into them. A unit is synthesised once, with the units inside it as black boxes, so
//! that a processor of 96 engines takes the synthesis time of one engine. Table contents are ports
//! and memories, never constants, so synthesis cannot optimise any part of them away.

mod fit;
mod netlist;
mod parts;
mod synthesis;
mod timing;

use std::collections::BTreeMap;
use std::ops::{AddAssign, Mul};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use fit::Overrun;
pub use netlist::{Resources, read};
pub use parts::{Part, parts};
pub use synthesis::{Cache, synthesise};
pub use timing::{Route, routes};

use crate::processor::Design;

/// A reason why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum AreaError {
    /// A tool is missing, or cannot be started.
    #[error("{0}")]
    Tool(String),
    /// A tool failed on the design.
    #[error("{}", failed(tool, module, why, log.as_deref()))]
    Failed {
        /// `Yosys` or `nextpnr`.
        tool: &'static str,
        module: String,
        /// The line of the tool's output that states the reason.
        why: String,
        /// The file with the whole command and its output, or `None` if it could not be written.
        log: Option<PathBuf>,
    },
    /// A file cannot be read or written.
    #[error("{place}: {error}")]
    File { place: String, error: std::io::Error },
    /// The output of a tool cannot be read.
    #[error("the netlist of {module} cannot be read: {message}")]
    Netlist { module: String, message: String },
}

/// Formats the error of a tool that fails on a module which a working tool accepts.
fn failed(tool: &str, module: &str, why: &str, log: Option<&Path>) -> String {
    let log = log.map(|log| format!("; its command and messages are in {}", log.display()));
    format!(
        "{tool} failed on module {module}: {why}{}. `wireloom tools --fetch hardware` installs the \
         version that Wireloom is tested with",
        log.unwrap_or_default()
    )
}

/// The device resources that a module uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// All six-input LUTs: those for logic, and those used as memory or shift registers. Two small
    /// functions that could share one LUT count as two, so a vendor's tool needs fewer LUTs.
    pub luts: u64,
    /// LUTs used as memory or shift registers.
    pub lut_rams: u64,
    pub flip_flops: u64,
    /// Block RAMs of 18 Kb.
    pub block_rams_18k: u64,
    /// DSP blocks, each a multiplier of 18 by 25 bits.
    #[serde(default)]
    pub dsps: u64,
}

impl Cost {
    /// Returns the number of block RAMs of 36 Kb, rounded up.
    pub fn block_rams(&self) -> u64 {
        self.block_rams_18k.div_ceil(2)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.luts += other.luts;
        self.lut_rams += other.lut_rams;
        self.flip_flops += other.flip_flops;
        self.block_rams_18k += other.block_rams_18k;
        self.dsps += other.dsps;
    }
}

impl Mul<u64> for Cost {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self {
            luts: self.luts * times,
            lut_rams: self.lut_rams * times,
            flip_flops: self.flip_flops * times,
            block_rams_18k: self.block_rams_18k * times,
            dsps: self.dsps * times,
        }
    }
}

/// A unit of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Unit {
    pub module: String,
    /// Number of instances in the whole design.
    pub count: u64,
    /// Cost of one instance without the units inside it.
    pub own: Cost,
    /// Cost of one instance with the units inside it.
    pub whole: Cost,
    /// Levels of LUTs between two registers, or between a register and the unit's boundary.
    pub levels: u32,
    /// The longest path, as the names of the nets on it.
    pub path: Vec<String>,
}

/// The cost of a design on a family of devices.
#[derive(Clone, Debug, Serialize)]
pub struct AreaEstimate {
    /// `xc5v`, `xc6v` or `xc7`.
    pub family: &'static str,
    /// The units, starting with the top module.
    pub units: Vec<Unit>,
    /// The cost of the whole design.
    pub total: Cost,
}

/// The identifier and name of each device family for which designs can be estimated.
pub const FAMILIES: [(&str, &str); 3] =
    [("xc5v", "Virtex-5"), ("xc6v", "Virtex-6"), ("xc7", "Virtex-7")];

/// Estimates the cost of a design. Calls `progress` for each unit before its synthesis.
///
/// # Errors
/// If a tool is missing or refuses the design.
pub fn estimate(
    design: &Design,
    family: &'static str,
    cache: &Cache,
    mut progress: impl FnMut(&str),
) -> Result<AreaEstimate, AreaError> {
    let mut own = BTreeMap::new();
    for unit in &design.units {
        progress(&unit.name);
        own.insert(unit.name.as_str(), synthesise(design, &unit.name, family, cache)?);
    }
    Ok(report(design, family, &own))
}

/// Returns the estimate of a design if all its units have been synthesised before. Synthesises
/// nothing.
pub fn remembered(design: &Design, family: &'static str, cache: &Cache) -> Option<AreaEstimate> {
    let own = design.units.iter().map(|unit| {
        let resources = synthesis::remembered(design, &unit.name, family, cache)?;
        Some((unit.name.as_str(), resources))
    });
    Some(report(design, family, &own.collect::<Option<_>>()?))
}

/// Computes the report from the resources of each unit without the units inside it.
fn report(design: &Design, family: &'static str, own: &BTreeMap<&str, Resources>) -> AreaEstimate {
    // Each unit comes after the units that it contains.
    let mut whole: BTreeMap<&str, Cost> = BTreeMap::new();
    for unit in &design.units {
        let mut cost = own[unit.name.as_str()].cost;
        for (child, count) in &unit.instances {
            cost += whole[child.as_str()] * *count as u64;
        }
        whole.insert(&unit.name, cost);
    }
    let counts = design.counts();
    let units = design.units.iter().rev().map(|unit| {
        let resources = &own[unit.name.as_str()];
        Unit {
            module: unit.name.clone(),
            count: counts[unit.name.as_str()],
            own: resources.cost,
            whole: whole[unit.name.as_str()],
            levels: resources.levels,
            path: resources.path.clone(),
        }
    });
    AreaEstimate { family, units: units.collect(), total: whole[design.top.as_str()] }
}
