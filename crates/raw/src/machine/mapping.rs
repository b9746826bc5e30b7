//! The description of the machine around the chip: its memory, and the tiles that run engines.

use serde::{Deserialize, Serialize};
use wireloom_codegen_tile::{Link, Stages};
use wireloom_description::Description;
use wireloom_ir::Program;
use wireloom_offloads::Store;

use super::cards::{self, Branch, CardAt, Feed, side_to};
use super::packet_tails::RestSpec;
use super::place::{Edge, Place};
use super::queues::{LinkKey, Queues};
use super::tail_paths::{self, Way};
use crate::board::BoardSection;
use crate::layout::Layout;
use crate::{Side, Spec};

/// A machine: a chip, a memory and chains.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// The name of its file.
    pub name: String,
    pub chip: Spec,
    pub memory: MemorySpec,
    /// The tiles that run engines.
    pub mapping: Mapping,
    /// The devices at the ports for programs written by hand, if the machine can run such programs.
    pub board: Option<BoardSection>,
}

/// The memory that all tiles share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// The size in MB, 1 to 1,024.
    pub megabytes: u32,
    /// Cycles from a request to the first word of its line, 1 to 1,000.
    pub latency_cycles: u32,
    /// Limit on the line requests in flight, 1 to 64.
    pub outstanding: u32,
}

/// Which tiles execute an engine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// The tiles of each chain, in the order in which packets pass them.
    pub chains: Vec<Vec<Place>>,
    /// The chains with a line card at their first tile, in the order of the cards. If empty, each
    /// chain has one. A chain without a card gets packets from the card of a neighbour, in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<usize>,
    /// The names of the steps of each tile of a chain. If empty, the compiler cuts the steps into
    /// stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Vec<String>>,
    /// The number of tiles of each stage of a chain. The tiles of a stage take packets in turn. If
    /// empty, each tile is a stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<usize>,
    /// The network that brings packets to a chain and carries them from tile to tile.
    #[serde(default, with = "LinkKey")]
    pub links: Link,
    /// The ports at which packets leave.
    #[serde(default)]
    pub outputs: Outputs,
    /// The tile that owns the state which packets change, and calls its offloads for all other
    /// tiles. An engine without such state leaves the tile to its chain, if a chain names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_owner: Option<Place>,
    /// Queues at the egress ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// How packet tails go around the tiles. If none, tiles take whole packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestSpec>,
}

/// The ports at which packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outputs {
    /// At the port of their chain.
    #[default]
    Chain,
    /// At the port of their egress: the egress modulo the number of ports. Each line card has a
    /// port or, with queues, each queue.
    Egress,
}

impl Mapping {
    /// Returns the number of tiles of each stage of a chain of `tiles` tiles. A chain that gives up
    /// a tile to the state owner has one tile less in its largest stage.
    pub fn stages(&self, tiles: usize) -> Vec<usize> {
        let mut stages = self.replicas.clone();
        if stages.is_empty() {
            return vec![1; tiles];
        }
        if stages.iter().sum::<usize>() > tiles
            && let Some(largest) = stages.iter_mut().max()
        {
            *largest -= 1;
        }
        stages
    }

    /// Checks that no setting needs switches if chains go over the general network.
    fn check_links(&self) -> Result<(), String> {
        if self.links == Link::Static {
            return Ok(());
        }
        let why = if self.outputs != Outputs::Egress {
            "last tiles send packets to ports over that network too: say `outputs = \"egress\"` as well"
        } else if self.replicas.iter().any(|tiles| *tiles > 1) {
            "switches keep the order of tiles that take packets in turn: leave out `mapping.replicas`"
        } else if self.state_owner.is_some() {
            "tiles would take answers of the state owner from among packets: leave out \
             `mapping.state_owner`"
        } else if self.rest.as_ref().is_some_and(RestSpec::is_switched) {
            "the switches of chains are what rests go by: say `network = \"memory\"` in `mapping.rest`"
        } else {
            return Ok(());
        };
        Err(format!("`mapping.links` is \"general\", and {why}"))
    }

    /// Returns the number of empty messages that push out the last packets of a chain: one for each
    /// place in the rounds of its stages. It is 0 if no stage has several tiles.
    pub fn idles(&self) -> usize {
        let is_replicated = self.replicas.iter().any(|tiles| *tiles > 1);
        if is_replicated { 2 * self.replicas.iter().sum::<usize>() } else { 0 }
    }
}

/// A chain with the sides of its tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub tiles: Vec<Place>,
    /// The sides at which packets enter and leave each tile. If packets leave by queues, the last
    /// tile sends nothing through its switch, and both of its sides are the side at which packets
    /// enter.
    pub sides: Vec<(Side, Side)>,
    /// The chains to which it forwards messages of its card, and whose outgoing packets it
    /// collects.
    pub branches: Vec<Branch>,
}

