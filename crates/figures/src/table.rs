//! Tables of figures for pages.

use wireloom_machine::Result;

use super::values::Values;

/// A Markdown table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these column heads.
    pub fn new<T: Into<String>>(heads: impl IntoIterator<Item = T>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let line = |cells: &Vec<String>| {
            let cells: String = cells
                .iter()
                .map(|cell| if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") })
                .collect();
            format!("|{cells}")
        };
        let rule = format!("|{}", "---|".repeat(self.heads.len()));
        [line(&self.heads), rule].into_iter().chain(self.rows.iter().map(line)).collect()
    }
}

/// A table of a figure for pages.
pub struct PageTable {
    /// The name that follows the figure's name in a page.
    pub name: &'static str,
    pub write: fn(&Values) -> Result<Table>,
}
