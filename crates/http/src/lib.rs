//! HTTP for counters and for a page on this computer (RFC 9112): one request a connection, within
//! limits of size, time and number, so that no client exhausts the memory of the process or blocks
//! other clients.

mod request;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use request::Request;

/// The limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most clients at a time; further clients are turned away.
    pub clients: usize,
    /// The longest time for a client to send its request and to read the response, in total.
    pub patience: Duration,
    /// The longest head of a request, in bytes.
    pub head: usize,
    /// The longest body of a request, in bytes.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients: 64, patience: Duration::from_secs(5), head: 8 << 10, body: 4 << 10 }
    }
}

/// The most bytes that are read after a request, so that the client sees the response.
const LONGEST_REST: u64 = 64 << 10;

pub struct Response {
    pub status: u16,
    /// Header fields. Length and connection are added.
    pub fields: Vec<(&'static str, String)>,
    pub text: String,
}

impl Response {
    /// Creates a text of some type, such as `text/html`, in UTF-8.
    pub fn new(status: u16, kind: &str, text: String) -> Self {
        Self { status, fields: vec![("Content-Type", format!("{kind}; charset=utf-8"))], text }
    }

    /// Creates a line of plain text.
    pub fn line(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain", format!("{text}\n"))
    }
}

/// A running server. Dropping it stops new clients; accepted clients still get their responses.
pub struct Serving {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the accepting thread. If nobody can connect, the thread ends with the process.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

/// Starts a server whose threads have this name.
///
/// # Errors
/// If the system refuses a thread.
pub fn serve(
    listener: TcpListener,
    name: &'static str,
    limits: Limits,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
) -> io::Result<Serving> {
    let serving =
        Serving { address: listener.local_addr()?, ended: Arc::new(AtomicBool::new(false)) };
    let ended = Arc::clone(&serving.ended);
    let (answer, clients) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    let accept = move || {
        for stream in listener.incoming() {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else {
                // Too many files are open. The loop waits until a client ends.
                thread::sleep(Duration::from_millis(200));
                continue;
            };
            let client = Client(Arc::clone(&clients));
            if client.0.fetch_add(1, Ordering::Relaxed) >= limits.clients {
                continue;
            }
            let answer = Arc::clone(&answer);
            let work = move || {
                let _client = client;
                // A client that has left, or is too slow, gets no response.
                let _ = exchange(&stream, &limits, answer.as_ref());
            };
            // If no thread can be started, the connection is closed.
            let _ = thread::Builder::new().name(name.into()).spawn(work);
        }
    };
    thread::Builder::new().name(name.into()).spawn(accept)?;
    Ok(serving)
}

/// Counts a client until it is dropped.
struct Client(Arc<AtomicUsize>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn exchange(
    stream: &TcpStream,
    limits: &Limits,
    answer: &dyn Fn(&Request) -> Response,
) -> io::Result<()> {
    let mut timed = Timed { stream, deadline: Instant::now() + limits.patience };
    let (response, version, has_text) = match Request::read(&mut timed, limits)? {
        Ok(request) => {
            let begin = Instant::now();
            let response = answer(&request);
            // The time of our own work does not count against the client.
            timed.deadline += begin.elapsed();
            (response, request.version, request.method != "HEAD")
        }
        Err(refusal) => (refusal, "HTTP/1.1".to_owned(), true),
    };
    let Response { status, fields, text } = response;
    let mut bytes = format!("{version} {status} {}\r\n", reason(status));
    for (name, value) in fields {
        bytes += &format!("{name}: {value}\r\n");
    }
    bytes += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    if has_text {
        bytes += &text;
    }
    timed.write_all(bytes.as_bytes())?;
    // Closing a connection with unread data would discard the response too.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut timed.take(LONGEST_REST), &mut io::sink()).map(drop)
}

/// Returns the reason phrase of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

/// A connection whose reads and writes share one deadline.
struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
