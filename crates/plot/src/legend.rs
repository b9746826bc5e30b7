//! Legends: entries next to each other, in as many rows as they need.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::style::{INK, LINE, TEXT, font};
use crate::text::{width, wrap};
use crate::{Area, Drawing, Limit};

/// Widths in pixels: the sign of an entry, the gap after the sign, and the gap after the entry.
const SIGN: i32 = 30;
const GAP: i32 = 6;
const BETWEEN: i32 = 20;

/// The sign of an entry.
#[derive(Clone, Copy)]
pub enum Sign {
    /// A filled box.
    Box(RGBAColor),
    /// A line with these dashes, and perhaps a marker in its middle.
    Line(RGBColor, Option<(i32, i32)>, Option<usize>),
    /// The line at a limit.
    Limit,
    /// The tick of a sample.
    Sample,
}

/// A legend whose entries have been placed.
pub struct Legend {
    entries: Vec<(i32, i32, Sign, Vec<String>)>,
    /// The height, in pixels.
    pub height: i32,
}

impl Legend {
    /// Places entries in rows of this width.
    pub fn new(entries: impl IntoIterator<Item = (Sign, String)>, room: i32) -> Self {
        let (mut x, mut y, mut tallest) = (0, 0, 0);
        let mut placed = Vec::new();
        for (sign, name) in entries {
            let lines = wrap(&name, TEXT, room - SIGN - GAP, 3);
            let widest = lines.iter().map(|line| width(line, TEXT)).max().unwrap_or(0);
            let own = SIGN + GAP + widest;
            if x > 0 && x + own > room {
                (x, y, tallest) = (0, y + tallest, 0);
            }
            tallest = tallest.max(LINE * lines.len().max(1) as i32);
            placed.push((x, y, sign, lines));
            x += own + BETWEEN;
        }
        Self { entries: placed, height: y + tallest }
    }

    /// Draws the entries, with their upper left corner at this point.
    pub fn draw(&self, area: &Area<'_>, (left, top): (i32, i32)) -> Drawing {
        for (x, y, sign, lines) in &self.entries {
            let (x, y) = (left + x, top + y);
            let middle = y + LINE / 2;
            let line = vec![(x, middle), (x + SIGN, middle)];
            match *sign {
                Sign::Box(color) => {
                    area.draw(&Rectangle::new(
                        [(x + 8, y + 3), (x + SIGN, y + 14)],
                        color.filled(),
                    ))?;
                }
                Sign::Line(color, dashes, marked) => {
                    path(area, line, dashes, color.stroke_width(2))?;
                    if let Some(index) = marked {
                        marker(area, (x + SIGN / 2, middle), index, color)?;
                    }
                }
                Sign::Limit => path(area, line, Some(LIMIT), INK.stroke_width(1))?,
                Sign::Sample => {
                    let x = x + SIGN / 2;
                    area.draw(&PathElement::new(
                        vec![(x, y + 3), (x, y + 14)],
                        INK.stroke_width(1),
                    ))?;
                }
            }
            for (index, line) in (0..).zip(lines) {
                let at = (x + SIGN + GAP, y + LINE * index + LINE / 2);
                let style = font(TEXT, HPos::Left, VPos::Center);
                area.draw(&Text::new(line.clone(), at, style))?;
            }
        }
        Ok(())
    }
}

/// The dashes of limits.
pub const LIMIT: (i32, i32) = (6, 3);

/// Returns the entries of limits.
pub fn limits(limits: &[Limit]) -> impl Iterator<Item = (Sign, String)> + '_ {
    limits
        .iter()
        .map(|limit| (Sign::Limit, format!("{}: {}", limit.name, crate::number(limit.value))))
}

/// Draws a line through points of the area.
pub fn path(
    area: &Area<'_>,
    points: Vec<(i32, i32)>,
    dashes: Option<(i32, i32)>,
    style: ShapeStyle,
) -> Drawing {
    match dashes {
        None => area.draw(&PathElement::new(points, style))?,
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points, dash, gap, style))?,
    }
    Ok(())
}

/// Draws the marker of a series: circle, square, triangle or cross, filled or not.
pub fn marker(area: &Area<'_>, at: (i32, i32), index: usize, color: RGBColor) -> Drawing {
    const SIZE: i32 = 4;
    match index % 4 {
        0 => area.draw(&Circle::new(at, SIZE, color.filled()))?,
        1 => area.draw(&Rectangle::new(
            [(at.0 - SIZE, at.1 - SIZE), (at.0 + SIZE, at.1 + SIZE)],
            color.filled(),
        ))?,
        2 => area.draw(&TriangleMarker::new(at, SIZE + 1, color.filled()))?,
        _ => area.draw(&Cross::new(at, SIZE, color.stroke_width(2)))?,
    }
    Ok(())
}
