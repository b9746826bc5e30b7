//! How many LUTs a machine of a shape takes, without synthesising it: what its units take, as many times as they are there.
//!
//! An engine is synthesised for each number of threads. What a cluster adds depends nearly linearly on the number of its engines, and what a
//! pipe adds on that of its clusters: two of each are synthesised and the line through them is drawn out.

use std::collections::BTreeMap;

use wireloom_rtl::area::{Cache, synthesise};
use wireloom_rtl::machine::Machine;

use super::Shape;
use crate::failure::{Failure, Outcome};
use crate::progress::Working;
use crate::rig::Loaded;

/// The two sizes through which lines are drawn.
const SIZES: [usize; 2] = [2, 4];

/// A line through two points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    fn through(values: [u64; 2]) -> Self {
        let slope = (values[1] as f64 - values[0] as f64) / (SIZES[1] - SIZES[0]) as f64;
        Self { at_zero: values[0] as f64 - slope * SIZES[0] as f64, slope }
    }

    fn at(self, size: usize) -> f64 {
        (self.at_zero + self.slope * size as f64).max(0.0)
    }
}

/// The units of machines with so many threads.
#[derive(Clone, Copy, Debug)]
struct Units {
    engine: u64,
    /// LUTs that a cluster adds, by engines.
    cluster: Line,
}

/// Estimates shapes; each unit is synthesised when it is needed first.
pub struct Estimator<'a> {
    loaded: &'a Loaded,
    like: &'a Machine,
    family: &'static str,
    by_threads: BTreeMap<usize, Units>,
    /// LUTs that a pipe adds, by clusters.
    pipe: Option<Line>,
    /// LUTs of the top module, by clusters that decide on the lanes.
    top: BTreeMap<usize, u64>,
}

/// Which unit of a machine.
#[derive(Clone, Copy)]
enum Unit {
    Engine,
    Cluster,
    Pipe,
    Top,
}

impl<'a> Estimator<'a> {
    /// For machines with a program that are like one in all but their shape, and a family of devices.
    pub fn new(loaded: &'a Loaded, like: &'a Machine, family: &'static str) -> Self {
        Self { loaded, like, family, by_threads: BTreeMap::new(), pipe: None, top: BTreeMap::new() }
    }

    /// Estimated LUTs of the machine of this shape.
    ///
    /// # Errors
    /// If Yosys is missing or refuses a unit.
    pub fn luts(&mut self, shape: Shape) -> Outcome<u64> {
        let Shape { clusters, engines, threads } = shape;
        let lanes = shape.of(self.like)?.lanes();
        let units = self.units(threads)?;
        let pipe = self.pipe()?;
        let top = self.top(clusters, lanes)?;
        Ok(sum(units, pipe, top, lanes, clusters, engines))
    }

    fn units(&mut self, threads: usize) -> Outcome<Units> {
        if let Some(known) = self.by_threads.get(&threads) {
            return Ok(*known);
        }
        let like = self.like.with_lanes(1);
        let shape = |engines| Shape { clusters: 1, engines, threads };
        let units = Units {
            engine: self.synthesised(&like, shape(SIZES[0]), Unit::Engine)?,
            cluster: Line::through([
                self.synthesised(&like, shape(SIZES[0]), Unit::Cluster)?,
                self.synthesised(&like, shape(SIZES[1]), Unit::Cluster)?,
            ]),
        };
        self.by_threads.insert(threads, units);
        Ok(units)
    }

    fn pipe(&mut self) -> Outcome<Line> {
        if let Some(known) = self.pipe {
            return Ok(known);
        }
        // Each lane has a pipe, with its share of the clusters.
        let like = self.like.with_lanes(1);
        let pipe = |clusters| self.synthesised(&like, Shape { clusters, engines: 2, threads: 2 }, Unit::Pipe);
        let line = Line::through([pipe(SIZES[0])?, pipe(SIZES[1])?]);
        self.pipe = Some(line);
        Ok(line)
    }

    /// The top depends on the lanes, not on what is behind them.
    fn top(&mut self, clusters: usize, lanes: usize) -> Outcome<u64> {
        if let Some(known) = self.top.get(&lanes) {
            return Ok(*known);
        }
        let luts = self.synthesised(self.like, Shape { clusters, engines: 2, threads: 2 }, Unit::Top)?;
        self.top.insert(lanes, luts);
        Ok(luts)
    }

    fn synthesised(&self, like: &Machine, shape: Shape, unit: Unit) -> Outcome<u64> {
        let machine = shape.of(like)?;
        let processor = self.loaded.processor(&machine)?;
        let name = match unit {
            Unit::Engine => processor.engine.name.clone(),
            Unit::Cluster => processor.plan.cluster_module(),
            Unit::Pipe => processor.plan.pipe_module(),
            Unit::Top => processor.design.top.clone(),
        };
        let _working = Working::on(format!("synthesis of {name} of {}", machine.name));
        let found = synthesise(&processor.design, &name, self.family, &Cache::of_repository());
        Ok(found.map_err(Failure::unusable)?.cost.luts)
    }
}

/// All units together.
fn sum(units: Units, pipe: Line, top: u64, lanes: usize, clusters: usize, engines: usize) -> u64 {
    let pipes = lanes as f64 * pipe.at(clusters / lanes);
    let behind = clusters as f64 * (units.cluster.at(engines) + (engines as u64 * units.engine) as f64);
    top + (pipes + behind).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points_and_never_below_nothing() {
        let line = Line::through([300, 500]);
        assert_eq!((line.at(2), line.at(4), line.at(6)), (300.0, 500.0, 700.0));
        assert_eq!(Line::through([100, 500]).at(1), 0.0);
    }

    #[test]
    fn units_are_multiplied_up() {
        let units = Units { engine: 4000, cluster: Line::through([1200, 1400]) };
        let pipe = Line::through([9000, 9200]);
        // 16 clusters of 6 engines on two lanes: 8 clusters in each pipe.
        assert_eq!(sum(units, pipe, 600, 2, 16, 6), 600 + 2 * 9600 + 16 * (1600 + 6 * 4000));
    }
}
