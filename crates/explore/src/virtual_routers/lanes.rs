//! The processors of a group of virtual routers, and their size.
//!
//! A processor here has one lane with one packet a cycle. A group that needs more consists of
//! several processors with one program, each with some of the routers. This equals a machine with
//! several lanes, without the sequencer and merger that keep the lanes in order.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_compile::share::{MOST_ROUTERS, PORT_BITS, Sharing};
use wireloom_ir as ir;
use wireloom_net::Packet;
use wireloom_np::description::NpSpec;
use wireloom_offloads::Store;

use super::description::{Description, Protocols, program};
use super::traffic;
use crate::rig::Loaded;
use crate::search::{self, Estimate, Estimator, MachineShapes, Shape, Wanted};
use wireloom_console::Working;
use wireloom_console::load_store;
use wireloom_machine::Program;
use wireloom_machine::{Error, Result};

/// Packets of each kind of traffic in a trial of a machine.
const PACKETS: usize = 4000;

/// A processor and its routers.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// The routers, by their numbers in the description. The processor numbers them by their
    /// positions in this list.
    pub routers: Vec<usize>,
    /// The protocols that its program routes.
    pub protocols: Protocols,
    /// The rate to carry, in million packets a second.
    pub mpps: f64,
    #[serde(serialize_with = "name")]
    pub machine: NpSpec,
    /// The LUTs, with every unit synthesised; `None` if the machine was given and not searched for.
    pub luts: Option<u64>,
}

fn name<S: serde::Serializer>(machine: &NpSpec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&machine.name)
}

/// The inputs that determine the size of a lane: the protocols of the program, and for each router
/// its protocols, the bits of its rate, and its tables.
type Key = (Protocols, Vec<(Protocols, u64, Vec<PathBuf>)>);

/// Finds machines for groups of routers.
pub struct Evaluator<'a> {
    description: &'a Description,
    like: NpSpec,
    machines: Machines,
    family: &'static str,
    known: BTreeMap<Key, (NpSpec, Option<u64>)>,
    /// The estimated sizes of the shapes; `None` before the first use.
    sizes: Option<Vec<(Shape, Estimate)>>,
}

/// The source of machines.
pub enum Machines {
    /// The smallest of these shapes that carries the required traffic.
    Smallest(Vec<Shape>),
    /// This machine for every processor, whatever its traffic.
    Given(Box<NpSpec>),
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator of a list of routers, for machines and a family of devices.
    ///
    /// # Errors
    /// If the base machine does not exist or has several lanes, or a router needs more than one
    /// lane.
    pub fn new(
        description: &'a Description,
        machines: Machines,
        family: &'static str,
    ) -> Result<Self> {
        let like = match &machines {
            Machines::Smallest(_) => NpSpec::find(&description.like).map_err(Error::new)?,
            Machines::Given(machine) => (**machine).clone(),
        };
        if like.lanes() != 1 {
            return Err(Error::new(format!(
                "machine {}: a virtual router's processor has one lane",
                like.name
            ))
            .with_help("set `lanes = 1` in its description"));
        }
        if like.ports.are_narrow() {
            return Err(Error::new(format!(
                "machine {}: a virtual router's packets are told apart on a lane, not by narrow ports",
                like.name
            ))
            .with_help("set `kind = \"wide\"` in [ports] of its description"));
        }
        let lane = f64::from(like.clock.core_mhz);
        for router in &description.routers {
            if router.rate.mpps > lane {
                return Err(Error::new(format!(
                    "router '{}' is to carry {:.2} million packets a second; a lane, which a router cannot exceed, takes {lane}",
                    router.name, router.rate.mpps
                )));
            }
        }
        Ok(Self { description, like, machines, family, known: BTreeMap::new(), sizes: None })
    }

    /// Returns the union of the protocols of some routers.
    pub fn protocols(&self, group: &[usize]) -> Protocols {
        group.iter().fold(Protocols::default(), |sum, &router| {
            sum.with(&self.description.routers[router].protocols)
        })
    }

    /// Returns the LUTs of a group.
    ///
    /// # Errors
    /// As [`Self::lanes`].
    pub fn luts(&mut self, group: &[usize]) -> Result<u64> {
        Ok(self.lanes(group)?.iter().filter_map(|lane| lane.luts).sum())
    }

