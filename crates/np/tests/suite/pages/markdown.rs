//! Writes the page of a template.

use std::fmt::Write as _;

use super::module::{Group, Module};

/// Facts about a template from outside its source.
pub struct About<'a> {
    /// Folder below hardware/.
    pub folder: &'a str,
    /// The page of docs/hardware that describes the folder.
    pub page: &'a str,
    /// Templates that instantiate the template.
    pub users: &'a [&'a str],
    /// Test benches and proofs that instantiate the template, without `.sv`.
    pub checked: &'a [&'a str],
}

pub fn page(module: &Module, about: &About) -> String {
    let name = &module.name;
    let mut page = format!("# {name}\n\n");
    let _ = writeln!(
        page,
        "[Source](../../../hardware/{}/{name}.sv); how it fits with others: [{}](../{}.md).\n",
        about.folder, about.page, about.page
    );
    let _ = writeln!(page, "![ports of {name}](../../images/hardware/modules/{name}.svg)\n");
    page += &prose(&module.comment);
    parameters(module, &mut page);
    ports(&module.ports, &mut page);
    let mut links = |title: &str, names: &[&str]| {
        if !names.is_empty() {
            let names: Vec<String> =
                names.iter().map(|name| format!("[{name}]({name}.md)")).collect();
            let _ = writeln!(page, "{title}: {}.\n", names.join(", "));
        }
    };
    let inside: Vec<&str> = module.inside.iter().map(String::as_str).collect();
    links("Inside", &inside);
    links("Used by", about.users);
    if !module.assertions.is_empty() {
        let names: Vec<String> = module.assertions.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "Assertions: {}.\n", names.join(", "));
    }
    if !about.checked.is_empty() {
        let link = |path: &&str| {
            format!("[{}](../../../{path}.sv)", path.rsplit('/').next().expect("a name"))
        };
        let links: Vec<String> = about.checked.iter().map(link).collect();
        let _ = writeln!(page, "Checked by {}.\n", links.join(", "));
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Returns the list of all templates.
pub fn list(modules: &[(&str, &Module)]) -> String {
    let mut page = "# The templates, one by one\n\nA page each, from its source. [How they fit together](../README.md).\n".to_owned();
    let mut last = "";
    for (folder, module) in modules {
        if *folder != last {
            let _ = write!(page, "\n## {folder}\n\n| template | what |\n|---|---|\n");
            last = folder;
        }
        let what: Vec<&str> =
            module.comment.iter().take_while(|line| !line.is_empty()).map(String::as_str).collect();
        let what = what.join(" ");
        let end = what.find(". ").map_or(what.len(), |end| end + 1);
        let _ = writeln!(page, "| [{0}]({0}.md) | {1} |", module.name, cell(&what[..end]));
    }
    page
}

/// Converts the comment to Markdown. Indented lines under `Contract` are its clauses. Other
/// indented lines keep their layout.
fn prose(comment: &[String]) -> String {
    let (mut made, mut in_contract, mut in_code) = (String::new(), false, false);
    for (number, line) in comment.iter().enumerate() {
        let is_indented = line.starts_with("  ");
        if in_code && !is_indented {
            made += "```\n";
            in_code = false;
        }
        if line == "Contract" {
            made += "\n## Contract\n\n";
            in_contract = true;
            continue;
        }
        in_contract &= is_indented;
        if let Some(clause) = line.strip_prefix("  ").filter(|_| in_contract) {
            match clause.split_once(':').filter(|(name, _)| is_label(name)) {
                Some((name, rest)) => {
                    made += &format!("- **{}:**{}\n", escaped(name), escaped(rest))
                }
                None => made += &format!("  {}\n", escaped(clause.trim())),
            }
        } else if is_indented {
            made += if in_code { "" } else { "\n```\n" };
            in_code = true;
            made += &format!("{line}\n");
        } else {
            // A labelled line (timing, cost, requests) starts its own paragraph.
            match line.split_once(':').filter(|(name, _)| number > 0 && is_label(name)) {
                Some((name, rest)) => {
                    made += &format!("\n**{}:**{}\n", escaped(name), escaped(rest))
                }
                None => made += &format!("{}\n", escaped(line)),
            }
        }
    }
    made + if in_code { "```\n\n" } else { "\n" }
}

/// Returns whether the words before a colon are a label: a few words, the first with a capital
/// letter.
fn is_label(words: &str) -> bool {
    words.starts_with(|c: char| c.is_ascii_uppercase())
        && words.split(' ').count() <= 5
        && !words.contains(['`', '.', ';', '('])
}

fn parameters(module: &Module, page: &mut String) {
    if module.parameters.is_empty() {
        return;
    }
    *page += "## Parameters\n\n| name | default | what |\n|---|---|---|\n";
    for parameter in &module.parameters {
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} |",
            parameter.name,
            parameter.default,
            cell(&parameter.meaning)
        );
    }
    page.push('\n');
    if !module.refusals.is_empty() {
        let _ = writeln!(page, "Refused when it is elaborated, with these words:\n");
        for refusal in &module.refusals {
            let _ = writeln!(page, "- {}", escaped(refusal));
        }
        page.push('\n');
    }
}

fn ports(groups: &[Group], page: &mut String) {
    *page += "## Ports\n\n| name | | bits | what |\n|---|---|---|---|\n";
    for group in groups {
        if !group.about.is_empty() {
            let _ = writeln!(page, "| | | | *{}* |", cell(&group.about.join(" ")));
        }
        for port in &group.ports {
            let direction = if port.is_input { "in" } else { "out" };
            let width =
                if port.width.is_empty() { "1".to_owned() } else { format!("`{}`", port.width) };
            let _ = writeln!(
                page,
                "| `{}` | {direction} | {width} | {} |",
                port.name,
                cell(&port.meaning)
            );
        }
    }
    page.push('\n');
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|")
}

/// Escapes text so that Markdown interprets only code spans. Names from the source become code.
fn escaped(text: &str) -> String {
    let mut made = String::new();
    for (number, part) in text.split('`').enumerate() {
        if number > 0 {
            made.push('`');
        }
        if number % 2 == 1 {
            made += part;
            continue;
        }
        for (number, word) in part.split(' ').enumerate() {
            if number > 0 {
                made.push(' ');
            }
            let is_around = |c: char| "()[]{},.;:=".contains(c);
            let core = word.trim_matches(is_around);
            if core.contains('_') {
                made += &word.replacen(core, &format!("`{core}`"), 1);
            } else {
                made += &word.replace('*', "\\*").replace('<', "&lt;");
            }
        }
    }
    made
}
