//! The smallest network processor that carries given traffic without loss.
//!
//! Configurations are sorted by their estimated LUTs ([`Estimator`]). The ones whose upper bound
//! ([`bound`]) is too low are left out. The others are simulated one after the other until one
//! loses nothing, in a run that is long compared with the packets that it holds.

mod area;
mod bound;

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_np::area::{Cache, Cost, Part};
use wireloom_np::description::NpSpec;

use crate::rig::{Loaded, Rig};
pub use area::{Estimate, Estimator};
use bound::Bound;
use wireloom_console::Working;
use wireloom_machine::{Error, Result};

/// The size of a machine: clusters of the machine, engines of a cluster, threads of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    pub clusters: usize,
    pub engines: usize,
    pub threads: usize,
}

impl Shape {
    /// Returns whether no number of this shape exceeds the other's.
    fn is_within(self, other: Self) -> bool {
        self.clusters <= other.clusters
            && self.engines <= other.engines
            && self.threads <= other.threads
    }

    /// Returns a machine like the given one, with this shape.
    ///
    /// # Errors
    /// If no such machine is possible.
    pub fn of(self, like: &NpSpec) -> Result<NpSpec> {
        like.shaped(self.clusters, self.engines, self.threads).map_err(Error::new)
    }
}

/// Machines that differ only in their shape.
pub struct MachineShapes {
    /// A machine with the kind's settings. Its own shape is ignored.
    pub like: NpSpec,
    /// The shapes to search.
    pub shapes: Vec<Shape>,
}

/// A candidate configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    pub machine: String,
    /// The index of the kind in [`Wanted::kinds`].
    pub kind: usize,
    #[serde(flatten)]
    pub shape: Shape,
    /// The number of lanes, in and out.
    pub lanes: usize,
    /// Estimated LUTs.
    pub luts: u64,
    /// Estimated block RAMs of 18 Kb.
    pub block_rams_18k: u64,
    /// The rate in million packets a second that the machine cannot exceed.
    pub bound: f64,
    /// The part of the bound that comes from the engines, without lanes and services.
    pub engines_bound: f64,
}

/// A configuration that was simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Million packets a second that the machine forwarded when they were offered at the wanted
    /// rate; the lowest rate over all traffic.
    pub mpps: f64,
    /// Whether the machine lost no packet.
    pub carries: bool,
}

/// The requirements of a search.
pub struct Wanted<'a> {
    pub loaded: &'a Loaded,
    /// The machines to choose from.
    pub kinds: &'a [MachineShapes],
    /// The kinds of traffic. The machine must carry each of them.
    pub traffic: &'a [Vec<Packet>],
    /// The rate to carry, in million packets a second.
    pub mpps: f64,
    /// The part that the machine must fit into, if any.
    pub part: Option<&'a Part>,
}

impl Wanted<'_> {
    fn fits(&self, estimate: Estimate) -> bool {
        self.part.is_none_or(|part| {
            estimate.luts <= part.luts && estimate.block_rams_18k <= 2 * part.block_rams
        })
    }
}

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub shapes: usize,
    /// The number of candidates whose bound reaches the wanted rate.
    pub possible: usize,
    /// The number of possible candidates that fit into the part, if one is given.
    pub fitting: usize,
    /// The simulated candidates, in order. The last one carries the traffic if any does.
    pub tried: Vec<Tried>,
}

impl Found {
    /// Returns the smallest candidate that carries the traffic.
    pub fn smallest(&self) -> Option<&Tried> {
        self.tried.last().filter(|tried| tried.carries)
    }
}

/// The tolerance for bounds that were measured on machines in which packets wait for each other. A
/// shape is skipped only if it would have to exceed its expected rate by a tenth.
const SLACK: f64 = 1.1;

