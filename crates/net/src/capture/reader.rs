//! Reads captures.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::{CaptureError, Fault};
use super::link::{Converted, LinkType};
use super::pcap::Pcap;
use super::pcapng::{Pcapng, SECTION_HEADER};
use crate::input::{self, Source};
use crate::packet::{MAX_LENGTH, Packet};

/// How to treat a packet that the capture holds only the beginning of (`snaplen`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Truncated {
    /// Use the captured bytes as a shorter packet. Its headers may claim more bytes than it has.
    #[default]
    Use,
    /// Restore the original length. The missing bytes are zero.
    Pad,
    /// Skip the packet.
    Skip,
}

/// How to treat a capture that ends in the middle of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unfinished {
    /// Treat it as an error.
    #[default]
    Refuse,
    /// Use the packets before the end. [`Reader::unfinished`] says where the capture ends.
    Use,
}

/// How to treat a packet whose record is damaged, if the reader can find the next record. In pcapng
/// it can after a block whose two lengths agree; in both formats, after a record too short for its
/// link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Damaged {
    /// Treat it as an error.
    #[default]
    Refuse,
    /// Skip the packet. [`Summary::damaged`] counts it.
    Skip,
}

/// How to read a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReadOptions {
    pub truncated: Truncated,
    pub unfinished: Unfinished,
    pub damaged: Damaged,
}

/// Statistics of a reader so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// Packets returned.
    pub packets: u64,
    /// Packets that the capture holds only the beginning of.
    pub truncated: u64,
    /// Packets cut to [`MAX_LENGTH`].
    pub cut: u64,
    /// Records of links other than Ethernet without a packet: see [`LinkType`].
    pub without_packet: u64,
    /// Packets skipped because they are damaged.
    pub damaged: u64,
    /// Offset of the first damaged packet, in bytes from the start of the uncompressed file.
    pub first_damaged: Option<u64>,
    /// pcapng blocks that are not packets and that the reader does not use.
    pub skipped_blocks: u64,
}

impl Summary {
    /// Returns whether to skip the damaged record at an offset, and counts it if so.
    fn skips_damaged(&mut self, options: ReadOptions, offset: u64) -> bool {
        let skips = options.damaged == Damaged::Skip;
        if skips {
            self.damaged += 1;
            self.first_damaged.get_or_insert(offset);
        }
        skips
    }
}

/// A record of either format, before it becomes a [`Packet`].
pub(super) struct Record {
    pub(super) port: u16,
    pub(super) arrival_ns: u64,
    /// The length in bytes of the original packet, with its link header.
    pub(super) original: u32,
    pub(super) link: LinkType,
    /// Bytes of frame check sequence at the end of the original packet.
    pub(super) fcs: u8,
    /// Offset of the record in the file, for messages.
    pub(super) start: u64,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Streams the packets of a capture, as the module's documentation describes. The iterator ends
/// after an error.
pub struct Reader {
    path: PathBuf,
    source: Source,
    format: Format,
    options: ReadOptions,
    summary: Summary,
    original_length: u32,
    /// Further packets of the last record, with their original lengths.
    waiting: VecDeque<(Packet, u32)>,
    done: bool,
    unfinished: Option<CaptureError>,
}

impl Reader {
    /// Opens a capture with default options.
    ///
    /// # Errors
    /// If the file cannot be read or does not begin like a capture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::open_with(path, ReadOptions::default())
    }

