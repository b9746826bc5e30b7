//! Serves a session to a page in a browser on this computer.
//!
//! The server listens on the loopback interface only. The address contains a random token, and
//! requests without it are refused. Requests that other sites make a browser send are refused by
//! their `Host` and `Origin`. The machine stays on the thread that called [`Server::run`], and
//! requests are jobs for it.

mod api;
mod runner;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use rand::Rng;
use wireloom_http::{self as http, Limits, Request, Response};
use wireloom_machine::{Error, Result};

use crate::debugger::Debugger;
use api::{Ask, Reply};
use runner::Runner;

/// The page. `__NONCE__` is replaced by the nonce of its script and style.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The time that a paused machine waits for a request before it checks its interrupt.
const PATIENCE: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce(&mut Runner) + Send>;

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Listens on a port of the loopback interface; the system chooses one if `port` is 0.
    ///
    /// # Errors
    /// If the port is in use.
    pub fn bind(port: u16) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::new(format!("--port {port}: {error}"));
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let token = format!("{:032x}", rand::rng().random::<u128>());
        Ok(Self { listener, address, token })
    }

    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves until `interrupt` becomes true.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn run(self, debugger: Debugger, interrupt: &AtomicBool) -> Result {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let (port, token) = (self.address.port(), self.token);
        let answer = move |request: &Request| answer(request, &token, port, &jobs);
        let serving = http::serve(self.listener, "monitor", Limits::default(), answer);
        let serving = serving.map_err(|error| Error::new(format!("no thread: {error}")))?;
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
        // Callers that still wait get a reply: the machine has ended.
        drop((waiting, serving));
        Ok(())
    }
}

fn answer(request: &Request, token: &str, port: u16, jobs: &Sender<Job>) -> Response {
    let reply = if !is_ours(request, port) {
        Reply::error(403, "this address is for a browser on this computer")
    } else {
        match request.path.strip_prefix('/').and_then(|path| path.strip_prefix(token)) {
            Some("") => Reply { status: 301, kind: "text/plain", body: format!("/{token}/") },
            Some("/") => {
                Reply { status: 200, kind: "text/html", body: PAGE.replace("__NONCE__", token) }
            }
            Some(path) => match path.strip_prefix("/api/") {
                Some(name) => asked(request, name, jobs),
                None => Reply::error(404, "there is no such page"),
            },
            None => Reply::error(404, "use the whole address that `wireloom monitor` printed"),
        }
    };
    let mut fields = vec![
        ("Cache-Control", "no-store".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Referrer-Policy", "no-referrer".to_owned()),
    ];
    if reply.kind == "text/html" {
        let policy = format!(
            "default-src 'none'; connect-src 'self'; img-src data:; script-src 'nonce-{token}'; \
             style-src 'nonce-{token}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        fields.push(("Content-Security-Policy", policy));
    }
    if reply.status == 301 {
        fields.push(("Location", reply.body.clone()));
    }
    let mut response = Response::new(reply.status, reply.kind, reply.body);
    response.fields.extend(fields);
    response
}

/// Whether a request was made for this address and, if a page made it, by our own page. A page
/// elsewhere whose name resolves to this address has another `Host`.
fn is_ours(request: &Request, port: u16) -> bool {
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_here = |host: &str| hosts.iter().any(|here| here == host);
    let is_page = |origin: &str| origin.strip_prefix("http://").is_some_and(is_here);
    request.field("host").is_some_and(is_here) && request.field("origin").is_none_or(is_page)
}

/// Passes a request to the machine and waits for the reply.
fn asked(request: &Request, name: &str, jobs: &Sender<Job>) -> Reply {
    let Ok(body) = String::from_utf8(request.body.clone()) else {
        return Reply::error(400, "the command is no text");
    };
    let ask = match Ask::parse(request.method == "POST", name, &request.query, body) {
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