/// Searches for the smallest of these machines, by LUTs. `estimate` estimates a shape of a kind,
/// given by its index.
///
/// # Errors
/// If a tool is missing or fails, or packets of the traffic are not forwarded.
pub fn find(
    wanted: &Wanted<'_>,
    mut estimate: impl FnMut(usize, Shape) -> Result<Estimate>,
) -> Result<Found> {
    let (mut candidates, mut possible) = (Vec::new(), 0);
    for (number, kind) in wanted.kinds.iter().enumerate() {
        let bound = Bound::measure(wanted, kind)?;
        for &shape in &kind.shapes {
            let Ok(machine) = shape.of(&kind.like) else { continue };
            let limits = bound.limits(shape, &machine);
            if limits.slots < wanted.mpps || limits.mpps() * SLACK < wanted.mpps {
                continue;
            }
            possible += 1;
            let estimate = estimate(number, shape)?;
            if wanted.fits(estimate) {
                candidates.push(Candidate {
                    kind: number,
                    shape,
                    lanes: machine.lanes(),
                    machine: machine.name,
                    luts: estimate.luts,
                    block_rams_18k: estimate.block_rams_18k,
                    bound: limits.mpps(),
                    engines_bound: limits.engines,
                });
            }
        }
    }
    let fitting = candidates.len();
    let tried = smallest(candidates, wanted.mpps, |candidate| {
        let machine = candidate.shape.of(&wanted.kinds[candidate.kind].like)?;
        let _working = Working::on(format!("simulating {}", machine.name));
        let mut rig = Rig::new(&machine, wanted.loaded)?;
        // Most candidates are far too slow and lose packets even of the traffic without repetition.
        let (least, lost) = offer(&mut rig, wanted.traffic, wanted.mpps)?;
        if lost > 0 {
            return Ok((least, false));
        }
        let long: Vec<_> = wanted.traffic.iter().map(|packets| rig.long(packets)).collect();
        let (least, lost) = offer(&mut rig, &long, wanted.mpps)?;
        // The time that the last packets spend in the machine is no loss.
        Ok(if lost == 0 { (wanted.mpps, true) } else { (least, false) })
    })?;
    let shapes = wanted.kinds.iter().map(|kind| kind.shapes.len()).sum();
    Ok(Found { shapes, possible, fitting, tried })
}

/// Offers each traffic at this rate. Returns the lowest forwarded rate, and the number of lost
/// packets.
fn offer(rig: &mut Rig, traffic: &[Vec<Packet>], mpps: f64) -> Result<(f64, u64)> {
    let (mut least, mut lost) = (mpps, 0);
    for packets in traffic {
        let delivered = rig.offered(packets, mpps)?;
        least = least.min(delivered.mpps);
        lost += delivered.lost;
    }
    Ok((least, lost))
}

/// Returns the machine that a search found, if it found one.
///
/// # Errors
/// None in practice: the machine was simulated, so its shape is possible.
pub fn machine(wanted: &Wanted<'_>, found: &Found) -> Result<Option<NpSpec>> {
    let best = found.smallest().map(|best| &best.candidate);
    best.map(|best| best.shape.of(&wanted.kinds[best.kind].like)).transpose()
}

/// Searches for the smallest of these machines, with sizes estimated for a family of devices, and
/// synthesises every unit of the result for the target family.
///
/// # Errors
/// As [`find`], and [`cost`].
pub fn find_with_cost(
    wanted: &Wanted<'_>,
    estimated_for: &'static str,
    family: &'static str,
) -> Result<(Found, Option<(NpSpec, Cost)>)> {
    let mut estimators: Vec<Estimator<'_>> = wanted
        .kinds
        .iter()
        .map(|kind| Estimator::new(wanted.loaded, &kind.like, estimated_for))
        .collect();
    let found = find(wanted, |kind, shape| estimators[kind].estimate(shape))?;
    let machine = machine(wanted, &found)?;
    let with_cost = |machine: NpSpec| {
        let cost = cost(wanted.loaded, &machine, family)?;
        Ok::<_, Error>((machine, cost))
    };
    let best = machine.map(with_cost).transpose()?;
    Ok((found, best))
}

/// Returns the cost of a machine, with each of its units synthesised.
///
/// # Errors
/// If Yosys is missing or refuses a unit.
pub fn cost(loaded: &Loaded, machine: &NpSpec, family: &'static str) -> Result<Cost> {
    let design = loaded.processor(machine)?.design;
    let working = Working::on(format!("synthesis of {}", machine.name));
    let report = wireloom_np::area::estimate(&design, family, &Cache::of_user(), |unit| {
        working.now(&format!("synthesis of {}: {unit}", machine.name));
    });
    Ok(report.map_err(Error::new)?.total)
}

