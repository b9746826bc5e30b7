//! The hand-written templates of `hardware/`, and the selection of the ones that a design needs.

use std::collections::BTreeSet;

use super::design::{Design, File, Unit};
use crate::description::Reset;
use wireloom_codegen_hardware::sv::Module;

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The package that all templates use.
const PACKAGE: &str = "wl_pkg";
/// The first lines of a file that uses [`EDGES`].
const INCLUDE: &str = "`include \"wl_reset.svh\"\n\n";
/// The first lines of files with an asynchronous reset.
const SAMPLED: &str = "// Some registers look at the reset at the clock's edge: it is released synchronously.\n\
                       // verilator lint_off SYNCASYNCNET\n\n";
/// The macro for the edges of registers with a reset, up to its arguments.
const EDGES: &str = "`WL_EDGES(";

/// Returns the templates that the texts name, directly or through other templates; the package
/// comes first.
pub fn needed(texts: &[&str]) -> Vec<File> {
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = texts.to_vec();
    while let Some(text) = open.pop() {
        for name in names(text) {
            if let Some((name, text)) = TEMPLATES.iter().find(|(template, _)| *template == name)
                && wanted.insert(name)
            {
                open.push(text);
            }
        }
    }
    wanted.remove(PACKAGE);
    let file = |name: &str| {
        let text =
            TEMPLATES.iter().find(|(template, _)| *template == name).map_or("", |(_, text)| text);
        File { name: path(name), text: text.to_owned(), unit: None }
    };
    std::iter::once(PACKAGE).chain(wanted).map(file).collect()
}

/// Returns the path of a template in the folder of a design.
fn path(name: &str) -> String {
    format!("templates/{name}.sv")
}

/// Gives the registers of some files a synchronous reset.
pub(super) fn with_synchronous_reset(mut files: Vec<File>) -> Vec<File> {
    files.iter_mut().for_each(|file| file.text = with_reset(&file.text, Reset::Synchronous));
    files
}

/// Puts the templates that a design needs before its generated files. The top module of the
/// simulation likewise follows the templates that only the simulation needs. All registers get this
/// reset.
pub(super) fn complete(
    generated: Vec<File>,
    simulation: &Module,
    reset: Reset,
) -> (Vec<File>, Vec<File>) {
    let texts: Vec<&str> = generated.iter().map(|file| file.text.as_str()).collect();
    let mut files = needed(&texts);
    let top = File::generated(simulation, &simulation.name);
    let mut only_simulation = needed(&[&top.text]);
    only_simulation.retain(|file| !files.contains(file));
    only_simulation.push(top);
    files.extend(generated);
    for file in files.iter_mut().chain(&mut only_simulation) {
        file.text = with_reset(&file.text, reset);
    }
    (files, only_simulation)
}

/// Returns a text with the macro `WL_EDGES` of hardware/wl_reset.svh expanded and without the
/// line that includes it. A built processor is thus plain SystemVerilog: tools need no define and
/// no folder of headers, and nobody can compile it with the other reset by mistake. A text that is
/// expanded already stays as it is.
pub fn with_reset(text: &str, reset: Reset) -> String {
    let mut expanded = String::new();
    if reset == Reset::Asynchronous && text.contains("rst_i") && !text.starts_with(SAMPLED) {
        expanded += SAMPLED;
    }
    let mut parts = text.strip_prefix(INCLUDE).unwrap_or(text).split(EDGES);
    expanded += parts.next().unwrap_or("");
    for part in parts {
        let (arguments, rest) = part.split_once(')').expect("the macro has arguments");
        let (clock, line) = arguments.split_once(", ").expect("the macro has two arguments");
        expanded += "posedge ";
        expanded += clock;
        if reset == Reset::Asynchronous {
            expanded += " or posedge ";
            expanded += line;
        }
        expanded += rest;
    }
    expanded
}

impl Design {
    /// Returns a template of hardware/ and its dependencies as a design of one unit, with a
    /// synchronous reset. Unlisted parameters keep their defaults. Returns `None` if the template
    /// does not exist.
    pub fn of_template(name: &str, parameters: &[(&str, usize)]) -> Option<Self> {
        let files = with_synchronous_reset(needed(&[name]));
        let is_there = files.iter().any(|file| file.name == path(name));
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value));
        let unit =
            Unit { name: name.to_owned(), parameters: parameters.collect(), instances: Vec::new() };
        is_there.then(|| Self { top: name.to_owned(), files, units: vec![unit] })
    }
}

/// Returns the words in a text that start like template names.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| word.starts_with("wl_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_bring_what_they_are_made_of() {
        let files = needed(&["  wl_request_tree #(.Inputs(2)) i_tree ();"]);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names[0], "templates/wl_pkg.sv");
        assert!(names.contains(&"templates/wl_request_tree.sv"));
        assert!(!names.contains(&"templates/wl_reorder.sv"));
    }

    #[test]
    fn the_reset_is_chosen_for_a_whole_design() {
        let text = "`include \"wl_reset.svh\"\n\nalways_ff @(`WL_EDGES(clk_i, rst_i)) begin\n";
        assert_eq!(with_reset(text, Reset::Synchronous), "always_ff @(posedge clk_i) begin\n");
        assert_eq!(
            with_reset(text, Reset::Asynchronous),
            format!("{SAMPLED}always_ff @(posedge clk_i or posedge rst_i) begin\n")
        );
        for (name, text) in TEMPLATES {
            let expanded = with_reset(text, Reset::Asynchronous);
            assert!(!expanded.contains("WL_") && !expanded.contains("`include"), "{name}");
        }
    }

    #[test]
    fn comments_need_nothing() {
        assert_eq!(needed(&["// wl_reorder comes before wl_fifo"]).len(), 1);
    }
}
