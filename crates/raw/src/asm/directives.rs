//! Directives that begin sections or name constants.

use super::Diagnostic;
use super::line::{Line, is_name};
use super::source::{Area, Section};

type Result<T> = std::result::Result<T, Diagnostic>;

impl<'a> Line<'a> {
    /// Returns the name and the value of an `.equ` line.
    pub fn constant(&self) -> Option<Result<(&'a str, i64)>> {
        let (_, rest) = self.first_is(".equ")?;
        let form = "a constant is `.equ NAME, NUMBER`";
        let parts = rest.list();
        let [name, value] = parts[..] else { return Some(Err(self.error(form, None))) };
        if !is_name(name.text()) {
            return Some(Err(name.error(form, None)));
        }
        let value = value.number(i64::from(i32::MIN), i64::from(u32::MAX));
        Some(value.map(|value| (name.text(), value)))
    }

    fn first_is(&self, name: &str) -> Option<(Self, Self)> {
        let (first, rest) = self.first();
        (first.text() == name).then_some((first, rest))
    }

    /// Whether the line is a directive other than a directive of data.
    pub fn begins_section(&self) -> bool {
        let of_data = [".word", ".half", ".byte", ".space", ".align"];
        self.text().starts_with('.') && !of_data.contains(&self.first().0.text())
    }

    /// Returns the section that the line begins.
    pub fn section(&self) -> Result<Section> {
        let (name, rest) = self.first();
        match name.text() {
            ".tile" => Ok(Section::Tile(self.area(rest)?)),
            ".switch" => Ok(Section::Switch(self.area(rest)?)),
            ".data" => {
                let address = rest.number(0, i64::from(u32::MAX))? as u32;
                if !address.is_multiple_of(4) {
                    return Err(rest.error("data begins at a multiple of 4", None));
                }
                Ok(Section::Data(address))
            }
            _ => {
                let help = "there are `.tile`, `.switch`, `.data`, `.equ` and `.include`";
                Err(name.error("unknown directive", Some(help)))
            }
        }
    }

    fn area(&self, text: Self) -> Result<Area> {
        let (columns, rows) = text.first();
        let range = |part: Self| {
            let (from, to) = part.split("-").unwrap_or((part, part));
            let number = |text: &str| text.parse().ok().filter(|number| *number < 16u8);
            match (number(from.text()), number(to.text())) {
                (Some(from), Some(to)) if from <= to => Ok((from, to)),
                _ => {
                    let part = if part.is_empty() { *self } else { part };
                    let help = "several tiles are a range, such as `0-3`";
                    Err(part.error("column and row of a tile are needed, each 0 to 15", Some(help)))
                }
            }
        };
        Ok(Area { columns: range(columns)?, rows: range(rows)? })
    }
}
