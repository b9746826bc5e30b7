//! Frames from captures, a batch at a time: memory does not grow with the capture.

use std::collections::VecDeque;
use std::path::PathBuf;

use wireloom_machine::{Error, Result};
use wireloom_net::capture::Reader;
use wireloom_net::{Frame, Packet};

use crate::{BATCH, Source};

/// The packets of one capture after the other.
pub struct Captures {
    waiting: VecDeque<PathBuf>,
    reader: Option<Reader>,
    batch: Vec<Packet>,
    limit: u64,
}

impl Captures {
    /// Opens the first capture. At most `limit` packets are handed out.
    ///
    /// # Errors
    /// If it cannot be read or does not begin like a capture.
    pub fn open(captures: &[PathBuf], limit: Option<u64>) -> Result<Self> {
        let mut waiting: VecDeque<PathBuf> = captures.iter().cloned().collect();
        let reader = next_reader(&mut waiting)?;
        Ok(Self { waiting, reader, batch: Vec::new(), limit: limit.unwrap_or(u64::MAX) })
    }
}

impl Source for Captures {
    fn next_batch(&mut self) -> Result<Vec<Frame<'_>>> {
        let wanted = BATCH.min(usize::try_from(self.limit).unwrap_or(BATCH));
        let mut count = 0;
        while count < wanted {
            let Some(reader) = &mut self.reader else { break };
            if self.batch.len() == count {
                self.batch.push(Packet::default());
            }
            if reader.read_into(&mut self.batch[count]).map_err(Error::new)? {
                count += 1;
            } else {
                self.reader = next_reader(&mut self.waiting)?;
            }
        }
        self.limit -= count as u64;
        Ok(self.batch[..count].iter().map(Packet::frame).collect())
    }
}

fn next_reader(waiting: &mut VecDeque<PathBuf>) -> Result<Option<Reader>> {
    waiting.pop_front().map(|path| Reader::open(&path)).transpose().map_err(Error::new)
}
