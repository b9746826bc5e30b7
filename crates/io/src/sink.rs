//! Sinks for packets that leave a machine.

use std::path::Path;

use wireloom_ir::{Output, Program, Verdict};
use wireloom_machine::{Error, Result, reason_name};
use wireloom_net::capture::{Destination, Format, Writer};

/// A sink for packets that leave a machine.
pub trait Sink {
    /// Takes an output, whose bytes are valid only during the call.
    ///
    /// # Errors
    /// If the output cannot be passed on.
    fn take(&mut self, output: Output<'_>) -> Result;

    /// Ends the sink and completes all writes.
    ///
    /// # Errors
    /// If an output cannot be passed on.
    fn finish(self: Box<Self>) -> Result;
}

/// A capture with an interface for each port and one for the control processor. Plain pcap has no
/// interfaces: it holds only the packets that were sent.
pub struct CaptureSink<'a> {
    writer: Writer,
    program: &'a Program,
    drops: bool,
    /// Packets to the control processor that the format cannot hold.
    left_out: u64,
}

impl<'a> CaptureSink<'a> {
    /// Creates a capture of the packets of a program. With `drops` it includes dropped packets,
    /// with the reason as a comment.
    ///
    /// # Errors
    /// If the file cannot be created, or its format cannot hold dropped packets.
    pub fn create(path: &Path, program: &'a Program, drops: bool) -> Result<Self> {
        if drops && Format::for_path(path) == Format::Pcap {
            let what = format!("{}: plain pcap cannot hold dropped packets", path.display());
            return Err(Error::new(what).with_help("name the file .pcapng"));
        }
        let writer = Writer::create(path).map_err(Error::new)?;
        Ok(Self { writer, program, drops, left_out: 0 })
    }

    /// Returns the number of packets to the control processor that the format cannot hold.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl Sink for CaptureSink<'_> {
    fn take(&mut self, output: Output<'_>) -> Result {
        let name;
        let destination = match output.verdict {
            Verdict::Sent { port } => Destination::Port(port),
            Verdict::ToCpu(_) if self.writer.format() == Format::Pcap => {
                self.left_out += 1;
                return Ok(());
            }
            Verdict::ToCpu(reason) => {
                name = reason_name(self.program, reason);
                Destination::Cpu(&name)
            }
            Verdict::Dropped(_) if !self.drops => return Ok(()),
            Verdict::Dropped(reason) => {
                name = reason_name(self.program, reason);
                Destination::Drop(&name)
            }
        };
        self.writer.write(destination, output.arrival_ns, output.bytes).map_err(Error::new)
    }

    fn finish(self: Box<Self>) -> Result {
        self.writer.finish().map_err(Error::new)
    }
}
