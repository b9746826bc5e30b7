//! The style of the SystemVerilog that people read: the hand-written files of hardware/, and the
//! generated files for each machine of machines/.

use std::path::Path;

use wireloom_np::description::{NpSpec, Reset};
use wireloom_np::processor;

use super::{hardware, machines, repository};

/// The longest line.
const COLUMNS: usize = 100;

/// Modules in which some registers sample the reset at the clock edge, whichever reset is selected.
/// Three modules record which packets the reset cuts off, so the reset value of those registers is
/// no constant. The fourth sends the words of a whole core cycle.
const SAMPLE_RESET: [&str; 4] =
    ["wl_rate_adapter", "wl_sequencer", "wl_upsizer", "wl_virtual_ingress"];

/// Returns name and text of each hand-written file.
fn written() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![hardware()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("hardware/ can be read") {
            let path = entry.expect("an entry of hardware/").path();
            let name = path.display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if [".sv", ".svh", ".v"].iter().any(|end| name.ends_with(end)) {
                let text = std::fs::read_to_string(&path).expect("a text");
                files.push((name, text));
            }
        }
    }
    files
}

/// Returns name and text of each SystemVerilog file of a machine with this program.
fn generated(machine: &NpSpec, program: &str) -> Vec<(String, String)> {
    let path = repository().join("programs").join(program);
    let source = std::fs::read_to_string(&path).expect("a program");
    let name = path.display().to_string();
    let checked = wireloom_lang::check_source(&name, &source, &Default::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, machine).unwrap_or_else(|error| panic!("{error}"));
    let files = processor.design.files.iter().chain(&processor.simulation);
    files.map(|file| (format!("{}/{}", machine.name, file.name), file.text.clone())).collect()
}

/// Returns all generated files: the router on each machine, or a program for pipelines on pipelined
/// machines.
fn all_generated() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for name in machines() {
        let machine = NpSpec::find(&name).unwrap_or_else(|error| panic!("{error}"));
        let program = if name.contains("pipeline") { "figure2.loom" } else { "router.loom" };
        files.extend(generated(&machine, program));
    }
    files
}

/// Returns the lines that are too long, with their file.
fn long_lines(files: &[(String, String)]) -> Vec<String> {
    let long = |(name, text): &(String, String)| {
        let lines = text.lines().filter(|line| line.chars().count() > COLUMNS);
        lines.map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
    };
    files.iter().flat_map(long).collect()
}

/// Returns the names of instances in a text: the words between the parameter list and the port
/// list, and the words between a module's name and its port list, if ports are connected by name.
fn instances(text: &str) -> Vec<String> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = code.split_whitespace().collect();
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_module = |word: &str| ["wl_", "tb_"].iter().any(|start| word.starts_with(start));
    let mut found = Vec::new();
    for four in words.windows(4) {
        let [before, name, bracket, port] = four else { continue };
        let follows = *before == ")" || (is_module(before) && is_name(before));
        let has_ports = *bracket == "(" && (port.starts_with('.') || port.starts_with("/*"));
        if has_ports && follows && is_name(name) {
            found.push((*name).to_owned());
        }
    }
    found
}

/// Returns the instances whose names do not start with `i_`, with their file.
fn other_prefixes(files: &[(String, String)]) -> Vec<String> {
    let other = |(name, text): &(String, String)| {
        let names = instances(text).into_iter().filter(|instance| !instance.starts_with("i_"));
        names.map(|instance| format!("{name}: {instance}")).collect::<Vec<_>>()
    };
    files.iter().flat_map(other).collect()
}

#[test]
fn lines_of_templates_benches_and_proofs_have_at_most_100_columns() {
    assert_eq!(long_lines(&written()), Vec::<String>::new());
}

#[test]
fn lines_of_generated_modules_have_at_most_100_columns() {
    assert_eq!(long_lines(&all_generated()), Vec::<String>::new());
}

#[test]
fn names_of_instances_begin_with_one_prefix() {
    assert_eq!(other_prefixes(&written()), Vec::<String>::new());
    assert_eq!(other_prefixes(&all_generated()), Vec::<String>::new());
    let text = "wl_fifo u_one (.a(b));\nwl_fifo #(.W(1)) u_two (\n .a(c) );\nif (a) b <= (c);";
    assert_eq!(instances(text), ["u_one", "u_two"]);
}

#[test]
fn only_registers_with_a_reset_of_their_own_look_at_it() {
    for (name, text) in written() {
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let is_template = !["/tests/", "/formal/"].iter().any(|folder| name.contains(folder));
        if !is_template || stem == "wl_reset" || SAMPLE_RESET.contains(&stem) {
            continue;
        }
        // Assertions contain no registers of the design.
        let design = text.split("`ifdef FORMAL").map(|part| {
            part.split_once("`endif").filter(|_| !text.starts_with(part)).map_or(part, |(_, d)| d)
        });
        let design = design.collect::<String>();
        for block in design.split("always_ff @(").skip(1) {
            let (edges, body) = block.split_once(") begin").unwrap_or((block, ""));
            let mut lines = body.lines().map(str::trim_start);
            let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
            let first = first.unwrap_or_default();
            if edges.starts_with("`WL_EDGES") {
                assert!(first.starts_with("if (rst_i)"), "{name}: {block}");
            } else {
                let body = body.split("\n  end\n").next().unwrap_or_default();
                assert!(!body.contains("if (rst_i)"), "{name}: {body}");
            }
        }
    }
}

#[test]
fn the_reset_is_a_parameter_of_the_build() {
    let machine = |reset: &str| {
        let text = format!("extends = \"np\"\nclusters = 1\nengines = 1\nreset = \"{reset}\"\n");
        NpSpec::parse("mine", &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let [synchronous, asynchronous] = ["synchronous", "asynchronous"].map(machine);
    assert_eq!(synchronous.reset, Reset::Synchronous);
    let files = generated(&synchronous, "router.loom");
    assert!(files.iter().all(|(_, text)| !text.contains("posedge rst_i")));
    let other = generated(&asynchronous, "router.loom");
    for ((name, synchronous), (_, asynchronous)) in files.iter().zip(&other) {
        let plain = asynchronous.replace(" or posedge rst_i", "");
        assert!(plain.ends_with(synchronous), "{name} differs by more than the reset");
    }
    assert!(other.iter().filter(|(_, text)| text.contains("posedge rst_i")).count() > 20);
    let refused = NpSpec::parse("mine", "extends = \"np\"\nreset = \"none\"\n").unwrap_err();
    assert!(refused.to_string().contains("reset"), "{refused}");
}
