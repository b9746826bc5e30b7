//! The documentation: every link, path and command in it exists, its commands run, and its examples
//! compile.

mod blocks;
mod commands;
mod examples;
mod facts;
mod first;
mod installed;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

/// Collects the Markdown files in a folder that belong to the repository.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    files(folder, ".md", found);
}

/// Collects the files in a folder that belong to the repository and whose names end so.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "out"].contains(&name.as_str()) {
                files(&path, end, found);
            }
        } else if name.ends_with(end) {
            found.push(path);
        }
    }
}

#[test]
fn no_page_has_marks_of_a_merge() {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    for page in found {
        let text = fs::read_to_string(&page).expect("a page");
        let mark =
            text.lines().find(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "));
        assert_eq!(mark, None, "{}", page.display());
    }
}

#[test]
fn a_snapshot_is_short_enough_to_be_reviewed() {
    let mut found = Vec::new();
    files(&root().join("crates"), ".snap", &mut found);
    assert!(!found.is_empty());
    for snapshot in found {
        let lines = fs::read_to_string(&snapshot).expect("a snapshot").lines().count();
        assert!(lines <= 300, "{}: {lines} lines", snapshot.display());
    }
}

#[test]
fn make_bless_runs_all_tests_of_files_with_sections() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    assert!(makefile.contains("WIRELOOM_BLESS=1 scripts/test.py filetests::\n"));
    let mut found = Vec::new();
    files(&root().join("crates"), ".rs", &mut found);
    let calls = |path: &&PathBuf| {
        let text = fs::read_to_string(path).expect("a source");
        text.contains(concat!("filetest", "::check("))
    };
    let calling: Vec<&PathBuf> = found.iter().filter(calls).collect();
    assert!(calling.len() > 5, "the tests were found");
    for path in calling {
        assert!(path.ends_with("filetests.rs"), "{}", path.display());
    }
}

/// Returns the lines outside of fences.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_fence = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// Returns the targets of a text's links, `](target)`, without links to other hosts.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets
        .filter(|target| !target.contains("://") && !target.contains(' '))
        .map(str::to_owned)
        .collect()
}

/// Returns the anchors of a page's headings, as code hosts generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let base: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut anchor = base.clone();
        for number in 1.. {
            if anchors.insert(anchor) {
                break;
            }
            anchor = format!("{base}-{number}");
        }
    }
    anchors
}

#[test]
fn links_point_to_what_is_there() {
    let mut files = Vec::new();
    pages(&root(), &mut files);
    assert!(files.len() > 10, "the documentation was found");
    let mut broken = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = file.parent().expect("a folder");
            let target = if path.is_empty() { file.clone() } else { folder.join(path) };
            let is_there = target.exists();
            let has_anchor = anchor.is_empty()
                || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
            if !is_there || !has_anchor {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links to nothing:\n{}", broken.join("\n"));
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# A `b` c\n[x](y.md#z), ![p](q.svg) and [w](https://e.example)\n```\n[no](no.md)\n```\n## A b, c!\n## A b, c!\n";
    assert_eq!(links(text), ["y.md#z", "q.svg"]);
    let expected = ["a-b-c", "a-b-c-1", "a-b-c-2"].map(str::to_owned);
    assert_eq!(anchors(text), BTreeSet::from(expected));
}

/// Returns the pages of the repository with their text, by path from its root.
fn texts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    let name = |page: &Path| {
        page.strip_prefix(root()).expect("it is below the root").display().to_string()
    };
    found
        .iter()
        .map(|page| (name(page), fs::read_to_string(page).expect("it can be read")))
        .collect()
}

/// Fails with one line for each reference to something that does not exist.
fn assert_none(broken: &[String]) {
    assert!(broken.is_empty(), "names of what does not exist:\n{}", broken.join("\n"));
}

/// Whether a word is a placeholder or a pattern, such as `crates/CRATE` or `{np,mpsoc}`.
fn is_pattern(word: &str) -> bool {
    let is_placeholder =
        |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let is_name =
        |part: &str| ["README", "CONTRIBUTING", "LICENSE", "CHANGELOG", "SECURITY"].contains(&part);
    word.contains(['*', '{', '}', '<', '>', '$', '…'])
        || word.contains("...")
        || word.split(['/', '.', '_']).any(|part| is_placeholder(part) && !is_name(part))
}

