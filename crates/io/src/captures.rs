//! Frames from captures, a batch at a time: memory does not grow with the capture.

use std::collections::VecDeque;
use std::path::PathBuf;

use wireloom_machine::{Error, Result};
use wireloom_net::capture::{ReadOptions, Reader, Summary};
use wireloom_net::{Frame, Packet};

use crate::{BATCH, Source};

/// The packets of one capture after the other.
pub struct Captures {
    waiting: VecDeque<PathBuf>,
    reader: Option<Reader>,
    options: ReadOptions,
    batch: Vec<Packet>,
    limit: u64,
    /// What is to be said about the captures that have been read.
    warnings: Vec<String>,
}

impl Captures {
    /// Opens the first capture. At most `limit` packets are handed out.
    ///
    /// # Errors
    /// If it cannot be read or does not begin like a capture.
    pub fn open(captures: &[PathBuf], limit: Option<u64>, options: ReadOptions) -> Result<Self> {
        let mut opened = Self {
            waiting: captures.iter().cloned().collect(),
            reader: None,
            options,
            batch: Vec::new(),
            limit: limit.unwrap_or(u64::MAX),
            warnings: Vec::new(),
        };
        opened.advance()?;
        Ok(opened)
    }

    /// What a user should know of the captures that have been read: each a line, without a full
    /// stop.
    pub fn warnings(&self) -> Vec<String> {
        let current = self.reader.iter().flat_map(warnings);
        self.warnings.iter().cloned().chain(current).collect()
    }

    /// Ends the current capture and opens the next one.
    fn advance(&mut self) -> Result {
        self.warnings.extend(self.reader.take().iter().flat_map(warnings));
        let next = self.waiting.pop_front();
        let reader = next.map(|path| Reader::open_with(&path, self.options)).transpose();
        self.reader = reader.map_err(Error::new)?;
        Ok(())
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
                self.advance()?;
            }
        }
        self.limit -= count as u64;
        Ok(self.batch[..count].iter().map(Packet::frame).collect())
    }
}

/// What a user should know of a capture.
fn warnings(reader: &Reader) -> Vec<String> {
    let Summary { packets, truncated, cut, without_packet, .. } = reader.summary();
    let name = reader.path().display();
    let mut warnings = Vec::new();
    if truncated > 0 {
        warnings.push(format!(
            "{name}: packets captured in part (snap length): {truncated}; \
             --truncated says whether to pad, skip or use them"
        ));
    }
    if cut > 0 {
        warnings.push(format!("{name}: packets cut to 65,535 bytes: {cut}"));
    }
    if without_packet > 0 {
        warnings.push(format!("{name}: records of the link without a packet: {without_packet}"));
    }
    if let Some(end) = reader.unfinished() {
        let at = end.offset.map(|offset| format!("byte {offset}: ")).unwrap_or_default();
        warnings
            .push(format!("{name}: {at}{}; packets before it that are used: {packets}", end.what));
    }
    warnings
}
