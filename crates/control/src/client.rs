//! A client of the control socket.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use wireloom_machine::{Error, Result};

use crate::protocol::{Reply, Request};

/// A connection to a forwarder.
pub struct Client {
    path: PathBuf,
    lines: BufReader<UnixStream>,
    /// Whether a signal has closed the connection.
    is_interrupted: Arc<AtomicBool>,
}

impl Client {
    /// Connects to the control socket at this path.
    ///
    /// # Errors
    /// If nothing listens there, or the user lacks the right.
    pub fn connect(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).map_err(|error| {
            let help = match error.kind() {
                ErrorKind::PermissionDenied => {
                    "ask as the user who started the forwarder; --control-mode lets others in"
                }
                _ => "start `wireloom forward` with --control, and give that path here",
            };
            Error::new(format!("{}: no forwarder can be reached: {error}", path.display()))
                .with_help(help)
        })?;
        let (lines, is_interrupted) = (BufReader::new(stream), Arc::default());
        Ok(Self { path: path.to_owned(), lines, is_interrupted })
    }

    /// Makes the signals that ask the process to end close the connection instead.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn close_on_signals(&self) -> Result {
        let failed = |error| Error::new(format!("signals cannot be handled: {error}"));
        let signals = wireloom_files::signals(wireloom_files::ending_signals());
        let mut asked = signals.map_err(failed)?;
        let stream = self.lines.get_ref().try_clone().map_err(failed)?;
        let is_interrupted = Arc::clone(&self.is_interrupted);
        let close = move || {
            let _ = asked.read(&mut [0]);
            is_interrupted.store(true, Ordering::SeqCst);
            let _ = stream.shutdown(Shutdown::Both);
        };
        thread::Builder::new().name("signals".into()).spawn(close).map(drop).map_err(failed)
    }

    /// Whether a signal has closed the connection.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::SeqCst)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn send(&mut self, request: &Request) -> Result {
        let mut line = serde_json::to_vec(request).expect("requests have string keys");
        line.push(b'\n');
        self.lines.get_mut().write_all(&line).map_err(|error| self.lost(&error))
    }

    /// Returns the next reply. An error that the forwarder reports becomes an `Err`.
    ///
    /// # Errors
    /// If the forwarder refuses the request, or the connection is lost.
    pub fn receive(&mut self) -> Result<Reply> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => return Err(self.lost(&"the forwarder has ended")),
            Ok(_) => {}
            Err(error) => return Err(self.lost(&error)),
        }
        match serde_json::from_str(&line).map_err(|error| self.lost(&error))? {
            Reply::Error { message, help } => {
                let error = Error::new(format!("{}: {message}", self.path.display()));
                Err(match help {
                    Some(help) => error.with_help(help),
                    None => error,
                })
            }
            reply => Ok(reply),
        }
    }

    /// Sends a request and returns the first reply.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`receive`](Self::receive).
    pub fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.send(request)?;
        self.receive()
    }

    fn lost(&self, why: &dyn std::fmt::Display) -> Error {
        Error::new(format!("{}: the connection is lost: {why}", self.path.display()))
    }
}