impl Chain {
    /// Returns where packets enter: the port of a card, or the side of a neighbour.
    pub fn input(&self) -> Edge {
        (self.tiles[0], self.sides[0].0)
    }

    pub fn last(&self) -> Place {
        self.tiles[self.tiles.len() - 1]
    }
}

/// The chains of a machine with the ports of the chip that they use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub chains: Vec<Chain>,
    /// The cards at which packets arrive.
    pub cards: Vec<CardAt>,
    /// The ports at which packets leave: one for each card, or one for each queue.
    pub ports: Vec<Edge>,
    /// The port of the memory.
    pub memory: Edge,
    /// The ports of memories for packet tails, if there are such memories.
    pub rests: Vec<Edge>,
    /// The paths of the packet tails of each chain through switches, if tails go that way.
    pub ways: Vec<Way>,
}

impl Placement {
    /// Returns the port number of a card. Packets without an egress leave there.
    pub fn own(&self, card: usize) -> usize {
        card % self.ports.len()
    }

    /// Returns the number of the card that feeds a chain.
    pub fn card_of(&self, chain: usize) -> usize {
        let card = self.cards.iter().position(|card| card.chains.contains(&chain));
        card.expect("each chain gets packets")
    }

    /// Returns the last tile of the chain at a card. Packets leave from it for their ports.
    pub fn sender(&self, card: &CardAt) -> Place {
        self.chains[card.chains[0]].last()
    }

    /// Returns the ports of the cards of all chains.
    pub fn inputs(&self) -> Vec<Edge> {
        (0..self.chains.len()).map(|chain| self.cards[self.card_of(chain)].port).collect()
    }
}

impl MachineSpec {
    /// Builds a machine from its description.
    ///
    /// # Errors
    /// A sentence that names the machine and the key.
    pub fn build(name: &str, description: &Description) -> Result<Self, String> {
        let wrong = |message: String| description.error(name, &message).to_string();
        let table = &description.table;
        fn section<T: serde::de::DeserializeOwned>(
            table: &toml::Table,
            key: &str,
        ) -> Result<T, String> {
            let value = table.get(key).cloned();
            let value = value.ok_or_else(|| format!("`{key}` is missing"))?;
            value.try_into().map_err(|error: toml::de::Error| format!("`{key}`: {error}"))
        }
        let chip = Spec::of(table.clone()).map_err(|error| wrong(error.to_string()))?;
        let memory = section::<MemorySpec>(table, "memory").map_err(wrong)?;
        let mapping = section::<Mapping>(table, "mapping").map_err(wrong)?;
        let board = table.contains_key("board").then(|| section::<BoardSection>(table, "board"));
        let board = board.transpose().map_err(wrong)?;
        let spec = Self { name: name.to_owned(), chip, memory, mapping, board };
        for (key, value, range) in [
            ("megabytes", memory.megabytes, 1..=1024),
            ("latency_cycles", memory.latency_cycles, 1..=1000),
            ("outstanding", memory.outstanding, 1..=64),
        ] {
            if !range.contains(&value) {
                let (least, most) = range.into_inner();
                let message = format!("`memory.{key}` is {value}; it can be {least} to {most}");
                return Err(wrong(message));
            }
        }
        if let Some(board) = &spec.board {
            let built = board.build(&spec.chip, memory.latency_cycles, memory.outstanding);
            built.map_err(wrong)?;
        }
        let replicas = &spec.mapping.replicas;
        if replicas.contains(&0) {
            return Err(wrong("`mapping.replicas` has a 0; each stage has a tile at least".into()));
        }
        for chain in &spec.mapping.chains {
            let tiles: usize = replicas.iter().sum();
            if !replicas.is_empty() && tiles != chain.len() {
                return Err(wrong(format!(
                    "`mapping.replicas` is for {tiles} tiles, and a chain has {}",
                    chain.len()
                )));
            }
            let last = spec.mapping.stages(chain.len()).last().copied();
            if spec.mapping.outputs == Outputs::Egress && last != Some(1) {
                return Err(wrong(
                    "`mapping.outputs` is \"egress\", so the last stage needs one tile, which sends \
                     all packets of a chain: end `mapping.replicas` with 1"
                        .into(),
                ));
            }
            let (given, stages) =
                (spec.mapping.steps.len(), spec.mapping.stages(chain.len()).len());
            if given != 0 && given != stages {
                return Err(wrong(format!(
                    "`mapping.steps` is for {given} tiles, and a chain has {stages}"
                )));
            }
        }
        if let Some(queues) = &spec.mapping.queues {
            if spec.mapping.outputs != Outputs::Egress {
                return Err(wrong(
                    "`mapping.queues` are at the ports of egresses: say `outputs = \"egress\"` in \
                     `mapping` as well"
                        .into(),
                ));
            }
            queues.check(&spec.chip).map_err(wrong)?;
        }
        spec.mapping.check_links().map_err(wrong)?;
        spec.mapping.check_cards().map_err(wrong)?;
        if let Some(rest) = &spec.mapping.rest {
            rest.check(spec.mapping.chains.len()).map_err(wrong)?;
            if rest.is_switched() && replicas.iter().any(|tiles| *tiles > 1) {
                return Err(wrong(
                    "`mapping.rest.network` is \"static\", and switches count the rests of packets where a stage has \
                     one tile: leave out `mapping.replicas`, or say `network = \"memory\"`"
                        .into(),
                ));
            }
        }
        spec.placement().map_err(|message| wrong(format!("`mapping.chains`: {message}")))?;
        spec.check_state_owner()
            .map_err(|message| wrong(format!("`mapping.state_owner`: {message}")))?;
        Ok(spec)
    }

