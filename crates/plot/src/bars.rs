//! Horizontal bars in groups. The number of each bar is in a column on the right, apart from bars
//! and lines.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::axis::Scale;
use crate::legend::{LIMIT, Legend, Sign, limits, path};
use crate::style::{GRID, INK, LINE, MARGIN, TEXT, TITLE, TITLE_LINE, bold, color, font, strength};
use crate::text::{width, wrap};
use crate::{Area, Drawing, Limit, WIDTH, in_memory, number};

/// Distance between groups, in pixels.
const BETWEEN: i32 = 12;
/// A plot with more bars than this is dense.
const MANY: usize = 60;

/// Sizes of bars, in pixels.
#[derive(Clone, Copy)]
struct Sizes {
    /// Thickness of a bar.
    bar: i32,
    /// Distance from one bar to the next.
    step: i32,
    /// Height of the numbers.
    text: f64,
}

const WIDE: Sizes = Sizes { bar: 12, step: 16, text: TEXT };
const DENSE: Sizes = Sizes { bar: 8, step: 10, text: 9.0 };

/// Bars in groups.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    pub title: String,
    /// The quantity on the axis, with its unit.
    pub axis: String,
    /// Whether the axis is logarithmic. It then has whole decades.
    pub is_logarithmic: bool,
    /// Whether the bars of a group follow each other in one row.
    pub is_stacked: bool,
    /// The names of the series and their paints.
    pub series: Vec<(String, Paint)>,
    pub groups: Vec<Group>,
    /// Values that are shown as lines across the plot.
    pub limits: Vec<Limit>,
}

/// The look of the bars of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// The number of the colour.
    pub color: usize,
    /// Whether the colour is pale, as for published numbers next to measured ones.
    pub is_pale: bool,
}

/// A group of bars.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    /// The bars, from top to bottom, or from left to right if they are stacked.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
pub struct Bar {
    /// The index of the series.
    pub series: usize,
    /// The length of the bar, in the unit of the axis.
    pub value: f64,
    /// The text in the column of numbers.
    pub label: String,
    /// The values of single samples, shown as ticks across the bar.
    pub samples: Vec<f64>,
}

impl Bar {
    /// Creates a bar with its value as label.
    pub fn new(series: usize, value: f64) -> Self {
        Self { series, value, label: number(value), samples: Vec::new() }
    }
}

impl Group {
    /// Creates a group of one bar for each series in order.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let bars = values.into_iter().enumerate().map(|(series, value)| Bar::new(series, value));
        Self { name: name.into(), bars: bars.collect() }
    }

    /// Returns the lengths of the bars.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.bars.iter().map(|bar| bar.value)
    }
}

/// A group with its place.
struct PlacedGroup<'a> {
    group: &'a Group,
    names: Vec<String>,
    top: i32,
    height: i32,
}

impl Bars {
    /// Creates a plot with these series, each in its own colour.
    pub fn new<S: Into<String>>(
        title: impl Into<String>,
        axis: impl Into<String>,
        series: impl IntoIterator<Item = S>,
        groups: Vec<Group>,
    ) -> Self {
        let series = series.into_iter().enumerate();
        let series =
            series.map(|(color, name)| (name.into(), Paint { color, is_pale: false })).collect();
        Self { title: title.into(), axis: axis.into(), series, groups, ..Self::default() }
    }

    #[must_use]
    pub fn with_limit(mut self, name: &str, value: f64) -> Self {
        self.limits.push(Limit::new(name, value));
        self
    }

    pub fn svg(&self) -> String {
        Self::svg_of([self])
    }

