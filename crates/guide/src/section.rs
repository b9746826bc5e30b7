//! Headings of a page, and the sections below them.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::files;

/// The Markdown extensions that the pages use.
pub(crate) const SYNTAX: Options = Options::ENABLE_TABLES;

/// A heading of a page.
struct Heading {
    level: HeadingLevel,
    title: String,
    anchor: String,
    /// The byte range of the heading in the page.
    bytes: Range<usize>,
}

/// Returns the headings of a page in order.
fn headings(page: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Option<Heading> = None;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (event, bytes) in Parser::new_ext(page, SYNTAX).into_offset_iter() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, .. }), _) => {
                open = Some(Heading { level, title: String::new(), anchor: String::new(), bytes });
            }
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.title += &text,
            (Event::End(TagEnd::Heading(_)), Some(_)) => {
                let mut heading = open.take().expect("it is open");
                heading.anchor = numbered(&mut seen, anchor(&heading.title));
                found.push(heading);
            }
            _ => {}
        }
    }
    found
}

/// Returns the anchor of a heading as code hosts make it: lower-case letters, digits and `_`, with
/// `-` for blanks.
fn anchor(title: &str) -> String {
    let kept = title.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Numbers an anchor that occurs several times in a page.
fn numbered(seen: &mut HashMap<String, usize>, anchor: String) -> String {
    let count = seen.entry(anchor.clone()).or_default();
    *count += 1;
    match *count {
        1 => anchor,
        n => format!("{anchor}-{}", n - 1),
    }
}

/// Returns the anchors of a page's headings, in order.
pub fn anchors(page: &str) -> Vec<String> {
    headings(page).into_iter().map(|heading| heading.anchor).collect()
}

/// Returns the title of a page: its first heading.
pub(crate) fn title(page: &str) -> Option<String> {
    headings(page).into_iter().next().map(|heading| heading.title)
}

/// Returns the part of a page from a heading to the next heading of the same or a higher level.
fn section(page: &str, is_it: impl Fn(&Heading) -> bool) -> Option<&str> {
    let headings = headings(page);
    let at = headings.iter().position(is_it)?;
    let level = headings[at].level;
    let end = headings[at + 1..].iter().find(|other| other.level <= level);
    Some(&page[headings[at].bytes.start..end.map_or(page.len(), |next| next.bytes.start)])
}

/// Returns the section of a page with this anchor.
pub fn named<'a>(page: &'a str, anchor: &str) -> Option<&'a str> {
    section(page, |heading| heading.anchor == anchor)
}

/// The pages with a section for each diagnostic of the compiler and of the microcode assembler.
const DIAGNOSTICS: [&str; 2] = ["docs/diagnostics.md", "docs/microcode.md"];

/// Returns whether a word looks like the code of a diagnostic: a letter and four digits.
pub fn is_code(word: &str) -> bool {
    word.len() == 5
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word[1..].bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns the explanation of a diagnostic by its code, such as `E0201`, in Markdown. Case is
/// ignored.
pub fn diagnostic(code: &str) -> Option<String> {
    let code = code.to_ascii_uppercase();
    let found = |page: &str| {
        let text = files::text(page).expect("a page of the documentation");
        section(&text, |heading| heading.title.split(' ').next() == Some(&code)).map(str::to_owned)
    };
    is_code(&code).then(|| DIAGNOSTICS.into_iter().find_map(found)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# A `b` c\nx\n## Two, then!\ny\n```\n# no\n```\n### Deep\nz\n## Two then\nw\n";

    #[test]
    fn anchors_are_those_of_code_hosts() {
        assert_eq!(anchors(PAGE), ["a-b-c", "two-then", "deep", "two-then-1"]);
        assert_eq!(title(PAGE).as_deref(), Some("A b c"));
    }

    #[test]
    fn a_section_ends_at_the_next_of_its_level() {
        let two = named(PAGE, "two-then").expect("a section");
        assert!(two.starts_with("## Two,") && two.ends_with("### Deep\nz\n"), "{two}");
        assert_eq!(named(PAGE, "two-then-1"), Some("## Two then\nw\n"));
        assert_eq!(named(PAGE, "none"), None);
    }

    #[test]
    fn codes_have_their_sections() {
        let text = diagnostic("e0201").expect("a section");
        assert!(text.starts_with("### E0201 unknown name"), "{text}");
        assert!(!text.contains("E0202"), "{text}");
        for unknown in ["", "E0", "E9999", "é020", "E02011", "docs"] {
            assert_eq!(diagnostic(unknown), None, "{unknown}");
        }
    }
}