/// Tries candidates by size until one carries the traffic. `forward` returns the rate that a shape
/// forwards, and whether that rate is enough. A failed shape rules out every shape that it
/// contains. A shape is also skipped, by assumption, if its engines would have to come closer to
/// their bound than the engines of any candidate tried so far.
fn smallest(
    mut candidates: Vec<Candidate>,
    wanted: f64,
    mut forward: impl FnMut(&Candidate) -> Result<(f64, bool)>,
) -> Result<Vec<Tried>> {
    candidates.sort_by_key(|candidate| candidate.luts);
    let mut tried: Vec<Tried> = Vec::new();
    for candidate in candidates {
        let fails_too = |failed: &Tried| {
            let failed = &failed.candidate;
            (failed.kind, failed.lanes) == (candidate.kind, candidate.lanes)
                && candidate.shape.is_within(failed.shape)
        };
        let closest = tried
            .iter()
            .map(|tried| tried.mpps / tried.candidate.engines_bound)
            .fold(0.0, f64::max);
        let hopeless = !tried.is_empty() && candidate.engines_bound * closest * SLACK < wanted;
        if hopeless || tried.iter().any(fails_too) {
            continue;
        }
        let (mpps, carries) = forward(&candidate)?;
        tried.push(Tried { candidate, mpps, carries });
        if carries {
            break;
        }
    }
    Ok(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(clusters: usize, engines: usize, threads: usize) -> Candidate {
        let slots = (clusters * engines) as f64;
        let engines_bound = (slots * 10.0).min(slots * threads as f64 * 4.0);
        Candidate {
            machine: format!("np-{clusters}-{engines}-{threads}"),
            kind: 0,
            shape: Shape { clusters, engines, threads },
            lanes: 1,
            luts: (clusters * (1000 + engines * (3000 + 100 * threads))) as u64,
            block_rams_18k: 0,
            bound: engines_bound.min(200.0),
            engines_bound,
        }
    }

    /// Tries all shapes up to a size, on machines that reach four fifths of their bound.
    fn search(wanted: f64) -> Vec<Tried> {
        let all = (1..=8)
            .flat_map(|c| (1..=4).flat_map(move |e| [1, 2, 4].map(move |t| candidate(c, e, t))));
        smallest(all.collect(), wanted, |candidate| {
            let mpps = candidate.engines_bound * 0.8;
            Ok((mpps.min(wanted), mpps >= wanted))
        })
        .expect("no simulation fails")
    }

    #[test]
    fn the_smallest_that_carries_the_traffic_is_found() {
        for wanted in [5.0, 30.0, 100.0, 150.0] {
            let tried = search(wanted);
            let last = tried.last().expect("some were tried");
            assert!(last.carries, "{wanted}");
            // No smaller shape carries the traffic.
            let all = (1..=8).flat_map(|c| {
                (1..=4).flat_map(move |e| [1, 2, 4].map(move |t| candidate(c, e, t)))
            });
            let best = all.filter(|c| c.engines_bound * 0.8 >= wanted).map(|c| c.luts).min();
            assert_eq!(Some(last.candidate.luts), best, "{wanted}");
        }
    }

    #[test]
    fn failures_save_simulations() {
        let (tried, shapes) = (search(150.0).len(), 8 * 4 * 3);
        assert!(tried < shapes / 3, "{tried} of {shapes} were tried");
    }

    #[test]
    fn what_lanes_do_not_take_says_nothing_of_larger_machines() {
        // The lanes of all these shapes could carry 200, so their bounds are alike.
        let candidates = [(4, 3, 4), (6, 4, 4), (8, 4, 4)].map(|(c, e, t)| candidate(c, e, t));
        assert!(candidates.iter().all(|candidate| candidate.bound >= 120.0));
        let tried = smallest(candidates.to_vec(), 190.0, |candidate| {
            let mpps = candidate.engines_bound * 0.6;
            Ok((mpps.min(190.0), mpps >= 190.0))
        });
        let tried = tried.expect("no simulation fails");
        assert_eq!(tried.iter().map(|tried| tried.carries).collect::<Vec<_>>(), [false, true]);
        assert_eq!(
            tried[1].candidate.shape.clusters, 8,
            "six clusters would have to come closer than four"
        );
    }

    #[test]
    fn a_failure_says_nothing_of_smaller_machines_of_another_kind() {
        let other = Candidate { kind: 1, luts: 90_000, ..candidate(4, 3, 4) };
        let mut asked = Vec::new();
        let tried =
            smallest(vec![candidate(4, 4, 4), other, candidate(4, 4, 2)], 100.0, |candidate| {
                asked.push((candidate.kind, candidate.shape));
                Ok(if candidate.kind == 1 { (100.0, true) } else { (99.0, false) })
            });
        assert!(
            tried.expect("no simulation fails").last().is_some_and(|last| last.candidate.kind == 1),
            "{asked:?}"
        );
    }

    #[test]
    fn where_none_carries_it_none_is_found() {
        let tried = search(1e6);
        assert!(tried.iter().all(|tried| !tried.carries));
        let found = Found { shapes: 1, possible: 1, fitting: 1, tried };
        assert!(found.smallest().is_none());
    }
}
