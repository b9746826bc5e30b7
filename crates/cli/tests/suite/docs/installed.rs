//! Checks that the command's messages name nothing that only a checkout has: pages have the names
//! of `wireloom docs`, and programs are embedded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_guide as guide;

use super::root;

/// Returns the names in a text that exist only in a checkout. `files` says whether pages may be
/// named by their files, which `wireloom docs` accepts as well.
fn missing(text: &str, files: bool) -> Vec<String> {
    const FOLDERS: [&str; 6] = ["crates/", "docs/", "programs/", "hardware/", "scripts/", "bench/"];
    let words = text.split(|c: char| c.is_whitespace() || "`()[]|\"',;=#:".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', '/']));
    let names = words.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
    let is_embedded = |name: &str| {
        guide::files::names()
            .filter_map(|file| file.strip_prefix(name))
            .any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_there = |name: &str| match name.split('/').next() {
        Some("programs") => is_embedded(name),
        Some("docs") => files && guide::find(name).is_ok(),
        _ => guide::find(name).is_ok(),
    };
    let is_pattern = |name: &str| name.contains(['{', '}', '*', '<', '\\']) || name.contains("...");
    let names = names.filter(|name| !is_pattern(name) && !is_there(name)).map(str::to_owned);
    names.chain(missing_pages(text)).collect()
}

/// Returns the commands `wireloom docs PAGE` in a text that name no page.
fn missing_pages(text: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "`),;\"".contains(c);
    let named = text.split("wireloom docs ").skip(1).filter_map(|rest| rest.split(is_end).next());
    let named = named.filter(|page| page.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let is_shown = |words: &str| {
        let (page, section) = words.split_once('#').unwrap_or((words, ""));
        let text = guide::find(page).ok().map(guide::Page::markdown);
        let has_section =
            |text: String| section.is_empty() || guide::named(&text, section).is_some();
        ["PAGE", "CODE", "NAME"].contains(&words)
            || guide::diagnostic(words).is_some()
            || text.is_some_and(has_section)
    };
    named.filter(|page| !is_shown(page)).map(|page| format!("wireloom docs {page}")).collect()
}

#[test]
fn pages_name_pages_that_are_shown() {
    let mut wrong = Vec::new();
    for (page, text) in super::texts() {
        wrong.extend(missing_pages(&text).into_iter().map(|name| format!("{page}: {name}")));
    }
    assert!(wrong.is_empty(), "these commands show nothing:\n{}", wrong.join("\n"));
}

#[test]
fn names_that_are_missing_are_found() {
    let text = "see docs/language.md, `crates/ir`, programs/none.loom and programs/router.loom";
    assert_eq!(missing(text, true), ["crates/ir", "programs/none.loom"]);
    assert_eq!(missing(text, false), ["docs/language.md", "crates/ir", "programs/none.loom"]);
    assert_eq!(missing("`wireloom docs nothing` and (`wireloom docs np#x`)", true).len(), 2);
    let fine = "`wireloom docs E0201`, `wireloom docs machines/np#offloads`, `wireloom docs PAGE`";
    assert_eq!(missing(fine, true), [] as [&str; 0]);
    assert_eq!(missing_pages("`wireloom docs machines/np#none`").len(), 1);
}

#[test]
fn help_names_only_what_is_installed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let status = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .arg("manual")
        .arg(folder.path())
        .status()
        .expect("the command starts");
    assert!(status.success());
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in fs::read_dir(folder.path()).expect("a folder") {
        let path = page.expect("an entry").path();
        // The characters that roff escapes.
        let text = fs::read_to_string(&path).expect("a manual page").replace("\\-", "-");
        let text = text.replace("\\&", "").replace("\\*(Aq", "'").replace("\\(aq", "'");
        let page = path.file_name().expect("a name").to_string_lossy().into_owned();
        wrong.extend(missing(&text, false).into_iter().map(|name| format!("{page}: {name}")));
        count += 1;
    }
    assert!(count > 25, "{count} manual pages");
    assert!(wrong.is_empty(), "an installed command does not have\n{}", wrong.join("\n"));
}

/// Collects the source files of a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Returns the lines of a source that can hold messages for users: without comments, which begin
/// with `//`, and without tests.
fn literals(source: &str) -> String {
    let lines = source.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
    let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    literals.collect::<Vec<_>>().join("\n")
}

#[test]
fn messages_name_only_what_is_installed() {
    // The commands of these crates are for a checkout, or for the installation itself.
    const OF_CHECKOUTS: [&str; 4] = ["figures", "fuzz", "guide", "install"];
    // These scripts are embedded in the command.
    const OF_TOOLS: &str = "crates/cli/src/commands/tools.rs";
    let mut wrong = Vec::new();
    let mut count = 0;
    for crate_folder in fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = crate_folder.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if OF_CHECKOUTS.contains(&name.as_str()) || !folder.join("src").is_dir() {
            continue;
        }
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let text = literals(&fs::read_to_string(&file).expect("a source"));
            let file = file.strip_prefix(root()).expect("below the root").display().to_string();
            if file != OF_TOOLS {
                wrong
                    .extend(missing(&text, true).into_iter().map(|name| format!("{file}: {name}")));
            }
            count += 1;
        }
    }
    assert!(count > 200, "{count} files");
    assert!(wrong.is_empty(), "an installed command does not have\n{}", wrong.join("\n"));
}
