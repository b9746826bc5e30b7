//! Self-contained HTML reports: one page, without network access, scripts or fonts.
//!
//! A [`Page`] has sections, and a section has blocks: facts, tables, plots, and a packet as two
//! machines output it. All text is escaped. A page's content security policy forbids scripts and
//! fetches.

mod hex;
mod style;

#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use style::SHEET;

#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    result: Option<Outcome>,
    sections: Vec<Section>,
}

/// The result that a page states below its title.
#[derive(Clone, Debug)]
struct Outcome {
    is_good: bool,
    text: String,
}

#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Paragraph(String),
    Facts(Vec<(String, String)>),
    Table(Table),
    Picture { svg: String, description: String },
    Preformatted(String),
    Bytes { expected: Option<Vec<u8>>, got: Option<Vec<u8>> },
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    heads: Vec<String>,
    /// Indices of the columns that hold numbers, which are right-aligned.
    numeric: Vec<usize>,
    rows: Vec<(bool, Vec<String>)>,
}

impl Page {
    /// Creates an empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), result: None, sections: Vec::new() }
    }

    /// Sets the result, good or bad: a sentence below the title.
    pub fn state(&mut self, is_good: bool, text: impl Into<String>) {
        self.result = Some(Outcome { is_good, text: text.into() });
    }

    /// Adds a section.
    pub fn add(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Renders the page.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    (PreEscaped(style::META))
                    title { (self.title) }
                    style { (PreEscaped(style::SHEET)) }
                }
                body {
                    h1 { (self.title) }
                    @if let Some(Outcome { is_good, text }) = &self.result {
                        p class=(if *is_good { "good" } else { "bad" }) { (text) }
                    }
                    @for section in &self.sections { (section.markup()) }
                }
            }
        };
        page.into_string()
    }
}

impl Section {
    /// Creates a section without content.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), blocks: Vec::new() }
    }

    #[must_use]
    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.with(Block::Paragraph(text.into()))
    }

    /// Adds facts: pairs of a name and a value.
    #[must_use]
    pub fn facts<N: Into<String>, V: Into<String>>(
        self,
        facts: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let facts = facts.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.with(Block::Facts(facts.collect()))
    }

    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// Adds a picture: an SVG document of our own making, whose text is escaped already. The
    /// description is for readers who cannot see it.
    #[must_use]
    pub fn picture(self, svg: &str, description: impl Into<String>) -> Self {
        // Inside HTML, SVG elements need no namespace, and the namespace looks like an address.
        let svg = svg.replacen(r#" xmlns="http://www.w3.org/2000/svg""#, "", 1);
        self.with(Block::Picture { svg, description: description.into() })
    }

    /// Adds text that keeps its line breaks and blanks.
    #[must_use]
    pub fn preformatted(self, text: impl Into<String>) -> Self {
        self.with(Block::Preformatted(text.into()))
    }

    /// Adds the bytes of a packet from golden and from another machine, with differing bytes
    /// marked. `None` means that the machine has no such packet.
    #[must_use]
    pub fn bytes(self, expected: Option<Vec<u8>>, got: Option<Vec<u8>>) -> Self {
        self.with(Block::Bytes { expected, got })
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    fn markup(&self) -> Markup {
        html! {
            section {
                h2 { (self.heading) }
                @for block in &self.blocks { (block.markup()) }
            }
        }
    }
}

impl Block {
    fn markup(&self) -> Markup {
        match self {
            Self::Paragraph(text) => html! { p { (text) } },
            Self::Facts(facts) => html! {
                dl { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
            },
            Self::Table(table) => table.markup(),
            Self::Picture { svg, description } => html! {
                figure role="img" aria-label=(description) { (PreEscaped(svg)) }
            },
            Self::Preformatted(text) => html! { pre { (text) } },
            Self::Bytes { expected, got } => hex::markup(expected.as_deref(), got.as_deref()),
        }
    }
}

impl Table {
    /// Creates a table with these heads; `numeric` holds the indices of the right-aligned columns.
    pub fn new<H: Into<String>>(heads: impl IntoIterator<Item = H>, numeric: &[usize]) -> Self {
        let heads = heads.into_iter().map(Into::into).collect();
        Self { heads, numeric: numeric.to_vec(), rows: Vec::new() }
    }

    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push((false, cells.into_iter().map(Into::into).collect()));
    }

    pub fn marked_row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push((true, cells.into_iter().map(Into::into).collect()));
    }

    fn class(&self, column: usize) -> Option<&'static str> {
        self.numeric.contains(&column).then_some("number")
    }

    fn markup(&self) -> Markup {
        html! {
            div class="wide" {
                table {
                    thead { tr {
                        @for (column, head) in self.heads.iter().enumerate() {
                            th class=[self.class(column)] { (head) }
                        }
                    } }
                    tbody { @for (is_marked, cells) in &self.rows {
                        tr class=[is_marked.then_some("changed")] {
                            @for (column, cell) in cells.iter().enumerate() {
                                td class=[self.class(column)] { (cell) }
                            }
                        }
                    } }
                }
            }
        }
    }
}