    /// Returns the processors of a group.
    ///
    /// # Errors
    /// If no machine carries their packets, or a tool is missing or fails.
    pub fn lanes(&mut self, group: &[usize]) -> Result<Vec<Lane>> {
        let protocols = self.protocols(group);
        let rates: Vec<f64> = group.iter().map(|&router| self.rate(router)).collect();
        let mut lanes = Vec::new();
        for members in packed(&rates, self.lane_mpps(), MOST_ROUTERS) {
            let routers: Vec<usize> = members.into_iter().map(|member| group[member]).collect();
            let (machine, luts) = self.machine(&routers, &protocols)?;
            let mpps = routers.iter().map(|&router| self.rate(router)).sum();
            lanes.push(Lane { routers, protocols: protocols.clone(), mpps, machine, luts });
        }
        Ok(lanes)
    }

    pub(super) fn description(&self) -> &'a Description {
        self.description
    }

    /// Returns the rate that a router must carry, in million packets a second.
    pub(super) fn rate(&self, router: usize) -> f64 {
        self.description.routers[router].rate.mpps
    }

    /// Returns the rate of a lane, in million packets of 64 bytes a second.
    pub(super) fn lane_mpps(&self) -> f64 {
        f64::from(self.like.clock.core_mhz)
    }

    /// Returns the family of devices for which LUTs are estimated.
    pub(super) fn family(&self) -> &'static str {
        self.family
    }

    /// Returns the smallest machine for some routers, and its LUTs.
    fn machine(
        &mut self,
        routers: &[usize],
        protocols: &Protocols,
    ) -> Result<(NpSpec, Option<u64>)> {
        if let Machines::Given(machine) = &self.machines {
            return Ok(((**machine).clone(), None));
        }
        let members = routers.iter().map(|&router| {
            let router = &self.description.routers[router];
            (router.protocols.clone(), router.rate.mpps.to_bits(), router.tables.clone())
        });
        let key = (protocols.clone(), members.collect());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let (machine, luts) = self.search(routers, protocols)?;
        let found = (machine, Some(luts));
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// Returns the estimated sizes of the shapes, for the program with all protocols and one
    /// router. The order of two shapes by size hardly depends on the program, and this way all
    /// searches together synthesise the units only once.
    fn sizes(&mut self) -> Result<Vec<(Shape, Estimate)>> {
        if let Some(known) = &self.sizes {
            return Ok(known.clone());
        }
        let Machines::Smallest(shapes) = &self.machines else { return Ok(Vec::new()) };
        let all: Vec<usize> = (0..self.description.routers.len()).collect();
        let (_, loaded) = self.loaded(&all[..1], &self.protocols(&all))?;
        let mut estimator = Estimator::new(&loaded, &self.like, self.family);
        let size = |&shape: &Shape| Ok((shape, estimator.estimate(shape)?));
        let sizes = shapes.iter().map(size).collect::<Result<Vec<_>>>()?;
        Ok(self.sizes.insert(sizes).clone())
    }

    fn search(&mut self, routers: &[usize], protocols: &Protocols) -> Result<(NpSpec, u64)> {
        let (alone, loaded) = self.loaded(routers, protocols)?;
        let traffic = self.traffic(routers, protocols, &alone)?;
        let sizes = self.sizes()?;
        let shapes: Vec<Shape> = sizes.iter().map(|(shape, _)| *shape).collect();
        let size = |_, shape| {
            let found = sizes.iter().find(|(one, _)| *one == shape);
            Ok(found.expect("only these shapes are looked at").1)
        };
        let mpps = routers.iter().map(|&router| self.rate(router)).sum();
        let kinds = [MachineShapes { like: self.like.clone(), shapes }];
        let wanted = Wanted { loaded: &loaded, kinds: &kinds, traffic: &traffic, mpps, part: None };
        let found = search::find(&wanted, size)?;
        let Some(machine) = search::machine(&wanted, &found)? else {
            let names: Vec<&str> = routers
                .iter()
                .map(|&router| self.description.routers[router].name.as_str())
                .collect();
            return Err(Error::new(format!(
                "none of {} machines like {} carries the {mpps:.2} million packets a second of {}",
                found.shapes,
                self.like.name,
                names.join(", ")
            ))
            .with_help("let it try more: --clusters, --engines, --threads"));
        };
        let luts = search::cost(&loaded, &machine, self.family)?.luts;
        Ok((machine, luts))
    }

    /// Returns the program of some protocols for a single router, and the program and tables of a
    /// processor for some routers.
    ///
    /// # Errors
    /// If the program or a table is refused.
    pub fn loaded(&self, routers: &[usize], protocols: &Protocols) -> Result<(Program, Loaded)> {
        let alone = program(self.description.constants(protocols)).compiled()?;
        if let [only] = routers {
            let store = self.store(&alone, *only)?;
            let program =
                Program { lowered: alone.lowered.clone(), optimised: alone.optimised.clone() };
            return Ok((alone, Loaded::of(program, store)));
        }
        let sharing = Sharing::new(routers.len()).map_err(Error::new)?;
        let mut lowered = alone.lowered.clone();
        sharing.share(&mut lowered).map_err(Error::new)?;
        let mut optimised = lowered.clone();
        pipeline::optimise(&mut optimised, &PassOptions::default());
        let mut store = ir::store(&optimised).map_err(|refused| Error::new(refused.0))?;
        for (place, &router) in routers.iter().enumerate() {
            let own = self.store(&alone, router)?;
            sharing.load(&mut store, place, &own).map_err(|error| {
                Error::new(format!("router '{}': {error}", self.description.routers[router].name))
            })?;
        }
        Ok((alone, Loaded::of(Program { lowered, optimised }, store)))
    }

    /// Returns a router's own tables.
    ///
    /// # Errors
    /// If one is refused.
    pub(super) fn store(&self, program: &Program, router: usize) -> Result<Store> {
        Ok(load_store(&program.optimised, &self.description.routers[router].tables)?.0)
    }

    /// Returns the packets that must be carried. For each protocol these are the packets of all
    /// routers with that protocol, interleaved by their rates.
    ///
    /// # Errors
    /// If a router forwards too few packets.
    pub(super) fn traffic(
        &self,
        routers: &[usize],
        protocols: &Protocols,
        alone: &Program,
    ) -> Result<Vec<Vec<Packet>>> {
        let _working = Working::on("making packets");
        let total: f64 = routers.iter().map(|&router| self.rate(router)).sum();
        let mut streams = Vec::new();
        for &wanted in &protocols.0 {
            let mut own = Vec::new();
            for (place, &number) in routers.iter().enumerate() {
                let router = &self.description.routers[number];
                let has = router.protocols.0.contains(&wanted);
                let spoken = if has {
                    wanted
                } else {
                    *router.protocols.0.first().expect("a router has some")
                };
                let count = (PACKETS as f64 * router.rate.mpps / total).ceil() as usize;
                let store = self.store(alone, number)?;
                let mut packets = traffic::packets(
                    router,
                    spoken,
                    &alone.optimised,
                    store,
                    count,
                    1 + place as u64,
                )?;
                packets.iter_mut().for_each(|packet| packet.ingress |= (place as u16) << PORT_BITS);
                own.push(packets);
            }
            let stream = interleaved(own);
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        Ok(streams)
    }
}

/// Divides items with these rates over lanes: first fit in order of decreasing rate, with at most
/// `most` items on a lane.
pub(super) fn packed(rates: &[f64], lane: f64, most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
    let mut lanes: Vec<(f64, Vec<usize>)> = Vec::new();
    for router in order {
        let fits = |(sum, routers): &&mut (f64, Vec<usize>)| {
            sum + rates[router] <= lane && routers.len() < most
        };
        match lanes.iter_mut().find(fits) {
            Some((sum, routers)) => {
                *sum += rates[router];
                routers.push(router);
            }
            None => lanes.push((rates[router], vec![router])),
        }
    }
    lanes
        .into_iter()
        .map(|(_, mut routers)| {
            routers.sort_unstable();
            routers
        })
        .collect()
}

/// Merges streams of packets, with each stream spread evenly.
pub(super) fn interleaved(streams: Vec<Vec<Packet>>) -> Vec<Packet> {
    let mut placed: Vec<(f64, Packet)> = Vec::new();
    for stream in streams {
        let count = stream.len() as f64;
        placed.extend(
            stream
                .into_iter()
                .enumerate()
                .map(|(index, packet)| ((index as f64 + 0.5) / count, packet)),
        );
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, packet)| packet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_filled_one_after_the_other() {
        assert_eq!(packed(&[19.5; 10], 100.0, 16), [vec![0, 1, 2, 3, 4], vec![5, 6, 7, 8, 9]]);
        assert_eq!(packed(&[30.0, 80.0, 20.0, 60.0], 100.0, 16), [vec![1, 2], vec![0, 3]]);
        assert_eq!(packed(&[1.0; 17], 100.0, 16)[1], [16]);
    }

    #[test]
    fn streams_are_spread_by_their_rates() {
        let packet = |ingress| Packet { ingress, ..Packet::default() };
        let ports: Vec<u16> = interleaved(vec![vec![packet(1); 4], vec![packet(2); 2]])
            .iter()
            .map(|p| p.ingress)
            .collect();
        assert_eq!(ports, [1, 2, 1, 1, 2, 1]);
    }
}
