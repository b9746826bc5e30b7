//! Opens files that may be compressed.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const BUFFER: usize = 1 << 16;

/// Opens a file for streaming. Recognises gzip and bzip2 by their first bytes, whatever the file's
/// name. `-` is standard input.
///
/// # Errors
/// The error of opening the file or of the first read.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    if wireloom_files::is_standard_stream(path) {
        return decompress(io::stdin(), path);
    }
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    decompress(wireloom_files::open(path)?, path)
}

/// Recognises gzip and bzip2 in any stream. Messages call it `name`.
///
/// # Errors
/// The error of the first read. Also if the stream is compressed in another format; the error names
/// the command that decompresses it.
pub(crate) fn decompress(
    raw: impl Read + Send + 'static,
    name: &Path,
) -> io::Result<Box<dyn BufRead + Send>> {
    let mut raw = BufReader::with_capacity(BUFFER, raw);
    let start = raw.fill_buf()?;
    Ok(if start.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(raw)))
    } else if start.starts_with(b"BZh") {
        Box::new(BufReader::with_capacity(BUFFER, bzip2::bufread::MultiBzDecoder::new(raw)))
    } else if let Some((_, format, command)) =
        UNREADABLE.iter().find(|(magic, ..)| start.starts_with(magic))
    {
        let name = if wireloom_files::is_standard_stream(name) {
            "FILE".into()
        } else {
            name.to_string_lossy()
        };
        let what = format!("compressed with {format}; decompress it first: {command} {name}");
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    } else {
        Box::new(raw)
    })
}

/// Formats that are recognised but not read: their first bytes, their names, and the commands that
/// decompress them.
const UNREADABLE: [(&[u8], &str, &str); 9] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstd -d"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -d"),
    (&[0x02, 0x21, 0x4c, 0x18], "lz4 (legacy frames)", "lz4 -d"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xz -d"),
    (b"LZIP", "lzip", "lzip -d"),
    (&[0x1f, 0x9d], "compress", "uncompress"),
    (b"PK\x03\x04", "zip", "unzip"),
    (&[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c], "7-Zip", "7z x"),
    (b"Rar!\x1a\x07", "RAR", "unrar x"),
];

/// A stream that counts the bytes read from it.
pub(crate) struct Source {
    inner: Box<dyn BufRead + Send>,
    /// Bytes taken so far (after decompression).
    pub(crate) offset: u64,
}

impl Source {
    pub(crate) fn new(inner: Box<dyn BufRead + Send>) -> Self {
        Self { inner, offset: 0 }
    }

    /// Fills `into`. Returns the number of bytes read before the stream ended.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.inner.read(&mut into[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.offset += done as u64;
        Ok(done)
    }

    /// Skips `count` bytes. Returns the number of bytes skipped before the stream ended.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let here = match self.inner.fill_buf() {
                Ok(bytes) => bytes.len() as u64,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if here == 0 {
                break;
            }
            let take = here.min(left);
            self.inner.consume(take as usize);
            left -= take;
        }
        self.offset += count - left;
        Ok(count - left)
    }
}
