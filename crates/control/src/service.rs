//! Forwarding from start to end.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGHUP;
use wireloom_console::Working;
use wireloom_live::{
    Attention, Capability, Forwarder, Io, KERNEL_RIGHTS, MIRROR_RIGHTS, RELOAD_RIGHTS, Stop,
    TABLE_RIGHTS, give_up_all_but, interfaces, kernel_ports, unless_lacking,
};
use wireloom_machine::{Error, Result};

use crate::budget::Budget;
use crate::engine::{Built, Following, Loaded, Prepared, Where};
use crate::forwarding::{Forwarding, Handle};
use crate::kernel_capture::Watching;
use crate::kernel_conditions::KernelConditions;
use crate::metrics::Endpoint;
use crate::reload::{Load, Reloader};
use crate::server::ControlSocket;
use crate::status::Status;
use crate::{log_reload, supervisor};

/// The settings of forwarding.
pub struct Settings {
    /// The interface of each port.
    pub ports: Vec<String>,
    /// How frames are exchanged.
    pub io: Io,
    /// How many cores forward.
    pub cores: usize,
    /// Never sleep.
    pub busy: bool,
    /// The interval of comparisons with the kernel, if the kernel is followed.
    pub reconcile: Option<Duration>,
    /// The kernel's routing tables that are followed, in lookup order.
    pub kernel_tables: Vec<u32>,
    /// The names of kernel conditions that the user accepts.
    pub accepted: Vec<String>,
    /// Whether a file is written at the end. This needs rights in folders of other users.
    pub writes_at_end: bool,
    /// The most memory that the process uses, in bytes.
    pub memory: Option<u64>,
    /// The address at which Prometheus reads the counters.
    pub metrics: Option<SocketAddr>,
    /// The control socket and its permissions.
    pub control: Option<(PathBuf, u32)>,
}

/// Shows the counters at intervals, until it fails.
pub type Ticker = Box<dyn FnMut(&Status) -> io::Result<()> + Send>;

/// Forwards until a signal or a client asks it to stop. Returns the counters, or nothing if it was
/// stopped before packets flowed. On return the kernel has its interfaces back. `load` is called at
/// each reload, and `started` once when packets flow.
///
/// # Errors
/// If a port, a table, the program or an address cannot be used, without the rights, or if
/// forwarding fails.
pub fn forward(
    settings: &Settings,
    loaded: Loaded,
    load: Load,
    ticker: Option<(Duration, Ticker)>,
    started: impl FnOnce(),
) -> Result<Option<Status>> {
    unless_lacking(&settings.ports, settings.io)?;
    let stop = Stop::on_signals()?;
    let hang_ups = wireloom_files::signals([SIGHUP]);
    let hang_ups =
        hang_ups.map_err(|error| Error::new(format!("signals cannot be handled: {error}")))?;
    let socket = match &settings.control {
        Some((path, mode)) => Some(ControlSocket::bind(path, *mode)?),
        None => None,
    };
    let endpoint = settings.metrics.map(Endpoint::bind).transpose()?;
    let budget = |limit| Budget::new(limit, &settings.ports, settings.io, settings.cores);
    let budget = settings.memory.map(budget).transpose()?;
    let memory = budget.as_ref().map(|budget| Arc::clone(&budget.memory));
    let following = settings.reconcile.map(|reconcile| -> Result<Following> {
        let tables = settings.kernel_tables.clone();
        let ports = interfaces(&settings.ports)?;
        Ok(Following { ports, tables, reconcile, memory: memory.clone() })
    });
    let following = following.transpose()?;
    let conditions = following.as_ref().map(|following| {
        let place = following.place(&loaded);
        KernelConditions::begin(place, &following.ports, &settings.accepted)
    });
    let conditions = conditions.transpose()?;
    let place = match settings.io {
        Io::Kernel if settings.busy => {
            return Err(Error::new("--busy has no effect with --io kernel")
                .with_help("no thread of this process waits for packets"));
        }
        Io::Kernel if settings.cores > 1 => {
            return Err(Error::new("--cores has no effect with --io kernel")
                .with_help("the kernel executes the engine on the cores that receive packets"));
        }
        Io::Kernel => Where::Kernel(kernel_ports(&settings.ports)?),
        _ => Where::Process { cores: settings.cores },
    };
    let open = || {
        let mut notes = Vec::new();
        let mut note = |what| notes.push(what);
        let opened = Forwarder::open(&settings.ports, settings.io, settings.cores, &mut note);
        opened.map(|forwarder| (forwarder, notes))
    };
    let built = {
        let machine = if matches!(place, Where::Kernel(_)) { "xdp" } else { "native" };
        let working = Working::on(format!("starting {machine}"));
        let progress = |what: &str| working.now(what);
        let prepared = Prepared::new(loaded, following.is_some(), &place, &progress);
        prepared.and_then(|prepared| {
            let build = || Built::new(prepared, following.as_ref(), &place, &progress);
            // The kernel keeps the packets until forwarding begins. With a memory limit the ports
            // are opened later, so that the use of each part is known.
            match (&place, &budget) {
                (Where::Process { .. }, None) => meanwhile(open, build),
                _ => Ok((build()?, None)),
            }
        })
    };
    // A signal to all processes of a terminal also ends the compiler, which then reports failure.
    if stop.is_asked() {
        return Ok(None);
    }
    let (mut built, opened) = built?;
    if let Some(budget) = &budget {
        budget.check()?;
    }
    let entries = std::mem::take(&mut built.entries);
    let (forwarder, notes) = match (&place, &built.programs, opened) {
        (_, _, Some(opened)) => opened?,
        (Where::Kernel(ports), Some(programs), None) => {
            (Forwarder::in_kernel(Arc::clone(programs), ports)?, Vec::new())
        }
        _ => match &budget {
            Some(budget) => budget.ports(open)?,
            None => open()?,
        },
    };
    for note in notes {
        tracing::warn!("{note}");
    }
    let (bell, mut attention) = Attention::new()?;
    let (handle, mut forwarding) =
        Forwarding::new(forwarder, built, bell, memory, conditions.clone());
    // The files that are removed or written at the end may be in a folder of another user.
    let is_writing = settings.writes_at_end || socket.is_some();
    let last = is_writing.then_some(Capability::CAP_DAC_OVERRIDE);
    // A thread gets the present rights of its creator. Threads that reload are started first.
    let follows = following.iter().flat_map(|_| MIRROR_RIGHTS);
    let is_in_kernel = matches!(place, Where::Kernel(_));
    let tables: Vec<_> = if is_in_kernel { TABLE_RIGHTS.into() } else { Vec::new() };
    let programs = is_in_kernel.then_some(KERNEL_RIGHTS).into_iter().flatten();
    let kept = last.into_iter().chain(RELOAD_RIGHTS).chain(follows);
    let kept: Vec<_> = kept.chain(programs).chain(tables.clone()).collect();
    give_up_all_but(&kept)?;
    let watching = is_in_kernel.then(|| Arc::new(Watching::new(handle.clone())));
    let watched = watching.clone();
    if let Some(conditions) = &conditions {
        conditions.watch()?;
    }
    let following = following.zip(conditions);
    let reloader = Reloader::new(load, entries, handle.clone(), following, place, watched);
    reload_at(hang_ups, reloader.clone())?;
    if let Some(socket) = &socket {
        socket.serve(handle.clone(), reloader, watching)?;
    }
    let last: Vec<_> = last.into_iter().chain(tables).collect();
    give_up_all_but(&last)?;
    let mut serving = None;
    if let Some(endpoint) = endpoint {
        tracing::info!("metrics at http://{}/metrics", endpoint.address());
        serving = Some(without_rights(|| endpoint.serve(handle.clone()))?);
    }
    if let Some((interval, show)) = ticker {
        without_rights(|| tick(interval, show, handle.clone()))?;
    }
    forwarding.begin()?;
    started();
    let what = format!("forwarding on {}", settings.ports.join(", "));
    without_rights(|| supervisor::ready(handle, &what))?;
    let ended = forwarding.run(&stop, &mut attention, settings.busy);
    supervisor::stopping();
    let status = forwarding.status();
    // The kernel gets its interfaces back before anything can block.
    drop(forwarding);
    drop((socket, serving));
    ended.map(|()| Some(status))
}

