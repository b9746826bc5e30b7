//! Drawings of a router's layout: the work of each tile, the routes of the first static network,
//! and the devices at the ports. All of it comes from the program, its text and its board.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use wireloom_isa::raw::switch::{self, Source};

use crate::asm::{Place, Program};
use crate::board::{BoardSpec, Edge};
use crate::layout::Side;

/// Pixels: distance between tiles, side of a tile, distance to the first tile.
const STEP: f64 = 74.0;
const SIZE: f64 = 52.0;
const MARGIN: f64 = 62.0;
/// Side of a drawing in pixels.
pub const EXTENT: f64 = 2.0 * MARGIN + 3.0 * STEP + SIZE;

/// Draws a layout of 4 x 4 tiles as SVG content, with its upper left corner at a place.
pub fn draw(
    title: &str,
    text: &str,
    program: &Program,
    board: &BoardSpec,
    at: (f64, f64),
) -> String {
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<g transform=\"translate({} {})\" font-family=\"sans-serif\" font-size=\"10\" \
         text-anchor=\"middle\"><text x=\"{}\" y=\"12\" font-size=\"14\">{title}</text>",
        at.0,
        at.1,
        EXTENT / 2.0
    );
    let names = names(text);
    for y in 0..4u8 {
        for x in 0..4u8 {
            let (left, top) = (MARGIN + STEP * f64::from(x), MARGIN + STEP * f64::from(y));
            let name = names.iter().rev().find(|(area, _)| area.contains(&(x, y)));
            let name = name.map_or("", |name| name.1.as_str());
            let is_used = !program.of((x, y)).0.is_empty();
            let fill = if is_used { "#dce8f5" } else { "#f2f2f2" };
            let _ = write!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{SIZE}\" height=\"{SIZE}\" fill=\"{fill}\" \
                 stroke=\"#444\"/><text x=\"{}\" y=\"{}\" fill=\"#888\" font-size=\"8\">{}</text>\
                 <text x=\"{}\" y=\"{}\">{name}</text>",
                left + 8.0,
                top + 10.0,
                4 * y + x,
                left + SIZE / 2.0,
                top + SIZE - 6.0
            );
        }
    }
    for (place, side) in routes(program) {
        svg += &arrow(place, side);
    }
    for (edge, _) in &board.memories {
        svg += &device(*edge, "DRAM", "#f5e3c8");
    }
    for (edge, card) in &board.inputs {
        svg += &device(*edge, &format!("in {}", card.port), "#d6efd6");
    }
    for (number, (edge, _)) in board.outputs.iter().enumerate() {
        svg += &device(*edge, &format!("out {number}"), "#f0d8e6");
    }
    svg + "</g>"
}

/// Returns the tiles of each tile section, and the section's comment.
fn names(text: &str) -> Vec<(Vec<Place>, String)> {
    let sections = text.lines().filter_map(|line| line.strip_prefix(".tile "));
    let named = sections.filter_map(|line| line.split_once('#'));
    let range = |text: &str| {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        Some(from.parse::<u8>().ok()?..=to.parse::<u8>().ok()?)
    };
    named
        .filter_map(|(area, name)| {
            let (columns, rows) = area.trim().split_once(' ')?;
            let (columns, rows) = (range(columns)?, range(rows.trim())?);
            let places = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
            Some((places.collect(), name.trim().to_owned()))
        })
        .collect()
}

/// Returns the sides to which switches route words of the first static network, and the sides from
/// which they take words of devices or neighbours.
fn routes(program: &Program) -> BTreeSet<(Place, usize)> {
    let mut routes = BTreeSet::new();
    for place in program.tiles() {
        for word in program.of(place).1 {
            let Ok(instruction) = switch::decode(*word) else { continue };
            for (end, source) in instruction.routes[0].iter().enumerate() {
                let Some(source) = source else { continue };
                if end < 4 {
                    routes.insert((place, end));
                }
                // A device sends the words: the arrow points into the tile.
                let from = *source as usize - Source::North as usize;
                let (x, y) = place;
                let is_edge = [y == 0, x == 3, y == 3, x == 0];
                if from < 4 && is_edge[from] {
                    routes.insert((place, 4 + from));
                }
            }
        }
    }
    routes
}

/// Returns the middle of a tile.
fn middle((x, y): Place) -> (f64, f64) {
    let at = |number: u8| MARGIN + STEP * f64::from(number) + SIZE / 2.0;
    (at(x), at(y))
}

/// Returns one step to a side.
fn direction(side: usize) -> (f64, f64) {
    [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)][side]
}

/// Draws an arrow from a tile to a side. From 4 on, `side` means a device at side `side - 4`, and
/// the arrow points into the tile.
fn arrow(place: Place, side: usize) -> String {
    let (x, y) = middle(place);
    let (dx, dy) = direction(side % 4);
    let (from, to) = (SIZE / 2.0 - 8.0, STEP - SIZE / 2.0 - 1.0);
    let (from, to) = if side < 4 { (from, to) } else { (to, from) };
    let (tip_x, tip_y) = (x + dx * to, y + dy * to);
    let back = if side < 4 { -5.0 } else { 5.0 };
    format!(
        "<path d=\"M{} {} L{tip_x} {tip_y} M{} {} L{tip_x} {tip_y} L{} {}\" fill=\"none\" \
         stroke=\"#b03030\" stroke-width=\"1.5\"/>",
        x + dx * from,
        y + dy * from,
        tip_x + dx * back - dy * 3.0,
        tip_y + dy * back - dx * 3.0,
        tip_x + dx * back + dy * 3.0,
        tip_y + dy * back + dx * 3.0
    )
}

/// Draws a device next to its tile.
fn device((place, side): Edge, name: &str, fill: &str) -> String {
    let (x, y) = middle(place);
    let (dx, dy) = direction(side as usize);
    let away = STEP - 3.0 + if matches!(side, Side::East | Side::West) { 0.0 } else { -8.0 };
    let (x, y) = (x + dx * away * 0.78, y + dy * away * 0.8);
    format!(
        "<rect x=\"{}\" y=\"{}\" width=\"36\" height=\"16\" fill=\"{fill}\" stroke=\"#666\"/>\
         <text x=\"{x}\" y=\"{}\">{name}</text>",
        x - 18.0,
        y - 8.0,
        y + 4.0
    )
}

#[cfg(test)]
mod tests {
    use crate::routers::{Setting, Version};

    use super::*;

    #[test]
    fn a_drawing_has_the_stages_the_routes_and_the_devices_of_the_files() {
        let version = Version::named("III");
        let program = version.program().unwrap();
        let board = version.board(&Setting::default());
        let svg = draw("III", version.text, &program, &board, (0.0, 0.0));
        for (name, count) in [(">lookup<", 4), (">queue<", 4), (">DRAM<", 6), (">in 3<", 1)] {
            assert_eq!(svg.matches(name).count(), count, "{name}");
        }
        let routes = routes(&program);
        assert!(routes.contains(&((0, 1), 3)), "column 0 streams west into the memory at tile 4");
        assert!(!routes.contains(&((0, 1), 1)));
    }
}
