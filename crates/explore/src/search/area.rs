//! Estimates the LUTs and block RAMs of a machine from its shape without synthesising it, as the
//! sum over its units.
//!
//! An engine is synthesised for each number of threads. The overhead of a cluster is nearly linear
//! in the number of its engines, and the overhead of a pipe in the number of its clusters. For
//! each, two sizes are synthesised, and the line through them is extrapolated.

use std::collections::BTreeMap;

use wireloom_np::area::{Cache, synthesise};
use wireloom_np::description::NpSpec;

use super::Shape;
use crate::rig::Loaded;
use wireloom_console::Working;
use wireloom_machine::{Error, Result};

/// The two sizes through which lines are drawn.
const SIZES: [usize; 2] = [2, 4];

/// The estimate of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Estimate {
    pub luts: u64,
    /// Block RAMs of 18 Kb.
    pub block_rams_18k: u64,
}

/// A line through two points, for LUTs and for block RAMs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    points: [Estimate; 2],
}

impl Line {
    fn at(self, size: usize) -> Estimate {
        let at = |of: fn(&Estimate) -> u64| {
            let [few, many] = self.points.each_ref().map(|point| of(point) as f64);
            let slope = (many - few) / (SIZES[1] - SIZES[0]) as f64;
            (few + slope * (size as f64 - SIZES[0] as f64)).max(0.0).round() as u64
        };
        Estimate { luts: at(|point| point.luts), block_rams_18k: at(|point| point.block_rams_18k) }
    }
}

impl Estimate {
    fn times(self, count: usize) -> Self {
        let count = count as u64;
        Self { luts: count * self.luts, block_rams_18k: count * self.block_rams_18k }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            luts: self.luts + other.luts,
            block_rams_18k: self.block_rams_18k + other.block_rams_18k,
        }
    }
}

/// The estimates of units with one number of threads.
#[derive(Clone, Copy, Debug)]
struct Units {
    engine: Estimate,
    /// The overhead of a cluster, by number of engines.
    cluster: Line,
}

/// Estimates shapes. Each unit is synthesised on first use.
pub struct Estimator<'a> {
    loaded: &'a Loaded,
    like: &'a NpSpec,
    family: &'static str,
    by_threads: BTreeMap<usize, Units>,
    /// The overhead of a pipe, by number of clusters.
    pipe: Option<Line>,
    /// The size of the top module, by number of lanes.
    top: BTreeMap<usize, Estimate>,
}

/// A unit of a machine.
#[derive(Clone, Copy)]
enum Unit {
    Engine,
    Cluster,
    Pipe,
    Top,
}

impl<'a> Estimator<'a> {
    /// Creates an estimator for machines with this program that equal `like` except in shape, on a
    /// family of devices.
    pub fn new(loaded: &'a Loaded, like: &'a NpSpec, family: &'static str) -> Self {
        Self { loaded, like, family, by_threads: BTreeMap::new(), pipe: None, top: BTreeMap::new() }
    }

    /// Returns the estimate of the machine of this shape.
    ///
    /// # Errors
    /// If Yosys is missing or refuses a unit.
    pub fn estimate(&mut self, shape: Shape) -> Result<Estimate> {
        let Shape { clusters, engines, threads } = shape;
        let lanes = shape.of(self.like)?.lanes();
        let units = self.units(threads)?;
        let pipe = self.pipe()?;
        let top = self.top(clusters, lanes)?;
        Ok(sum(units, pipe, top, lanes, clusters, engines))
    }

    fn units(&mut self, threads: usize) -> Result<Units> {
        if let Some(known) = self.by_threads.get(&threads) {
            return Ok(*known);
        }
        let like = self.like.with_lanes(1);
        let shape = |engines| Shape { clusters: 1, engines, threads };
        let units = Units {
            engine: self.synthesised(&like, shape(SIZES[0]), Unit::Engine)?,
            cluster: Line {
                points: [
                    self.synthesised(&like, shape(SIZES[0]), Unit::Cluster)?,
                    self.synthesised(&like, shape(SIZES[1]), Unit::Cluster)?,
                ],
            },
        };
        self.by_threads.insert(threads, units);
        Ok(units)
    }

    fn pipe(&mut self) -> Result<Line> {
        if let Some(known) = self.pipe {
            return Ok(known);
        }
        // Each lane has a pipe, with its share of the clusters.
        let like = self.like.with_lanes(1);
        let pipe = |clusters| {
            self.synthesised(&like, Shape { clusters, engines: 2, threads: 2 }, Unit::Pipe)
        };
        let line = Line { points: [pipe(SIZES[0])?, pipe(SIZES[1])?] };
        self.pipe = Some(line);
        Ok(line)
    }

    /// Returns the estimate of the top module, which depends only on the lanes.
    fn top(&mut self, clusters: usize, lanes: usize) -> Result<Estimate> {
        if let Some(known) = self.top.get(&lanes) {
            return Ok(*known);
        }
        let top =
            self.synthesised(self.like, Shape { clusters, engines: 2, threads: 2 }, Unit::Top)?;
        self.top.insert(lanes, top);
        Ok(top)
    }

    fn synthesised(&self, like: &NpSpec, shape: Shape, unit: Unit) -> Result<Estimate> {
        let machine = shape.of(like)?;
        let processor = self.loaded.processor(&machine)?;
        let name = match unit {
            Unit::Engine => processor.engine.name.clone(),
            Unit::Cluster => processor.plan.cluster_module(),
            Unit::Pipe => processor.plan.pipe_module(),
            Unit::Top => processor.design.top.clone(),
        };
        let _working = Working::on(format!("synthesis of {name} of {}", machine.name));
        let found = synthesise(&processor.design, &name, self.family, &Cache::of_user());
        let cost = found.map_err(Error::new)?.cost;
        Ok(Estimate { luts: cost.luts, block_rams_18k: cost.block_rams_18k })
    }
}

/// Sums the estimates of all units.
fn sum(
    units: Units,
    pipe: Line,
    top: Estimate,
    lanes: usize,
    clusters: usize,
    engines: usize,
) -> Estimate {
    let cluster = units.cluster.at(engines).plus(units.engine.times(engines));
    top.plus(pipe.at(clusters / lanes).times(lanes)).plus(cluster.times(clusters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(luts: u64, block_rams_18k: u64) -> Estimate {
        Estimate { luts, block_rams_18k }
    }

    #[test]
    fn a_line_goes_through_its_points_and_never_below_nothing() {
        let line = Line { points: [estimate(300, 5), estimate(500, 5)] };
        assert_eq!(
            [2, 4, 6].map(|size| line.at(size)),
            [estimate(300, 5), estimate(500, 5), estimate(700, 5)]
        );
        assert_eq!(Line { points: [estimate(100, 0), estimate(500, 4)] }.at(1), estimate(0, 0));
    }

    #[test]
    fn units_are_multiplied_up() {
        let cluster = Line { points: [estimate(1200, 10), estimate(1400, 10)] };
        let units = Units { engine: estimate(4000, 50), cluster };
        let pipe = Line { points: [estimate(9000, 100), estimate(9200, 100)] };
        // 16 clusters of 6 engines on two lanes: 8 clusters in each pipe.
        let all = sum(units, pipe, estimate(600, 1), 2, 16, 6);
        assert_eq!(all.luts, 600 + 2 * 9600 + 16 * (1600 + 6 * 4000));
        assert_eq!(all.block_rams_18k, 1 + 2 * 100 + 16 * (10 + 6 * 50));
    }
}
