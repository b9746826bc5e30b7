use std::net::Ipv4Addr;

use super::*;

/// Longer than any exchange may take here.
const PATIENCE: Duration = Duration::from_secs(20);

/// More than the buffers of a connection without a reader hold.
const LARGE: usize = 32 << 20;

fn started(limits: Limits) -> (Serving, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = |request: &Request| match (&request.method[..], &request.path[..]) {
        ("GET" | "HEAD", "/page") => Response::line(200, &"x".repeat(1 << 10)),
        ("GET", "/large") => Response::line(200, &"x".repeat(LARGE)),
        ("POST", "/echo") => {
            let body = String::from_utf8_lossy(&request.body);
            let host = request.field("host").unwrap_or_default();
            Response::line(200, &format!("{body} {} {host}", request.query))
        }
        _ => Response::line(404, "see /page"),
    };
    (serve(listener, "test", limits, answer).expect("a thread"), address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Returns the response; empty if the connection is closed without one.
fn response(stream: &TcpStream) -> String {
    let mut response = Vec::new();
    match (&mut &*stream).read_to_end(&mut response) {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => panic!("no end"),
        _ => String::from_utf8(response).expect("text"),
    }
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let stream = connect(address);
    // The connection of a refused client may be closed.
    let _ = (&stream).write_all(request);
    response(&stream)
}

#[test]
fn requests_have_their_responses() {
    let (_serving, address) = started(Limits::default());
    for (request, status, end) in [
        (&b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n"[..], "200 OK", "xxx\n"),
        (b"GET /page?a=b HTTP/1.0\n\n", "200 OK", "xxx\n"),
        (b"HEAD /page HTTP/1.1\r\n\r\n", "200 OK", "\r\n\r\n"),
        (b"GET /pages HTTP/1.1\r\n\r\n", "404 Not Found", "see /page\n"),
        (b"POST /echo?q HTTP/1.1\r\nHOST: h\r\ncontent-length:3\r\n\r\nabc", "200 OK", "abc q h\n"),
        (b"\xff\xfe\r\n\r\n", "400 Bad Request", "\n"),
        (b"GET /page HTTP/1.1\r\nno field\r\n\r\n", "400 Bad Request", "\n"),
        (b"POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request", "\n"),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length Required", "\n"),
    ] {
        let response = ask(address, request);
        let version = if request.ends_with(b"HTTP/1.0\n\n") { "HTTP/1.0" } else { "HTTP/1.1" };
        assert!(response.starts_with(&format!("{version} {status}\r\n")), "{response:.99}");
        assert!(response.ends_with(end), "{response:.99}");
        let (head, text) = response.split_once("\r\n\r\n").expect("a head");
        let length = format!("Content-Length: {}\r\n", text.len());
        assert!(head.contains(&length) || request.starts_with(b"HEAD"), "{head}");
    }
}

#[test]
fn heads_and_bodies_have_limits() {
    let (_serving, address) = started(Limits::default());
    let long = vec![b'x'; 4 * Limits::default().head];
    assert!(ask(address, &long).starts_with("HTTP/1.1 431 "));
    let said = b"POST /echo HTTP/1.1\r\nContent-Length: 4097\r\n\r\n";
    assert!(ask(address, said).starts_with("HTTP/1.1 413 "));
    let whole = [&b"POST /echo HTTP/1.1\r\nContent-Length: 4096\r\n\r\n"[..], &long].concat();
    assert!(ask(address, &whole).starts_with("HTTP/1.1 200 "));
}

#[test]
fn clients_that_ask_nothing_or_read_nothing_do_not_keep_others_waiting() {
    let (_serving, address) = started(Limits::default());
    let idle: Vec<_> = (0..5).map(|_| connect(address)).collect();
    let deaf = connect(address);
    (&deaf).write_all(&b"GET /large HTTP/1.1\r\n\r\n".repeat(9)).expect("sent");
    assert!(ask(address, b"GET /page HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    drop((idle, deaf));
}

#[test]
fn slow_clients_are_left_and_more_than_the_limit_turned_away() {
    let patience = Duration::from_millis(300);
    // One client does not finish its request, and one does not read.
    for request in ["GET /page HT", "GET /large HTTP/1.1\r\n\r\n"] {
        let (_serving, address) = started(Limits { clients: 1, patience, ..Limits::default() });
        let slow = connect(address);
        (&slow).write_all(request.as_bytes()).expect("sent");
        let begin = Instant::now();
        let other = ask(address, b"GET /page HTTP/1.1\r\n\r\n");
        // On a busy computer the slow client may already have been dropped.
        assert!(other.is_empty() || begin.elapsed() >= patience / 2, "{other:.99}");
        while ask(address, b"GET /page HTTP/1.1\r\n\r\n").is_empty() {
            assert!(begin.elapsed() < PATIENCE, "there is no room for a client");
        }
        assert!(response(&slow).len() < LARGE, "the rest was not kept for it");
    }
}

#[test]
fn a_server_that_is_dropped_listens_no_more() {
    let (serving, address) = started(Limits::default());
    assert!(ask(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    drop(serving);
    let begin = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(begin.elapsed() < PATIENCE, "it listens");
    }
}
