//! A page as text for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use pulldown_cmark::{Alignment, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::section::SYNTAX;

/// The longest line of prose, in characters.
const PROSE: usize = 100;

const BOLD: &str = "\x1b[1m";
const ITALIC: &str = "\x1b[3m";
const CODE: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Formats Markdown as text: prose in lines of at most `width` characters (and at most 100), tables
/// fitted into `width`, code unchanged. A link becomes its text. `styled` marks headings, emphasis
/// and code with the escape sequences of terminals.
pub fn text(markdown: &str, width: usize, styled: bool) -> String {
    let mut writer = Writer { width, styled, ..Writer::default() };
    for event in Parser::new_ext(markdown, SYNTAX) {
        writer.take(event);
    }
    writer.end_block();
    writer.out
}

/// The indentation of lines inside a block.
struct Indent {
    /// The mark of a list item, until it has been written.
    first: Option<String>,
    rest: String,
}

#[derive(Default)]
struct Writer {
    width: usize,
    styled: bool,
    out: String,
    /// The inline text of the current block: words with their styles, separated by blanks.
    inline: String,
    styles: Vec<&'static str>,
    indents: Vec<Indent>,
    /// The numbers of the next items of open lists; `None` for lists without numbers.
    lists: Vec<Option<u64>>,
    heading: Option<HeadingLevel>,
    /// The text of an open code block.
    code: Option<String>,
    table: Option<Rows>,
    /// The nesting depth of images. Their text is a description.
    images: usize,
    in_comment: bool,
    /// Whether a blank line comes before the next block.
    gap: bool,
}

