//! Lines over a numeric axis.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::axis::Scale;
use crate::legend::{LIMIT, Legend, Sign, limits, marker, path};
use crate::style::{GRID, INK, LINE, MARGIN, TEXT, TITLE, TITLE_LINE, bold, color, dashes, font};
use crate::text::wrap;
use crate::{Area, Drawing, Limit, WIDTH, in_memory, number};

/// Height of the part with the lines, in pixels.
const HEIGHT: i32 = 280;
/// The most steps of a line over intervals. Lines with more are thinned.
const STEPS: usize = 160;

/// Lines over a numeric axis.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    pub title: String,
    /// The quantity on the horizontal axis, with its unit.
    pub x: String,
    /// The quantity on the vertical axis, with its unit.
    pub y: String,
    pub lines: Vec<Line>,
    /// Values that are shown as lines across the plot.
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug)]
pub struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    /// The least and the greatest value over stretches of the horizontal axis.
    band: Vec<([f64; 2], [f64; 2])>,
    has_markers: bool,
}

impl Line {
    /// Creates a line through measured points, which are marked.
    pub fn through(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, band: Vec::new(), has_markers: true }
    }

    /// Creates a line of steps: value N holds from N to N + 1 intervals. Each step is the mean of
    /// `thin` values; a band shows their least and greatest.
    fn steps(name: &str, interval: f64, values: &[f64], thin: usize) -> Self {
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for (index, values) in values.chunks(thin).enumerate() {
            let from = (index * thin) as f64 * interval;
            let to = from + values.len() as f64 * interval;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            points.extend([(from, mean), (to, mean)]);
            if thin > 1 {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                band.push(([from, to], [least, most]));
            }
        }
        Self { name: name.to_owned(), points, band, has_markers: false }
    }
}

impl Lines {
    /// Plots numbers over time. A column has a value for each interval of `interval_ns`
    /// nanoseconds, starting at time 0. Columns that end early are 0 after their end. With many
    /// intervals the lines are thinned; the plot then says how many values each step averages.
    pub fn over_time(title: &str, y: &str, interval_ns: f64, columns: &[(&str, &[f64])]) -> Self {
        let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let (unit, divisor) = match rows as f64 * interval_ns {
            whole if whole < 1e4 => ("ns", 1.0),
            whole if whole < 1e7 => ("\u{b5}s", 1e3),
            whole if whole < 1e10 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let thin = rows.div_ceil(STEPS).max(1);
        let line = |(name, values): &(&str, &[f64])| {
            let mut values = values.to_vec();
            values.resize(rows, 0.0);
            Line::steps(name, interval_ns / divisor, &values, thin)
        };
        let title = match thin {
            1 => title.to_owned(),
            _ => format!(
                "{title}; each step is the mean of {thin} intervals of {} ns{}",
                number(interval_ns),
                if columns.len() == 1 { ", the band their least and greatest" } else { "" }
            ),
        };
        Self {
            title,
            x: format!("time, {unit}"),
            y: y.to_owned(),
            lines: columns.iter().map(line).collect(),
            limits: Vec::new(),
        }
    }

    pub fn svg(&self) -> String {
        self.svg_of_width(WIDTH)
    }

    pub(crate) fn svg_of_width(&self, width: u32) -> String {
        let room = width as i32 - 2 * MARGIN;
        let titles = wrap(&self.title, TITLE * 1.1, room, 4);
        let top = MARGIN + TITLE_LINE * titles.len() as i32 + LINE + 8;
        let legend = Legend::new(self.signs(), room);
        let bottom = top + HEIGHT;
        let height = bottom + 2 * LINE + 20 + legend.height + MARGIN;
        in_memory(width, height, |area| {
            for (index, title) in (0..).zip(titles) {
                area.draw(&Text::new(title, (MARGIN, MARGIN + TITLE_LINE * index), bold(TITLE)))?;
            }
            let name = font(TEXT, HPos::Left, VPos::Center);
            area.draw(&Text::new(self.y.clone(), (MARGIN, top - LINE / 2 - 6), name))?;
            self.draw(area, room, (top, bottom))?;
            let name = font(TEXT, HPos::Right, VPos::Center);
            let at = (MARGIN + room, bottom + LINE + LINE / 2 + 6);
            area.draw(&Text::new(self.x.clone(), at, name))?;
            legend.draw(area, (MARGIN, bottom + 2 * LINE + 20))
        })
    }

    fn signs(&self) -> Vec<(Sign, String)> {
        let lines = self.lines.iter().enumerate().map(|(index, line)| {
            let marked = line.has_markers.then_some(index);
            (Sign::Line(color(index), dashes(index), marked), line.name.clone())
        });
        lines.chain(limits(&self.limits)).collect()
    }

    fn draw(&self, area: &Area<'_>, room: i32, (top, bottom): (i32, i32)) -> Drawing {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let bands = self.lines.iter().flat_map(|line| &line.band).flat_map(|(_, ends)| *ends);
        let limits = self.limits.iter().map(|limit| limit.value);
        let y = Scale::linear(points().map(|point| point.1).chain(bands).chain(limits));
        let x = Scale::between(points().map(|point| point.0));
        let y_ticks = y.ticks(bottom - top, Some(2 * LINE));
        let left = y_ticks.widest + 14;
        let x_ticks = x.ticks(room - left, None);
        // The label of the last tick is centred below it.
        let right = x_ticks.widest / 2 + 4;
        let plot = area.clone().margin(0, 0, MARGIN, MARGIN);
        let mut chart = ChartBuilder::on(&plot)
            .margin_top(top)
            .margin_bottom(area.dim_in_pixel().1 as i32 - bottom - LINE - 8)
            .margin_right(right)
            .set_label_area_size(LabelAreaPosition::Left, left)
            .set_label_area_size(LabelAreaPosition::Bottom, LINE + 8)
            .build_cartesian_2d(x.from..x.to, y.from..y.to)?;
        chart
            .configure_mesh()
            .x_labels(x_ticks.most)
            .y_labels(y_ticks.most)
            .x_label_formatter(&|value| x.label(&x_ticks, *value))
            .y_label_formatter(&|value| y.label(&y_ticks, *value))
            .label_style(font(TEXT, HPos::Left, VPos::Top))
            .axis_style(INK)
            .bold_line_style(GRID)
            .max_light_lines(0)
            .draw()?;
        let at = |(a, b): (f64, f64)| chart.backend_coord(&(x.place(a), y.place(b)));
        if let [line] = self.lines.as_slice() {
            let side = |end: usize| {
                let steps = line.band.iter().flat_map(|(ends, band)| ends.map(|x| (x, band)));
                steps.map(move |(x, band)| at((x, band[end]))).collect::<Vec<_>>()
            };
            let corners: Vec<_> = side(1).into_iter().chain(side(0).into_iter().rev()).collect();
            area.draw(&Polygon::new(corners, color(0).mix(0.25)))?;
        }
        for limit in &self.limits {
            let ends = vec![at((x.from, limit.value)), at((x.to, limit.value))];
            path(area, ends, Some(LIMIT), INK.stroke_width(1))?;
        }
        for (index, line) in self.lines.iter().enumerate() {
            let points: Vec<_> = line.points.iter().map(|point| at(*point)).collect();
            if line.has_markers {
                for point in &points {
                    marker(area, *point, index, color(index))?;
                }
            }
            path(area, points, dashes(index), color(index).stroke_width(2))?;
        }
        Ok(())
    }
}
