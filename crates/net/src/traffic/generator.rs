//! Generates traffic.

use std::collections::HashMap;
use std::path::Path;

use super::addresses::{Alias, Drawer, Pick, PrefixPool};
use super::error::SpecError;
use super::mix::{Inner, Order, Protocol, Transport, Turns};
use super::random::Random;
use super::spec::{AddressSpec, IMIX, Labels, Sizes, Spec};
use super::template::{Shape, Template, Variables};
use super::timing::Clock;
use super::trace::{self, TracePacket};
use crate::packet::{MAX_LENGTH, Packet};
use crate::tables::{Family, Prefix, read_prefixes};
use crate::wire::ethernet;

/// The first source port, above the system ports.
const FIRST_PORT: u16 = 1024;

/// One kind of packet in the mix.
#[derive(Clone, Copy)]
struct Choice {
    family: Family,
    least_labels: u8,
    most_labels: u8,
}

/// Generates the traffic of a [`Spec`]: an iterator over packets, endless or of length `count`.
pub struct Generator {
    spec: Spec,
    made: u64,
    random: Random,
    clock: Clock,
    choices: Vec<Choice>,
    choose: Alias,
    turns: Turns,
    vlans: Alias,
    imix: Alias,
    trace: Vec<TracePacket>,
    destinations: Endpoints,
    sources: Endpoints,
    templates: HashMap<Shape, Template>,
}

/// Draws addresses at one end, by family. `None` if the mix does not need the family.
struct Endpoints {
    v4: Option<Drawer>,
    v6: Option<Drawer>,
}

impl Endpoints {
    fn new(
        pool: PrefixPool,
        spec: &AddressSpec,
        (v4, v6): (bool, bool),
        random: &mut Random,
    ) -> Result<Self, SpecError> {
        let mut drawer = |needed: bool, prefixes: Vec<Prefix>, family: &str| {
            if !needed {
                return Ok(None);
            }
            if prefixes.is_empty() {
                let place = spec
                    .prefixes
                    .as_deref()
                    .map(|p| format!("{}: ", p.display()))
                    .unwrap_or_default();
                return Err(SpecError(format!(
                    "{place}the mix has {family}, but there are no {family} prefixes"
                )));
            }
            Ok(Some(Drawer::new(prefixes, spec.pick, random)))
        };
        Ok(Self { v4: drawer(v4, pool.v4, "IPv4")?, v6: drawer(v6, pool.v6, "IPv6")? })
    }

    fn draw(&self, family: Family, identity: Option<u32>, random: &mut Random) -> u128 {
        let drawer = match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        };
        drawer.as_ref().expect("the mix's families have drawers").draw(identity, random)
    }
}

/// Returns all unicast addresses: IPv4 except 0/8, 127/8 and from 224 on; IPv6's global unicast.
fn unicast() -> PrefixPool {
    let v4 =
        (1..224).filter(|net| *net != 127).filter_map(|net| Prefix::new(Family::V4, net << 24, 8));
    v4.chain(Prefix::new(Family::V6, 0x2 << 124, 3)).collect()
}