    /// Opens a capture.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_with(path: &Path, options: ReadOptions) -> Result<Self, CaptureError> {
        let stream =
            input::open(path).map_err(|e| CaptureError::io(path, "open the capture", &e))?;
        Self::begin(path, Source::new(stream), options)
    }

    /// Reads a capture from any stream. Messages call it `name`.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn from_stream(
        name: &Path,
        stream: impl Read + Send + 'static,
        options: ReadOptions,
    ) -> Result<Self, CaptureError> {
        let stream = input::decompress(stream, name)
            .map_err(|e| CaptureError::io(name, "read the capture", &e))?;
        Self::begin(name, Source::new(stream), options)
    }

    fn begin(path: &Path, mut source: Source, options: ReadOptions) -> Result<Self, CaptureError> {
        let format = recognise(&mut source).map_err(|fault| fault.at(path))?;
        Ok(Self {
            path: path.to_owned(),
            source,
            format,
            options,
            summary: Summary::default(),
            original_length: 0,
            waiting: VecDeque::new(),
            done: false,
            unfinished: None,
        })
    }

    /// Returns the statistics so far.
    pub fn summary(&self) -> Summary {
        Summary {
            skipped_blocks: match &self.format {
                Format::Pcap(_) => 0,
                Format::Pcapng(file) => file.skipped,
            },
            ..self.summary
        }
    }

    /// Returns the capture's name, as used in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why the capture ended, if it ended inside a record and the options allow that.
    pub fn unfinished(&self) -> Option<&CaptureError> {
        self.unfinished.as_ref()
    }

    /// Returns the length in bytes of the last returned packet on the wire, as an Ethernet frame
    /// without its frame check sequence.
    pub fn original_length(&self) -> u32 {
        self.original_length
    }

    /// Reads the next packet into `packet`, whose buffer is reused. Returns `false` at the end.
    ///
    /// # Errors
    /// If the capture is malformed from here on. The next call returns `false`.
    pub fn read_into(&mut self, packet: &mut Packet) -> Result<bool, CaptureError> {
        if self.done {
            return Ok(false);
        }
        let result = self.advance(packet);
        self.done = !matches!(result, Ok(true));
        result.or_else(|fault| {
            let may_end = fault.is_end && self.options.unfinished == Unfinished::Use;
            let error = fault.at(&self.path);
            if !may_end {
                return Err(error);
            }
            self.unfinished = Some(error);
            Ok(false)
        })
    }

    fn advance(&mut self, packet: &mut Packet) -> Result<bool, Fault> {
        loop {
            if let Some((waiting, original)) = self.waiting.pop_front() {
                *packet = waiting;
                let truncated = (packet.bytes.len() as u32) < original;
                if self.accept(&mut packet.bytes, original, truncated) {
                    return Ok(true);
                }
                continue;
            }
            let bytes = &mut packet.bytes;
            let (options, summary) = (self.options, &mut self.summary);
            let record = match &mut self.format {
                Format::Pcap(file) => file.next(&mut self.source, bytes),
                Format::Pcapng(file) => {
                    file.next(&mut self.source, bytes, &mut |at| summary.skips_damaged(options, at))
                }
            }?;
            let Some(record) = record else { return Ok(false) };
            let captured = bytes.len() as u32;
            let truncated = captured < record.original;
            // Some writers state an original length below the captured one. The captured length
            // counts then.
            let mut original = record.original.max(captured);
            let fcs = u32::from(record.fcs);
            original = original.saturating_sub(fcs);
            bytes.truncate(original as usize);
            match record.link.to_ethernet(bytes) {
                Converted::Frame { grown, fcs } => {
                    original = original.saturating_add_signed(grown).saturating_sub(fcs);
                    bytes.truncate(original as usize);
                }
                Converted::Several(frames) => {
                    self.summary.without_packet += u64::from(frames.is_empty());
                    self.waiting = frames
                        .into_iter()
                        .map(|(bytes, original)| {
                            let (ingress, arrival_ns) = (record.port, record.arrival_ns);
                            (Packet { ingress, arrival_ns, bytes }, original)
                        })
                        .collect();
                    continue;
                }
                Converted::Nothing => {
                    self.summary.without_packet += 1;
                    continue;
                }
                // The captured bytes are too few to know the contents of the record.
                Converted::TooShort if truncated => {
                    self.summary.truncated += 1;
                    self.summary.without_packet += 1;
                    continue;
                }
                Converted::TooShort => {
                    if self.summary.skips_damaged(self.options, record.start) {
                        continue;
                    }
                    let what =
                        format!("a record is too short for its link header ({})", record.link);
                    let hint = "the capture is damaged, or its stated link type is wrong";
                    let fault = Fault::new(record.start, what, hint);
                    return Err(Fault { is_skippable: true, ..fault });
                }
            }
            if self.accept(bytes, original, truncated) {
                packet.ingress = record.port;
                packet.arrival_ns = record.arrival_ns;
                return Ok(true);
            }
        }
    }

    /// Counts a frame and brings it to the length that the options require. Returns whether it is
    /// used.
    fn accept(&mut self, bytes: &mut Vec<u8>, original: u32, truncated: bool) -> bool {
        if truncated {
            self.summary.truncated += 1;
            match self.options.truncated {
                Truncated::Use => {}
                Truncated::Pad => {
                    bytes.resize(bytes.len().max((original as usize).min(MAX_LENGTH)), 0)
                }
                Truncated::Skip => return false,
            }
        }
        if bytes.len() > MAX_LENGTH {
            bytes.truncate(MAX_LENGTH);
            self.summary.cut += 1;
        }
        self.original_length = original;
        self.summary.packets += 1;
        true
    }
}

impl Iterator for Reader {
    type Item = Result<Packet, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut packet = Packet::default();
        match self.read_into(&mut packet) {
            Ok(true) => Some(Ok(packet)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

fn recognise(source: &mut Source) -> Result<Format, Fault> {
    let mut magic = [0; 4];
    let got = source.fill(&mut magic).map_err(|e| Fault::io(0, &e))?;
    if got == 0 {
        return Err(Fault::new(
            0,
            "the file is empty",
            "a capture without packets still has a header",
        ));
    }
    if got == 4 {
        if u32::from_be_bytes(magic) == SECTION_HEADER {
            return Pcapng::begin(source).map(Format::Pcapng);
        }
        if let Some(file) = Pcap::begin(magic, source)? {
            return Ok(Format::Pcap(file));
        }
    }
    Err(Fault::new(
        0,
        "this is neither a pcap nor a pcapng file",
        "give a capture as tcpdump or Wireshark write it",
    ))
}
