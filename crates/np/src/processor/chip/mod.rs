//! Processors of virtual routers on one chip. Each lane has an ingress that gives every router its
//! share, the processors, and an egress that merges their output onto the lane (docs/virtual.md).
//!
//! [`join`] combines [`Member`]s into a [`Chip`]: `virtual_top`, and `virtual_sim`, which adds
//! models of all memories. Each member has been assembled with its own label
//! ([`super::assemble_labelled`]).

mod folder;
mod lane;
mod top;

pub use folder::files;

use super::templates;
use super::{File, Processor, Unit};
use crate::processor::Design;
use crate::simulation::{Geometry, Routers, Source};
use wireloom_codegen_hardware::sv::Module;

/// Beats in the queue of a router before its processor: 32 KiB.
pub const QUEUE_BEATS: usize = 512;
/// Bytes of the longest packet that the ingress accepts. Further bytes are cut off.
pub const LONGEST: usize = 64 * MOST_BEATS;
/// Beats of the longest packet.
const MOST_BEATS: usize = 150;
/// Beats that an idle router may send to its processor in a burst.
const BURST: usize = 16;
/// The most packets inside a processor with several routers.
const INSIDE: usize = 1024;
/// Cycles over which the share of a router is counted.
const SHARE_CYCLES: f64 = 65536.0;

/// A virtual router on a chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Resident {
    /// The router's number on the chip, which is the upper byte of its port numbers.
    pub number: u8,
    /// Beats that the router may send per cycle: more than 0, at most 1.
    pub share: f64,
}

impl Resident {
    /// Returns the share as the ingress counts it, rounded up.
    fn beats(&self) -> u64 {
        (self.share * SHARE_CYCLES).ceil().clamp(1.0, SHARE_CYCLES) as u64
    }
}

/// A processor on a chip.
#[derive(Clone, Debug)]
pub struct Member {
    /// A processor with one lane and its own label.
    pub processor: Processor,
    /// The routers of the processor, in the order of their places.
    pub routers: Vec<Resident>,
}

/// The reason why processors cannot be joined, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the processors cannot stand on one chip: {0}")]
pub struct NotJoined(String);

/// A chip of virtual routers.
#[derive(Clone, Debug)]
pub struct Chip {
    /// The processors of each lane.
    pub lanes: Vec<Vec<Member>>,
    /// The sources, with `virtual_top` as the top module.
    pub design: Design,
    /// The units outside the processors: ingress, egress and control.
    pub shared_units: Vec<String>,
    /// The top module of the simulation, and other files that only the simulation needs.
    pub simulation: Vec<File>,
    /// The shape of the chip's ports.
    pub geometry: Geometry,
}

/// Joins the processors of each lane.
///
/// # Errors
/// If the routers are not numbered consecutively from 0, a processor has several lanes or a program
/// that reads the arrival time, or the clocks of the processors differ.
pub fn join(lanes: Vec<Vec<Member>>) -> Result<Chip, NotJoined> {
    let routers = check(&lanes)?;
    let mut modules: Vec<Module> = Vec::new();
    for (number, members) in lanes.iter().enumerate() {
        modules.push(lane::ingress(number, members));
        modules.push(lane::egress(number, members));
    }
    modules.push(top::control(&lanes));
    let shared_units: Vec<String> = modules.iter().map(|module| module.name.clone()).collect();
    modules.push(top::top(&lanes));
    let simulation = super::declared_first(top::simulation(&lanes));
    let unit =
        |name: &str, instances| Unit { name: name.to_owned(), parameters: Vec::new(), instances };
    let mut units: Vec<Unit> =
        members(&lanes).flat_map(|member| member.processor.design.units.clone()).collect();
    units.extend(shared_units.iter().map(|name| unit(name, Vec::new())));
    let inside = members(&lanes).map(|member| member.processor.design.top.clone());
    let inside = inside.chain(shared_units.iter().cloned()).map(|name| (name, 1)).collect();
    units.push(unit(top::TOP, inside));

    let of_processors = members(&lanes).flat_map(|member| &member.processor.design.files);
    let mut generated: Vec<File> =
        of_processors.filter(|file| file.unit.is_some()).cloned().collect();
    let own = modules.into_iter().map(super::declared_first);
    generated.extend(own.map(|module| File::generated(&module, &module.name)));
    let reset = lanes[0][0].processor.plan.machine.reset;
    let (files, simulation) = templates::complete(generated, &simulation, reset);
    let processors = members(&lanes).count();
    let geometry = Geometry {
        lanes: lanes.len(),
        ports: None,
        user_bits: lane::USER,
        arrival: false,
        memory_ratio: most(&lanes, |geometry| geometry.memory_ratio),
        probes: Vec::new(),
        routers: Some(Routers { lanes: routers, processors }),
        clearing: most(&lanes, |geometry| geometry.clearing),
        longest_pause: most(&lanes, |geometry| geometry.longest_pause),
    };
    let design = Design { top: top::TOP.into(), files, units };
    Ok(Chip { lanes, design, shared_units, simulation, geometry })
}