impl Generator {
    /// Creates a generator and reads the files that the specification names.
    ///
    /// # Errors
    /// If the specification is inconsistent, or a file cannot be read.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let mut pools: HashMap<&Path, PrefixPool> = HashMap::new();
        for path in
            [&spec.destinations, &spec.sources].into_iter().filter_map(|a| a.prefixes.as_deref())
        {
            if !pools.contains_key(path) {
                pools.insert(path, read_prefixes(path)?.into_iter().collect());
            }
        }
        let pool = |addresses: &AddressSpec| match &addresses.prefixes {
            Some(path) => pools[path.as_path()].clone(),
            None => unicast(),
        };
        Self::with_prefixes(spec, pool(&spec.destinations), pool(&spec.sources))
    }

    /// Creates a generator that draws from given prefixes. The specification's prefix files are
    /// ignored.
    ///
    /// # Errors
    /// If the specification is inconsistent, or its capture cannot be read.
    pub fn with_prefixes(
        spec: &Spec,
        destinations: PrefixPool,
        sources: PrefixPool,
    ) -> Result<Self, SpecError> {
        spec.check()?;
        let families = spec.mix.families();
        let mut random = Random::new(spec.seed);
        let destinations = Endpoints::new(destinations, &spec.destinations, families, &mut random)?;
        let sources = Endpoints::new(sources, &spec.sources, families, &mut random)?;
        let traced = [&spec.destinations, &spec.sources].iter().any(|a| a.pick == Pick::Trace);
        let trace = match &spec.capture {
            Some(path) if traced || spec.sizes == Sizes::Capture => trace::read(path)?,
            _ => Vec::new(),
        };
        let (choices, weights) = choices(spec);
        Ok(Self {
            made: 0,
            random,
            clock: Clock::new(spec.rate, spec.bursts, spec.start_ns),
            choices,
            choose: Alias::new(&weights),
            turns: Turns::new(&weights),
            vlans: Alias::new(&spec.vlans.weights.map(f64::from)),
            imix: Alias::new(&IMIX.map(|(_, weight)| f64::from(weight))),
            trace,
            destinations,
            sources,
            templates: HashMap::new(),
            spec: spec.clone(),
        })
    }

    /// Generates the next packet into `packet`, whose buffer is reused. Returns `false` after
    /// `count` packets.
    pub fn fill(&mut self, packet: &mut Packet) -> bool {
        if self.spec.count.is_some_and(|count| self.made >= count) {
            return false;
        }
        let random = &mut self.random;
        let traced = (!self.trace.is_empty())
            .then(|| self.trace[(self.made % self.trace.len() as u64) as usize]);
        let choice = self.choices[match self.spec.order {
            Order::Random => self.choose.draw(random),
            Order::Turn => self.turns.next(),
        }];
        let spread = u64::from(choice.most_labels - choice.least_labels) + 1;
        let shape = Shape {
            vlans: self.vlans.draw(random) as u8,
            labels: choice.least_labels + random.below(spread) as u8,
            family: choice.family,
            transport: self.spec.transport.draw(random),
        };
        let least = ethernet::MIN_FRAME - ethernet::FCS;
        let padded =
            |size: u32| (size as usize).saturating_sub(ethernet::FCS).clamp(least, MAX_LENGTH);
        let length = match self.spec.sizes {
            Sizes::Fixed(size) => padded(size),
            Sizes::Imix => padded(IMIX[self.imix.draw(random)].0),
            Sizes::Capture => padded(traced.expect("a capture was asked for").size),
            Sizes::Bare(size) => size as usize,
        };
        let src = self.sources.draw(shape.family, traced.map(|t| t.src), random);
        let dst = self.destinations.draw(shape.family, traced.map(|t| t.dst), random);
        // A flow's ports depend only on its addresses and its number between them, so that flows
        // recur.
        let mut flow = Random::scramble(
            (src ^ src >> 64) as u64 ^ ((dst ^ dst >> 64) as u64).rotate_left(32),
            random.below(u64::from(self.spec.flows)),
        );
        let mut port = || FIRST_PORT + flow.below(u64::from(u16::MAX - FIRST_PORT) + 1) as u16;
        let with = Variables {
            length,
            src,
            dst,
            src_port: port(),
            dst_port: port(),
            sequence: if shape.transport == Transport::Tcp { random.next() as u32 } else { 0 },
        };
        let template =
            self.templates.entry(shape).or_insert_with(|| Template::new(shape, &self.spec));
        let above = self.spec.labels;
        let bottom = self.spec.bottom_labels.unwrap_or(above);
        let (mut ids, mut stack) =
            (Random::scramble(self.made, 1), Random::scramble(self.made, random.next()));
        template.fill(
            &with,
            || ids.below(4094) as u16 + 1,
            |at_bottom| {
                let Labels { first, last } = if at_bottom { bottom } else { above };
                first + stack.below(u64::from(last - first) + 1) as u32
            },
            &mut packet.bytes,
        );
        packet.ingress = (self.made % u64::from(self.spec.ports)) as u16;
        packet.arrival_ns = self.clock.tick(packet.bytes.len(), random);
        self.made += 1;
        true
    }
}

impl Iterator for Generator {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let mut packet = Packet::default();
        self.fill(&mut packet).then_some(packet)
    }
}

/// Returns the parts of the mix, with inner protocols resolved, and their weights.
fn choices(spec: &Spec) -> (Vec<Choice>, Vec<f64>) {
    let plain = [(Family::V4, Protocol::Ipv4), (Family::V6, Protocol::Ipv6)]
        .map(|(family, protocol)| (family, f64::from(spec.mix.plain_weight(protocol))));
    let total = plain[0].1 + plain[1].1;
    let shares = if total == 0.0 {
        [(Family::V4, 1.0), (Family::V6, 0.0)]
    } else {
        plain.map(|(f, w)| (f, w / total))
    };
    let (mut choices, mut weights) = (Vec::new(), Vec::new());
    let mut add = |family, least_labels, most_labels, weight: f64| {
        if weight > 0.0 {
            choices.push(Choice { family, least_labels, most_labels });
            weights.push(weight);
        }
    };
    for &(protocol, weight) in &spec.mix.parts {
        let weight = f64::from(weight);
        match protocol {
            Protocol::Ipv4 => add(Family::V4, 0, 0, weight),
            Protocol::Ipv6 => add(Family::V6, 0, 0, weight),
            Protocol::Mpls { least, most, inner: Inner::Ipv4 } => {
                add(Family::V4, least, most, weight)
            }
            Protocol::Mpls { least, most, inner: Inner::Ipv6 } => {
                add(Family::V6, least, most, weight)
            }
            Protocol::Mpls { least, most, inner: Inner::AsMix } => {
                shares
                    .into_iter()
                    .for_each(|(family, share)| add(family, least, most, weight * share));
            }
        }
    }
    (choices, weights)
}
