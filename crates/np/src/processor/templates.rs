//! The hand-written templates of `hardware/`, and which of them a design needs.

use std::collections::BTreeSet;

use super::design::File;
use wireloom_codegen::hardware::sv::Module;

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The package that all others use.
const PACKAGE: &str = "wl_pkg";

/// The templates that some texts name, with all that those name in turn; the package first.
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
        File { name: format!("templates/{name}.sv"), text: text.to_owned(), unit: None }
    };
    std::iter::once(PACKAGE).chain(wanted).map(file).collect()
}

/// Puts the templates that a design needs before its generated files; likewise the simulation's top
/// module after the templates that only it needs.
pub(super) fn complete(generated: Vec<File>, simulation: &Module) -> (Vec<File>, Vec<File>) {
    let texts: Vec<&str> = generated.iter().map(|file| file.text.as_str()).collect();
    let mut files = needed(&texts);
    let top = File::generated(simulation, &simulation.name);
    let mut only_simulation = needed(&[&top.text]);
    only_simulation.retain(|file| !files.contains(file));
    only_simulation.push(top);
    files.extend(generated);
    (files, only_simulation)
}

/// The words of a text that begin as names of templates do.
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
        let files = needed(&["  wl_request_tree #(.Inputs(2)) u_tree ();"]);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names[0], "templates/wl_pkg.sv");
        assert!(names.contains(&"templates/wl_request_tree.sv"));
        assert!(!names.contains(&"templates/wl_reorder.sv"));
    }

    #[test]
    fn comments_need_nothing() {
        assert_eq!(needed(&["// wl_reorder comes before wl_fifo"]).len(), 1);
    }
}
