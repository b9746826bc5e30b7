//! Tests that all text of a plot lies inside it, apart from other text, and is complete.

use crate::text::width;
use crate::{Bar, Bars, Group, Limit, Line, Lines, Paint};

/// The rectangle of a text, from its upper left to its lower right corner, and the text.
type Covered = ([f64; 4], String);

fn texts(svg: &str) -> (f64, f64, Vec<Covered>) {
    let document = roxmltree::Document::parse(svg).expect("a plot is well-formed XML");
    let root = document.root_element();
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).and_then(|text| text.parse().ok()).expect("a number")
    };
    let texts = root.descendants().filter(|node| node.has_tag_name("text")).map(|node| {
        let text = node.text().unwrap_or_default().trim().to_owned();
        let size = number(&node, "font-size");
        let mut long = f64::from(width(&text, size));
        if node.attribute("font-weight") == Some("bold") {
            long *= 1.1;
        }
        let left = match node.attribute("text-anchor") {
            Some("end") => number(&node, "x") - long,
            Some("middle") => number(&node, "x") - long / 2.0,
            _ => number(&node, "x"),
        };
        // The height of capitals and digits. Descenders may touch text below.
        let top = match node.attribute("dy") {
            Some("0.76em") => number(&node, "y"),
            _ => number(&node, "y") - 0.45 * size,
        };
        ([left, top, left + long, top + 0.8 * size], text)
    });
    let texts = texts.collect();
    (number(&root, "width"), number(&root, "height"), texts)
}

/// Returns the rectangles of lines, bars and markers, without the background.
fn shapes(svg: &str) -> Vec<[f64; 4]> {
    let document = roxmltree::Document::parse(svg).expect("a plot is well-formed XML");
    let shape = |node: roxmltree::Node<'_, '_>| {
        let number = |name: &str| node.attribute(name)?.parse::<f64>().ok();
        let covered = match node.tag_name().name() {
            "rect" if node.attribute("fill") != Some("#FFFFFF") => {
                let (x, y) = (number("x")?, number("y")?);
                [x, y, x + number("width")?, y + number("height")?]
            }
            "line" => [number("x1")?, number("y1")?, number("x2")?, number("y2")?],
            "polyline" | "polygon" => {
                let numbers = node.attribute("points")?.split([',', ' ']);
                let numbers: Vec<f64> = numbers.filter_map(|text| text.parse().ok()).collect();
                let (xs, ys) = (numbers.iter().step_by(2), numbers.iter().skip(1).step_by(2));
                [
                    xs.clone().copied().reduce(f64::min)?,
                    ys.clone().copied().reduce(f64::min)?,
                    xs.copied().reduce(f64::max)?,
                    ys.copied().reduce(f64::max)?,
                ]
            }
            _ => return None,
        };
        Some(covered)
    };
    document.descendants().filter_map(shape).collect()
}

/// Checks that text lies inside the picture, apart from other text, and on no line and no bar.
fn assert_readable(svg: &str) -> Vec<String> {
    let (width, height, texts) = texts(svg);
    let shapes = shapes(svg);
    for (own, text) in &texts {
        let on = shapes.iter().find(|shape| {
            own[0] < shape[2] && shape[0] < own[2] && own[1] < shape[3] && shape[1] < own[3]
        });
        assert_eq!(on, None, "'{text}' at {own:?} lies on that");
    }
    for (index, (own, text)) in texts.iter().enumerate() {
        let inside = own[0] >= 0.0 && own[1] >= 0.0 && own[2] <= width && own[3] <= height;
        assert!(inside, "'{text}' at {own:?} is outside of {width} x {height}");
        for (other, second) in &texts[index + 1..] {
            let apart = own[2] <= other[0]
                || other[2] <= own[0]
                || own[3] <= other[1]
                || other[3] <= own[1];
            assert!(apart, "'{text}' at {own:?} and '{second}' at {other:?}");
        }
    }
    texts.into_iter().map(|(_, text)| text).collect()
}

const LONG: &str = "a rather long name of a series with_one_word_that_is_longer_than_most_of_them";
const HOSTILE: &str = "<script>alert(1)</script>&\"'";

fn bars(series: usize, groups: usize, most: f64) -> Bars {
    let names = (0..series).map(|index| format!("series {index} {}", &LONG[..index * 5 % 70]));
    let value = |index: usize| most * (index as f64 * 0.37 % 1.0);
    let group = |index: usize| {
        let name = format!("{} {index}", &LONG[..index * 17 % 70]);
        Group::new(name, (0..series).map(|own| value(index + own)))
    };
    let groups = (0..groups).map(group).collect();
    Bars::new(LONG.repeat(3), "rate, million packets a second", names, groups)
        .with_limit("offered", most * 0.8)
}

fn lines(count: usize, most: f64) -> Lines {
    let line = |index: usize| {
        let points = (0..9).map(|x| (f64::from(x) * most, most * (index + 1) as f64)).collect();
        Line::through(format!("{index} threads {}", &LONG[..index * 7 % 70]), points)
    };
    Lines {
        title: LONG.repeat(2),
        x: "latency, ns".into(),
        y: "rate, Mb/s".into(),
        lines: (0..count).map(line).collect(),
        limits: vec![Limit::new("the paper's highest rate", most * 2.0)],
    }
}

