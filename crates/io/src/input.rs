//! Captures as the command line names them: a file, or a port and a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A capture, and the port on which its packets arrive if the command line gives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The ingress port of all packets; `None` to use the interfaces of the capture.
    pub port: Option<u16>,
    pub path: PathBuf,
}

impl Input {
    /// Parses `FILE` or `PORT:FILE`. Decimal digits before the first colon are a port, so the name
    /// of a file that starts like this needs its folder: `./1:x`.
    ///
    /// # Errors
    /// If the port has more than 16 bits, or no file is named.
    pub fn parse(text: &OsStr) -> Result<Self, String> {
        let bytes = text.as_bytes();
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || bytes.get(digits) != Some(&b':') {
            return Ok(Self::from(Path::new(text)));
        }
        let (port, file) = (&bytes[..digits], OsStr::from_bytes(&bytes[digits + 1..]));
        let port = String::from_utf8_lossy(port);
        let shown = text.to_string_lossy();
        let Ok(number) = port.parse() else {
            return Err(format!(
                "ports are 0 to 65535, not {port}; a file of that name is written ./{shown}"
            ));
        };
        if file.is_empty() {
            return Err(format!(
                "the file is missing: PORT:FILE; a file of that name is written ./{shown}"
            ));
        }
        Ok(Self { port: Some(number), path: file.into() })
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Self {
        Self { port: None, path: path.to_owned() }
    }
}

impl AsRef<Path> for Input {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_a_colon_are_a_port() {
        let input = |text: &str| Input::parse(OsStr::new(text));
        let of = |port: Option<u16>, path: &str| Ok(Input { port, path: path.into() });
        assert_eq!(input("1:in.pcap"), of(Some(1), "in.pcap"));
        assert_eq!(input("65535:-"), of(Some(65535), "-"));
        assert_eq!(input("1:2:x"), of(Some(1), "2:x"));
        for file in ["in.pcap", "./1:x", "/a/1:x", "a:1", "10.pcap", ":x", "-", "1/2:x", "1a:x"] {
            assert_eq!(input(file), of(None, file));
        }
        for (wrong, said) in [
            (
                "65536:x",
                "ports are 0 to 65535, not 65536; a file of that name is written ./65536:x",
            ),
            ("99999999999999999999:x", "not 99999999999999999999"),
            ("3:", "the file is missing"),
        ] {
            assert!(input(wrong).is_err_and(|why| why.contains(said)), "{wrong}");
        }
    }
}
