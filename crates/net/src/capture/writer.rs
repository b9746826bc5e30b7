//! Writes captures.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use wireloom_files::{ResultPipe, TemporaryFile};

use super::error::CaptureError;
use super::{pcap, pcapng};

/// The origin or destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination<'a> {
    /// Out of a port: interface `portN`.
    Port(u16),
    /// The packet arrived at a port: interface `portN`, marked as inbound.
    From(u16),
    /// To the control processor: interface `cpu`. The reason becomes the packet's comment.
    Cpu(&'a str),
    /// Nowhere (dropped): interface `drop`. The reason becomes the packet's comment.
    Drop(&'a str),
}

/// A capture format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcapng with nanoseconds. Everything is kept.
    Pcapng,
    /// pcap with nanoseconds: bytes and times only. Port numbers are lost, and only packets at
    /// ports can be written.
    Pcap,
}

impl Format {
    /// Returns the format for a file name: pcap if it ends in `.pcap`, else pcapng.
    pub fn for_path(path: &Path) -> Self {
        if path.extension() == Some(OsStr::new("pcap")) { Self::Pcap } else { Self::Pcapng }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Interface {
    Port(u16),
    Cpu,
    Drop,
}

/// Writes a capture atomically: into a temporary file next to the target, which replaces the target
/// at [`finish`](Self::finish). A writer that is dropped before leaves no file and does not change
/// the target. (A target that is not a regular file, such as `/dev/null` or a pipe, is written
/// directly.)
///
/// An interface is described before its first packet, so the interfaces are in the order of first
/// use.
pub struct Writer {
    path: PathBuf,
    format: Format,
    out: BufWriter<Output>,
    interfaces: HashMap<Interface, u32>,
    packets: u64,
    block: Vec<u8>,
}

enum Output {
    Beside(TemporaryFile),
    Directly(ResultPipe<File>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside(file) => file.write(bytes),
            Self::Directly(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside(file) => file.flush(),
            Self::Directly(file) => file.flush(),
        }
    }
}

impl Writer {
    /// Begins a capture in the format that the file name implies.
    ///
    /// # Errors
    /// If no file can be created next to the target.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        Self::create_as(path, Format::for_path(path))
    }

    /// Begins a capture in a format.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    pub fn create_as(path: &Path, format: Format) -> Result<Self, CaptureError> {
        let output =
            open_output(path).map_err(|e| CaptureError::io(path, "write the capture", &e))?;
        let mut writer = Self {
            path: path.to_owned(),
            format,
            out: BufWriter::with_capacity(1 << 16, output),
            interfaces: HashMap::new(),
            packets: 0,
            block: Vec::new(),
        };
        match format {
            Format::Pcapng => writer.section_header(),
            Format::Pcap => writer.file_header(),
        }
        writer.flush_block()?;
        Ok(writer)
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of packets written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// If the write fails, for example because the disk is full, or if the format cannot express
    /// where the packet went.
    pub fn write(
        &mut self,
        destination: Destination<'_>,
        arrival_ns: u64,
        bytes: &[u8],
    ) -> Result<(), CaptureError> {
        match (self.format, destination) {
            (Format::Pcapng, _) => self.enhanced_packet(destination, arrival_ns, bytes),
            (Format::Pcap, Destination::Port(_) | Destination::From(_)) => {
                self.record(arrival_ns, bytes)
            }
            (Format::Pcap, _) => {
                return Err(CaptureError {
                    path: self.path.clone(),
                    offset: None,
                    what: "plain pcap cannot record that a packet went to the cpu or was dropped"
                        .to_owned(),
                    hint: "name the file .pcapng".to_owned(),
                    is_skippable: false,
                });
            }
        }
        self.packets += 1;
        self.flush_block()
    }

    /// Replaces the target with the capture.
    ///
    /// # Errors
    /// If the rest cannot be written, or the target cannot be replaced. No file remains then.
    pub fn finish(self) -> Result<(), CaptureError> {
        let path = self.path;
        let failed = |e: io::Error| CaptureError::io(&path, "write the capture", &e);
        match self.out.into_inner().map_err(|e| failed(e.into_error()))? {
            Output::Beside(file) => file.persist(&path).map_err(failed),
            Output::Directly(mut file) => file.flush().map_err(failed),
        }
    }

    fn flush_block(&mut self) -> Result<(), CaptureError> {
        let written = self.out.write_all(&self.block);
        self.block.clear();
        written.map_err(|e| CaptureError::io(&self.path, "write the capture", &e))
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.extend_from_slice(&[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    /// Writes a pcapng block, whose body `fill` writes.
    fn framed(&mut self, kind: u32, fill: impl FnOnce(&mut Self)) {
        let start = self.block.len();
        self.u32(kind);
        self.u32(0);
        fill(self);
        let total = (self.block.len() - start + 4) as u32;
        self.block[start + 4..start + 8].copy_from_slice(&total.to_le_bytes());
        self.u32(total);
    }

    fn section_header(&mut self) {
        self.framed(pcapng::SECTION_HEADER, |w| {
            w.u32(pcapng::BYTE_ORDER_MAGIC);
            w.u16(1);
            w.u16(0);
            w.block.extend_from_slice(&u64::MAX.to_le_bytes()); // section length: not stated
            w.option(
                pcapng::OPT_SHB_USERAPPL,
                concat!("wireloom ", env!("CARGO_PKG_VERSION")).as_bytes(),
            );
            w.option(pcapng::OPT_END, &[]);
        });
    }

    fn interface(&mut self, interface: Interface) -> u32 {
        if let Some(&number) = self.interfaces.get(&interface) {
            return number;
        }
        let number = self.interfaces.len() as u32;
        self.interfaces.insert(interface, number);
        let name = match interface {
            Interface::Port(port) => format!("port{port}"),
            Interface::Cpu => "cpu".to_owned(),
            Interface::Drop => "drop".to_owned(),
        };
        self.framed(pcapng::INTERFACE_DESCRIPTION, |w| {
            w.u16(1); // Ethernet
            w.u16(0);
            w.u32(0); // snaplen: no limit
            w.option(pcapng::OPT_IF_NAME, name.as_bytes());
            w.option(pcapng::OPT_IF_TSRESOL, &[9]);
            w.option(pcapng::OPT_END, &[]);
        });
        number
    }

    fn enhanced_packet(&mut self, destination: Destination<'_>, arrival_ns: u64, bytes: &[u8]) {
        let (interface, reason) = match destination {
            Destination::Port(port) | Destination::From(port) => (Interface::Port(port), ""),
            Destination::Cpu(reason) => (Interface::Cpu, reason),
            Destination::Drop(reason) => (Interface::Drop, reason),
        };
        let number = self.interface(interface);
        self.framed(pcapng::ENHANCED_PACKET, |w| {
            w.u32(number);
            w.u32((arrival_ns >> 32) as u32);
            w.u32(arrival_ns as u32);
            w.u32(bytes.len() as u32);
            w.u32(bytes.len() as u32);
            w.padded(bytes);
            if let Destination::From(_) = destination {
                w.option(pcapng::OPT_PACKET_FLAGS, &pcapng::INBOUND.to_le_bytes());
                w.option(pcapng::OPT_END, &[]);
            }
            if !reason.is_empty() {
                // An option's length has 16 bits.
                let end = (0..=reason.len().min(usize::from(u16::MAX)))
                    .rev()
                    .find(|&i| reason.is_char_boundary(i));
                w.option(pcapng::OPT_COMMENT, &reason.as_bytes()[..end.unwrap_or(0)]);
                w.option(pcapng::OPT_END, &[]);
            }
        });
    }

    fn file_header(&mut self) {
        self.u32(pcap::MAGIC_NANO);
        self.u16(2);
        self.u16(4);
        self.u32(0);
        self.u32(0);
        self.u32(super::MAX_RECORD);
        self.u32(1); // Ethernet
    }

    fn record(&mut self, arrival_ns: u64, bytes: &[u8]) {
        self.u32((arrival_ns / 1_000_000_000) as u32);
        self.u32((arrival_ns % 1_000_000_000) as u32);
        self.u32(bytes.len() as u32);
        self.u32(bytes.len() as u32);
        self.block.extend_from_slice(bytes);
    }
}

fn open_output(path: &Path) -> io::Result<Output> {
    if wireloom_files::is_standard_stream(path) {
        let stdout = wireloom_files::standard_output()?;
        let stdout = std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned()?;
        return Ok(Output::Directly(ResultPipe(stdout.into())));
    }
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
        }
        let pipe = File::options().write(true).open(path)?;
        return Ok(Output::Directly(ResultPipe(pipe)));
    }
    TemporaryFile::beside(path).map(Output::Beside)
}
