//! Serves a session to a page in a browser on this computer.
//!
//! Only the loopback interface is listened to. The address has a random token, without which
//! nothing is answered, and requests that other sites make a browser send are refused by their
//! `Host` and `Origin`. The machine stays on the thread that called [`Server::run`]; requests are
//! jobs for it.

mod api;
mod runner;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use rand::Rng;
use tiny_http::{Header, Method, Request, Response};
use wireloom_machine::{Error, Result};

use crate::debugger::Debugger;
use api::{Ask, Reply};
use runner::Runner;

/// The page, with `__NONCE__` for the nonce of its script and style.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The longest command that is read, in bytes.
const LONGEST: u64 = 4096;
/// How long a machine that does not run waits for a request before it looks at its interrupt.
const PATIENCE: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce(&mut Runner) + Send>;

/// A server that listens.
pub struct Server {
    http: Arc<tiny_http::Server>,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Listens on a port of the loopback interface; the system chooses one if it is 0.
    ///
    /// # Errors
    /// If the port is in use.
    pub fn bind(port: u16) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::new(format!("--port {port}: {error}"));
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let http =
            tiny_http::Server::from_listener(listener, None).map_err(|error| failed(&error))?;
        let token = format!("{:032x}", rand::rng().random::<u128>());
        Ok(Self { http: Arc::new(http), address, token })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves until `interrupt` becomes true.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn run(self, debugger: Debugger, interrupt: &AtomicBool) -> Result {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let (http, port) = (Arc::clone(&self.http), self.address.port());
        let token = self.token;
        let listen = move || {
            for request in http.incoming_requests() {
                answer(request, &token, port, &jobs);
            }
        };
        let listening = thread::Builder::new().name("monitor".into()).spawn(listen);
        let listening = listening.map_err(|error| Error::new(format!("no thread: {error}")))?;
        let mut runner = Runner::new(debugger);
        while !interrupt.load(Ordering::Relaxed) {
            let job = if runner.is_running() {
                waiting.try_recv().ok()
            } else {
                waiting.recv_timeout(PATIENCE).ok()
            };
            match job {
                Some(job) => job(&mut runner),
                None => runner.advance(),
            }
        }
        drop(waiting);
        self.http.unblock();
        let _ = listening.join();
        Ok(())
    }
}

/// Answers a request.
fn answer(mut request: Request, token: &str, port: u16, jobs: &Sender<Job>) {
    let reply = if !is_ours(&request, port) {
        Reply::error(403, "this address is for a browser on this computer")
    } else {
        let (path, query) = match request.url().split_once('?') {
            Some((path, query)) => (path.to_owned(), query.to_owned()),
            None => (request.url().to_owned(), String::new()),
        };
        match path.strip_prefix('/').and_then(|path| path.strip_prefix(token)) {
            Some("") => Reply { status: 301, kind: "text/plain", body: format!("/{token}/") },
            Some("/") => {
                Reply { status: 200, kind: "text/html", body: PAGE.replace("__NONCE__", token) }
            }
            Some(path) => match path.strip_prefix("/api/") {
                Some(name) => asked(&mut request, name, &query, jobs),
                None => Reply::error(404, "there is no such page"),
            },
            None => Reply::error(404, "use the whole address that `wireloom monitor` printed"),
        }
    };
    let header = |name: &str, value: &str| {
        Header::from_bytes(name, value).expect("names and values are ASCII")
    };
    let mut response = Response::from_string(&reply.body)
        .with_status_code(reply.status)
        .with_header(header("Content-Type", &format!("{}; charset=utf-8", reply.kind)))
        .with_header(header("Cache-Control", "no-store"))
        .with_header(header("X-Content-Type-Options", "nosniff"))
        .with_header(header("Referrer-Policy", "no-referrer"));
    if reply.kind == "text/html" {
        let policy = format!(
            "default-src 'none'; connect-src 'self'; img-src data:; script-src 'nonce-{token}'; \
             style-src 'nonce-{token}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        response = response.with_header(header("Content-Security-Policy", &policy));
    }
    if reply.status == 301 {
        response = response.with_header(header("Location", &reply.body));
    }
    // A browser that has left misses it.
    let _ = request.respond(response);
}

/// Whether a request was made for this address and, if a page made it, by a page of ours: a page
/// elsewhere whose name leads here has another `Host`.
fn is_ours(request: &Request, port: u16) -> bool {
    let value = |name: &'static str| {
        let header = request.headers().iter().find(|header| header.field.equiv(name));
        header.map(|header| header.value.as_str())
    };
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_here = |host: &str| hosts.iter().any(|here| here == host);
    value("Host").is_some_and(is_here)
        && value("Origin").is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_here))
}

/// Asks the machine.
fn asked(request: &mut Request, name: &str, query: &str, jobs: &Sender<Job>) -> Reply {
    let is_post = *request.method() == Method::Post;
    let mut body = String::new();
    let mut reader = std::io::Read::take(request.as_reader(), LONGEST);
    if is_post && std::io::Read::read_to_string(&mut reader, &mut body).is_err() {
        return Reply::error(400, "the command is no text");
    }
    let ask = match Ask::parse(is_post, name, query, body) {
        Ok(ask) => ask,
        Err(reply) => return reply,
    };
    let (reply, replied) = mpsc::channel();
    let job: Job = Box::new(move |runner| {
        let _ = reply.send(runner.answer(ask));
    });
    let gone = || Reply::error(503, "the machine has ended");
    if jobs.send(job).is_err() {
        return gone();
    }
    replied.recv().unwrap_or_else(|_| gone())
}
