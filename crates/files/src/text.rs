//! Texts from files and from standard input.

use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

/// The path that stands for standard input when read, and for standard output when written.
pub const STANDARD_STREAM: &str = "-";

/// The default limit on the length of a text, in bytes.
pub const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Returns whether a path stands for standard input or output.
pub fn is_standard_stream(path: &Path) -> bool {
    path == Path::new(STANDARD_STREAM)
}

/// Reads a text of at most `limit` bytes, from standard input if the path is `-`. Pipes and devices
/// are read like files, up to the limit. Standard input is read once: later calls return the same
/// text.
///
/// # Errors
/// If it cannot be read, is longer, or is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    if !is_standard_stream(path) {
        return bounded(crate::open(path)?, limit);
    }
    static STANDARD_INPUT: OnceLock<String> = OnceLock::new();
    if let Some(text) = STANDARD_INPUT.get() {
        return Ok(text.clone());
    }
    let text = bounded(io::stdin(), limit)?;
    Ok(STANDARD_INPUT.get_or_init(|| text).clone())
}

fn bounded(stream: impl Read, limit: u64) -> io::Result<String> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut bytes = Vec::new();
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(invalid(format!("longer than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        invalid(format!("not valid UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_at_most_the_limit() {
        assert_eq!(bounded(&b"four"[..], 4).expect("as long as the limit"), "four");
        let refused = bounded(io::repeat(b'x'), 1000).expect_err("endless");
        assert_eq!(refused.to_string(), "longer than 1000 bytes");
        let refused = bounded(&b"ab\xff"[..], 10).expect_err("no text");
        assert_eq!(refused.to_string(), "not valid UTF-8 at byte 2");
    }
}
