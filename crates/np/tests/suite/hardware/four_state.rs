//! Runs the test benches in Icarus Verilog, which models unknown values: an unset register is X,
//! and so are values computed from it.
//!
//! The benches are the ones that Verilator runs. They compare with `!==`, so an X where a value is
//! promised is an error. In addition, each template gets a watch on its control outputs: after the
//! first reset none of them may be X. Each bench is built from a copy of the sources below target/.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_install::tools;

use super::{hardware, outcome, package, sources, template_folders};

/// The suffixes of control output names. Control outputs must be known in every cycle. Data must be
/// known only while they are valid, which the benches check.
const CONTROL: [&str; 16] = [
    "valid_o",
    "ready_o",
    "done_o",
    "fill_o",
    "free_o",
    "drained_o",
    "hold_o",
    "grant_o",
    "taken_o",
    "lost_o",
    "unknown_o",
    "stall_o",
    "busy_o",
    "left_o",
    "hit_o",
    "miss_o",
];

/// Returns the names of a template's control outputs. Empty if the template has no clock or no
/// reset, because it then has no state of its own.
fn control_outputs(source: &str) -> Vec<&str> {
    let ports = || {
        source.lines().take_while(|line| !line.starts_with(");")).filter_map(|line| {
            let declaration = line.split("//").next().unwrap_or_default().trim();
            let (direction, rest) = declaration.split_once(' ')?;
            let name = rest.trim_end_matches(',').rsplit([' ', ']']).next()?;
            matches!(direction, "input" | "output").then_some((direction, name))
        })
    };
    let clocked = ["clk_i", "rst_i"].iter().all(|wanted| ports().any(|(_, name)| name == *wanted));
    ports()
        .filter(|(direction, _)| clocked && *direction == "output")
        .map(|(_, name)| name)
        .filter(|name| CONTROL.iter().any(|end| name.ends_with(end)))
        .collect()
}

/// Returns a template with a watch on its control outputs.
fn watched(source: &str) -> String {
    let outputs = control_outputs(source);
    if outputs.is_empty() {
        return source.to_string();
    }
    let mut watch = String::from("  always @(posedge clk_i) if (rst_i === 1'b0) begin\n");
    for name in outputs {
        writeln!(
            watch,
            "    if (^{name} === 1'bx) $fatal(1, \"%m: {name} is unknown: %b\", {name});"
        )
        .expect("a string takes everything");
    }
    let end = source.rfind("endmodule").expect("a template is a module");
    format!("{}{watch}  end\n{}", &source[..end], &source[end..])
}

/// Copies the sources of a folder. Returns the new folder.
fn copy(folder: &Path, to: &Path, change: fn(&str) -> String) -> PathBuf {
    let name = folder.file_name().expect("a folder below hardware/");
    let copy = to.join(name);
    std::fs::create_dir_all(&copy).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
    for path in sources(folder) {
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = copy.join(path.file_name().expect("a file"));
        std::fs::write(&file, change(&text))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    copy
}

/// Returns a program of Icarus Verilog. Stops the test with a remedy if it is missing.
fn icarus(program: &str) -> Command {
    let found = tools::folder().unwrap_or_else(|message| panic!("{message}")).join(program);
    assert!(
        found.exists(),
        "{} is missing: run scripts/icarus.sh, or put Icarus Verilog 13 there",
        found.display()
    );
    Command::new(found)
}

/// Runs a bench. It must print `PASS`, and no assertion may fail.
pub fn run_bench(name: &str) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("four-state").join(name);
    let tests = copy(&hardware().join("tests"), &out, str::to_string);
    let mut build = icarus("iverilog");
    // Deferred and concurrent assertions are not supported: Verilator checks them.
    build.args(["-g2012", "-DFORMAL", "-gsupported-assertions", "-Y.sv", "-I"]).arg(hardware());
    for folder in template_folders() {
        build.arg("-y").arg(copy(&folder, &out, watched));
    }
    let program = out.join("bench.vvp");
    build.arg("-y").arg(&tests).args(["-s", name, "-o"]).arg(&program);
    build.arg(package()).arg(tests.join("tb_pkg.sv")).arg(tests.join(format!("{name}.sv")));
    let (built, said) = outcome(&mut build);
    assert!(built, "{name} does not build:\n{said}");

    let (passed, said) = outcome(icarus("vvp").arg("-n").arg(&program).current_dir(&out));
    let failed = said.lines().any(|line| line.starts_with("ERROR") || line.starts_with("FATAL"));
    let said: String = said.lines().take(50).collect::<Vec<_>>().join("\n");
    assert!(passed && !failed && said.contains("PASS"), "{name} failed:\n{said}");
}

#[test]
fn control_outputs_are_found_and_watched() {
    let source = "module m (\n    input logic clk_i,\n    input  logic rst_i,  // a comment\n    \
                  output logic [A-1:0] in_ready_o,\n    output logic [7:0] data_o,\n    \
                  output logic ctl_done_o  // last\n);\nendmodule\n";
    assert_eq!(control_outputs(source), ["in_ready_o", "ctl_done_o"]);
    let watched = watched(source);
    assert!(watched.contains("if (^in_ready_o === 1'bx) $fatal"), "{watched}");
    assert!(watched.trim_end().ends_with("endmodule"), "{watched}");
    assert!(control_outputs(&source.replace("rst_i", "other_i")).is_empty());
}
