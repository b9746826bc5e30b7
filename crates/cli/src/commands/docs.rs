//! `wireloom docs`: the documentation, which is embedded in the command.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::{Staged, output};
use wireloom_guide::{self as guide, Page, Unknown};
use wireloom_lang::suggest::suggest;

use crate::failure::{Failure, Outcome};
use crate::pager;

/// See `wireloom docs --help`.
#[derive(Args, Debug)]
pub struct Docs {
    /// A page (language, machines/np), a section of one (packets#tables), or the code of a
    /// diagnostic (E0201); without it, the pages are listed
    #[arg(value_name = "PAGE|CODE", conflicts_with = "html")]
    page: Option<String>,
    /// Write all pages and their pictures into this folder as HTML; begin with its index.html
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    html: Option<PathBuf>,
}

impl Docs {
    /// Shows a page, lists them, or writes them.
    pub fn run(self) -> Outcome {
        match (&self.page, &self.html) {
            (Some(words), _) => show(&markdown(words)?),
            (None, Some(folder)) => write_html(folder)?,
            (None, None) => pager::show(&contents(output::width())),
        }
        Ok(())
    }
}

/// Shows Markdown as text, fitted to the terminal.
fn show(markdown: &str) {
    /// The width if standard output is not a terminal.
    const WIDTH: usize = 80;
    let width = output::width().map_or(WIDTH, usize::from);
    pager::show(&guide::text(markdown, width, output::is_styled()));
}

/// Explains a diagnostic.
///
/// # Errors
/// If none has this code.
pub fn explain(code: &str) -> Outcome {
    show(&explanation(code)?);
    Ok(())
}

fn explanation(code: &str) -> Outcome<String> {
    guide::diagnostic(code).ok_or_else(|| {
        Failure::unusable(format!("no diagnostic has the code '{code}'"))
            .with_help("`wireloom docs diagnostics` lists the codes of Loom C, `wireloom docs microcode` those of the assembler")
    })
}

/// Returns the Markdown of a page, a section or a diagnostic.
fn markdown(words: &str) -> Outcome<String> {
    let (name, section) = match words.split_once('#') {
        Some((name, section)) => (name, Some(section)),
        None => (words, None),
    };
    let page = match guide::find(name) {
        Ok(page) => page,
        Err(Unknown::Page) if guide::is_code(words) => return explanation(words),
        Err(unknown) => return Err(unknown_page(name, unknown)),
    };
    let text = page.markdown();
    let Some(section) = section else { return Ok(text) };
    let found = guide::named(&text, section).map(str::to_owned);
    found.ok_or_else(|| {
        let sections = guide::anchors(&text).join(", ");
        Failure::unusable(format!("page {} has no section '{section}'", page.name()))
            .with_help(format!("its sections: {sections}"))
    })
}

/// Returns the failure for a name of no page or of several, with similar names.
fn unknown_page(name: &str, unknown: Unknown) -> Failure {
    /// The most suggested names.
    const MOST: usize = 6;
    if let Unknown::Several(pages) = unknown {
        let names: Vec<&str> = pages.into_iter().map(Page::name).collect();
        return Failure::unusable(format!("'{name}' is the name of {} pages", names.len()))
            .with_help(format!("name one of {}", names.join(", ")));
    }
    let names: Vec<&str> = guide::list().filter(is_listed).map(Page::name).collect();
    let wanted = name.to_lowercase();
    let mut close: Vec<String> = names
        .iter()
        .filter(|page| !wanted.is_empty() && page.to_lowercase().contains(&wanted))
        .map(|page| format!("`{page}`"))
        .take(MOST)
        .collect();
    if close.is_empty() {
        let last = names.iter().filter_map(|page| page.rsplit('/').next());
        let likely = suggest(&wanted, names.iter().copied().chain(last));
        close
            .extend(likely.and_then(|text| text.split('`').nth(1).map(|name| format!("`{name}`"))));
    }
    let failure = Failure::unusable(format!("no page is called '{name}'"));
    match close[..] {
        [] => failure.with_help("`wireloom docs` lists the pages"),
        _ => failure.with_help(format!(
            "did you mean {}? `wireloom docs` lists the pages",
            close.join(", ")
        )),
    }
}

/// Whether the list includes a page. Pages of single hardware templates are excluded.
fn is_listed(page: &Page) -> bool {
    !page.name().starts_with("hardware/modules/")
}

/// Returns the list of pages, one per line, cut to `width`.
fn contents(width: Option<u16>) -> String {
    let rows: Vec<(&str, String)> =
        guide::list().filter(is_listed).map(|page| (page.name(), page.about())).collect();
    let longest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::from(
        "`wireloom docs PAGE` shows a page, `wireloom docs CODE` explains a diagnostic.\n\n",
    );
    for (name, about) in rows {
        let room = width.map_or(usize::MAX, |width| usize::from(width) - longest - 2);
        let _ = writeln!(text, "{name:longest$}  {}", cut(&about, room));
    }
    text
}

/// Cuts a text to `room` characters.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Writes all pages as HTML.
fn write_html(folder: &Path) -> Outcome {
    let staged = Staged::at(folder)?;
    let files = guide::html::folder();
    for (name, contents) in &files {
        staged.write(name, contents)?;
    }
    staged.install()?;
    let pages = files.iter().filter(|(name, _)| name.ends_with(".html")).count();
    output::say(format!("{}: {pages} pages", folder.join("index.html").display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_the_terminal() {
        for line in contents(Some(80)).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(contents(None).contains("\nlanguage "), "{}", contents(None));
        assert_eq!(cut("a long text", 7), "a long…");
        assert_eq!(cut("a text", 6), "a text");
    }
}
