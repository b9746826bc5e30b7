//! Plots measurements next to their goals.

use wireloom_plot::{Bar, Bars, Group, Paint};

use super::{Better, Measurement, number};

/// Draws one bar for each measurement that has a goal: the ratio to its goal, or for times and
/// sizes the inverse ratio. Samples are ticks, and the goal is a line.
pub fn overview(measurements: &[Measurement]) -> String {
    let group = |m: &Measurement| {
        let goal = m.goal?;
        // Ratios are limited to a thousand times better than the goal; a size of zero would exceed
        // that.
        let ratio = |value: f64| match m.better {
            Better::Higher => value / goal,
            Better::Lower => (goal / value).min(1000.0),
        };
        let bar = Bar {
            series: usize::from(m.reached != Some(true)),
            value: ratio(m.median),
            label: format!("{} {}", number(m.median), m.unit),
            samples: m.samples.iter().map(|&sample| ratio(sample)).collect(),
        };
        Some(Group { name: m.name.to_owned(), bars: vec![bar] })
    };
    let paint = |color| Paint { color, is_pale: false };
    let bars = Bars {
        title: "Medians of the benchmarks, as multiples of their goals".to_owned(),
        axis: "times better than the goal".to_owned(),
        is_logarithmic: true,
        series: vec![("goal reached".into(), paint(0)), ("goal missed".into(), paint(1))],
        groups: measurements.iter().filter_map(group).collect(),
        ..Bars::default()
    };
    bars.with_limit("the goal", 1.0).svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_below_its_goal_is_better_and_a_benchmark_without_goal_is_left_out() {
        let measurement = |name, better, goal, median| Measurement {
            name,
            what: "",
            unit: "s",
            better,
            goal,
            reached: goal.map(|_| true),
            median,
            least: median,
            greatest: median,
            samples: vec![median],
        };
        let svg = overview(&[
            measurement("fast", Better::Lower, Some(10.0), 0.1),
            measurement("aimless", Better::Higher, None, 1.0),
        ]);
        assert!(svg.contains("fast") && !svg.contains("aimless"), "{svg}");
        assert!(svg.contains("\n100\n"), "the axis ends at a hundred times the goal: {svg}");
    }
}