    /// Draws several plots below each other as one SVG.
    pub fn svg_of<'a>(plots: impl IntoIterator<Item = &'a Self>) -> String {
        Self::svg_of_width(plots, WIDTH)
    }

    pub(crate) fn svg_of_width<'a>(
        plots: impl IntoIterator<Item = &'a Self>,
        width: u32,
    ) -> String {
        let plans: Vec<Plan<'_>> =
            plots.into_iter().map(|plot| Plan::new(plot, width as i32)).collect();
        in_memory(width, plans.iter().map(|plan| plan.height).sum(), |area| {
            let mut rest = area.clone();
            for plan in &plans {
                let (own, below) = rest.split_vertically(plan.height);
                plan.draw(&own)?;
                rest = below;
            }
            Ok(())
        })
    }

    fn scale(&self) -> Scale {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let samples = bars.flat_map(|bar| bar.samples.iter().copied());
        let limits = self.limits.iter().map(|limit| limit.value);
        if self.is_stacked {
            let whole = |group: &Group| group.values().sum();
            return Scale::linear(self.groups.iter().map(whole).chain(limits));
        }
        let values = self.groups.iter().flat_map(Group::values).chain(samples).chain(limits);
        match self.is_logarithmic {
            true => Scale::logarithmic(values),
            false => Scale::linear(values),
        }
    }
}

/// Bars with the places of their parts.
struct Plan<'a> {
    bars: &'a Bars,
    width: i32,
    titles: Vec<String>,
    legend: Legend,
    rows: Vec<PlacedGroup<'a>>,
    sizes: Sizes,
    /// Widths in pixels of the names of groups, and of the column of numbers.
    names: i32,
    numbers: i32,
    /// Upper and lower end of the part with the bars, in pixels.
    top: i32,
    bottom: i32,
    height: i32,
}

