//! Queues of buffers in SRAM (version 2), as in the IXP2800 Hardware Reference Manual, section
//! 6.4.3. An entry of a channel's Q_array holds the first buffer, the last buffer and the count of
//! a queue. The first word of each buffer is the address of the next one.
//!
//! Each buffer counts as a packet. Packets of several buffers, and buffers that are taken in cells,
//! are not modelled.

use wireloom_isa::microengine::QueueOperation;

use super::Refused;
use super::sram::{range, range_mut};
use crate::request::Request;

/// The number of entries of a Q_array.
const ENTRIES: usize = 64;
/// Words of a descriptor: head, tail and count.
const DESCRIPTOR: u8 = 3;

/// The Q_array of a channel.
#[derive(Clone, Debug)]
pub struct QueueArray {
    entries: [Entry; ENTRIES],
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    head: u32,
    tail: u32,
    count: u32,
    /// Whether the head was read last, so that the tail must still be read.
    has_head: bool,
}

impl Default for QueueArray {
    fn default() -> Self {
        Self { entries: [Entry::default(); ENTRIES] }
    }
}

/// The channel of the queue that an address names.
pub fn channel(address: u32, channels: usize) -> usize {
    (address >> 30) as usize % channels
}

impl QueueArray {
    /// Executes a queue command.
    ///
    /// # Errors
    /// If a descriptor or a link is outside the memory.
    pub(super) fn serve(
        &mut self,
        operation: QueueOperation,
        words: &mut [u32],
        request: &mut Request,
    ) -> Result<(), Refused> {
        let entry = &mut self.entries[(request.address >> 24) as usize % ENTRIES];
        let address = request.address & 0xff_ffff;
        let at = address as usize;
        match operation {
            QueueOperation::ReadHead | QueueOperation::ReadTail => {
                let read = range(words, at, request.count)?;
                request.data[..read.len()].copy_from_slice(read);
                let descriptor = range(words, at, DESCRIPTOR)?;
                entry.has_head = operation == QueueOperation::ReadHead;
                let pointer = if entry.has_head { &mut entry.head } else { &mut entry.tail };
                *pointer = descriptor[usize::from(!entry.has_head)];
                entry.count = descriptor[2];
            }
            QueueOperation::ReadOther => {
                let descriptor = range(words, at, DESCRIPTOR)?;
                let pointer = if entry.has_head { &mut entry.tail } else { &mut entry.head };
                *pointer = descriptor[usize::from(entry.has_head)];
            }
            QueueOperation::Write => {
                let descriptor = [entry.head, entry.tail, entry.count];
                range_mut(words, at, DESCRIPTOR)?.copy_from_slice(&descriptor);
            }
            QueueOperation::WriteCount => range_mut(words, at, DESCRIPTOR)?[2] = entry.count,
            QueueOperation::Enqueue => {
                if entry.count == 0 {
                    entry.head = address;
                } else {
                    range_mut(words, entry.tail as usize, 1)?[0] = address;
                }
                entry.tail = address;
                entry.count = entry.count.wrapping_add(1);
            }
            QueueOperation::Dequeue => {
                request.data[0] = 0;
                if entry.count > 0 {
                    request.data[0] = entry.head;
                    entry.count -= 1;
                    if entry.count > 0 {
                        entry.head = range(words, entry.head as usize, 1)?[0];
                    }
                }
            }
        }
        Ok(())
    }
}
