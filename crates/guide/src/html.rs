//! The documentation as a folder of HTML pages. The layout follows the repository, so that links
//! and pictures stay valid.

use std::collections::BTreeSet;

use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd};

use crate::section::{SYNTAX, anchors, title};
use crate::{Page, files, list};

/// The page that lists all others.
const CONTENTS: &str = "contents.html";

const SHEET: &str = "
code { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 0.88em; }
pre code { font-size: inherit; }
img { max-width: 100%; height: auto; background: #ffffff; }
a { color: #0b63a5; }
@media screen and (prefers-color-scheme: dark) { a { color: #7cc0f5; } }
nav { border-bottom: 1px solid var(--rule); padding-bottom: 0.4rem; }
";

/// Returns the files of the folder: paths and contents. `index.html` is the README.
pub fn folder() -> Vec<(String, Vec<u8>)> {
    let mut linked = BTreeSet::new();
    let mut made: Vec<(String, Vec<u8>)> =
        list().map(|page| (file_name(page.file), whole(page, &mut linked).into_bytes())).collect();
    made.push((CONTENTS.to_owned(), contents().into_bytes()));
    linked
        .extend(files::names().filter(|name| name.starts_with("docs/images/")).map(str::to_owned));
    made.extend(linked.into_iter().map(|name| {
        let bytes = files::read(&name).expect("links lead to embedded files");
        (name, bytes)
    }));
    made
}

/// Returns the path of a page in the folder.
fn file_name(page: &str) -> String {
    match page {
        "README.md" => "index.html".to_owned(),
        _ => format!("{}.html", page.strip_suffix(".md").unwrap_or(page)),
    }
}

/// Returns a page with its frame. Adds the other files to which it links.
fn whole(page: Page, linked: &mut BTreeSet<String>) -> String {
    let markdown = page.markdown();
    let up = "../".repeat(page.file.matches('/').count());
    let body = body(page.file, &markdown, linked);
    let title = title(&markdown).unwrap_or_else(|| page.name().to_owned());
    frame(&title, &up, &body)
}

fn frame(title: &str, up: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{}{SHEET}</style>\n</head>\n<body>\n\
         <nav><a href=\"{up}index.html\">Wireloom</a> · \
         <a href=\"{up}{CONTENTS}\">all pages</a></nav>\n{body}</body>\n</html>\n",
        escaped(title),
        wireloom_report::SHEET,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Returns the page that lists all pages.
fn contents() -> String {
    let row = |page: Page| {
        let (file, name, about) = (file_name(page.file), page.name(), page.about());
        format!("<tr><td><a href=\"{file}\">{name}</a></td><td>{}</td></tr>\n", escaped(&about))
    };
    let rows: String = list().map(row).collect();
    frame("All pages", "", &format!("<h1>All pages</h1>\n<table>\n{rows}</table>\n"))
}

/// Returns the text of a page as HTML.
fn body(file: &str, markdown: &str, linked: &mut BTreeSet<String>) -> String {
    let mut anchors = anchors(markdown).into_iter();
    // A link to a file outside the folder becomes its text.
    let mut open_links = Vec::new();
    let mut in_comment = false;
    let events = Parser::new_ext(markdown, SYNTAX).filter_map(|event| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = anchors.next().map(CowStr::from);
            Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let target = target(file, &dest_url, linked);
            open_links.push(target.is_some());
            let dest_url = CowStr::from(target?);
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(TagEnd::Link) => open_links.pop()?.then_some(event),
        Event::Html(html) => Some(Event::Html(without_comments(&html, &mut in_comment).into())),
        Event::InlineHtml(html) => {
            Some(Event::InlineHtml(without_comments(&html, &mut in_comment).into()))
        }
        event => Some(event),
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    html.replace("<table>", "<div class=\"wide\"><table>").replace("</table>", "</table></div>")
}

/// Returns the target of a link within the folder. Returns `None` if the target is not there.
fn target(file: &str, link: &str, linked: &mut BTreeSet<String>) -> Option<String> {
    if link.contains("://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, format!("#{anchor}")),
        None => (link, String::new()),
    };
    let target = files::resolved(file, path)?;
    let of_folder = match target.is_empty() {
        true => "README.md".to_owned(),
        false => format!("{target}/README.md"),
    };
    let found = [target, of_folder].into_iter().find(|name| files::is_there(name))?;
    let up = "../".repeat(file.matches('/').count());
    if found.ends_with(".md") {
        return Some(format!("{up}{}{anchor}", file_name(&found)));
    }
    let link = format!("{up}{found}");
    linked.insert(found);
    Some(link)
}

/// Returns HTML without comments, which may begin and end in different pieces.
fn without_comments(html: &str, in_comment: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = html;
    while !rest.is_empty() {
        let mark = if *in_comment { "-->" } else { "<!--" };
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        if !*in_comment {
            kept += before;
        }
        *in_comment ^= before.len() < rest.len();
        rest = after;
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shown(markdown: &str) -> (String, BTreeSet<String>) {
        let mut linked = BTreeSet::new();
        let html = body("docs/machines/np.md", markdown, &mut linked);
        (html, linked)
    }

    #[test]
    fn links_lead_to_what_is_in_the_folder() {
        let (html, linked) = shown(
            "[a](../language.md#x) [b](../../README.md) [c](../operate) [d](../../crates/np) \
             [e](../../programs/router.loom) [f](https://e.example) [g](#h) [h](../../../x)\n",
        );
        let expected = "<p><a href=\"../../docs/language.html#x\">a</a> \
             <a href=\"../../index.html\">b</a> \
             <a href=\"../../docs/operate/README.html\">c</a> d \
             <a href=\"../../programs/router.loom\">e</a> \
             <a href=\"https://e.example\">f</a> <a href=\"#h\">g</a> h</p>\n";
        assert_eq!(html, expected);
        assert_eq!(linked, BTreeSet::from(["programs/router.loom".to_owned()]));
    }

    #[test]
    fn comments_are_left_out_and_headings_have_anchors() {
        let (html, _) = shown("## A `b`\n7<!-- key\nvalue --> is\n\n<!-- figure: x -->\n\nend\n");
        assert_eq!(html, "<h2 id=\"a-b\">A <code>b</code></h2>\n<p>7 is</p>\n\n<p>end</p>\n");
    }

    /// Returns the values of an attribute.
    fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
        let begin = format!("{attribute}=\"");
        html.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_link_and_picture_of_the_folder_is_in_it() {
        let folder: BTreeMap<String, Vec<u8>> = folder().into_iter().collect();
        let html = |name: &str| String::from_utf8_lossy(&folder[name]).into_owned();
        let mut count = 0;
        for name in folder.keys().filter(|name| name.ends_with(".html")) {
            let text = html(name);
            for link in values(&text, "href").into_iter().chain(values(&text, "src")) {
                if link.contains("://") {
                    continue;
                }
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = match path {
                    "" => name.clone(),
                    path => files::resolved(name, path).expect("a path in the folder"),
                };
                assert!(folder.contains_key(&target), "{name}: {link}");
                let id = format!("id=\"{anchor}\"");
                assert!(anchor.is_empty() || html(&target).contains(&id), "{name}: {link}");
                count += 1;
            }
        }
        assert!(count > 500, "{count} links");
    }
}
