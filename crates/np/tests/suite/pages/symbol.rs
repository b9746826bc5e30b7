//! Draws a template as a box with its inputs on the left, its outputs on the right, and its
//! instances inside.

use std::fmt::Write as _;

use super::module::{Module, Port};

/// Height of a row, and space between groups of ports.
const ROW: usize = 18;
const GAP: usize = 10;
/// Width of a letter in names, and in the smaller text of widths.
const LETTER: f64 = 6.7;
const SMALL: f64 = 5.6;
const ARROW: usize = 26;

/// Returns the drawing in SVG.
pub fn draw(module: &Module) -> String {
    let ports = || module.ports.iter().flat_map(|group| &group.ports);
    let widest = |is_input: bool, text: fn(&Port) -> usize| {
        ports().filter(|port| port.is_input == is_input).map(text).max().unwrap_or(0) as f64
    };
    let names = |is_input| widest(is_input, |port| port.name.len()) * LETTER;
    let widths =
        |is_input| (widest(is_input, |port| port.width.len()) * SMALL) as usize + ARROW + 12;
    let inside =
        module.inside.iter().map(|name| name.len() as f64 * LETTER + 20.0).fold(0.0, f64::max);
    let title = module.name.len() as f64 * 8.6;
    let (left, right) = (widths(true), widths(false));
    let box_width =
        (names(true) + names(false) + 36.0).max(title + 30.0).max(inside + 30.0) as usize;
    let mut rows = String::new();
    let mut y = 44;
    for group in &module.ports {
        let mut side = |is_input: bool| {
            let mut y = y;
            for port in group.ports.iter().filter(|port| port.is_input == is_input) {
                arrow(port, left, box_width, y, &mut rows);
                y += ROW;
            }
            y
        };
        y = side(true).max(side(false)) + GAP;
    }
    for name in &module.inside {
        let x = left + 15;
        let _ = writeln!(
            rows,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"20\" rx=\"4\" fill=\"#fff\" stroke=\"#999\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-family=\"monospace\" font-size=\"11\">{name}</text>",
            box_width - 30,
            left + box_width / 2,
            y + 14
        );
        y += 26;
    }
    let (width, height) = (left + box_width + right, y + 16);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" font-family=\"system-ui, sans-serif\">\n\
         <defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0L10 5L0 10z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <rect x=\"{left}\" y=\"6\" width=\"{box_width}\" height=\"{}\" rx=\"6\" fill=\"#eef3fb\" stroke=\"#3b6ea5\"/>\n\
         <text x=\"{}\" y=\"25\" text-anchor=\"middle\" font-size=\"14\" font-weight=\"600\">{}</text>\n{rows}</svg>\n",
        height - 12,
        left + box_width / 2,
        module.name
    )
}

/// Draws a port: an arrow outside the box with the width above it, and the name inside the box. The
/// arrow is thick if the port is wider than one bit.
fn arrow(port: &Port, left: usize, box_width: usize, y: usize, rows: &mut String) {
    let (from, to, name, anchor, width, side) = if port.is_input {
        (left - ARROW, left, left + 8, "start", left - ARROW - 4, "end")
    } else {
        let edge = left + box_width;
        (edge, edge + ARROW, edge - 8, "end", edge + ARROW + 4, "start")
    };
    let thick = if port.width.is_empty() { "1" } else { "2" };
    let _ = write!(
        rows,
        "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" stroke=\"#555\" stroke-width=\"{thick}\" marker-end=\"url(#a)\"/>\
         <text x=\"{name}\" y=\"{0}\" text-anchor=\"{anchor}\" font-family=\"monospace\" font-size=\"11\">{1}</text>",
        y + 4,
        port.name
    );
    if !port.width.is_empty() {
        let text = port.width.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(
            rows,
            "<text x=\"{width}\" y=\"{}\" text-anchor=\"{side}\" font-family=\"monospace\" font-size=\"9\" fill=\"#555\">{text}</text>",
            y + 3
        );
    }
    rows.push('\n');
}
