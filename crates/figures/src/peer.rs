//! DPDK's `rte_fib` as the peer of longest-prefix matching: a program of bench/dpdk, built on
//! demand, that looks up the same destinations in the same prefixes on request.

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use wireloom_machine::{Error, Result};

/// The running peer. It ends when it is dropped.
pub struct Peer {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    // Holds the program and its input while it runs.
    _folder: wireloom_files::TemporaryFolder,
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(format!("{what}: {error}"))
}

impl Peer {
    /// Builds it from its source and starts it.
    ///
    /// # Errors
    /// If DPDK is not installed, or the program does not build or start.
    pub fn start(
        source: &Path,
        prefixes: &[(Ipv4Addr, u8)],
        destinations: &[Ipv4Addr],
    ) -> Result<Self> {
        let config = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output();
        let flags = match config {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            _ => {
                return Err(Error::missing_tool("DPDK is not installed").with_help(
                    "'make bench' installs the Debian package libdpdk-dev; or apt-get install libdpdk-dev",
                ));
            }
        };
        let folder =
            wireloom_files::TemporaryFolder::new().map_err(|e| failed("a temporary folder", e))?;
        let program = folder.path().join("rte_fib_lookup");
        let compiled = Command::new("cc")
            .args(["-O3", "-march=native", "-o"])
            .arg(&program)
            .arg(source)
            .args(flags.split_whitespace())
            .output()
            .map_err(|e| failed("cc", e))?;
        if !compiled.status.success() {
            return Err(failed(
                &source.display().to_string(),
                String::from_utf8_lossy(&compiled.stderr),
            ));
        }

        let (prefix_file, destination_file) =
            (folder.path().join("prefixes"), folder.path().join("destinations"));
        let mut records = Vec::with_capacity(prefixes.len() * 16);
        for (index, (address, length)) in prefixes.iter().enumerate() {
            records.extend(u32::from(*address).to_ne_bytes());
            records.extend([*length, 0, 0, 0]);
            records.extend((index as u64 % 65536).to_ne_bytes());
        }
        std::fs::write(&prefix_file, records).map_err(|e| failed("the prefixes", e))?;
        let records: Vec<u8> =
            destinations.iter().flat_map(|a| u32::from(*a).to_ne_bytes()).collect();
        std::fs::write(&destination_file, records).map_err(|e| failed("the destinations", e))?;

        let mut child = Command::new(&program)
            .args([&prefix_file, &destination_file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|e| failed("the peer", e))?;
        let ask = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut peer = Self { child, ask, answers, _folder: folder };
        // DPDK may print messages first.
        while peer.answer()?.trim() != "ready" {}
        Ok(peer)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(Error::new("the DPDK peer ended before its time")),
            Ok(_) => Ok(line),
            Err(error) => Err(failed("the DPDK peer", error)),
        }
    }

    /// Looks all destinations up once; returns million lookups a second.
    ///
    /// # Errors
    /// If the peer has ended.
    pub fn sample(&mut self) -> Result<f64> {
        let ask = self.ask.as_mut().expect("open until it is dropped");
        ask.write_all(b"go\n")
            .and_then(|()| ask.flush())
            .map_err(|e| failed("the DPDK peer", e))?;
        let line = self.answer()?;
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(nanoseconds)), Some(Ok(lookups))) if nanoseconds > 0 => {
                Ok(lookups as f64 / nanoseconds as f64 * 1e3)
            }
            _ => Err(failed("the DPDK peer answers", line)),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.ask.take());
        let _ = self.child.wait();
    }
}