/// Returns the paths in a text: words that begin with a folder of the repository, in links, in
/// backticks or plain, relative to the root.
fn paths(text: &str) -> BTreeSet<String> {
    const FOLDERS: [&str; 7] =
        ["crates/", "docs/", "programs/", "hardware/", "machines/", "scripts/", "bench/"];
    // The pages of `wireloom docs` have names that are not paths.
    let text = text.replace("wireloom docs ", "wireloom-docs:");
    let words = text.split(|c: char| c.is_whitespace() || "`()[]|\"',;=#".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '/']));
    let words = words.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
    words.filter(|word| !is_pattern(word)).map(str::to_owned).collect()
}

#[test]
fn paths_are_found() {
    let text = "See `crates/ir/src/golden` and docs/x.md: [a](docs/y.md#z), programs/{a,b}, crates/CRATE/src, out/x.";
    let expected = ["crates/ir/src/golden", "docs/x.md", "docs/y.md"].map(str::to_owned);
    assert_eq!(paths(text), BTreeSet::from(expected));
}

#[test]
fn paths_name_what_is_there() {
    let mut broken = Vec::new();
    for (page, text) in texts() {
        let folder = root().join(&page).parent().expect("a folder").to_owned();
        for path in paths(&text) {
            // A page can give paths from the root, or from its own folder.
            let file = path.split_once(':').map_or(&*path, |(file, _line)| file);
            if !root().join(file).exists() && !folder.join(file).exists() {
                broken.push(format!("{page}: {path}"));
            }
        }
    }
    assert_none(&broken);
}

/// Returns the commands in a text that begin with `program`: lines of code, and code in backticks.
fn commands(text: &str, program: &str) -> Vec<Vec<String>> {
    let is_code =
        |line: &&str| line.starts_with("    ") || line.trim_start().starts_with(['$', '`']);
    let mut in_fence = false;
    let mut candidates: Vec<String> = Vec::new();
    for line in text.lines() {
        in_fence ^= line.trim_start().starts_with("```");
        if in_fence || is_code(&line) {
            candidates.push(line.trim().trim_start_matches("$ ").to_owned());
        }
    }
    // Code in backticks may continue on the next line.
    let flat = text.replace('\n', " ");
    candidates.extend(flat.split('`').skip(1).step_by(2).map(str::to_owned));
    let mut commands = Vec::new();
    for candidate in candidates {
        let candidate = candidate.split(" #").next().unwrap_or_default();
        for part in candidate.split(['|', ';']).flat_map(|part| part.split("&&")) {
            let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
            if words.first().is_some_and(|word| word == program) {
                commands.push(words);
            }
        }
    }
    commands
}

#[test]
fn commands_are_found() {
    let text = "Run `make\nbuild`, or:\n\n    make test   # all\n    cd x && make deny\n\n```console\n$ make fmt\n```\nmake no\n";
    let found: BTreeSet<Vec<String>> = commands(text, "make").into_iter().collect();
    let expected =
        ["build", "test", "deny", "fmt"].map(|target| vec!["make".to_owned(), target.to_owned()]);
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn make_targets_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', ' ']))
        .filter_map(|line| line.split_once(':').map(|(target, _)| target.trim()))
        .collect();
    let mut broken = Vec::new();
    for (page, text) in texts() {
        for words in commands(&text, "make") {
            // `-C` names another folder's makefile.
            if words.iter().any(|word| word == "-C") {
                continue;
            }
            let target =
                words[1..].iter().find(|word| !word.contains('=') && !word.starts_with('-'));
            // Folders written by `wireloom build` have their own makefile with the target `sim`.
            let is_known =
                |target: &str| target == "sim" || targets.contains(target) || is_pattern(target);
            if target.is_some_and(|target| !is_known(target)) {
                broken.push(format!("{page}: {}", words.join(" ")));
            }
        }
    }
    assert_none(&broken);
}

/// Returns the packages of the workspace and their folders.
fn packages() -> Vec<(String, PathBuf)> {
    let folders = fs::read_dir(root().join("crates")).expect("the crates");
    let folders = folders
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("Cargo.toml").is_file());
    let name = |folder: &Path| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let line =
            text.lines().find_map(|line| line.strip_prefix("name = ")).expect("a name").to_owned();
        line.trim_matches('"').to_owned()
    };
    folders.map(|folder| (name(&folder), folder)).collect()
}

