//! Files of the command. Input texts are read up to a limit, the process remembers the files that
//! it has read, and it removes its temporary files however it ends. Signals, which may end it, arrive
//! as bytes of a stream.

mod printable;
mod reading;
mod signals;
mod standard;
mod temporary;
mod text;

pub use printable::printable;
pub use reading::{open, was_read};
pub use signals::{ending_signals, signals};
pub use standard::{ResultPipe, standard_output};
pub use temporary::{
    TemporaryFile, TemporaryFolder, exit, fail_at_size_limit, leave_nothing, remove_on_signals,
};
pub use text::{MAX_TEXT_BYTES, STANDARD_STREAM, is_standard_stream, read_text};
