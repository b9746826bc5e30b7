//! Sources and sinks of frames.
//!
//! A [`Source`] returns borrowed frames in batches: [`Captures`] reads captures of any size, and
//! [`Generated`] makes traffic. A [`Sink`] accepts the packets that leave a machine:
//! [`CaptureSink`] writes them by port. Machines depend on neither.

mod captures;
mod generated;
mod input;
mod sink;

use wireloom_machine::Result;
use wireloom_net::{Frame, Packet};

pub use captures::Captures;
pub use generated::Generated;
pub use input::Input;
pub use sink::{CaptureSink, Sink};

/// Frames in a batch: enough for machines that process many at once, few enough to stay in the
/// cache.
pub const BATCH: usize = 1024;

/// A source of frames.
pub trait Source {
    /// Returns the next frames, at most [`BATCH`]. The batch is empty at the end. The frames are
    /// valid until the next call.
    ///
    /// # Errors
    /// If the source fails or is malformed.
    fn next_batch(&mut self) -> Result<Vec<Frame<'_>>>;

    /// Returns all remaining frames as owned packets.
    ///
    /// # Errors
    /// As [`next_batch`](Self::next_batch).
    fn all(&mut self) -> Result<Vec<Packet>> {
        let mut packets = Vec::new();
        loop {
            let batch = self.next_batch()?;
            if batch.is_empty() {
                return Ok(packets);
            }
            packets.extend(batch.iter().map(Frame::to_packet));
        }
    }
}
