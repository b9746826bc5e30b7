//! The text of a table file, which may be long. It is kept compressed: as plain text, the routes of
//! the whole Internet take as much memory as in a prefix table.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::error::{Position, TableError};
use crate::input;

/// The longest text, decompressed, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// The text is split at the first line end after this number of bytes.
const PIECE_BYTES: usize = 1 << 20;

/// U+FEFF in UTF-8. Some editors begin a file with it.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Lines of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// The compressed pieces: all but the last one.
    packed: Vec<Vec<u8>>,
    /// The last piece, uncompressed.
    last: String,
}

impl Text {
    /// Reads a file that may be compressed, and removes a byte order mark.
    ///
    /// # Errors
    /// If the file cannot be read, is too long, or is not UTF-8.
    pub(super) fn read(path: &Path) -> Result<Self, TableError> {
        let failed = |error: &io::Error| TableError::io(path, Position::Whole, error);
        let stream = input::open(path).map_err(|error| failed(&error))?;
        let mut stream = stream.take(MAX_BYTES + 1);
        let (mut text, mut line) = (Self::default(), Vec::new());
        for number in 1.. {
            line.clear();
            if stream.read_until(b'\n', &mut line).map_err(|error| failed(&error))? == 0 {
                break;
            }
            if stream.limit() == 0 {
                let what =
                    format!("longer than {MAX_BYTES} bytes; import long lists, which are not kept");
                return Err(TableError::new(path, Position::Whole, what));
            }
            let start = if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                BYTE_ORDER_MARK.len()
            } else {
                0
            };
            let line = str::from_utf8(&line[start..]).map_err(|_| {
                let what = "this is not UTF-8 text, which a table file must be";
                TableError::new(path, Position::Line(number), what)
            })?;
            text.push(line);
        }
        Ok(text)
    }

    /// Appends a line, including its end.
    fn push(&mut self, line: &str) {
        self.last.push_str(line);
        if self.last.len() >= PIECE_BYTES {
            self.packed.push(pack(&self.last));
            self.last.clear();
        }
    }

    /// Calls `visit` with each line and its number, from 1, until the first error.
    ///
    /// # Errors
    /// The error of `visit`.
    pub(super) fn for_each_line<E>(
        &self,
        mut visit: impl FnMut(u64, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut number, mut unpacked) = (0, String::new());
        for piece in &self.packed {
            unpack(piece, &mut unpacked);
            visit_lines(&unpacked, &mut number, &mut visit)?;
        }
        visit_lines(&self.last, &mut number, &mut visit)
    }

    /// Like [`Text::for_each_line`], but frees each piece before its lines are visited.
    ///
    /// # Errors
    /// The error of `visit`.
    pub(super) fn drain<E>(
        self,
        mut visit: impl FnMut(u64, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut number, mut unpacked) = (0, String::new());
        for piece in self.packed {
            unpack(&piece, &mut unpacked);
            drop(piece);
            visit_lines(&unpacked, &mut number, &mut visit)?;
        }
        visit_lines(&self.last, &mut number, &mut visit)
    }
}

/// Calls `visit` with each line of a piece and its number. `number` is the number of the line
/// before.
fn visit_lines<E>(
    piece: &str,
    number: &mut u64,
    visit: &mut impl FnMut(u64, &str) -> Result<(), E>,
) -> Result<(), E> {
    piece.lines().try_for_each(|line| {
        *number += 1;
        visit(*number, line)
    })
}

impl From<&str> for Text {
    fn from(whole: &str) -> Self {
        let mut text = Self::default();
        whole.split_inclusive('\n').for_each(|line| text.push(line));
        text
    }
}

fn pack(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    let mut packed = packed.expect("writing to memory does not fail");
    packed.shrink_to_fit();
    packed
}

fn unpack(packed: &[u8], into: &mut String) {
    into.clear();
    DeflateDecoder::new(packed).read_to_string(into).expect("it was packed from text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_whatever_their_lengths() {
        let lengths = [0, 1, 70, PIECE_BYTES - 1, 3, 2 * PIECE_BYTES + 5, 0, PIECE_BYTES, 9];
        let lines: Vec<String> = lengths.iter().map(|n| "aé".repeat(n / 3)).collect();
        for (end, tail) in [("\n", ""), ("\r\n", "x"), ("\n", "\n")] {
            let whole = lines.join(end) + tail;
            let text = Text::from(whole.as_str());
            assert!(text.packed.len() >= 3 && text.packed.len() < lines.len());
            let (mut found, mut drained) = (Vec::new(), Vec::new());
            let list = |to: &mut Vec<_>, number: u64, line: &str| {
                to.push((number, line.to_owned()));
                Ok::<(), ()>(())
            };
            text.for_each_line(|number, line| list(&mut found, number, line)).expect("visited");
            text.drain(|number, line| list(&mut drained, number, line)).expect("visited");
            let expected: Vec<(u64, String)> =
                (1..).zip(whole.lines().map(str::to_owned)).collect();
            assert!(found == expected && drained == expected, "{end:?} {tail:?}");
        }
    }

    #[test]
    fn a_long_text_takes_little_memory() {
        let whole: String = (0..200_000u32)
            .map(|i| format!("{}.{}.{}.0/24 port={}\n", i >> 16, i >> 8 & 255, i & 255, i % 16))
            .collect();
        let text = Text::from(whole.as_str());
        let kept = text.packed.iter().map(Vec::capacity).sum::<usize>() + text.last.capacity();
        assert!(kept * 2 < whole.len(), "{kept} of {}", whole.len());
    }
}
