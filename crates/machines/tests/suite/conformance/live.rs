//! `native` with wires: each frame arrives at a live port over virtual Ethernet, and sent packets
//! leave through a live port. The other ends see exactly the outputs of the machine.
//!
//! ```text
//!   peer0 ── port0 ─> machine ─> port1 ── peer1
//! ```
//!
//! Needs root with the right to load BPF programs. Without it there are no such machines.

#[path = "../../../../cli/tests/suite/wire.rs"]
mod wire;

use std::cell::RefCell;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_ir::{Output, Verdict};
use wireloom_live::{Attention, Bell, Forwarder, Io, Observer, Paused, Stop, Worker};
use wireloom_machine::software::InSoftware;
use wireloom_machine::{
    Configured, Error, Files, Machine, Options, Outputs, Program, Refusal, Result, Settled, Sink,
    Snapshot, UpdateError, Wanted,
};
use wireloom_machines::REGISTRY;
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};

use wire::{Wire, interface_index};

/// The number of ports with a wire. Frames of other ports go to the machine directly, and so do
/// frames that no wire carries.
const PORTS: u16 = 4;
/// The lengths of frames that a wire carries.
const LENGTHS: std::ops::RangeInclusive<usize> = 14..=3000;
/// The longest time for a frame to reach the machine, or to return from it.
const PATIENCE: Duration = Duration::from_secs(50);

/// Returns the machines, one for each way of exchanging frames; none without the rights.
pub fn machines() -> Vec<Arc<dyn Configured>> {
    let machine = |(io, name)| match with_wires(io, |_| Ok(())) {
        Ok(()) => {
            let native = REGISTRY.find("native").expect("a machine of the registry");
            Some(Arc::new(OverWires { native, io, name }) as Arc<dyn Configured>)
        }
        Err(error) => {
            eprintln!("warning: not tested over {name}: {}", error.message);
            None
        }
    };
    let ways = [(Io::Xdp, "native, live over AF_XDP"), (Io::Packet, "native, live over packets")];
    ways.into_iter().filter_map(machine).collect()
}

#[derive(Debug)]
struct OverWires {
    native: Arc<dyn Configured>,
    io: Io,
    name: &'static str,
}

impl Configured for OverWires {
    fn kind(&self) -> &'static str {
        self.native.kind()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.native.about()
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        self.native.refusals(program)
    }

    fn start(
        &self,
        program: &Program,
        store: Store,
        _: &Options,
        _: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        let library = Library::build(&program.optimised, &BuildOptions::default());
        let native = Native::new(library.map_err(Error::new)?, store);
        Ok(Box::new(Live { machine: InSoftware::new(native), io: self.io }))
    }

    fn generate(&self, program: &Program) -> Result<Files> {
        self.native.generate(program)
    }
}

/// The wires of this thread, and the forwarder between them.
struct Wires {
    forwarder: Forwarder,
    peers: Vec<u32>,
    wire: Wire,
    stop: Stop,
    attention: Attention,
    bell: Bell,
    /// Gets a message before each frame, and rings the bell if no other message follows in time.
    watchdog: Sender<()>,
}

thread_local! {
    static WIRES: RefCell<Vec<(Io, Wires)>> = const { RefCell::new(Vec::new()) };
}

/// Works with the wires of this thread. Creates them first if there are none.
fn with_wires<T>(io: Io, work: impl FnOnce(&mut Wires) -> Result<T>) -> Result<T> {
    WIRES.with_borrow_mut(|all| {
        if all.iter().all(|(way, _)| *way != io) {
            all.push((io, Wires::new(io)?));
        }
        let (_, wires) = all.iter_mut().find(|(way, _)| *way == io).expect("they were made");
        work(wires)
    })
}

