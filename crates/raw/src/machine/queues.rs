//! Queues at egress ports: the section `mapping.queues` of a description.

use serde::{Deserialize, Serialize};
use wireloom_codegen_tile::{Link, Queue, Ready};

use super::place::Place;
use crate::Spec;
use crate::cache::LINE_BYTES;

/// The range of a queue's size in bytes.
const BYTES: std::ops::RangeInclusive<u32> = 2048..=64 << 20;

/// Queues at egress ports. The queue of a packet is its egress modulo the number of queues.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// The tile of each queue, by port. Its line card is at a free side.
    pub tiles: Vec<Place>,
    /// The memory that holds the queued packets.
    pub memory: QueueMemory,
    /// The size of each queue, 2,048 bytes to 64 MB, in whole cache lines.
    pub bytes: u32,
    /// How a tile learns that its line card can take the next packet.
    #[serde(with = "ReadyKey")]
    pub ready: Ready,
    /// The network that carries packets to the line card.
    #[serde(default, with = "LinkKey")]
    pub network: Link,
    /// The rate of each line, in megabits of packet bytes a second. Without it a packet takes no
    /// time on the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_mbps: Option<u32>,
}

/// The memory that holds queued packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueMemory {
    /// The tile's data cache. It holds the whole queue, so a line comes from memory once.
    Tile,
    /// The memory at a port, through the cache.
    Dram,
}

/// The names of [`Ready`] in descriptions.
#[derive(Deserialize, Serialize)]
#[serde(remote = "Ready", rename_all = "lowercase")]
enum ReadyKey {
    Polling,
    Interrupts,
}

/// The names of [`Link`] in descriptions.
#[derive(Deserialize, Serialize)]
#[serde(remote = "Link", rename_all = "lowercase")]
pub enum LinkKey {
    Static,
    General,
}

impl Queues {
    /// Returns the bytes of memory of one queue on a chip.
    pub fn memory(&self, chip: &Spec) -> u32 {
        Queue::memory(chip.rows, self.bytes)
    }

    /// Checks sizes.
    ///
    /// # Errors
    /// A sentence that begins with the key.
    pub fn check(&self, chip: &Spec) -> Result<(), String> {
        if self.tiles.is_empty() {
            return Err("`mapping.queues.tiles` is empty; name a tile for each port".to_owned());
        }
        let (least, most) = BYTES.into_inner();
        let Self { bytes, .. } = *self;
        if !(least..=most).contains(&bytes) {
            return Err(format!("`mapping.queues.bytes` is {bytes}; it can be {least} to {most}"));
        }
        if !bytes.is_multiple_of(LINE_BYTES) {
            return Err(format!(
                "`mapping.queues.bytes` is {bytes}; it must be a multiple of {LINE_BYTES}, the bytes of \
                 a line of the cache"
            ));
        }
        let cache = chip.cache.kilobytes << 10;
        let senders = self.memory(chip) - bytes;
        if self.memory == QueueMemory::Tile && self.memory(chip) > cache {
            return Err(format!(
                "`mapping.queues.bytes` is {bytes}, and with {senders} bytes for the state of senders \
                 that does not fit a tile's cache of {cache} bytes: make it {} at most, or say \
                 `memory = \"dram\"`",
                cache.saturating_sub(senders)
            ));
        }
        match self.line_mbps {
            Some(0) => {
                Err("`mapping.queues.line_mbps` is 0; without it lines have no limit".into())
            }
            _ => Ok(()),
        }
    }
}