#[test]
fn cargo_commands_name_packages_and_tests_that_exist() {
    let packages = packages();
    let mut broken = Vec::new();
    for (page, text) in texts() {
        for words in commands(&text, "cargo") {
            let value = |option: &str| {
                words.iter().position(|word| word == option).and_then(|at| words.get(at + 1))
            };
            let Some(package) = value("-p").filter(|package| !is_pattern(package)) else {
                continue;
            };
            let folder =
                packages.iter().find(|(name, _)| name == package).map(|(_, folder)| folder);
            let has = |kind: &str, name: &str| {
                let folder = folder.expect("checked before").join(kind);
                folder.join(format!("{name}.rs")).is_file()
                    || folder.join(name).join("main.rs").is_file()
            };
            let is_there = folder.is_some()
                && value("--test").is_none_or(|name| has("tests", name))
                && value("--example").is_none_or(|name| has("examples", name));
            if !is_there {
                broken.push(format!("{page}: {}", words.join(" ")));
            }
        }
    }
    assert_none(&broken);
}

/// Returns the options of a subcommand, or of an action of one (`ctl trace`), from its help; `None`
/// if there is no such subcommand.
fn options_of(subcommand: &str) -> Option<BTreeSet<String>> {
    let help = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(subcommand.split(' '))
        .arg("--help")
        .output()
        .expect("it starts");
    let text = String::from_utf8(help.stdout).expect("the help is text");
    let word = |rest: &str| {
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect::<String>()
    };
    help.status
        .success()
        .then(|| text.split("--").skip(1).map(|rest| format!("--{}", word(rest))).collect())
}

#[test]
fn commands_name_subcommands_and_options_that_exist() {
    let mut known: std::collections::BTreeMap<String, Option<BTreeSet<String>>> =
        std::collections::BTreeMap::new();
    let mut broken = Vec::new();
    let mut count = 0;
    for (page, text) in texts() {
        for words in commands(&text, "wireloom") {
            let Some(subcommand) =
                words.get(1).filter(|word| !is_pattern(word) && !word.starts_with('-'))
            else {
                continue;
            };
            count += 1;
            let action = words.get(2).filter(|word| !is_pattern(word) && !word.starts_with('-'));
            let part = words.get(3).filter(|word| !is_pattern(word) && !word.starts_with('-'));
            let subcommand = match action {
                Some(action) if action == "tables" && subcommand == "ctl" && part.is_some() => {
                    &format!("ctl tables {}", part.expect("checked before"))
                }
                Some(action) if ["ctl", "np", "raw", "mpsoc"].contains(&&**subcommand) => {
                    &format!("{subcommand} {action}")
                }
                _ => subcommand,
            };
            let options = known.entry(subcommand.clone()).or_insert_with(|| options_of(subcommand));
            let is_known = |word: &String| {
                let name = word.split('=').next().unwrap_or_default();
                !name.starts_with("--")
                    || name == "--"
                    || options.as_ref().is_some_and(|all| all.contains(name))
            };
            if options.is_none() || !words.iter().all(is_known) {
                broken.push(format!("{page}: {}", words.join(" ")));
            }
        }
    }
    assert!(count > 50, "the commands were found");
    assert_none(&broken);
}

#[test]
fn the_table_of_crates_is_complete_and_in_order() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let (_, table) = page.split_once("| crate | contents |").expect("the table");
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: Vec<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let packages = packages();
    let folders: BTreeSet<String> = packages
        .iter()
        .map(|(_, folder)| folder.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(rows.iter().cloned().collect::<BTreeSet<_>>(), folders, "one row for each crate");
    for (at, row) in rows.iter().enumerate() {
        let manifest = fs::read_to_string(root().join("crates").join(row).join("Cargo.toml"))
            .expect("a manifest");
        let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        for line in section.lines() {
            let Some(used) = line
                .strip_prefix("wireloom-")
                .map(|rest| rest.split(['.', ' ']).next().unwrap_or_default())
            else {
                continue;
            };
            assert!(
                rows[at + 1..].iter().any(|below| below == used),
                "`{row}` uses `{used}`, which must be below it"
            );
        }
    }
}