#[derive(Default)]
struct Rows {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => self.push_code(&text),
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => self.block(|_, width| vec!["─".repeat(width.min(PROSE))]),
            Event::Html(html) | Event::InlineHtml(html) => self.push_html(&html),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_block();
                self.heading = Some(level);
                self.gap = !self.out.is_empty();
                self.styles.push(BOLD);
            }
            Tag::Paragraph => self.end_block(),
            Tag::CodeBlock(_) => {
                self.end_block();
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_block();
                self.gap &= self.lists.is_empty();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::BlockQuote(_) => {
                self.end_block();
                self.indents.push(Indent { first: None, rest: "│ ".to_owned() });
            }
            Tag::Table(alignments) => {
                self.end_block();
                self.table = Some(Rows { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|table| table.rows.push(Vec::new()));
            }
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Image { .. } => {
                self.images += 1;
                self.push("[picture: ");
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                self.styles.pop();
                self.end_heading(level);
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_block();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.block(|_, _| code.lines().map(|line| format!("    {line}")).collect());
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.end_block();
                self.indents.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.indents.pop();
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                self.block(|_, width| table.lines(width));
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                row.into_iter().for_each(|row| row.push(cell.trim().to_owned()));
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.styles.pop();
            }
            TagEnd::Image => {
                self.images -= 1;
                self.push("]");
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_block();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        let rest = " ".repeat(mark.len());
        self.indents.push(Indent { first: Some(mark), rest });
    }

    /// Writes the heading. A rule follows the headings of the two upper levels.
    fn end_heading(&mut self, level: HeadingLevel) {
        let length = visible(self.inline.trim());
        self.end_block();
        let rule = match level {
            HeadingLevel::H1 => "═",
            HeadingLevel::H2 => "─",
            _ => "",
        };
        if !rule.is_empty() {
            self.write_line(&rule.repeat(length.min(self.width)));
        }
        self.heading = None;
        self.gap = level == HeadingLevel::H1;
    }

    /// Adds text in the style of its surroundings.
    fn push(&mut self, text: &str) {
        // Tables get no style, since their columns are measured in characters.
        let style = self.styles.last().filter(|_| self.styled && self.table.is_none());
        let Some(style) = style else { return self.inline.push_str(text) };
        for (at, word) in text.split(' ').enumerate() {
            if at > 0 {
                self.inline.push(' ');
            }
            if !word.is_empty() {
                self.inline.extend([*style, word, PLAIN]);
            }
        }
    }

    fn push_code(&mut self, text: &str) {
        if self.styled && self.table.is_none() && self.heading.is_none() {
            self.styles.push(CODE);
            self.push(text);
            self.styles.pop();
        } else if self.heading.is_some() || self.table.is_some() {
            self.push(text);
        } else {
            self.inline.extend(["`", text, "`"]);
        }
    }

    /// Adds the visible part of HTML: descriptions of pictures.
    fn push_html(&mut self, html: &str) {
        let mut rest = html;
        while !rest.is_empty() {
            if self.in_comment {
                let Some((_, after)) = rest.split_once("-->") else { return };
                (self.in_comment, rest) = (false, after);
            } else {
                let (seen, after) = rest.split_once("<!--").unwrap_or((rest, ""));
                self.in_comment = seen.len() < rest.len();
                let description =
                    seen.split_once("alt=\"").and_then(|(_, alt)| alt.split_once('"'));
                if let Some((description, _)) = description {
                    self.push(&format!("[picture: {description}]"));
                }
                rest = after;
            }
        }
    }

    /// Writes the collected inline text, in lines that fit.
    fn end_block(&mut self) {
        if self.inline.trim().is_empty() {
            return self.inline.clear();
        }
        let text = std::mem::take(&mut self.inline);
        let gap = self.heading.is_some() || self.gap;
        self.gap = gap;
        let width =
            self.room().min(PROSE.max(if self.width == usize::MAX { self.width } else { 0 }));
        let lines = text.split('\n').flat_map(|line| wrapped(line, width)).collect();
        self.write_block(lines);
    }

    /// Writes a block between blank lines.
    fn block(&mut self, lines: impl FnOnce(&Self, usize) -> Vec<String>) {
        self.end_block();
        self.gap = !self.out.is_empty();
        let lines = lines(self, self.room());
        self.write_block(lines);
        self.gap = true;
    }

    fn write_block(&mut self, lines: Vec<String>) {
        if std::mem::take(&mut self.gap) && !self.out.is_empty() {
            self.out.push('\n');
        }
        lines.iter().for_each(|line| self.write_line(line));
    }

    fn write_line(&mut self, line: &str) {
        let mut whole = String::new();
        for indent in &mut self.indents {
            whole += &indent.first.take().unwrap_or_else(|| indent.rest.clone());
        }
        whole += line;
        self.out += whole.trim_end();
        self.out.push('\n');
    }

    /// Returns the width that indentation leaves, at least 20.
    fn room(&self) -> usize {
        let taken: usize = self.indents.iter().map(|indent| indent.rest.chars().count()).sum();
        self.width.saturating_sub(taken).max(20)
    }
}

impl Rows {
    /// Formats the rows as lines of at most `width` characters.
    fn lines(&self, width: usize) -> Vec<String> {
        let mut table = Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().header_separator(rule));
        if let Ok(width) = u16::try_from(width) {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let mut rows = self.rows.iter();
        table.set_header(rows.next().cloned().unwrap_or_default());
        rows.for_each(|row| {
            table.add_row(row.clone());
        });
        for (column, alignment) in table.column_iter_mut().zip(&self.alignments) {
            if *alignment == Alignment::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// Returns the number of characters of a text that a terminal shows.
fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut in_escape = false;
    for c in text.chars() {
        match c {
            '\x1b' => in_escape = true,
            'm' if in_escape => in_escape = false,
            _ => count += usize::from(!in_escape),
        }
    }
    count
}

/// Breaks a text between words into lines of at most `width` characters. Longer words stay whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let added = visible(word);
        match lines.last_mut() {
            Some(line) if length + 1 + added <= width => {
                line.push(' ');
                line.push_str(word);
                length += 1 + added;
            }
            _ => {
                lines.push(word.to_owned());
                length = added;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# A page
Some *prose* with `code`, a [link](x.md) and 7<!-- key value --> numbers, which is wrapped
where the lines end.

## Lists
- one
- two, which is long enough to need another line
  1. deep
  2. deeper

```sh
wireloom   check
```

| name | what it is |
|---|---:|
| `a` | a cell that needs several lines in a narrow terminal |
| b | 7 |

<!-- figure: none -->
> quoted

<p><img src=\"x.svg\" alt=\"A chip\"></p>

![Steps](y.svg)
";

    #[test]
    fn a_page_is_readable_text() {
        let expected = "\
A page
══════

Some prose with `code`, a link and 7
numbers, which is wrapped where the
lines end.

Lists
─────
- one
- two, which is long enough to need
  another line
  1. deep
  2. deeper

    wireloom   check

 name                        what it is
────────────────────────────────────────
 a      a cell that needs several lines
                   in a narrow terminal
 b                                    7

│ quoted

[picture: A chip]

[picture: Steps]
";
        let shown = text(PAGE, 40, false);
        assert_eq!(shown, expected, "\n{shown}");
    }

    #[test]
    fn styles_do_not_change_where_lines_end() {
        let styled = text(PAGE, 40, true);
        assert!(styled.contains(&format!("{BOLD}A{PLAIN} {BOLD}page{PLAIN}")), "{styled}");
        assert!(styled.contains(&format!("{ITALIC}prose{PLAIN}")), "{styled}");
        assert!(styled.contains(&format!("{CODE}code{PLAIN}, a link")), "{styled}");
        assert!(styled.lines().all(|line| visible(line) <= 40), "{styled}");
    }

    #[test]
    fn each_page_fits_a_terminal() {
        for page in crate::list() {
            let shown = text(&page.markdown(), 80, false);
            // Neither code nor single words are broken.
            let is_prose = |line: &&str| !line.starts_with("    ");
            for line in shown.lines().filter(is_prose) {
                let longest = line.split(' ').map(|word| word.chars().count()).max();
                let fits = line.chars().count() <= 80 || longest >= Some(60);
                assert!(fits && !line.contains("<!--"), "{}: {line}", page.name());
            }
        }
    }
}
