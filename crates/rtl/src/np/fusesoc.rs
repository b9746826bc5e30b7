//! The description by which FuseSoC takes a folder in: a core file (CAPI 2), which is YAML.

use std::fmt::Write as _;

/// What FuseSoC knows a core of that name by. A name there has letters, digits and underscores; a machine's may be any file's.
pub(super) fn core_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("wireloom:np:{}", name.chars().map(legal).collect::<String>())
}

/// A core file: the design, to be taken in by others or read by a linter. Simulation is the folder's own (`make sim`).
pub(super) fn core(name: &str, about: &str, top: &str, files: impl Iterator<Item = String>) -> String {
    let files = files.fold(String::new(), |list, file| list + "      - " + &quoted(&file) + "\n");
    format!(
        "CAPI=2:
name: {}
description: {}
filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
targets:
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
",
        quoted(&format!("{name}:0.1.0")),
        quoted(about),
        quoted(top),
    )
}

/// A text as a double-quoted scalar of YAML 1.2 (section 7.3.1), in which every character can stand.
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
    use crate::machine::Machine;

    fn parsed(name: &str, about: &str) -> Yaml {
        let files = ["rtl/templates/wl_pkg.sv", "rtl/np_top.sv"].map(str::to_owned).into_iter();
        let text = core(name, about, "np_top", files);
        YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{error} in\n{text}")).remove(0)
    }

    #[test]
    fn every_description_is_yaml() {
        let machine = Machine::find("np").unwrap();
        for about in [machine.about.as_str(), "a: b # c", "\"d\" \\ {e}\n- f", "größer \u{7f}\u{2028}", ""]
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
        let targets: Vec<_> = core["targets"].as_hash().unwrap().keys().filter_map(Yaml::as_str).collect();
        assert_eq!(targets, ["default", "lint"], "simulation is `make sim`");
    }

    #[test]
    fn names_of_any_file_become_legal() {
        assert_eq!(core_name("router_np-2-2-4"), "wireloom:np:router_np_2_2_4");
        assert_eq!(core_name("router_a b:c.ö"), "wireloom:np:router_a_b_c__");
    }
}