/// The opened ports, with notes for the operator.
type Opened = Result<(Forwarder, Vec<String>)>;

/// Opens the ports in another thread while an engine is built.
fn meanwhile(
    open: impl FnOnce() -> Opened + Send,
    build: impl FnOnce() -> Result<Built>,
) -> Result<(Built, Option<Opened>)> {
    thread::scope(|scope| {
        let opening = thread::Builder::new().name("ports".into()).spawn_scoped(scope, open);
        let built = build();
        let failed = |error| Error::new(format!("a thread that opens the ports: {error}"));
        let opened = match opening.map_err(failed)?.join() {
            Ok(opened) => opened,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        built.map(|built| (built, Some(opened)))
    })
}

/// Starts threads from a thread without rights, so that they have none either.
fn without_rights<T: Send>(start: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let started = thread::scope(|scope| {
        let starting = scope.spawn(|| give_up_all_but(&[]).and_then(|()| start()));
        starting.join()
    });
    started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reloads at each SIGHUP. Signals that arrive during a reload count as one.
fn reload_at(mut hang_ups: UnixStream, reloader: Reloader) -> Result {
    let serve = move || {
        let mut seen = [0; 64];
        while matches!(hang_ups.read(&mut seen), Ok(length) if length > 0) {
            log_reload(&reloader.reload());
        }
    };
    let failed = |error| Error::new(format!("a thread for SIGHUP: {error}"));
    thread::Builder::new().name("reload".into()).spawn(serve).map_err(failed)?;
    Ok(())
}

fn tick(interval: Duration, mut show: Ticker, handle: Handle) -> Result {
    let show = move || {
        loop {
            thread::sleep(interval);
            match handle.status() {
                Ok(status) => {
                    if let Err(error) = show(&status) {
                        tracing::warn!(%error, "the counters can be shown no more");
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    };
    let failed = |error| Error::new(format!("a thread for the counters: {error}"));
    thread::Builder::new().name("interval".into()).spawn(show).map_err(failed)?;
    Ok(())
}
