//! Tests of the folder that a processor is built into. `filetests` compares sections of its README.

use wireloom_machine::Files;
use wireloom_np::description::NpSpec;
use wireloom_np::processor::{self, NOT_ESTIMATED, Stimulus};

/// A program with tables of every kind of memory, arrival times, and reasons.
const SOURCE: &str = include_str!("../filetests/lanes.loom");

/// Returns the folder of a machine, for a program in the file `path`.
pub fn folder(machine: &str, path: &str, source: &str) -> Files {
    let checked = wireloom_lang::check_source(path, source, &wireloom_lang::Options::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let machine = NpSpec::parse("mine", machine).unwrap_or_else(|error| panic!("{error}"));
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    processor::files(&processor, Vec::new(), Some(Stimulus::default()), NOT_ESTIMATED)
}

const LANES: &str = include_str!("../filetests/lanes.toml");

const PIPELINE: &str = "extends = \"np-pipeline\"";

/// A program with only forward jumps, whose calls take a constant time.
const SOURCE_OF_PIPELINE: &str = "
header Head { u32 dst; u16 label; };
engine demo() {
    offload marks : array<u16, size = 1024>;
    Head head @ 0;
    step first { head.label = marks.read(head.label); next second; }
    step second { if (head.label == 0) done; packet.egress = head.label; finish; }
}
";

#[test]
fn a_folder_does_not_depend_on_where_the_program_lies() {
    for machine in [LANES, PIPELINE] {
        let [here, there] = ["demo.loom", "/home/someone/programs/demo.loom"]
            .map(|path| folder(machine, path, SOURCE_OF_PIPELINE));
        assert!(here.iter().any(|(_, text)| text.contains("demo.loom:")), "comments name lines");
        assert!(here == there, "files differ");
    }
}

#[test]
fn a_driver_waits_for_the_longest_pause_of_a_table() {
    let folder_of = |size: &str| {
        let source = SOURCE.replace("size = 100", size);
        folder(LANES, "demo.loom", &source)
    };
    // Clearing takes a cycle for each chain. All entries that age may expire at the same time.
    for (size, pause) in [("size = 131_072", 131_072), ("size = 131_072, age = 5", 16 * 131_072)] {
        let files = folder_of(size);
        let text = |name: &str| {
            &files.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let timeout = 65_536 + pause;
        assert!(text("memory_map.json").contains(&format!("\"timeout_cycles\": {timeout},")));
        assert!(text("rtl/np_top.sv").contains(&format!(".Timeout({timeout})")), "{size}");
        let clears = "-DWL_CLEARING=131072 ";
        let pauses = format!("-DWL_LONGEST_PAUSE={pause} ");
        assert!(text("Makefile").contains(clears) && text("Makefile").contains(&pauses), "{size}");
    }
}
