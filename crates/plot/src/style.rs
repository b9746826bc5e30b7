//! Fonts, colours and dashes of all plots.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Height of text in pixels.
pub const TEXT: f64 = 12.0;
/// Height of a title in pixels.
pub const TITLE: f64 = 14.0;
/// Distance between lines of text, in pixels.
pub const LINE: i32 = 17;
/// Distance between lines of a title, in pixels.
pub const TITLE_LINE: i32 = 20;
/// Room around everything, in pixels.
pub const MARGIN: i32 = 12;

pub const INK: RGBColor = RGBColor(31, 41, 51);
pub const GRID: RGBColor = RGBColor(222, 226, 230);

/// Fonts that most computers have, the widest first. Text is measured in the first one.
const FONTS: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// Colours of Okabe and Ito without yellow, which is hard to see on white.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(80, 80, 80),
];

/// Lengths of a dash and of the gap after it, in pixels; the first line is solid. The number of
/// dashes and the number of colours have no common factor, so 28 lines differ.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((2, 4)), Some((16, 5))];

/// Returns the colour of a series.
pub fn color(index: usize) -> RGBColor {
    COLORS[index % COLORS.len()]
}

/// Returns the dashes of a series' line.
pub fn dashes(index: usize) -> Option<(i32, i32)> {
    DASHES[index % DASHES.len()]
}

/// Returns the opacity of a series' bars: full for seven series, then half.
pub fn strength(index: usize, is_pale: bool) -> f64 {
    match (is_pale, index / COLORS.len() % 2) {
        (true, _) => 0.35,
        (false, 0) => 0.9,
        (false, _) => 0.55,
    }
}

/// Returns a text style of this size. plotters divides sizes by 1.24.
pub fn font(size: f64, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle::from((FONTS, size * 1.24).into_font()).color(&INK).pos(Pos::new(h, v))
}

/// Returns a text style in bold type.
pub fn bold(size: f64) -> TextStyle<'static> {
    let font = (FONTS, size * 1.24).into_font().style(FontStyle::Bold);
    TextStyle::from(font).color(&INK).pos(Pos::new(HPos::Left, VPos::Top))
}
