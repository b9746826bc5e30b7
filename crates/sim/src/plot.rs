//! Numbers over time as a picture.

use plotters::prelude::*;

use crate::Time;
use crate::stats::Series;

const WIDTH: i32 = 860;
const HEIGHT: i32 = 320;
const LEFT: i32 = 64;
const RIGHT: i32 = 150;
const TOP: i32 = 40;
const BOTTOM: i32 = 40;

const COLORS: [RGBColor; 6] = [
    RGBColor(21, 101, 192),
    RGBColor(46, 125, 50),
    RGBColor(198, 40, 40),
    RGBColor(239, 108, 0),
    RGBColor(106, 27, 154),
    RGBColor(97, 97, 97),
];

/// Draws a line for each column over time, as SVG. Up to 12 columns have their names next to the
/// picture.
///
/// # Errors
/// If the drawing library fails, with its message.
pub fn over_time(title: &str, unit: &str, series: &Series) -> Result<String, String> {
    let mut svg = String::new();
    draw(title, unit, series, &mut svg).map_err(|error| format!("the plot: {error}"))?;
    Ok(svg)
}

fn draw(
    title: &str,
    unit: &str,
    series: &Series,
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let rows = series.rows().max(1);
    let most = series.columns().flat_map(|(_, cells)| cells).copied().fold(0.0, f64::max);
    let (y_step, x_step) = (step(most), step(series.interval().as_nanoseconds() * rows as f64));
    let (y_end, x_end) = (
        (most / y_step).ceil().max(1.0) * y_step,
        series.interval().as_nanoseconds() * rows as f64,
    );
    let x = |ns: f64| LEFT + (ns / x_end * f64::from(WIDTH - LEFT - RIGHT)).round() as i32;
    let y = |value: f64| {
        HEIGHT - BOTTOM - (value / y_end * f64::from(HEIGHT - TOP - BOTTOM)).round() as i32
    };

    let area = SVGBackend::with_string(svg, (WIDTH as u32, HEIGHT as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let text = |size: i32| ("sans-serif", size).into_font();
    area.draw(&Text::new(format!("{title} ({unit})"), (8, 8), text(14)))?;
    let grey = RGBColor(224, 224, 224);
    for line in 0..=(y_end / y_step).round() as u32 {
        let value = f64::from(line) * y_step;
        area.draw(&PathElement::new([(LEFT, y(value)), (WIDTH - RIGHT, y(value))], grey))?;
        area.draw(&Text::new(number(value), (8, y(value) - 6), text(12)))?;
    }
    for line in 0..=(x_end / x_step).floor() as u32 {
        let ns = f64::from(line) * x_step;
        area.draw(&PathElement::new(
            [(x(ns), HEIGHT - BOTTOM), (x(ns), HEIGHT - BOTTOM + 4)],
            BLACK,
        ))?;
        area.draw(&Text::new(number(ns), (x(ns) - 8, HEIGHT - BOTTOM + 8), text(12)))?;
    }
    area.draw(&Text::new("ns", (WIDTH - RIGHT + 6, HEIGHT - BOTTOM + 8), text(12)))?;
    for (index, ((name, cells), color)) in series.columns().zip(COLORS.iter().cycle()).enumerate() {
        // Each number holds from the begin of its interval to its end.
        let at = |row: usize| x(Time(series.interval().0 * row as u64).as_nanoseconds());
        let cell = |row: usize| y(cells.get(row).copied().unwrap_or(0.0));
        let points: Vec<_> =
            (0..rows).flat_map(|row| [(at(row), cell(row)), (at(row + 1), cell(row))]).collect();
        area.draw(&PathElement::new(points, color))?;
        if index < 12 {
            let top = TOP + 18 * index as i32;
            area.draw(&Rectangle::new(
                [(WIDTH - RIGHT + 12, top), (WIDTH - RIGHT + 22, top + 10)],
                color.filled(),
            ))?;
            area.draw(&Text::new(name.to_owned(), (WIDTH - RIGHT + 28, top - 1), text(12)))?;
        }
    }
    area.present()?;
    Ok(())
}

/// About a fifth of the whole: 1, 2 or 5 times a power of ten.
fn step(whole: f64) -> f64 {
    if whole <= 0.0 {
        return 1.0;
    }
    let power = f64::powf(10.0, (whole / 5.0).log10().floor());
    let factor = whole / 5.0 / power;
    power
        * if factor <= 1.0 {
            1.0
        } else if factor <= 2.0 {
            2.0
        } else if factor <= 5.0 {
            5.0
        } else {
            10.0
        }
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!([1.0, 4.0, 16.0, 37.0, 0.0].map(step), [0.2, 1.0, 5.0, 10.0, 1.0]);
        assert_eq!([0.2, 10.0, 0.0, 2.5].map(number), ["0.2", "10", "0", "2.5"]);
    }

    #[test]
    fn a_plot_has_a_line_and_a_name_for_each_column() {
        let mut series = Series::new(Time::nanoseconds(100));
        for name in ["cpu <0>", "cpu 1"] {
            let column = series.column(name);
            series.spread(column, Time::nanoseconds(50), Time::nanoseconds(350));
        }
        let svg = over_time("use", "threads", &series).unwrap();
        assert_eq!((svg.matches("cpu &lt;0&gt;").count(), svg.matches("cpu 1").count()), (1, 1));
        // 0 to 1 in steps of 0.2, 0 to 400 ns in steps of 100, and the two.
        assert_eq!(svg.matches("<polyline").count(), 6 + 5 + 2, "{svg}");
        over_time("nothing", "threads", &Series::new(Time(1))).unwrap();
    }
}