    /// Checks that the chains can do without the tile of the state owner.
    fn check_state_owner(&self) -> Result<(), String> {
        let Some(owner) = self.mapping.state_owner else { return Ok(()) };
        let (x, y) = owner;
        let Spec { columns, rows, .. } = self.chip;
        if u32::from(x) >= columns || u32::from(y) >= rows {
            return Err(format!("there is no tile ({x},{y}) on a chip of {columns} x {rows}"));
        }
        let has_rest = self.mapping.replicas.iter().any(|tiles| *tiles > 1);
        let is_fixed = !self.mapping.steps.is_empty() || !self.mapping.replicas.is_empty();
        if self.mapping.chains.iter().any(|chain| chain.contains(&owner)) && is_fixed && !has_rest {
            return Err(format!(
                "tile ({x},{y}) is of a chain whose stages have one tile each, so none can do \
                 without it: name a tile that no chain has"
            ));
        }
        if self.mapping.queues.as_ref().is_some_and(|queues| queues.tiles.contains(&owner)) {
            return Err(format!("tile ({x},{y}) is a queue; name another"));
        }
        self.with_state_owner(owner).placement().map(|_| ()).map_err(|why| {
            format!("tile ({x},{y}) cannot leave its chain, whose ends alone can: {why}")
        })
    }

    /// Returns the machine with the tile of the state owner taken out of its chain.
    fn with_state_owner(&self, owner: Place) -> Self {
        let mut spec = self.clone();
        let Mapping { chains, cards, .. } = &mut spec.mapping;
        chains.iter_mut().for_each(|chain| chain.retain(|tile| *tile != owner));
        // Removing a chain renumbers the chains after it.
        let is_left: Vec<bool> = chains.iter().map(|chain| !chain.is_empty()).collect();
        cards.retain(|card| is_left[*card]);
        let before = |card: usize| is_left[..card].iter().filter(|is_left| **is_left).count();
        cards.iter_mut().for_each(|card| *card = before(*card));
        chains.retain(|chain| !chain.is_empty());
        spec
    }

    /// Returns the machine as a program uses it. The state owner is in no chain. If packets change
    /// no offload of the program, there is no state owner.
    pub fn suited(&self, program: &Program) -> Self {
        match self.mapping.state_owner {
            Some(owner) if Stages::changes(program).is_some() => self.with_state_owner(owner),
            _ => {
                let mut spec = self.clone();
                spec.mapping.state_owner = None;
                spec
            }
        }
    }

    /// Returns the reason why an engine does not fit, if it does not.
    pub fn refusal(&self, program: &Program, store: &Store) -> Option<String> {
        let refused = super::compile(self, program, store).err()?;
        refused.into_iter().next().map(|refused| refused.message)
    }

    /// Returns every key with its value.
    pub fn settings(&self) -> Option<toml::Table> {
        let mut table = toml::Table::try_from(&self.chip).ok()?;
        table.insert("memory".into(), toml::Value::try_from(self.memory).ok()?);
        table.insert("mapping".into(), toml::Value::try_from(&self.mapping).ok()?);
        if let Some(board) = &self.board {
            table.insert("board".into(), toml::Value::try_from(board).ok()?);
        }
        Some(table)
    }

