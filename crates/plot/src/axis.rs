//! Scales with ticks. There are as many ticks as have room for a label each.

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

use crate::style::TEXT;
use crate::text::{grouped, width};

/// A scale from one value to another. A logarithmic scale works on decimal logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub from: f64,
    pub to: f64,
    pub is_logarithmic: bool,
    /// Whether all values are whole, as counts are. Then all ticks are whole too.
    is_whole: bool,
}

/// The ticks of a scale.
pub struct Ticks {
    /// The number of ticks to request from plotters.
    pub most: usize,
    /// Decimal places of the labels.
    places: usize,
    /// Width of the widest label, in pixels.
    pub widest: i32,
}

impl Scale {
    /// Returns a scale that holds these values. It starts at 0, or at the least value if that is
    /// negative.
    pub fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let is_whole = values.iter().all(|value| value.fract() == 0.0);
        let (least, most) = ends(values);
        let (from, most) = (least.min(0.0), most.max(0.0));
        let to = if most > from { most + 0.04 * (most - from) } else { from + 1.0 };
        Self { from, to, is_logarithmic: false, is_whole }
    }

    /// Returns a scale from the least to the greatest value.
    pub fn between(values: impl IntoIterator<Item = f64>) -> Self {
        let (from, to) = ends(values);
        let (from, to) = if from <= to { (from, to) } else { (0.0, 0.0) };
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, is_logarithmic: false, is_whole: false }
    }

    /// Returns a scale of whole decades that holds the positive values among these.
    pub fn logarithmic(values: impl IntoIterator<Item = f64>) -> Self {
        let (least, most) = ends(values.into_iter().filter(|value| *value > 0.0));
        let (from, to) =
            if least <= most { (least.log10().floor(), most.log10().ceil()) } else { (0.0, 1.0) };
        Self { from, to: to.max(from + 1.0), is_logarithmic: true, is_whole: true }
    }

    /// Returns a value's place on the scale. Values beyond an end are moved to that end.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.is_logarithmic {
            true if value > 0.0 => value.log10(),
            true => self.from,
            false => value,
        };
        if place.is_finite() { place.clamp(self.from, self.to) } else { self.from }
    }

    /// Returns the ticks for which there is room. Each takes the width of its label, or `height` if
    /// it is given.
    pub fn ticks(&self, room: i32, height: Option<i32>) -> Ticks {
        let ticks = |most| {
            let points = self.points(most);
            let places = places(&points);
            let label = |point: &f64| width(&self.text(*point, places), TEXT);
            let widest = points.iter().map(label).max().unwrap_or(0);
            let fits = points.len() as i32 * height.unwrap_or(widest + 16) <= room;
            (Ticks { most, places, widest }, fits && (places == 0 || !self.is_whole))
        };
        let fitting = (2..=9).rev().map(ticks).find(|(_, fits)| *fits);
        fitting.map_or_else(|| ticks(1).0, |(ticks, _)| ticks)
    }

    fn points(&self, most: usize) -> Vec<f64> {
        RangedCoordf64::from(self.from..self.to).key_points(BoldPoints(most))
    }

    fn text(&self, place: f64, places: usize) -> String {
        match self.is_logarithmic {
            true => crate::number(10f64.powf(place)),
            false => grouped(place, places),
        }
    }

    /// Formats the label of a tick.
    pub fn label(&self, ticks: &Ticks, place: f64) -> String {
        self.text(place, ticks.places)
    }
}

fn ends(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Returns the decimal places that these numbers need; all numbers get the same.
fn places(points: &[f64]) -> usize {
    let step =
        points.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    let is_whole = |places: &usize| {
        let scaled = |point: &f64| point * 10f64.powi(*places as i32);
        points.iter().all(|point| {
            let error = (scaled(point) - scaled(point).round()).abs();
            error < 0.01 * (step * 10f64.powi(*places as i32)).min(1.0)
        })
    };
    (0..12).find(is_whole).unwrap_or(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, room: i32) -> Vec<String> {
        let ticks = scale.ticks(room, None);
        scale.points(ticks.most).iter().map(|&point| scale.label(&ticks, point)).collect()
    }

    #[test]
    fn ticks_are_round_and_as_many_as_have_room() {
        assert_eq!(labels(Scale::linear([0.9]), 300), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(Scale::linear([1.0, 2.0]), 300), ["0", "1", "2"], "counts");
        assert_eq!(labels(Scale::linear([1e6]), 300), ["0", "500,000", "1,000,000"]);
        assert_eq!(labels(Scale::logarithmic([0.2, 70.0]), 300), ["0.1", "1", "10", "100"]);
        assert!(labels(Scale::linear([1e6]), 40).len() <= 1);
    }

    #[test]
    fn a_scale_of_nothing_or_of_no_number_is_a_scale() {
        for scale in [
            Scale::linear([]),
            Scale::linear([f64::NAN, f64::INFINITY, 0.0]),
            Scale::between([]),
            Scale::between([5.0]),
            Scale::logarithmic([-1.0, 0.0]),
        ] {
            assert!(scale.from < scale.to && !labels(scale, 300).is_empty(), "{scale:?}");
            assert_eq!(scale.place(f64::NAN), scale.from);
        }
    }
}
