//! The folder that `wireloom build` writes. It is self-contained.

use std::fmt::Write as _;

use wireloom_machine::Files;

use super::image::Image;
use super::memory_map::{self, memory_map};
use super::testbench::{self, Stimulus};
use super::{Design, File, Processor, channels, copies, cost, fusesoc, integration};
use crate::simulation::Geometry;

/// The cost section of the README if no estimate was requested.
pub const NOT_ESTIMATED: &str =
    "LUTs, flip-flops and block RAMs are not estimated. The `wireloom build` command that made this
folder, given again with `--area`, synthesises what it has not synthesised before, which takes
minutes, and writes the estimate here.";

/// Returns the files of a processor with the contents of its tables. A stimulus adds a test bench;
/// `estimate` is the README section about the cost.
pub fn files(
    processor: &Processor,
    images: Vec<Image>,
    stimulus: Option<Stimulus>,
    estimate: &str,
) -> Files {
    let sources = Sources {
        design: &processor.design,
        simulation: &processor.simulation,
        simulation_top: processor.simulation_top(),
        geometry: &processor.geometry,
        core_mhz: processor.plan.machine.clock.core_mhz,
    };
    let map = serde_json::to_string_pretty(&memory_map(&processor.plan)).expect("plain data");
    let bench = stimulus.as_ref().map(|_| testbench::bench(&sources, &images));
    let about = &processor.plan.machine.about;
    let mut files = sources.files();
    files.push(("memory_map.json".into(), map + "\n"));
    let channels = channels(&processor.plan);
    if channels.channels > 0 {
        let json = serde_json::to_string_pretty(&channels).expect("plain data");
        files.push(("channels.json".into(), json + "\n"));
    }
    files.extend(sources.lists(&core_name(processor), about, bench.as_ref()));
    files.extend(stimulus.into_iter().flat_map(|stimulus| testbench::files(&sources, stimulus)));
    files.push(("README.md".into(), wrapped(&readme(processor, &images, estimate))));
    files.extend(images.into_iter().map(|image| (image.path(), image.text)));
    files
}

/// The source files of a folder.
pub(super) struct Sources<'a> {
    pub design: &'a Design,
    /// The files for simulation only.
    pub simulation: &'a [File],
    /// The top module of the simulation.
    pub simulation_top: &'a str,
    /// The shape of the top module's ports.
    pub geometry: &'a Geometry,
    /// The core clock in MHz.
    pub core_mhz: u32,
}

impl Sources<'_> {
    /// Returns the design files and the files for simulation only.
    pub fn files(&self) -> Files {
        let named = |folder: &'static str| {
            move |file: &File| (format!("{folder}/{}", file.name), file.text.clone())
        };
        let simulation = self.simulation.iter().map(named("sim"));
        self.design.files.iter().map(named("rtl")).chain(simulation).collect()
    }

    /// Returns a file list for Verilator, slang and vendors' tools, and a FuseSoC description with
    /// this name.
    pub fn lists(&self, name: &str, about: &str, bench: Option<&fusesoc::Bench>) -> Files {
        let list = self.rtl().fold(String::new(), |list, file| list + &file + "\n");
        let core = fusesoc::core(name, about, &self.design.top, self.rtl(), bench);
        vec![("np.f".into(), list), ("np.core".into(), core)]
    }

    fn rtl(&self) -> impl Iterator<Item = String> {
        self.design.files.iter().map(|file| format!("rtl/{}", file.name))
    }
}

/// The longest line of a README, in characters.
const COLUMNS: usize = 100;

/// Breaks the lines of Markdown prose and list items. Tables, headings and code keep their lines.
pub(super) fn wrapped(markdown: &str) -> String {
    let (mut out, mut column, mut in_fence) = (String::new(), 0, false);
    for line in markdown.lines() {
        in_fence ^= line.starts_with("```");
        let indent = if in_fence { 0 } else { marker(line) };
        let is_item = indent > 0;
        let is_prose =
            is_item || !in_fence && line.starts_with(|c: char| !"|#`>-* ".contains(c) || c == '`');
        if !is_prose || line.starts_with("```") {
            out += if column > 0 { "\n" } else { "" };
            out += &format!("{line}\n");
            column = 0;
            continue;
        }
        if is_item && column > 0 {
            out.push('\n');
            column = 0;
        }
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > COLUMNS {
                out.push('\n');
                column = indent.saturating_sub(1);
                out.extend(std::iter::repeat_n(' ', column));
            }
            if column > 0 {
                out.push(' ');
                column += 1;
            }
            out += word;
            column += length;
        }
        if is_item {
            out.push('\n');
            column = 0;
        }
    }
    out + if column > 0 { "\n" } else { "" }
}

/// Returns the width of a list item's marker (`- `, `1. `) in columns, or 0 if the line starts no
/// item.
fn marker(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if line.starts_with("- ") {
        2
    } else if digits > 0 && line[digits..].starts_with(". ") {
        digits + 2
    } else {
        0
    }
}

/// Returns the FuseSoC name of a processor.
fn core_name(processor: &Processor) -> String {
    fusesoc::core_name(&format!("{}_{}", processor.plan.engine, processor.plan.machine.name))
}

/// The README section about the rig.
const RIG: &str = "
## The rig

