//! The folder of a chip. Like the folder of a processor, it is self-contained.

use std::fmt::Write as _;

use serde::Serialize;
use wireloom_machine::Files;

use super::{Chip, LONGEST, lane, top};
use crate::processor::contents::Contents;
use crate::processor::folder::{Sources, test_bench, wrapped};
use crate::processor::fusesoc::core_name;
use crate::processor::image::Image;
use crate::processor::memory_map::{self, MemoryMap, Target, memory_map, registers};
use crate::processor::plan::CONTROL_PATIENCE;
use crate::processor::testbench::{self, Stimulus};

/// A block of control registers in the memory map.
#[derive(Debug, Serialize)]
struct Block {
    /// Bits 23:16 of the block's addresses.
    block: usize,
    /// The byte address to which the addresses of the block's registers are added.
    base: usize,
    /// The owner of the block: `chip`, or the label of a processor.
    of: String,
    #[serde(flatten)]
    map: MemoryMap,
}

impl Block {
    fn new(block: usize, of: &str, map: MemoryMap) -> Self {
        Self { block, base: block << 16, of: of.to_owned(), map }
    }
}

/// Returns all blocks that the control plane of a chip can access.
fn blocks(chip: &Chip) -> Vec<Block> {
    let routers: usize = chip.lanes.iter().map(|members| lane::routers(members).count()).sum();
    let lanes = 0..chip.lanes.len();
    let lost = (0..routers).map(|router| format!("packets lost by router {router}"));
    let unknown = lanes.clone().map(|lane| format!("packets of no router on lane {lane}"));
    let cut = lanes.map(|lane| format!("packets cut on lane {lane}"));
    let own = Target {
        number: 0,
        offload: String::new(),
        place: top::TOP.into(),
        contents: Contents::statistics(lost.chain(unknown).chain(cut).collect()),
    };
    let own = MemoryMap {
        registers: registers(top::CONTROL_BITS),
        timeout_cycles: CONTROL_PATIENCE,
        targets: vec![own],
        reasons: Vec::new(),
    };
    let members = chip.members().enumerate().map(|(number, member)| {
        let label = member.processor.plan.label.trim_end_matches('_');
        Block::new(number + 1, label, memory_map(&member.processor.plan))
    });
    std::iter::once(Block::new(0, "chip", own)).chain(members).collect()
}

/// Returns the files of a chip with the contents of its tables and a test bench. `names` are the
/// names of the routers, by number; `estimate` is the cost.
pub fn files(
    chip: &Chip,
    names: &[&str],
    images: &[Image],
    stimulus: Stimulus,
    estimate: &str,
) -> Files {
    let clock =
        chip.members().next().map_or(0, |member| member.processor.plan.machine.clock.core_mhz);
    let sources = Sources {
        design: &chip.design,
        simulation: &chip.simulation,
        simulation_top: top::SIMULATION,
        geometry: &chip.geometry,
        core_mhz: clock,
    };
    let map = serde_json::to_string_pretty(&blocks(chip)).expect("plain data");
    let bench = testbench::bench(&sources, images);
    let mut files = sources.files();
    files.push(("memory_map.json".into(), map + "\n"));
    files.extend(testbench::files(&sources, stimulus));
    files.extend(sources.lists(&core_name("virtual"), "virtual routers", Some(&bench)));
    files.push(("README.md".into(), wrapped(&readme(chip, names, estimate, clock))));
    files.extend(images.iter().map(|image| (image.path(), image.text.clone())));
    files
}

fn readme(chip: &Chip, names: &[&str], estimate: &str, clock: u32) -> String {
    let mut text = format!(
        "# {} virtual routers on one chip

Network processors in SystemVerilog, made by `wireloom np virtual`: {} processors on {} of {} bytes a cycle each at {clock} MHz. The top module
is `{top}` (rtl/{top}.sv); `{}` adds models of the memories.

    verilator --lint-only -Wall -f np.f --top-module {top}
    fusesoc --cores-root . run --target lint wireloom:np:virtual

A packet comes on its router's lane, with the router's number in the upper byte of its ingress port and the router's own port in the lower;
so it leaves. A lane takes a beat every cycle: what a router's queue has no room for is lost to that router alone (`lost_o`). Of packets
of more than {LONGEST} bytes the rest is cut off.

| router | name | lane | processor | its place there | beats a cycle |
|---|---|---|---|---|---|
",
        names.len(),
        chip.members().count(),
        match chip.lanes.len() {
            1 => "one lane".to_owned(),
            several => format!("{several} lanes"),
        },
        lane::BYTES,
        top::SIMULATION,
        top = top::TOP,
    );
    let mut rows = Vec::new();
    let mut number = 0;
    for (lane, members) in chip.lanes.iter().enumerate() {
        for member in members {
            for (place, router) in member.routers.iter().enumerate() {
                let name = names.get(usize::from(router.number)).copied().unwrap_or_default();
                rows.push((
                    router.number,
                    format!("| `{name}` | {lane} | {number} | {place} | {:.4} |", router.share),
                ));
            }
            number += 1;
        }
    }
    rows.sort();
    for (router, row) in rows {
        let _ = writeln!(text, "| {router} {row}");
    }
    text.push_str(
        "\n## Processors\n\n| processor | module | engine | machine | clusters, engines, threads |\n|---|---|---|---|---|\n",
    );
    for (number, member) in chip.members().enumerate() {
        let plan = &member.processor.plan;
        let machine = &plan.machine;
        let _ = writeln!(
            text,
            "| {number} | `{}` | `{}` | `{}` | {}, {}, {} |",
            plan.top_module(),
            plan.engine,
            machine.name,
            machine.clusters,
            machine.engines,
            machine.threads
        );
    }
    text += &test_bench(&core_name("virtual"));
    let _ = writeln!(
        text,
        "\n## Control\n\nAXI4-Lite, a block of 64 KiB each: bits 23:16 of an address are 0 for the chip, 1 + p for processor p. {}",
        memory_map::ACCESS
    );
    for Block { base, of, map, .. } in blocks(chip) {
        let _ = writeln!(
            text,
            "### `{of}`, from {base:#08x}\n\n{}\n{}\n{}",
            memory_map::timeout(&map),
            memory_map::register_table(&map.registers),
            memory_map::target_table(&map.targets)
        );
    }
    let _ = write!(
        text,
        "\n## Contents of the tables\n\nIn images/, for `$readmemh`: `+wl_image_NAME=images/NAME.hex` for each, as `make sim` has it.\n\n## Estimated cost\n\n{estimate}\n"
    );
    text
}
