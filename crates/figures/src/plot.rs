//! Measurements as pictures.

use plotters::prelude::*;

use super::{Better, Measurement, number};
use wireloom_machine::{Error, Result};

const WIDTH: u32 = 720;
const ROW: i32 = 44;
const LEFT: i32 = 190;
const RIGHT: i32 = 150;
const TOP: i32 = 40;

/// Draws one bar for each measurement that has a goal, as a multiple of its goal (for times and
/// sizes: its inverse), with the samples as ticks and a line at the goal.
///
/// # Errors
/// If the drawing library fails.
pub fn bars(measurements: &[Measurement]) -> Result<String> {
    let mut svg = String::new();
    draw(measurements, &mut svg).map_err(|error| Error::new(format!("the plot: {error}")))?;
    Ok(svg)
}

fn draw(measurements: &[Measurement], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let rows: Vec<(&Measurement, f64, Vec<f64>)> = measurements
        .iter()
        .filter_map(|m| {
            let goal = m.goal?;
            // Limit ratios to a thousand times better than the goal; a size of zero would exceed
            // that.
            let ratio = |value: f64| match m.better {
                Better::Higher => value / goal,
                Better::Lower => (goal / value).min(1000.0),
            };
            Some((m, ratio(m.median), m.samples.iter().map(|&s| ratio(s)).collect()))
        })
        .collect();
    // A logarithmic scale from a tenth of the goal to the largest value, at least ten times the
    // goal.
    let most = rows.iter().map(|(_, ratio, _)| *ratio).fold(10.0, f64::max).log10().ceil();
    let width = f64::from(WIDTH as i32 - LEFT - RIGHT);
    let x = |ratio: f64| LEFT + ((ratio.max(0.1).log10() + 1.0) / (most + 1.0) * width) as i32;

    let height = TOP + ROW * rows.len() as i32 + 20;
    let area = SVGBackend::with_string(svg, (WIDTH, height as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let text = |size: i32| ("sans-serif", size).into_font();
    area.draw(&Text::new("times better than the goal (logarithmic)", (LEFT, 10), text(13)))?;
    for (row, (m, ratio, samples)) in rows.iter().enumerate() {
        let y = TOP + ROW * row as i32;
        let color =
            if m.reached == Some(true) { RGBColor(46, 125, 50) } else { RGBColor(198, 40, 40) };
        area.draw(&Text::new(m.name, (8, y + 6), text(14)))?;
        area.draw(&Rectangle::new([(LEFT, y), (x(*ratio), y + 24)], color.mix(0.6).filled()))?;
        for &sample in samples {
            area.draw(&PathElement::new([(x(sample), y + 4), (x(sample), y + 20)], color))?;
        }
        let label = format!("{} {}", number(m.median), m.unit);
        let rightmost =
            samples.iter().map(|&sample| x(sample)).fold(x(*ratio).max(x(1.0)), i32::max);
        area.draw(&Text::new(label, (rightmost + 6, y + 6), text(13)))?;
    }
    area.draw(&PathElement::new(
        [(x(1.0), TOP - 8), (x(1.0), height - 12)],
        BLACK.stroke_width(1),
    ))?;
    area.present()?;
    Ok(())
}

/// Bars that belong together: one for each series.
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// Their lengths.
    pub values: Vec<f64>,
}

const COLORS: [RGBColor; 6] = [
    RGBColor(144, 202, 249),
    RGBColor(66, 165, 245),
    RGBColor(21, 101, 192),
    RGBColor(165, 214, 167),
    RGBColor(102, 187, 106),
    RGBColor(46, 125, 50),
];
const BAR: i32 = 8;
const SCALE: f64 = 480.0;
const NAMES: i32 = 170;
const HEAD: i32 = 56;

/// Groups of bars, one colour for each series, and a line at `limit`.
///
/// # Errors
/// If the drawing library fails.
pub fn grouped(
    title: &str,
    series: &[&str],
    groups: &[Group],
    limit: f64,
    svg: &mut String,
) -> Result {
    draw_groups(title, series, groups, limit, svg)
        .map_err(|error| Error::new(format!("the plot: {error}")))
}

fn draw_groups(
    title: &str,
    series: &[&str],
    groups: &[Group],
    limit: f64,
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let longest = groups
        .iter()
        .flat_map(|group| &group.values)
        .copied()
        .fold(limit, f64::max)
        .max(f64::MIN_POSITIVE);
    let x = |value: f64| NAMES + (value / longest * SCALE) as i32;
    let row = BAR * series.len() as i32 + 10;
    let height = HEAD + row * groups.len() as i32 + 16;
    let area = SVGBackend::with_string(svg, (WIDTH.max((x(longest) + 50) as u32), height as u32))
        .into_drawing_area();
    area.fill(&WHITE)?;
    let text = |size: i32| ("sans-serif", size).into_font();
    area.draw(&Text::new(title.to_owned(), (8, 8), text(13)))?;
    for (index, (name, color)) in series.iter().zip(COLORS.iter().cycle()).enumerate() {
        let left = 8 + 110 * index as i32;
        area.draw(&Rectangle::new([(left, 30), (left + 10, 40)], color.filled()))?;
        area.draw(&Text::new((*name).to_owned(), (left + 14, 28), text(12)))?;
    }
    for (index, group) in groups.iter().enumerate() {
        let y = HEAD + row * index as i32;
        area.draw(&Text::new(group.name.clone(), (8, y + row / 2 - 12), text(13)))?;
        for (bar, (&value, color)) in group.values.iter().zip(COLORS.iter().cycle()).enumerate() {
            let y = y + BAR * bar as i32;
            area.draw(&Rectangle::new([(NAMES, y), (x(value), y + BAR - 1)], color.filled()))?;
            area.draw(&Text::new(number(value), (x(value) + 3, y - 2), text(9)))?;
        }
    }
    area.draw(&PathElement::new(
        [(x(limit), HEAD - 6), (x(limit), height - 10)],
        BLACK.stroke_width(1),
    ))?;
    area.present()?;
    Ok(())
}
