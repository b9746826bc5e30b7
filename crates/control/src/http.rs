//! HTTP for one page (RFC 9112): a request a connection, within limits of size, time and number, so
//! that no client takes the memory of a forwarder or keeps others from its counters.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Clients at a time; more are turned away.
const MOST_CLIENTS: usize = 64;
/// How long a client may take to ask and to read, altogether.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 8 << 10;
/// What is read of what follows a head, in bytes, so that the client sees the response.
const LONGEST_REST: usize = 64 << 10;

/// A response.
pub struct Response {
    /// Its status and the reason for people, such as `200 OK`.
    pub status: &'static str,
    /// The type of the text.
    pub content_type: &'static str,
    /// The text.
    pub text: String,
}

impl Response {
    /// A line of plain text.
    pub fn line(status: &'static str, text: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", text: format!("{text}\n") }
    }
}

/// Serves a page at a path from now on.
///
/// # Errors
/// If the system refuses a thread.
pub fn serve(
    listener: TcpListener,
    path: &'static str,
    page: impl Fn() -> Response + Send + Sync + 'static,
) -> io::Result<()> {
    let (page, clients) = (Arc::new(page), Arc::new(AtomicUsize::new(0)));
    let accept = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Too many files are open; some client will end.
                thread::sleep(Duration::from_millis(200));
                continue;
            };
            if clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
                clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (page, leaving) = (Arc::clone(&page), Arc::clone(&clients));
            let answer = move || {
                // A client that has left, or is too slow, misses it.
                let _ = answer(&stream, path, page.as_ref());
                leaving.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().name("scrape".into()).spawn(answer).is_err() {
                clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(accept).map(drop)
}

fn answer(stream: &TcpStream, path: &str, page: &dyn Fn() -> Response) -> io::Result<()> {
    let mut timed = Timed { stream, deadline: Instant::now() + PATIENCE };
    let head = head(&mut timed)?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let (response, version, has_text) = match words[..] {
        [method, target, version @ ("HTTP/1.0" | "HTTP/1.1")] => {
            let is_known = target.split('?').next() == Some(path);
            let response = match method {
                _ if !is_known => Response::line("404 Not Found", &format!("see {path}")),
                "GET" | "HEAD" => page(),
                _ => Response::line("405 Method Not Allowed", "GET only"),
            };
            (response, version, method != "HEAD")
        }
        _ => (Response::line("400 Bad Request", "HTTP/1.1 is expected"), "HTTP/1.1", true),
    };
    let Response { status, content_type, text } = response;
    let mut bytes = format!(
        "{version} {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    if has_text {
        bytes += &text;
    }
    timed.write_all(bytes.as_bytes())?;
    // What has not been read when the connection is closed takes the response with it.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut timed.take(LONGEST_REST as u64), &mut io::sink()).map(drop)
}

/// Reads the head of a request, and perhaps something after it.
fn head(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !["\r\n\r\n", "\n\n"].iter().any(|end| contains(&head, end.as_bytes())) {
        let length = from.read(&mut part)?;
        if length == 0 || head.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&part[..length]);
    }
    Ok(head)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A connection whose reads and writes end together at a deadline.
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
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    fn started() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let page = || Response::line("200 OK", &"x".repeat(1 << 20));
        serve(listener, "/page", page).expect("a thread");
        address
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).expect("a connection");
        // One that is refused may be closed.
        let _ = stream.write_all(request);
        let mut response = String::new();
        let _ = stream.read_to_string(&mut response);
        response
    }

    #[test]
    fn requests_have_their_responses() {
        let address = started();
        for (request, status, length) in [
            (&b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n"[..], "HTTP/1.1 200 OK\r\n", 1 << 20),
            (b"GET /page?a=b HTTP/1.0\n\n", "HTTP/1.0 200 OK\r\n", 1 << 20),
            (b"HEAD /page HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", 0),
            (b"GET /pages HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", 10),
            (b"POST /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 ", 8),
            (b"\xff\xfe\r\n\r\n", "HTTP/1.1 400 ", 20),
        ] {
            let response = ask(address, request);
            assert!(response.starts_with(status), "{response}");
            let text = response.split_once("\r\n\r\n").expect("a head").1;
            assert!(text.len() >= length && text.len() < length + 20, "{}", text.len());
        }
    }

    #[test]
    fn a_head_has_a_limit() {
        assert_eq!(ask(started(), &vec![b'x'; 4 * LONGEST_HEAD]), "");
    }

    #[test]
    fn clients_that_ask_nothing_or_read_nothing_do_not_keep_others_waiting() {
        let address = started();
        let idle: Vec<_> = (0..5).map(|_| TcpStream::connect(address).expect("one")).collect();
        let deaf = TcpStream::connect(address).expect("a connection");
        (&deaf).write_all(&b"GET /page HTTP/1.1\r\n\r\n".repeat(9)).expect("sent");
        assert!(ask(address, b"GET /page HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
        drop((idle, deaf));
    }
}
