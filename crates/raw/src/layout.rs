//! The numbering of tiles, ports and queues.

use serde::{Deserialize, Serialize};
use wireloom_isa::raw::Network;

/// A side of a tile or of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// To row 0.
    North,
    /// To the last column.
    East,
    /// To the last row.
    South,
    /// To column 0.
    West,
}

impl Side {
    /// The sides by their numbers.
    pub const ALL: [Self; 4] = [Self::North, Self::East, Self::South, Self::West];

    pub fn name(self) -> &'static str {
        ["north", "east", "south", "west"][self as usize]
    }
}

/// The processor's end of a crossbar, after the four sides.
pub(crate) const PROCESSOR: usize = 4;
/// Ends of a crossbar.
pub(crate) const ENDS: usize = 5;
const NETWORKS: usize = 4;
/// The queues of a tile. Each network has one from each side, one from the processor, and one to
/// the processor.
const TILE_QUEUES: usize = NETWORKS * (ENDS + 1);

/// The numbers of tiles, ports and queues.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub columns: usize,
    pub rows: usize,
    /// Tile and side of each port.
    pub ports: Vec<(usize, usize)>,
    /// The queue that each output feeds: by tile, network and end.
    outputs: Vec<u32>,
}

impl Layout {
    pub fn new(columns: usize, rows: usize) -> Self {
        let tiles = columns * rows;
        let mut layout = Self { columns, rows, ports: Vec::new(), outputs: Vec::new() };
        layout.ports = (0..tiles)
            .flat_map(|tile| (0..4).map(move |side| (tile, side)))
            .filter(|(tile, side)| layout.neighbour(*tile, *side).is_none())
            .collect();
        for tile in 0..tiles {
            for network in 0..NETWORKS {
                for side in 0..4 {
                    let queue = match layout.neighbour(tile, side) {
                        Some(other) => layout.input(other, network, side ^ 2),
                        None => layout.to_device(layout.port(tile, side).unwrap_or(0), network),
                    };
                    layout.outputs.push(queue as u32);
                }
                layout.outputs.push(layout.to_processor(tile, network) as u32);
            }
        }
        layout
    }

    pub fn tiles(&self) -> usize {
        self.columns * self.rows
    }

    pub fn queues(&self) -> usize {
        self.tiles() * TILE_QUEUES + self.ports.len() * NETWORKS
    }

    /// Returns the neighbour of a tile, or `None` at the edge.
    pub fn neighbour(&self, tile: usize, side: usize) -> Option<usize> {
        let (x, y) = (tile % self.columns, tile / self.columns);
        match side {
            0 => (y > 0).then(|| tile - self.columns),
            1 => (x + 1 < self.columns).then_some(tile + 1),
            2 => (y + 1 < self.rows).then_some(tile + self.columns),
            _ => (x > 0).then(|| tile - 1),
        }
    }

    pub fn port(&self, tile: usize, side: usize) -> Option<usize> {
        self.ports.iter().position(|port| *port == (tile, side))
    }

    /// Returns the queue from a side, or from the processor.
    #[inline]
    pub fn input(&self, tile: usize, network: usize, end: usize) -> usize {
        tile * TILE_QUEUES + network * (ENDS + 1) + end
    }

    #[inline]
    pub fn to_processor(&self, tile: usize, network: usize) -> usize {
        self.input(tile, network, ENDS)
    }

    #[inline]
    pub fn output(&self, tile: usize, network: usize, end: usize) -> usize {
        self.outputs[(tile * NETWORKS + network) * ENDS + end] as usize
    }

    /// Returns the network of a tile's queue, and whether its processor reads or writes it.
    pub fn of_queue(queue: usize) -> (usize, bool) {
        let rest = queue % TILE_QUEUES;
        (rest / (ENDS + 1), rest % (ENDS + 1) >= PROCESSOR)
    }

    /// Returns the number of the network of a queue, including queues to devices.
    pub fn network(&self, queue: usize) -> usize {
        match queue.checked_sub(self.tiles() * TILE_QUEUES) {
            Some(number) => number % NETWORKS,
            None => Self::of_queue(queue).0,
        }
    }

    /// Whether a queue is one of a tile.
    pub fn is_of_tile(queue: usize, tile: usize) -> bool {
        queue / TILE_QUEUES == tile
    }

    /// Returns the queue to the device at a port.
    pub fn to_device(&self, port: usize, network: usize) -> usize {
        self.tiles() * TILE_QUEUES + port * NETWORKS + network
    }

    /// Returns the name of the unit that moves words of a network in a tile.
    pub fn mover(&self, tile: usize, network: usize) -> String {
        let name = match network {
            0 | 1 => "switch",
            2 => "general router",
            _ => "memory router",
        };
        format!("{name} {}", self.place(tile))
    }

    /// Returns the name of a message at an input of a dynamic router, or of the switch.
    pub fn mover_from(&self, tile: usize, network: usize, end: usize) -> String {
        let mover = self.mover(tile, network);
        let ends = ["north", "east", "south", "west", "the processor"];
        if network < 2 { mover } else { format!("{mover} from {}", ends[end]) }
    }

    pub fn processor(&self, tile: usize) -> String {
        format!("tile {}", self.place(tile))
    }

    pub fn place(&self, tile: usize) -> String {
        format!("({},{})", tile % self.columns, tile / self.columns)
    }

    pub fn device(&self, port: usize) -> String {
        let (tile, side) = self.ports[port];
        format!("device {:?} of {}", Side::ALL[side], self.place(tile))
    }

    /// Returns the name of a device's end of a network. Its ends act independently.
    pub fn device_end(&self, port: usize, network: usize) -> String {
        format!("{} on {}", self.device(port), Network::ALL[network].name())
    }

    /// Returns the names of the writer and the reader of a queue.
    pub fn parties(&self, queue: usize) -> (String, String) {
        if let Some(number) = queue.checked_sub(self.tiles() * TILE_QUEUES) {
            let (port, network) = (number / NETWORKS, number % NETWORKS);
            return (self.mover(self.ports[port].0, network), self.device_end(port, network));
        }
        let (tile, rest) = (queue / TILE_QUEUES, queue % TILE_QUEUES);
        let (network, end) = (rest / (ENDS + 1), rest % (ENDS + 1));
        if end == ENDS {
            return (self.mover(tile, network), self.processor(tile));
        }
        let mover = self.mover_from(tile, network, end);
        match end {
            PROCESSOR => (self.processor(tile), mover),
            side => match self.neighbour(tile, side) {
                Some(other) => (self.mover(other, network), mover),
                None => (self.device_end(self.port(tile, side).unwrap_or(0), network), mover),
            },
        }
    }
}
