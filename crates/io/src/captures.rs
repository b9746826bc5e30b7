//! Frames from captures, a batch at a time. Memory does not grow with the capture.

use std::collections::VecDeque;
use std::path::PathBuf;

use wireloom_machine::{Error, Result};
use wireloom_net::capture::{CaptureError, ReadOptions, Reader, Summary};
use wireloom_net::{Frame, Packet};

use crate::{BATCH, Input, Source};

/// The packets of captures, read one after the other or merged by time.
pub struct Captures {
    order: Order,
    batch: Vec<Packet>,
    limit: u64,
}

/// The order in which the packets of several captures are read.
enum Order {
    InTurn(Box<InTurn>),
    Merged(Vec<Head>),
}

impl Captures {
    /// Opens the first of several captures, which are read one after the other. Returns at most
    /// `limit` packets in total.
    ///
    /// # Errors
    /// If it cannot be read or does not begin like a capture.
    pub fn open(captures: &[PathBuf], limit: Option<u64>, options: ReadOptions) -> Result<Self> {
        let waiting = captures.iter().cloned().collect();
        let mut turns = InTurn { waiting, reader: None, options, warnings: Vec::new() };
        turns.advance()?;
        Ok(Self::of(Order::InTurn(Box::new(turns)), limit))
    }

    /// Opens captures that may have ports. If one has, all are open at once and merged by time: the
    /// next packet is the earliest of all captures; of equally early packets, the one from the
    /// first capture. Otherwise the captures are read one after the other.
    ///
    /// # Errors
    /// As [`open`](Self::open), for all captures if they are merged.
    pub fn open_inputs(inputs: &[Input], limit: Option<u64>, options: ReadOptions) -> Result<Self> {
        if inputs.iter().all(|input| input.port.is_none()) {
            let paths: Vec<_> = inputs.iter().map(|input| input.path.clone()).collect();
            return Self::open(&paths, limit, options);
        }
        let heads = inputs.iter().map(|input| Head::open(input, options));
        Ok(Self::of(Order::Merged(heads.collect::<Result<_>>()?), limit))
    }

    fn of(order: Order, limit: Option<u64>) -> Self {
        Self { order, batch: Vec::new(), limit: limit.unwrap_or(u64::MAX) }
    }

    /// Returns warnings about the captures read so far, each a line without a full stop.
    pub fn warnings(&self) -> Vec<String> {
        match &self.order {
            Order::InTurn(turns) => {
                let current = turns.reader.iter().flat_map(warnings);
                turns.warnings.iter().cloned().chain(current).collect()
            }
            Order::Merged(heads) => heads.iter().flat_map(|head| warnings(&head.reader)).collect(),
        }
    }
}

impl Source for Captures {
    fn next_batch(&mut self) -> Result<Vec<Frame<'_>>> {
        let wanted = BATCH.min(usize::try_from(self.limit).unwrap_or(BATCH));
        let mut count = 0;
        while count < wanted {
            if self.batch.len() == count {
                self.batch.push(Packet::default());
            }
            let packet = &mut self.batch[count];
            let is_there = match &mut self.order {
                Order::InTurn(turns) => turns.read_into(packet)?,
                Order::Merged(heads) => merge_into(heads, packet)?,
            };
            if !is_there {
                break;
            }
            count += 1;
        }
        self.limit -= count as u64;
        Ok(self.batch[..count].iter().map(Packet::frame).collect())
    }
}

/// Captures that are read one after the other.
struct InTurn {
    waiting: VecDeque<PathBuf>,
    reader: Option<Reader>,
    options: ReadOptions,
    /// Warnings about the captures read so far.
    warnings: Vec<String>,
}

impl InTurn {
    /// Ends the current capture and opens the next one.
    fn advance(&mut self) -> Result {
        self.warnings.extend(self.reader.take().iter().flat_map(warnings));
        let next = self.waiting.pop_front();
        let reader = next.map(|path| Reader::open_with(&path, self.options)).transpose();
        self.reader = reader.map_err(failed)?;
        Ok(())
    }

    /// Reads the next packet. Returns `false` at the end of the last capture.
    fn read_into(&mut self, packet: &mut Packet) -> Result<bool> {
        while let Some(reader) = &mut self.reader {
            if reader.read_into(packet).map_err(failed)? {
                return Ok(true);
            }
            self.advance()?;
        }
        Ok(false)
    }
}

/// One of the merged captures.
struct Head {
    reader: Reader,
    port: Option<u16>,
    /// The next packet of the capture, if `is_read`.
    packet: Packet,
    is_read: bool,
}

impl Head {
    fn open(input: &Input, options: ReadOptions) -> Result<Self> {
        let reader = Reader::open_with(&input.path, options).map_err(failed)?;
        Ok(Self { reader, port: input.port, packet: Packet::default(), is_read: false })
    }

    /// Reads the next packet, unless it has been read already or the capture has ended.
    fn read(&mut self) -> Result {
        if !self.is_read {
            self.is_read = self.reader.read_into(&mut self.packet).map_err(failed)?;
            self.packet.ingress = self.port.unwrap_or(self.packet.ingress);
        }
        Ok(())
    }
}

/// Takes the earliest of the next packets. Returns `false` if all captures have ended.
fn merge_into(heads: &mut [Head], packet: &mut Packet) -> Result<bool> {
    heads.iter_mut().try_for_each(Head::read)?;
    // `min_by_key` returns the first of equal packets.
    let heads = heads.iter_mut().filter(|head| head.is_read);
    let Some(first) = heads.min_by_key(|head| head.packet.arrival_ns) else { return Ok(false) };
    std::mem::swap(packet, &mut first.packet);
    first.is_read = false;
    Ok(true)
}

/// Returns the error of a capture. If the packet can be skipped, the help names the option.
fn failed(error: CaptureError) -> Error {
    let is_skippable = error.is_skippable;
    let error = Error::new(error);
    if is_skippable { error.with_help("--damaged skip leaves out such packets") } else { error }
}

/// Returns warnings about a capture.
fn warnings(reader: &Reader) -> Vec<String> {
    let Summary { packets, truncated, cut, without_packet, damaged, first_damaged, .. } =
        reader.summary();
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
    if let Some(at) = first_damaged {
        warnings.push(format!(
            "{name}: damaged packets that are left out: {damaged}; the first begins at byte {at}"
        ));
    }
    if let Some(end) = reader.unfinished() {
        let at = end.offset.map(|offset| format!("byte {offset}: ")).unwrap_or_default();
        warnings
            .push(format!("{name}: {at}{}; packets before it that are used: {packets}", end.what));
    }
    warnings
}