impl<'a> Plan<'a> {
    fn new(bars: &'a Bars, whole: i32) -> Self {
        let room = whole - 2 * MARGIN;
        let titles = wrap(&bars.title, TITLE * 1.1, room, 4);
        let signs = bars.series.iter().map(|(name, paint)| (Sign::Box(fill(*paint)), name.clone()));
        let has_samples =
            bars.groups.iter().flat_map(|group| &group.bars).any(|bar| !bar.samples.is_empty());
        let samples = has_samples.then(|| (Sign::Sample, "a sample".to_owned()));
        let legend = Legend::new(signs.chain(limits(&bars.limits)).chain(samples), room);
        let longest = bars.groups.iter().map(|group| width(&group.name, TEXT)).max().unwrap_or(0);
        let names = longest.min(room * 2 / 5);
        let count = bars.groups.iter().map(|group| group.bars.len()).sum::<usize>();
        let sizes = if count > MANY && !bars.is_stacked { DENSE } else { WIDE };
        let label = |bar: &Bar| width(&bar.label, sizes.text);
        let numbers = bars.groups.iter().flat_map(|group| &group.bars).map(label).max();
        let top = MARGIN + TITLE_LINE * titles.len() as i32 + legend.height + 14;
        let mut at = top + BETWEEN / 2;
        let row = |group: &'a Group| {
            let lines = wrap(&group.name, TEXT, names, 4);
            let count = if bars.is_stacked { 1 } else { group.bars.len().max(1) as i32 };
            let height = (sizes.step * count).max(LINE * lines.len() as i32);
            let row = PlacedGroup { group, names: lines, top: at, height };
            at += height + BETWEEN;
            row
        };
        let rows = bars.groups.iter().map(row).collect();
        let bottom = at - BETWEEN / 2;
        let height = bottom + 2 * LINE + 14 + MARGIN;
        let (width, numbers) = (whole, numbers.unwrap_or(0).min(room / 4));
        Self { bars, width, titles, legend, rows, sizes, names, numbers, top, bottom, height }
    }

    fn draw(&self, area: &Area<'_>) -> Drawing {
        for (index, title) in (0..).zip(&self.titles) {
            let at = (MARGIN, MARGIN + TITLE_LINE * index);
            area.draw(&Text::new(title.clone(), at, bold(TITLE)))?;
        }
        let under = MARGIN + TITLE_LINE * self.titles.len() as i32 + 2;
        self.legend.draw(area, (MARGIN, under))?;
        let scale = self.bars.scale();
        let left = MARGIN + self.names + 8;
        let right = MARGIN + self.numbers + 8;
        // The label of the last tick is centred below it. The column of numbers has room for half
        // of it unless the column is narrow.
        let ticks = scale.ticks(self.width - left - right - 40, None);
        let right = right.max(MARGIN + ticks.widest / 2 + 4);
        let left = left.max(MARGIN + ticks.widest / 2);
        let mut chart = ChartBuilder::on(area)
            .margin_top(self.top)
            .margin_bottom(self.height - self.bottom - LINE - 8)
            .margin_left(left)
            .margin_right(right)
            .set_label_area_size(LabelAreaPosition::Bottom, LINE + 8)
            .build_cartesian_2d(scale.from..scale.to, 0.0..1.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_labels(ticks.most)
            .x_label_formatter(&|value| scale.label(&ticks, *value))
            .label_style(font(TEXT, HPos::Left, VPos::Top))
            .axis_style(INK)
            .bold_line_style(GRID)
            .max_light_lines(0)
            .draw()?;
        let (pixels, _) = chart.plotting_area().get_pixel_range();
        // Pixels of the chart count from the top of the whole picture; the area may begin further
        // down.
        let length = f64::from(pixels.end - pixels.start - 1);
        let x = |value: f64| {
            let share = (scale.place(value) - scale.from) / (scale.to - scale.from);
            pixels.start + (share * length).round() as i32
        };
        for row in &self.rows {
            self.draw_row(area, row, &x)?;
        }
        for limit in &self.bars.limits {
            let ends = vec![(x(limit.value), self.top), (x(limit.value), self.bottom)];
            path(area, ends, Some(LIMIT), INK.stroke_width(1))?;
        }
        let name = font(TEXT, HPos::Right, VPos::Center);
        let at = (self.width - MARGIN, self.bottom + LINE + LINE / 2 + 8);
        area.draw(&Text::new(self.bars.axis.clone(), at, name))?;
        Ok(())
    }

    fn draw_row(&self, area: &Area<'_>, row: &PlacedGroup<'_>, x: &dyn Fn(f64) -> i32) -> Drawing {
        let middle = row.top + row.height / 2;
        let first = middle - LINE * row.names.len() as i32 / 2 + LINE / 2;
        for (index, name) in (0..).zip(&row.names) {
            let at = (MARGIN + self.names, first + LINE * index);
            let style = font(TEXT, HPos::Right, VPos::Center);
            area.draw(&Text::new(name.clone(), at, style))?;
        }
        let rows = if self.bars.is_stacked { 1 } else { row.group.bars.len() as i32 };
        let Sizes { bar: thickness, step, text: size } = self.sizes;
        let mut top = middle - step * rows / 2 + (step - thickness) / 2;
        let number = |text: String, y: i32| {
            let style = font(size, HPos::Right, VPos::Center);
            area.draw(&Text::new(text, (self.width - MARGIN, y), style))
        };
        let mut from = 0.0;
        for bar in &row.group.bars {
            let paint = self
                .bars
                .series
                .get(bar.series)
                .map_or(Paint { color: bar.series, is_pale: false }, |(_, paint)| *paint);
            let (begin, end) = (x(from), x(from + bar.value));
            let corners = [(begin.min(end), top), (begin.max(end), top + thickness)];
            area.draw(&Rectangle::new(corners, fill(paint).filled()))?;
            for &sample in &bar.samples {
                let ends = vec![(x(sample), top - 1), (x(sample), top + thickness + 1)];
                area.draw(&PathElement::new(ends, INK.stroke_width(1)))?;
            }
            if self.bars.is_stacked {
                from += bar.value;
            } else {
                number(bar.label.clone(), top + thickness / 2)?;
                top += step;
            }
        }
        if self.bars.is_stacked {
            number(crate::number(from), top + thickness / 2)?;
        }
        Ok(())
    }
}

fn fill(paint: Paint) -> RGBAColor {
    color(paint.color).mix(strength(paint.color, paint.is_pale))
}
