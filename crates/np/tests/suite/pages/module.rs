//! Reads the source of a template: the leading comment, the parameters, the ports, and the
//! instances.

use std::collections::BTreeSet;

/// A template.
pub struct Module {
    pub name: String,
    /// The leading comment, without the table of parameters.
    pub comment: Vec<String>,
    pub parameters: Vec<Parameter>,
    pub ports: Vec<Group>,
    /// Templates that this template instantiates.
    pub inside: Vec<String>,
    /// The messages with which the template rejects parameters.
    pub refusals: Vec<String>,
    /// Names of the assertions.
    pub assertions: Vec<String>,
}

pub struct Parameter {
    pub name: String,
    pub default: String,
    pub meaning: String,
}

/// Ports that are grouped together in the source.
pub struct Group {
    pub about: Vec<String>,
    pub ports: Vec<Port>,
}

pub struct Port {
    pub name: String,
    pub is_input: bool,
    /// The width: an expression, a type, or empty for one bit.
    pub width: String,
    pub meaning: String,
}

impl Module {
    /// Parses a template, which must have the common layout.
    pub fn parse(name: &str, source: &str) -> Self {
        let lines: Vec<&str> = source.lines().collect();
        let at = |what: &str| {
            let found = lines.iter().position(|line| line.starts_with(what));
            found.unwrap_or_else(|| panic!("{name}: no line begins with `{what}`"))
        };
        let (begin, end) = (at("module "), at(");"));
        let split = lines[begin..end]
            .iter()
            .position(|line| line.starts_with(") ("))
            .map(|line| line + begin);
        let (comment, meanings) = divide(&lines[..begin]);
        let mut parameters = split.map_or(Vec::new(), |split| parameters(&lines[begin + 1..split]));
        for parameter in &mut parameters {
            if let Some((_, meaning)) = meanings.iter().find(|(name, _)| *name == parameter.name) {
                parameter.meaning.clone_from(meaning);
            }
        }
        let body = &lines[end + 1..];
        Self {
            name: name.to_owned(),
            comment,
            parameters,
            ports: groups(&lines[split.unwrap_or(begin) + 1..end]),
            inside: inside(name, body),
            refusals: refusals(name, body),
            assertions: assertions(body),
        }
    }
}

/// Returns all module names in a text.
pub fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("wl_"))
        .collect()
}

/// Splits the leading comment into the text and the meanings of parameters.
fn divide(lines: &[&str]) -> (Vec<String>, Vec<(String, String)>) {
    let mut comment: Vec<String> = Vec::new();
    let mut meanings: Vec<(String, String)> = Vec::new();
    let mut in_table = false;
    for line in lines.iter().filter_map(|line| line.strip_prefix("//")) {
        let text = line.strip_prefix(' ').unwrap_or(line);
        if text == "Parameters" {
            in_table = true;
        } else if !in_table || !(text.starts_with(' ') || text.is_empty()) {
            in_table = false;
            comment.push(text.to_owned());
        } else if let Some(entry) = text.strip_prefix("  ").filter(|entry| !entry.starts_with(' '))
        {
            let (name, meaning) = entry.split_once(' ').unwrap_or((entry, ""));
            meanings.push((name.to_owned(), meaning.trim().to_owned()));
        } else if let Some((_, meaning)) = meanings.last_mut().filter(|_| !text.is_empty()) {
            meaning.push(' ');
            meaning.push_str(text.trim());
        }
    }
    while comment.last().is_some_and(String::is_empty) {
        comment.pop();
    }
    (comment, meanings)
}

/// Splits a line into the code, without a comma at its end, and the comment.
fn parted(line: &str) -> (&str, String) {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    (code.trim().trim_end_matches(','), comment.trim().to_owned())
}

fn parameters(lines: &[&str]) -> Vec<Parameter> {
    let read = |line: &&str| {
        let (code, meaning) = parted(line);
        let (declared, default) = code.strip_prefix("parameter ")?.split_once(" = ")?;
        let name = declared.split_whitespace().last()?;
        Some(Parameter { name: name.to_owned(), default: default.trim().to_owned(), meaning })
    };
    lines.iter().filter_map(read).collect()
}

fn groups(lines: &[&str]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut group = Group { about: Vec::new(), ports: Vec::new() };
    for line in lines.iter().map(|line| line.trim()).chain([""]) {
        if line.is_empty() {
            if !group.ports.is_empty() {
                groups.push(std::mem::replace(
                    &mut group,
                    Group { about: Vec::new(), ports: Vec::new() },
                ));
            }
        } else if let Some(comment) = line.strip_prefix("//") {
            // Directives to Verilator are not part of the text.
            if !comment.trim().starts_with("verilator ") {
                group.about.push(comment.trim().to_owned());
            }
        } else {
            group.ports.push(port(line));
        }
    }
    groups
}

fn port(line: &str) -> Port {
    let (code, meaning) = parted(line);
    let (direction, rest) = code.split_once(' ').unwrap_or_else(|| panic!("not a port: `{line}`"));
    let (kind, name) =
        rest.trim().rsplit_once(' ').unwrap_or_else(|| panic!("not a port: `{line}`"));
    let kind = kind.trim().strip_prefix("logic").unwrap_or(kind).trim();
    let width = match kind.strip_prefix('[').and_then(|range| range.strip_suffix(":0]")) {
        // A packed array has several ranges.
        Some(ranges) if ranges.contains(":0][") => {
            let widths = ranges
                .split(":0][")
                .map(width_of)
                .map(|width| if width.contains('+') { format!("({width})") } else { width });
            widths.collect::<Vec<_>>().join("*")
        }
        Some(high) => width_of(high),
        None => kind.split_whitespace().collect(),
    };
    Port { name: name.to_owned(), is_input: direction == "input", width, meaning }
}

/// Returns the templates that the lines instantiate. An instance starts with the template's name,
/// followed by parameters or the name of the instance.
fn inside(own: &str, lines: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in lines.iter().map(|line| line.trim_start()) {
        let name = line.split([' ', '(']).next().unwrap_or_default();
        let is_instance = name.starts_with("wl_")
            && !name.contains(':')
            && name != own
            && line[name.len()..].starts_with(' ');
        if is_instance && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

fn refusals(name: &str, lines: &[&str]) -> Vec<String> {
    let begin = format!("\"{name}: ");
    let read = |line: &&str| {
        let (_, rest) = line.split_once(&begin)?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    lines.iter().skip_while(|line| line.trim().is_empty()).filter_map(read).collect()
}

fn assertions(lines: &[&str]) -> Vec<String> {
    let read = |line: &&str| {
        let name =
            line.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        let rest = line.trim_start()[name.len()..].trim_start();
        (name.ends_with("_A") && rest.starts_with(':')).then(|| name.to_owned())
    };
    lines.iter().filter_map(read).collect()
}

/// Returns the width of a range that begins at this highest bit.
fn width_of(high: &str) -> String {
    match (high.trim().strip_suffix("-1"), high.trim().parse::<u32>()) {
        (Some(width), _) => width.trim().to_owned(),
        (None, Ok(high)) => (high + 1).to_string(),
        (None, Err(_)) => format!("{}+1", high.trim()),
    }
}
