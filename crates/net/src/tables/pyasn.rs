//! Lists of prefixes, with or without AS numbers: the files of pyasn
//! (<https://github.com/hadiasghari/pyasn>), where a line is `PREFIX<TAB>ASN` and `;` begins a
//! comment, and plain lists with one prefix per line.

use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::path::Path;

use super::error::{Position, TableError};
use super::route::{Route, Visit};
use super::text::BYTE_ORDER_MARK;

/// Maximum length in bytes of a line of such a file or of a table file. A file with a longer line
/// is not text.
pub(super) const MAX_LINE: usize = 1 << 16;

/// Reads a line, including its end, but at most [`MAX_LINE`] bytes of it. Returns the number of
/// bytes.
pub(super) fn read_line(stream: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    io::Read::take(stream, MAX_LINE as u64).read_until(b'\n', line)
}

/// Returns whether a word may be quoted in a message: it has only characters of addresses and
/// numbers. A table file may import a file that is not a list, and messages must not reveal its
/// contents.
fn is_quotable(word: &str) -> bool {
    word.len() <= 60 && word.bytes().all(|c| c.is_ascii_hexdigit() || b".:/".contains(&c))
}

/// Streams a file of pyasn or a list.
pub(super) fn read(
    path: &Path,
    mut stream: Box<dyn BufRead + Send>,
    with_asn: bool,
    visit: &mut Visit<'_>,
) -> Result<(), TableError> {
    let mut route = Route::default();
    let mut line = Vec::with_capacity(128);
    for number in 1.. {
        line.clear();
        let at = Position::Line(number);
        let got = read_line(&mut stream, &mut line).map_err(|e| TableError::io(path, at, &e))?;
        if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if got == 0 {
            break;
        }
        let wrong = |what: String| TableError::new(path, at, what);
        if got == MAX_LINE {
            return Err(wrong(format!(
                "the line is longer than {MAX_LINE} bytes; this is not a list of prefixes"
            )));
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| wrong("this is not UTF-8 text".to_owned()))?;
        let text = text.split([';', '#']).next().unwrap_or("");
        let mut words = text.split_ascii_whitespace();
        let Some(prefix) = words.next() else { continue };
        route.prefix = Some(prefix.parse().map_err(|why| {
            wrong(match is_quotable(prefix) {
                true => why,
                false => "the line does not begin with a prefix, such as 10.0.0.0/8".to_owned(),
            })
        })?);
        if with_asn {
            let asn = words
                .next()
                .ok_or_else(|| wrong("the AS number is missing after the prefix".to_owned()))?;
            route.asn = asn.parse().map_err(|_| {
                wrong(match is_quotable(asn) {
                    true => format!("`{asn}` is not an AS number"),
                    false => "after the prefix there is no AS number".to_owned(),
                })
            })?;
        }
        if let Some(more) = words.next() {
            return Err(wrong(match is_quotable(more) {
                true => format!("unexpected `{more}`"),
                false => "there is more than was expected in the line".to_owned(),
            }));
        }
        if visit(at, &route).map_err(wrong)? == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}
