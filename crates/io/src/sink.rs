//! Sinks for packets that leave a machine.

use std::path::Path;

use wireloom_ir::{Output, Program, Verdict};
use wireloom_machine::{Error, Result, reason_name};
use wireloom_net::capture::{Destination, Writer};

/// Where packets go that leave a machine.
pub trait Sink {
    /// Takes an output; its bytes are valid during the call only.
    ///
    /// # Errors
    /// If it cannot be passed on.
    fn take(&mut self, output: Output<'_>) -> Result;

    /// Ends the sink: everything taken is where it belongs after that.
    ///
    /// # Errors
    /// If something cannot be passed on.
    fn finish(self: Box<Self>) -> Result;
}

/// A capture with an interface for each port and one for the control processor.
pub struct CaptureSink<'a> {
    writer: Writer,
    program: &'a Program,
    drops: bool,
}

impl<'a> CaptureSink<'a> {
    /// Creates a capture of the packets of a program; of dropped packets too, if `drops`, with the
    /// reason as comment.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, program: &'a Program, drops: bool) -> Result<Self> {
        Ok(Self { writer: Writer::create(path).map_err(Error::new)?, program, drops })
    }
}

impl Sink for CaptureSink<'_> {
    fn take(&mut self, output: Output<'_>) -> Result {
        let name;
        let destination = match output.verdict {
            Verdict::Sent { port } => Destination::Port(port),
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