impl Wires {
    fn new(io: Io) -> Result<Self> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Error::new(format!("wires for a live machine: {what}: {error}"))
        };
        // SAFETY: changes the namespace of this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(failed("a network namespace", &std::io::Error::last_os_error()));
        }
        // With IPv6 disabled the kernel itself sends no frames.
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
            .map_err(|error| failed("disable_ipv6", &error))?;
        let links: String = (0..PORTS)
            .map(|port| {
                format!(
                    "link add port{port} mtu 3400 type veth peer name peer{port} mtu 3400\n\
                     link set port{port} up\nlink set peer{port} up\n"
                )
            })
            .collect();
        let mut ip = Command::new("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| failed("ip", &error))?;
        ip.stdin.take().expect("a pipe").write_all(links.as_bytes()).expect("a pipe");
        if !ip.wait().is_ok_and(|status| status.success()) {
            return Err(failed("ip", &"it does not make the interfaces"));
        }
        let names: Vec<String> = (0..PORTS).map(|port| format!("port{port}")).collect();
        let mut forwarder = Forwarder::open(&names, io, 1, &mut |_| ())?;
        forwarder.begin()?;
        let index = |port: u16| interface_index(&format!("peer{port}"));
        let peers = (0..PORTS).map(index).collect::<std::io::Result<_>>();
        let (bell, attention) = Attention::new()?;
        let (watchdog, told) = channel();
        let alarm = bell.clone();
        thread::spawn(move || {
            loop {
                match told.recv_timeout(PATIENCE) {
                    Ok(()) => {}
                    // If no frame is under way, nobody listens to the bell.
                    Err(RecvTimeoutError::Timeout) => alarm.ring(),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        Ok(Self {
            forwarder,
            peers: peers.map_err(|error| failed("an interface", &error))?,
            wire: Wire::open().map_err(|error| failed("a packet socket", &error))?,
            stop: Stop::on_signals()?,
            attention,
            bell,
            watchdog,
        })
    }

    /// Sends a frame to the machine, and checks that the machine's outputs arrive.
    fn carry(&mut self, machine: &mut InSoftware<Native>, frame: Frame<'_>) -> Result<Relayed> {
        let failed = |error: std::io::Error| Error::new(format!("a wire: {error}"));
        let _ = self.watchdog.send(());
        self.attention.clear();
        self.wire.send(self.peers[usize::from(frame.ingress)], frame.bytes).map_err(failed)?;
        let bell = self.bell.clone();
        let mut relay = Relay { machine, frame, bell, relayed: None };
        let worker = Worker { machine: &mut relay, control: None, observer: &mut Nobody };
        let paused = self.forwarder.run(vec![worker], &self.stop, &self.attention, false)?;
        let relayed = match (paused, relay.relayed) {
            (Paused::Attention, Some(relayed)) => relayed,
            _ => return Err(Error::new("a frame did not arrive at its port")),
        };
        for output in relayed.0.iter().filter(is_carried) {
            let deadline = Instant::now() + PATIENCE;
            let arrived = loop {
                let arrived = self.wire.receive(deadline).map_err(failed)?;
                let arrived = arrived.ok_or_else(|| Error::new("a frame did not arrive"))?;
                // The socket also receives the frames at the ports themselves; these are skipped.
                if let Some(peer) = self.peers.iter().position(|at| *at == arrived.interface) {
                    break (Verdict::Sent { port: peer as u16 }, arrived.bytes);
                }
            };
            if (arrived.0, &arrived.1[..]) != (output.verdict, output.bytes) {
                let expected = (output.verdict, output.bytes);
                return Err(Error::new(format!("{arrived:?} arrived instead of {expected:?}")));
            }
        }
        Ok(relayed)
    }
}

fn is_carried(output: &Output<'_>) -> bool {
    matches!(output.verdict, Verdict::Sent { port } if port < PORTS)
        && LENGTHS.contains(&output.bytes.len())
}

struct Live {
    machine: InSoftware<Native>,
    io: Io,
}

impl Machine for Live {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        let mut settled = Settled::default();
        for frame in frames {
            if frame.ingress >= PORTS || !LENGTHS.contains(&frame.bytes.len()) {
                settled.extend(&self.machine.offer(&[*frame], sink)?);
                continue;
            }
            let machine = &mut self.machine;
            let (outputs, more) = with_wires(self.io, |wires| wires.carry(machine, *frame))?;
            outputs.iter().for_each(&mut *sink);
            settled.extend(&more);
        }
        Ok(settled)
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.machine.finish(sink)
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        self.machine.update(update, sink)
    }

    fn store(&self) -> &Store {
        self.machine.store()
    }

    fn store_mut(&mut self) -> Option<&mut Store> {
        self.machine.store_mut()
    }

    fn read_back(&mut self, wanted: Wanted<'_>, progress: &dyn Fn(&str)) -> Result<Vec<String>> {
        self.machine.read_back(wanted, progress)
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.machine.restore(snapshot)
    }
}

/// The outputs of the machine for a frame, and the settled packets.
type Relayed = (Outputs, Settled);

/// The machine at the ports. It expects the frame that was sent, gives it that frame's arrival
/// time, and pauses forwarding.
struct Relay<'a> {
    machine: &'a mut InSoftware<Native>,
    frame: Frame<'a>,
    bell: Bell,
    relayed: Option<Relayed>,
}

impl Machine for Relay<'_> {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        let [arrived] = frames else { return Err(Error::new("one frame was sent")) };
        let same = (arrived.ingress, arrived.bytes) == (self.frame.ingress, self.frame.bytes);
        if !same || self.relayed.is_some() {
            return Err(Error::new(format!("{arrived:?} arrived instead of {:?}", self.frame)));
        }
        let frame = Frame { arrival_ns: self.frame.arrival_ns, ..*arrived };
        let mut outputs = Outputs::default();
        let settled = self.machine.offer(&[frame], &mut |output| outputs.keep(output))?;
        outputs.iter().for_each(sink);
        self.relayed = Some((outputs, settled.clone()));
        self.bell.ring();
        Ok(settled)
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.machine.finish(sink)
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        self.machine.update(update, sink)
    }

    fn store(&self) -> &Store {
        self.machine.store()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.machine.restore(snapshot)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn output(&mut self, _: Verdict, _: usize) {}
}