Packets come from the chip itself and what leaves is checked there. A write of 1 to entry 0 of target 0 behind `s_axil_rig_*` starts it, 0 stops
it; the entries of rtl/templates/wl_report.sv say what was sent and what came back. Block RAM stands in place of each QDR SRAM.
";

/// The README section about the test bench.
const TEST_BENCH: &str = "
## Test bench

    make sim                                    # build/plain/np_tb; needs Verilator 5.006 or later, make, and a C++17 compiler
    make sim IDLE=30 STALL=40                   # the input pauses, the output is not always taken
    make sim PACKETS=mine.txt EXPECTED=out.txt  # the notation stands in sim/main.cpp
    make sim WAVES=run.fst                      # with waves

It loads images/, offers the packets of sim/packets.txt on the AXI4-Stream ports and compares what leaves, and its order, with
sim/expected.txt, which the golden model wrote when the folder was built. It ends with PASS, or shows the first differences and FAIL. The same
from FuseSoC, whose np.core also brings the design into other projects, and lints it:

";

/// Returns the README section about the test bench of the core `core`.
pub(super) fn test_bench(core: &str) -> String {
    format!("{TEST_BENCH}    fusesoc --cores-root . run --target sim {core}\n")
}

/// The head of the README table of offloads.
const OFFLOADS: &str = "
## Offloads

| offload | realised as | copies |
|---|---|---|
";

fn readme(processor: &Processor, images: &[Image], estimate: &str) -> String {
    let plan = &processor.plan;
    let machine = &plan.machine;
    let mut text = format!(
        "# `{}` on `{}`

A network processor in SystemVerilog, made by `wireloom build`: {} clusters of {} engines of {} threads; {} lane{} of {} bytes a
cycle at {} MHz. The top module is `{top}` (rtl/{top}.sv); {simulation}.

    verilator --lint-only -Wall -f np.f --top-module {top}
    fusesoc --cores-root . run --target lint {}
",
        plan.engine,
        machine.name,
        machine.clusters,
        machine.engines,
        machine.threads,
        machine.lanes(),
        if machine.lanes() == 1 { "" } else { "s" },
        plan.data_bytes,
        machine.clock.core_mhz,
        core_name(processor),
        top = processor.design.top,
        simulation = if plan.rig {
            "it is the network processor `np_top` in an embedded test rig"
        } else {
            "`np_sim` adds models of the memories"
        },
    );
    if plan.rig {
        text.push_str(RIG);
    } else {
        text += &test_bench(&core_name(processor));
    }
    text.push_str(OFFLOADS);
    for service in &plan.services {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            service.offload,
            service.describe(),
            copies(plan, service)
        );
    }
    if !plan.channels.is_empty() {
        let channels = channels(plan);
        let _ = writeln!(
            text,
            "\n## Memory channels\n\nThe channels of each lane, in requests of one core cycle and bursts of two words:\n\n{}\n\
             {}. Pins are D, Q, the address, byte write selects, RPS#, WPS#, K, K#, CQ and CQ# of a part with bursts of two words. {}",
            channels.table(),
            channels.summary(),
            cost::outside(plan)
        );
    }
    let map = memory_map(&processor.plan);
    if !plan.rig {
        text += &integration::section(processor, &map);
    }
    text += &cost::section(processor, &map);
    let _ = write!(
        text,
        "\n## Control\n\nOver AXI4-Lite, `s_axil_*`. {}{}\n{}\n{}",
        memory_map::ACCESS,
        memory_map::timeout(&map),
        memory_map::register_table(&map.registers),
        memory_map::target_table(&map.targets)
    );
    if !images.is_empty() {
        text.push_str(
            "\n## Contents of the tables\n\nIn images/, for `$readmemh`; a simulation loads them with\n\n",
        );
        for image in images {
            let _ = writeln!(text, "    +wl_image_{}={}", image.name, image.path());
        }
    }
    let parameters = toml::to_string(machine).unwrap_or_default();
    let _ = write!(
        text,
        "\n## Parameters\n\n```toml\n{parameters}```\n\n## Estimated cost\n\n{estimate}\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_nothing_else() {
        let long = "word ".repeat(41);
        let item = format!("- {long}\n- short\n");
        assert!(super::wrapped(&item).lines().all(|line| line.len() <= COLUMNS));
        assert!(
            super::wrapped(&item).contains("\n  word")
                && super::wrapped(&item).ends_with("\n- short\n")
        );
        let steps = format!("1. {long}\n2. short\n");
        assert!(super::wrapped(&steps).contains("\n   word"));
        assert!(super::wrapped(&steps).ends_with("\n2. short\n"));
        let kept = format!("# {long}\n\n| {long}|\n    {long}\n```toml\n{long}\n```\n");
        let kept = kept.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
        let text = format!("{long}\nnext\n\n{kept}`code` {long}\n");
        let wrapped = wrapped(&text);
        assert!(wrapped.contains(&format!("\n\n{kept}")), "{wrapped}");
        let (prose, _) = wrapped.split_once("\n\n").expect("two parts");
        assert!(prose.lines().all(|line| line.len() <= COLUMNS) && prose.lines().count() == 3);
        assert!(prose.ends_with("word next"), "{prose}");
        assert!(wrapped.lines().last().is_some_and(|line| line.len() <= COLUMNS));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&wrapped), words(&text));
    }
}