    /// Returns the chains with the ports of the chip that they use.
    ///
    /// # Errors
    /// A sentence, if a tile does not exist or has two uses, if successive tiles are not
    /// neighbours, or if no port is free.
    pub fn placement(&self) -> Result<Placement, String> {
        let layout = Layout::new(self.chip.columns as usize, self.chip.rows as usize);
        let number = |(x, y): Place| usize::from(y) * layout.columns + usize::from(x);
        if self.mapping.chains.is_empty() {
            return Err("there must be one at least".to_owned());
        }
        let queues = self.mapping.queues.as_ref().map(|queues| &queues.tiles);
        let mut used: Vec<Place> = Vec::new();
        for place in self.mapping.chains.iter().chain(queues).flatten() {
            let (x, y) = *place;
            if usize::from(x) >= layout.columns || usize::from(y) >= layout.rows {
                return Err(format!(
                    "there is no tile ({x},{y}) on a chip of {} x {}",
                    layout.columns, layout.rows
                ));
            }
            if used.contains(place) {
                return Err(format!("tile ({x},{y}) is named twice"));
            }
            used.push(*place);
        }
        let mut taken: Vec<Edge> = Vec::new();
        let mut free = |place: Place, order: [Side; 4]| {
            let side = order.into_iter().find(|side| {
                layout.port(number(place), *side as usize).is_some()
                    && !taken.contains(&(place, *side))
            });
            taken.extend(side.map(|side| (place, side)));
            side
        };
        use Side::{East, North, South, West};
        let (mut chains, mut ports) = (Vec::new(), Vec::new());
        let no_port = |(x, y): Place| format!("tile ({x},{y}) has no free port of the chip");
        if self.mapping.chains.iter().any(Vec::is_empty) {
            return Err("a chain has no tile".to_owned());
        }
        let feeds = self.mapping.feeds(&layout)?;
        let (mut branches, of_cards) = cards::turns(&self.mapping, &layout, &feeds);
        for (chain, tiles) in self.mapping.chains.iter().enumerate() {
            let (first, last) = (&tiles[0], &tiles[tiles.len() - 1]);
            let neighbour = match feeds[chain] {
                Feed::Card => None,
                Feed::Neighbour(other) => self.mapping.sides(&layout, chain, other),
            };
            let input = match neighbour {
                Some((side, _)) => side,
                None => free(*first, [West, North, East, South]).ok_or_else(|| no_port(*first))?,
            };
            let mut sides = vec![input];
            for pair in tiles.windows(2) {
                let (here, next) = (pair[0], pair[1]);
                let side = side_to(&layout, here, next).ok_or_else(|| {
                    format!("tiles {here:?} and {next:?} follow each other and are no neighbours")
                })?;
                sides.extend([side, Side::ALL[side as usize ^ 2]]);
            }
            if let Some((_, side)) = neighbour {
                sides.push(side);
            } else if queues.is_some() {
                sides.extend(sides.last().copied());
            } else {
                // Without a second port the same device sends and receives packets.
                let output = free(*last, [East, North, West, South]);
                let output = output.or((first == last).then_some(input));
                let output = output.ok_or_else(|| no_port(*last))?;
                sides.push(output);
                ports.push((*last, output));
            }
            let pairs = sides.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let branches = std::mem::take(&mut branches[chain]);
            chains.push(Chain { tiles: tiles.clone(), sides: pairs, branches });
        }
        for tile in queues.into_iter().flatten() {
            let side = free(*tile, [East, North, West, South]).ok_or_else(|| {
                format!("{}, so its queue has no line: name a tile at the edge", no_port(*tile))
            })?;
            ports.push((*tile, side));
        }
        let mut rests = Vec::new();
        for tile in self.mapping.rest.iter().flat_map(|rest| &rest.memories) {
            let (x, y) = *tile;
            if usize::from(x) >= layout.columns || usize::from(y) >= layout.rows {
                return Err(format!(
                    "there is no tile ({x},{y}) for `mapping.rest.memories` on a chip of {} x {}",
                    layout.columns, layout.rows
                ));
            }
            let side = free(*tile, [West, East, North, South]).ok_or_else(|| {
                format!("{}, so no memory for rests can be there", no_port(*tile))
            })?;
            rests.push((*tile, side));
        }
        let places = layout.ports.iter().rev().map(|(tile, side)| {
            let (x, y) = (tile % layout.columns, tile / layout.columns);
            ((x as u8, y as u8), Side::ALL[*side])
        });
        let memory = places.into_iter().find(|port| !taken.contains(port));
        let memory = memory.ok_or("no port of the chip is left for the memory")?;
        let card = |of: Vec<usize>| CardAt { port: chains[of[0]].input(), chains: of };
        let cards = of_cards.into_iter().map(card).collect();
        let mut placement = Placement { chains, cards, ports, memory, rests, ways: Vec::new() };
        if self.mapping.rest.as_ref().is_some_and(RestSpec::is_switched) {
            placement.ways = tail_paths::of(&layout, &placement, &self.mapping)?;
        }
        Ok(placement)
    }
}
