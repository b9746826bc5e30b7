//! The FuseSoC description of a folder: a core file (CAPI 2), which is YAML.

use std::fmt::Write as _;

/// Returns the FuseSoC name of a core. FuseSoC names consist of letters, digits and underscores,
/// while a machine name can be any file name.
pub(super) fn core_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("wireloom:np:{}", name.chars().map(legal).collect::<String>())
}

/// The parts that a simulation adds to a design.
pub(super) struct Bench {
    pub top: String,
    /// SystemVerilog files for simulation only.
    pub models: Vec<String>,
    /// C++ files to compile.
    pub programs: Vec<String>,
    /// C++ headers that those files include.
    pub headers: Vec<String>,
    /// The data files that the simulation reads, by name.
    pub data: Vec<String>,
    /// Options for Verilator, for `make`, which compiles Verilator's output, and for the
    /// simulation.
    pub options: [Vec<String>; 3],
}

/// Returns a core file: the design, which other cores can include or a linter can read, and its
/// simulation if there is a test bench.
pub(super) fn core(
    name: &str,
    about: &str,
    top: &str,
    files: impl Iterator<Item = String>,
    bench: Option<&Bench>,
) -> String {
    let files = files.fold(String::new(), |list, file| list + "      - " + &quoted(&file) + "\n");
    let (bench_files, bench_target) =
        bench.map(|bench| (fileset(bench), target(bench))).unwrap_or_default();
    format!(
        "CAPI=2:
name: {}
description: {}
filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
{bench_files}targets:
  default: &default
    filesets: [rtl]
    toplevel: {}
  lint:
    <<: *default
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
{bench_target}",
        quoted(&format!("{name}:0.1.0")),
        quoted(about),
        quoted(top),
    )
}

/// Returns the file set of a simulation.
fn fileset(bench: &Bench) -> String {
    let mut text = String::from("  bench:\n    files:\n");
    let mut list = |files: &[String], about: &dyn Fn(&str) -> String| {
        for file in files {
            let _ = writeln!(text, "      - {}: {{{}}}", quoted(file), about(file));
        }
    };
    list(&bench.models, &|_| "file_type: systemVerilogSource".to_owned());
    list(&bench.headers, &|_| "file_type: cppSource, is_include_file: true".to_owned());
    list(&bench.programs, &|_| "file_type: cppSource".to_owned());
    list(&bench.data, &|file| format!("file_type: user, copyto: {}", quoted(file)));
    text
}

/// Returns the simulation target.
fn target(bench: &Bench) -> String {
    let [verilator, make, run] = &bench.options;
    let list = |options: &[String]| {
        options.iter().map(|option| quoted(option)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "  sim:
    filesets: [rtl, bench]
    toplevel: {}
    default_tool: verilator
    tools:
      verilator:
        mode: cc
        verilator_options: [{}]
        make_options: [{}]
        run_options: [{}]
",
        quoted(&bench.top),
        list(verilator),
        list(make),
        list(run),
    )
}

/// Returns a text as a double-quoted scalar of YAML 1.2 (section 7.3.1), which can represent every
/// character.
fn quoted(text: &str) -> String {
    let mut scalar = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => scalar.extend(['\\', c]),
            ' '..='~' => scalar.push(c),
            _ if c.is_alphanumeric() => scalar.push(c),
            _ => {
                let _ = write!(scalar, "\\U{:08x}", u32::from(c));
            }
        }
    }
    scalar + "\""
}

#[cfg(test)]
mod tests {
    use yaml_rust2::{Yaml, YamlLoader};

    use super::*;
    use crate::description::NpSpec;

    fn parsed(name: &str, about: &str) -> Yaml {
        let files = ["rtl/templates/wl_pkg.sv", "rtl/np_top.sv"].map(str::to_owned).into_iter();
        yaml(&core(name, about, "np_top", files, None))
    }

    fn yaml(text: &str) -> Yaml {
        YamlLoader::load_from_str(text)
            .unwrap_or_else(|error| panic!("{error} in\n{text}"))
            .remove(0)
    }

    #[test]
    fn every_description_is_yaml() {
        let machine = NpSpec::find("np").unwrap();
        for about in
            [machine.about.as_str(), "a: b # c", "\"d\" \\ {e}\n- f", "größer \u{7f}\u{2028}", ""]
        {
            assert_eq!(parsed("wireloom:np:router", about)["description"].as_str(), Some(about));
        }
    }

    #[test]
    fn the_design_can_be_taken_in_and_read_by_a_linter() {
        let core = parsed("wireloom:np:router", "x");
        assert_eq!(core["name"].as_str(), Some("wireloom:np:router:0.1.0"));
        assert_eq!(core["filesets"]["rtl"]["files"][1].as_str(), Some("rtl/np_top.sv"));
        assert_eq!(core["targets"]["default"]["toplevel"].as_str(), Some("np_top"));
        let targets: Vec<_> =
            core["targets"].as_hash().unwrap().keys().filter_map(Yaml::as_str).collect();
        assert_eq!(targets, ["default", "lint"], "without a test bench there is no simulation");
    }

    #[test]
    fn a_test_bench_can_be_run() {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let bench = Bench {
            top: "np_sim".into(),
            models: list(&["sim/np_sim.sv"]),
            programs: list(&["sim/main.cpp"]),
            headers: list(&["sim/lanes.h"]),
            data: list(&["images/a: b.hex"]),
            options: [
                list(&["-CFLAGS", "-DWL_LANES=2"]),
                list(&["OPT_FAST=-O1"]),
                list(&["+a=images/a: b.hex"]),
            ],
        };
        let files = ["rtl/np_top.sv"].map(str::to_owned).into_iter();
        let core = yaml(&core("wireloom:np:router", "x", "np_top", files, Some(&bench)));
        let file =
            |number: usize, name: &str| core["filesets"]["bench"]["files"][number][name].clone();
        assert_eq!(file(0, "sim/np_sim.sv")["file_type"].as_str(), Some("systemVerilogSource"));
        assert_eq!(file(1, "sim/lanes.h")["is_include_file"].as_bool(), Some(true));
        assert!(file(2, "sim/main.cpp")["is_include_file"].is_badvalue(), "it is compiled");
        assert_eq!(file(3, "images/a: b.hex")["copyto"].as_str(), Some("images/a: b.hex"));
        let target = &core["targets"]["sim"];
        assert_eq!(target["toplevel"].as_str(), Some("np_sim"));
        assert_eq!(target["filesets"][1].as_str(), Some("bench"));
        let tool = &target["tools"][target["default_tool"].as_str().unwrap()];
        assert_eq!(tool["verilator_options"][1].as_str(), Some("-DWL_LANES=2"));
        assert_eq!(tool["make_options"][0].as_str(), Some("OPT_FAST=-O1"));
        assert_eq!(tool["run_options"][0].as_str(), Some("+a=images/a: b.hex"));
        assert_eq!(core["targets"]["default"]["filesets"][0].as_str(), Some("rtl"));
        assert_eq!(core["filesets"]["rtl"]["files"].as_vec().map(Vec::len), Some(1));
    }

    #[test]
    fn names_of_any_file_become_legal() {
        assert_eq!(core_name("router_np-2-2-4"), "wireloom:np:router_np_2_2_4");
        assert_eq!(core_name("router_a b:c.ö"), "wireloom:np:router_a_b_c__");
    }
}
