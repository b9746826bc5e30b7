//! The documentation: what its links point to is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

/// The Markdown files below a folder that belong to the repository.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "out"].contains(&name.as_str()) {
                pages(&path, found);
            }
        } else if name.ends_with(".md") {
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
        let mark = text.lines().find(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "));
        assert_eq!(mark, None, "{}", page.display());
    }
}

/// Lines that are not inside a fence.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_fence = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// What a text links to: `](target)`, without links to other hosts.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.contains(' ')).map(str::to_owned).collect()
}

/// The anchors of a page's headings, as code hosts make them.
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
