//! Messages of a forwarder on standard error.

use std::io;

use tracing::Level;

/// The format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One line of text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes messages of this level and more important ones to standard error from now on. A second
/// call has no effect.
pub fn start(format: Format, level: Level) {
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_target(false)
        .with_ansi(false);
    let _ = match format {
        Format::Text => builder.try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
}
