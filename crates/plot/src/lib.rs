//! Plots as SVG, all in one style: lines over an axis ([`Lines`]) and bars in groups ([`Bars`]).
//!
//! plotters draws axes, grids and shapes. This crate places the text, since without a font library
//! plotters does not know how wide text is: titles, legends and names wrap, there are as many ticks
//! as have room, and no label lies on a line or on another label. Widths are estimated for a wide
//! font, so text fits in narrower fonts too. Series differ in colour, and in dashes or markers. The
//! colours are from Okabe and Ito (2008), which colour-blind people can distinguish.

mod axis;
mod bars;
mod legend;
mod lines;
mod style;
mod text;

#[cfg(test)]
mod tests;

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend, WHITE};

pub use bars::{Bar, Bars, Group, Paint};
pub use lines::{Line, Lines};
pub use text::number;

/// Width of a plot, in pixels.
const WIDTH: u32 = 820;

/// A value that a plot shows as a line across it, with its name in the legend.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The name in the legend, such as `offered`.
    pub name: String,
    /// The value, in the unit of the axis.
    pub value: f64,
}

impl Limit {
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawing = Result<(), Box<dyn std::error::Error>>;

/// Draws into memory. This cannot fail, since no file is written.
fn in_memory(width: u32, height: i32, draw: impl FnOnce(&Area<'_>) -> Drawing) -> String {
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (width, height.max(1) as u32)).into_drawing_area();
        let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
        drawn.and_then(|()| Ok(area.present()?)).unwrap_or_else(|error| failed(&error));
    }
    svg
}

fn failed(error: &dyn Display) {
    unreachable!("a drawing in memory failed: {error}");
}