/// Returns all processors, lane by lane. Their positions are their numbers.
fn members(lanes: &[Vec<Member>]) -> impl Iterator<Item = &Member> {
    lanes.iter().flatten()
}

/// Returns the largest of a number over all processors.
fn most(lanes: &[Vec<Member>], number: impl Fn(&Geometry) -> usize) -> usize {
    members(lanes).map(|member| number(&member.processor.geometry)).max().unwrap_or(0)
}

/// Returns the lane of each router if the lanes are legal.
fn check(lanes: &[Vec<Member>]) -> Result<Vec<usize>, NotJoined> {
    let refuse = |why: String| Err(NotJoined(why));
    let Some(first) = members(lanes).next() else { return refuse("there are none".into()) };
    let (clock, reset) = (first.processor.plan.machine.clock, first.processor.plan.machine.reset);
    if lanes.iter().any(Vec::is_empty) {
        return refuse("a lane has no processor".into());
    }
    // The first block of control registers belongs to the chip.
    if members(lanes).count() > 255 {
        return refuse("there are more than 255".into());
    }
    let mut found: Vec<(u8, usize)> = Vec::new();
    for (number, members) in lanes.iter().enumerate() {
        for Member { processor, routers } in members {
            let machine = &processor.plan.machine;
            if machine.lanes() != 1 {
                return refuse(format!(
                    "machine {} has {} lanes, not one",
                    machine.name,
                    machine.lanes()
                ));
            }
            if machine.ports.are_narrow() {
                return refuse(format!("machine {} has narrow ports", machine.name));
            }
            if machine.reset != reset {
                return refuse(format!(
                    "machine {} has another reset than the first",
                    machine.name
                ));
            }
            if machine.clock != clock {
                return refuse(format!("machine {} has other clocks than the first", machine.name));
            }
            if processor.plan.user_bits != lane::USER {
                return refuse(format!("`{}` looks at the time of arrival", processor.plan.engine));
            }
            if routers.is_empty() {
                return refuse(format!("`{}` has no routers", processor.plan.engine));
            }
            found.extend(routers.iter().map(|router| (router.number, number)));
        }
    }
    found.sort_unstable();
    if found.iter().enumerate().any(|(place, (number, _))| place != usize::from(*number)) {
        return refuse("their routers are not numbered from 0 on, each once".into());
    }
    Ok(found.into_iter().map(|(_, lane)| lane).collect())
}

impl Chip {
    /// Returns the sources for Verilator.
    pub fn source(&self) -> Source {
        let files = self.design.files.iter().chain(&self.simulation).cloned().collect();
        let blocks =
            members(&self.lanes).flat_map(|member| member.processor.source().blocks).collect();
        let (top, geometry) = (top::SIMULATION.into(), self.geometry.clone());
        Source { files, top, blocks, geometry, followed: None }
    }

    /// Returns all processors. Their positions are their numbers.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        members(&self.lanes)
    }
}