#[test]
fn text_of_bars_is_inside_and_apart_at_every_size() {
    for width in [360, 600, 820, 1400] {
        for (series, groups) in [(0, 0), (1, 1), (3, 5), (14, 4), (7, 22)] {
            for most in [0.0, 1e-4, 1.0, 123_456_789.0] {
                let mut plot = bars(series, groups, most);
                for (is_stacked, is_logarithmic) in [(false, false), (true, false), (false, true)] {
                    (plot.is_stacked, plot.is_logarithmic) = (is_stacked, is_logarithmic);
                    assert_readable(&Bars::svg_of_width([&plot, &plot], width));
                }
            }
        }
    }
}

#[test]
fn text_of_lines_is_inside_and_apart_at_every_size() {
    for width in [360, 600, 820, 1400] {
        for count in [0, 1, 5, 28] {
            for most in [0.0, 1e-4, 1.0, 123_456_789.0] {
                assert_readable(&lines(count, most).svg_of_width(width));
            }
        }
    }
}

#[test]
fn axes_have_ticks_and_their_names_and_limits_are_in_the_legend() {
    let plot = lines(3, 100.0);
    let text = assert_readable(&plot.svg());
    for expected in
        ["0", "200", "400", "latency, ns", "rate, Mb/s", "the paper's highest rate: 200"]
    {
        assert!(text.iter().any(|text| text == expected), "no {expected} in {text:?}");
    }
    let text = assert_readable(&bars(3, 3, 100.0).svg());
    for expected in ["0", "40", "80", "rate, million packets a second", "offered: 80"] {
        assert!(text.iter().any(|text| text == expected), "no {expected} in {text:?}");
    }
}

#[test]
fn a_logarithmic_axis_has_a_tick_each_decade_and_samples_are_told() {
    let bar = Bar { samples: vec![3.0, 5.0], ..Bar::new(0, 4.0) };
    let groups = vec![Group { name: "native".into(), bars: vec![bar] }];
    let plot = Bars { is_logarithmic: true, ..Bars::new("t", "times", ["reached"], groups) };
    let text = assert_readable(&plot.with_limit("the goal", 0.2).svg());
    for expected in ["0.1", "1", "10", "a sample", "the goal: 0.2", "4"] {
        assert!(text.iter().any(|text| text == expected), "no {expected} in {text:?}");
    }
}

#[test]
fn twenty_eight_series_look_different() {
    use crate::style::{color, dashes};
    for index in 0..28 {
        for other in 0..index {
            let look = |index| (color(index), dashes(index));
            assert!(look(index) != look(other), "{index} and {other}");
        }
    }
}

#[test]
fn names_are_text_and_never_markup() {
    let groups = vec![Group::new(HOSTILE, [1.0])];
    for svg in [
        Bars::new(HOSTILE, HOSTILE, [HOSTILE], groups).with_limit(HOSTILE, 1.0).svg(),
        Lines::over_time(HOSTILE, HOSTILE, 10.0, &[(HOSTILE, &[1.0])]).svg(),
    ] {
        assert!(!svg.contains("<script"), "{svg}");
        assert!(assert_readable(&svg).iter().any(|text| text.contains("<script>")));
    }
}

#[test]
fn a_short_series_is_drawn_interval_by_interval() {
    let plot = Lines::over_time("use", "%", 100.0, &[("all", &[50.0, 100.0]), ("one", &[10.0])]);
    let text = assert_readable(&plot.svg());
    assert!(text.contains(&"use".to_owned()) && text.contains(&"time, ns".to_owned()), "{text:?}");
    assert_eq!(plot.lines.len(), 2);
}

#[test]
fn a_long_series_is_thinned_and_says_so() {
    let values: Vec<f64> = (0..10_000).map(|index| f64::from(index % 100)).collect();
    let plot = Lines::over_time("use", "%", 100.0, &[("all", &values)]);
    let svg = plot.svg();
    let text = assert_readable(&svg).join(" ");
    assert!(text.contains("the mean of 63 intervals of 100 ns, the band"), "{text}");
    assert!(text.contains("time, \u{b5}s"), "{text}");
    assert!(svg.len() < 60_000, "{} bytes", svg.len());
    let sum = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let first = sum(&values[..63]);
    assert!(plot.lines.iter().all(|line| line_begins_with(line, first)), "{plot:?}");
}

fn line_begins_with(line: &Line, mean: f64) -> bool {
    format!("{line:?}").contains(&format!("points: [(0.0, {mean:?})"))
}

#[test]
fn a_pale_series_has_the_colour_of_its_partner() {
    let mut plot = Bars::new("t", "n", ["here"], vec![Group::new("g", [1.0, 2.0])]);
    plot.series.push(("the paper".into(), Paint { color: 0, is_pale: true }));
    let svg = plot.svg();
    assert_eq!(svg.matches("#0072B2").count(), 4, "two bars and two entries: {svg}");
    assert!(svg.contains("opacity=\"0.35\""), "{svg}");
}
