//! The resources of a processor that are known before synthesis: the number of instances of each
//! module, the stages of the engine, and the contents of memories.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::memory_map::{MemoryMap, Target};
use super::pipe::BODY_BEATS;
use super::plan::{Channel, Plan};
use super::{Processor, cluster};
use crate::description::Storage;
use wireloom_machine::thousands;

/// Rows of 16 bytes in an engine's header window (`wl_pkg`: `WindowBytes`, `WordBytes`).
const THREAD_ROWS: usize = 16;
/// Bits in such a row.
const ROW_BITS: usize = 128;

/// An on-chip memory.
struct Memory {
    what: String,
    words: u64,
    bits: u64,
    copies: u64,
}

impl Memory {
    fn new(what: impl Into<String>, words: usize, bits: usize, copies: usize) -> Self {
        Self { what: what.into(), words: words as u64, bits: bits as u64, copies: copies as u64 }
    }

    fn all(&self) -> u64 {
        self.words * self.bits * self.copies
    }
}

/// Returns the README section about the resources.
pub(super) fn section(processor: &Processor, map: &MemoryMap) -> String {
    let Processor { plan, design, engine, .. } = processor;
    let mut text = String::from("\n## What it is made of\n\n| module | how many |\n|---|---|\n");
    let counts = design.counts();
    for unit in design.units.iter().rev() {
        let _ = writeln!(text, "| `{}` | {} |", unit.name, counts[unit.name.as_str()]);
    }
    let core = &engine.core;
    let _ = writeln!(
        text,
        "\nThe engine has {} steps; its core has {} register stages, with at most {} levels of LUTs between two of them by the compiler's model.\n\
         `wireloom explain` counts the slots that a packet takes.\n\n\
         | memory on the chip | words | of bits | how many | Kbit in all |\n|---|---|---|---|---|",
        core.steps.len(),
        core.core_stages,
        core.depth.0.max(core.depth.1),
    );
    let memories = memories(plan, map);
    for memory in &memories {
        let Memory { what, words, bits, copies } = memory;
        let _ =
            writeln!(text, "| {what} | {words} | {bits} | {copies} | {} |", kilobits(memory.all()));
    }
    let _ = writeln!(
        text,
        "| **all** | | | | **{}** |\n\n\
         This is what they hold. Tags of caches, links of chains, and what is stored twice because it is read in two places come on top: synthesis\n\
         counts them (`--area`).",
        kilobits(memories.iter().map(Memory::all).sum())
    );
    text
}

/// Returns the largest on-chip tables in decreasing order, each with its size in all copies. A
/// table is large if it takes a twentieth of all tables or more.
pub fn largest_tables(processor: &Processor) -> Vec<String> {
    let plan = &processor.plan;
    let mut tables = tables(plan, &super::memory_map(plan));
    let all: u64 = tables.iter().map(Memory::all).sum();
    tables.retain(|table| 20 * table.all() >= all);
    tables.sort_by_key(|table| std::cmp::Reverse(table.all()));
    tables
        .iter()
        .map(|table| format!("{} ({} Kbit)", table.what, thousands(kilobits(table.all()))))
        .collect()
}

/// Returns a summary of the external memories of all channels: the number of parts and their size.
pub(super) fn outside(plan: &Plan) -> String {
    let bits = |channel: &Channel| (channel.words * channel.word_bits) as u64;
    let lanes = plan.machine.lanes();
    let all = lanes as u64 * plan.channels.iter().map(bits).sum::<u64>();
    format!("In all {} parts, {} Mbit.", lanes * plan.channels.len(), kilobits(all).div_ceil(1024))
}

/// Returns the on-chip memories, without registers and small queues.
fn memories(plan: &Plan, map: &MemoryMap) -> Vec<Memory> {
    let machine = &plan.machine;
    let mut memories = Vec::new();
    if !plan.is_pipelined() {
        let place = match machine.engine.storage {
            Storage::Lut => "LUT RAM",
            Storage::BlockWindows | Storage::Block => "block RAM",
        };
        let engines = machine.clusters * machine.engines;
        memories.push(Memory::new(
            format!("header windows of an engine, in {place}"),
            machine.threads * THREAD_ROWS,
            ROW_BITS,
            engines,
        ));
        memories.push(Memory::new(
            "headers that wait for their turn, of a cluster",
            plan.cluster_tags() * cluster::WINDOW_ROWS as usize,
            ROW_BITS,
            machine.clusters,
        ));
    }
    memories.push(Memory::new(
        "bodies, of a pipe",
        BODY_BEATS,
        8 * plan.data_bytes,
        machine.lanes(),
    ));
    memories.extend(tables(plan, map));
    memories
}

/// Returns the on-chip contents of the control targets, with the number of copies, in the order in
/// which they first appear.
fn tables(plan: &Plan, map: &MemoryMap) -> Vec<Memory> {
    let mut tables: Vec<Memory> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for target in &map.targets {
        let contents = &target.contents;
        if is_outside(plan, target) {
            continue;
        }
        let what = match target.offload.as_str() {
            "" => contents.holds.clone(),
            offload => format!("`{offload}`: {}", contents.holds),
        };
        let place = *places.entry(what.clone()).or_insert_with(|| {
            tables.push(Memory::new(what, contents.addresses as usize, contents.bits as usize, 0));
            tables.len() - 1
        });
        tables[place].copies += 1;
    }
    tables
}

/// Returns whether the entries of a target lie in a memory outside the chip.
fn is_outside(plan: &Plan, target: &Target) -> bool {
    let service = plan.services.iter().find(|service| service.offload == target.offload);
    service.is_some_and(|service| service.rule.realisation.is_outside(&target.contents))
}

/// Converts bits to kilobits, rounded up.
fn kilobits(bits: u64) -> u64 {
    bits.div_ceil(1024)
}
