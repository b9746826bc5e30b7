//! Packets from captures, a batch at a time: memory does not grow with the capture.

use std::collections::VecDeque;
use std::path::PathBuf;

use wireloom_net::Packet;
use wireloom_net::capture::{CaptureError, Reader};

use crate::failure::{Failure, Outcome};

/// Packets in a batch: enough for machines that work on many at once, few enough to stay in the cache.
pub const BATCH: usize = 1024;

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        Self::unusable(error)
    }
}

/// The packets of one capture after the other.
pub struct Batches {
    waiting: VecDeque<PathBuf>,
    reader: Option<Reader>,
    batch: Vec<Packet>,
    limit: u64,
}

impl Batches {
    /// Opens the first capture. At most `limit` packets are handed out.
    ///
    /// # Errors
    /// If it cannot be read or does not begin like a capture.
    pub fn open(captures: &[PathBuf], limit: Option<u64>) -> Outcome<Self> {
        let mut waiting: VecDeque<PathBuf> = captures.iter().cloned().collect();
        let reader = waiting.pop_front().map(|path| Reader::open(&path)).transpose()?;
        Ok(Self { waiting, reader, batch: Vec::new(), limit: limit.unwrap_or(u64::MAX) })
    }

    /// The next batch; empty when there are no more packets.
    ///
    /// # Errors
    /// If a capture is malformed.
    pub fn next_batch(&mut self) -> Outcome<&[Packet]> {
        let wanted = BATCH.min(usize::try_from(self.limit).unwrap_or(BATCH));
        let mut count = 0;
        while count < wanted {
            let Some(reader) = &mut self.reader else { break };
            if self.batch.len() == count {
                self.batch.push(Packet::default());
            }
            if reader.read_into(&mut self.batch[count])? {
                count += 1;
            } else {
                self.reader = self.waiting.pop_front().map(|path| Reader::open(&path)).transpose()?;
            }
        }
        self.limit -= count as u64;
        Ok(&self.batch[..count])
    }
}
