//! Tests the pages of docs/hardware/modules. Each template has one, drawn and written from its
//! source so that it is always correct.
//!
//! The test compares the pages with the sources. `make pages` writes them again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod markdown;
mod module;
mod symbol;

use module::Module;

/// If this variable is set, the test writes the pages instead of comparing them.
const WRITE: &str = "WIRELOOM_WRITE_PAGES";
/// The folders of templates, and the page of docs/hardware that describes each folder as a whole.
const FOLDERS: [(&str, &str); 5] =
    [("engine", "engine"), ("flow", "flow"), ("memory", "memory"), ("np", "np"), ("rig", "rig")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

/// Returns the files of a folder whose names have this ending, sorted by name.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(end));
    files.sort();
    files
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the expected pages and drawings: their paths from the root of the repository, and their
/// contents.
fn expected(root: &Path) -> Vec<(String, String)> {
    let hardware = root.join("hardware");
    let named = |folder: &str, end: &str| -> Vec<(String, String)> {
        let files = files(&hardware.join(folder), end);
        files
            .iter()
            .map(|path| (format!("hardware/{folder}/{}", name(path, ".sv")), text(path)))
            .collect()
    };
    let checks: Vec<_> =
        named("tests", "_tb.sv").into_iter().chain(named("formal", "_proof.sv")).collect();
    let mut made = Vec::new();
    let mut modules = Vec::new();
    for (folder, page) in FOLDERS {
        for path in files(&hardware.join(folder), ".sv") {
            let module = Module::parse(&name(&path, ".sv"), &text(&path));
            modules.push((folder, page, module));
        }
    }
    for (folder, page, module) in &modules {
        let users = modules.iter().filter(|(_, _, other)| other.inside.contains(&module.name));
        let users: Vec<&str> = users.map(|(_, _, other)| other.name.as_str()).collect();
        let checked: Vec<&str> = checks
            .iter()
            .filter(|(_, text)| module::names(text).contains(module.name.as_str()))
            .map(|(path, _)| path.as_str())
            .collect();
        let about = markdown::About { folder, page, users: &users, checked: &checked };
        made.push((
            format!("docs/hardware/modules/{}.md", module.name),
            markdown::page(module, &about),
        ));
        made.push((
            format!("docs/images/hardware/modules/{}.svg", module.name),
            symbol::draw(module),
        ));
    }
    let list: Vec<(&str, &Module)> =
        modules.iter().map(|(folder, _, module)| (*folder, module)).collect();
    made.push(("docs/hardware/modules/README.md".to_owned(), markdown::list(&list)));
    made
}

fn name(path: &Path, end: &str) -> String {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    name.strip_suffix(end).unwrap_or(&name).to_owned()
}

#[test]
fn each_template_has_its_page_and_drawing() {
    let root = root();
    let expected = expected(&root);
    let folders = [root.join("docs/hardware/modules"), root.join("docs/images/hardware/modules")];
    if std::env::var_os(WRITE).is_some() {
        for folder in &folders {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).expect("the folder can be made");
        }
        for (path, content) in &expected {
            fs::write(root.join(path), content).expect("it can be written");
        }
        return;
    }
    let known: BTreeSet<PathBuf> = expected.iter().map(|(path, _)| root.join(path)).collect();
    let stale: Vec<&str> = expected
        .iter()
        .filter(|(path, content)| {
            fs::read_to_string(root.join(path)).ok().as_ref() != Some(content)
        })
        .map(|(path, _)| path.as_str())
        .collect();
    assert!(stale.is_empty(), "not as the sources say: {stale:#?}; `make pages` writes them");
    let left: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| files(folder, ""))
        .filter(|path| !known.contains(path))
        .collect();
    assert!(left.is_empty(), "of no template: {left:#?}; `make pages` removes them");
}

/// The generator instantiates either shell of an engine in the same way.
#[test]
fn both_shells_of_engines_have_the_same_parameters_and_ports() {
    let shell = |name: &str| {
        let path = root().join(format!("hardware/engine/{name}.sv"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let module = Module::parse(name, &text);
        let ports = module.ports.into_iter().flat_map(|group| {
            let ports: Vec<_> = group
                .ports
                .into_iter()
                .map(|port| (port.name, port.is_input, port.width, group.about.clone()))
                .collect();
            ports
        });
        let parameters: Vec<String> = module.parameters.into_iter().map(|p| p.name).collect();
        (parameters, ports.collect::<Vec<_>>())
    };
    let (one, many) = (shell("wl_engine_fsm"), shell("wl_engine_mt"));
    assert_eq!(one, many);
    assert!(one.0.len() > 15 && one.1.len() > 40, "{} {}", one.0.len(), one.1.len());
}

#[test]
fn a_module_is_understood() {
    let module = Module::parse(
        "wl_both",
        "// Does both.
//
// Contract
//   Data: all of it,
//   whole.
//   Order: kept.
// Timing: short.
//
// Parameters
//   Width   bits
//           of a word
module wl_both #(
    parameter int unsigned Width = 8,
    localparam int unsigned Twice = 2 * Width
) (
    input logic clk_i,

    // Words.
    input  logic [Width-1:0] data_i,  // one
    output logic [Twice-1:0] both_o
);
  if (Width < 1) begin : g_illegal
    $fatal(1, \"wl_both: Width must be 1\");
  end
  wl_skid #(
      .Width(Width)
  ) i_skid (
  );
  same_A : assert property (1);
endmodule
",
    );
    assert_eq!(module.inside, ["wl_skid"]);
    assert_eq!(module.refusals, ["Width must be 1"]);
    assert_eq!(module.assertions, ["same_A"]);
    assert_eq!(module.parameters[0].meaning, "bits of a word");
    assert_eq!(module.ports.len(), 2);
    assert_eq!(module.ports[1].about, ["Words."]);
    assert_eq!(module.ports[1].ports[0].width, "Width");
    insta::assert_snapshot!(markdown::page(
        &module,
        &markdown::About {
            folder: "flow",
            page: "flow",
            users: &["wl_more"],
            checked: &["hardware/tests/wl_both_tb"]
        }
    ));
    insta::assert_snapshot!(symbol::draw(&module));
}
