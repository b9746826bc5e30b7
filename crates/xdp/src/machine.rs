//! The machine `xdp`: runs packets through the loaded program one by one, without an interface.

use std::os::fd::OwnedFd;

use wireloom_codegen_c::bpf::{self, RUNTIME, TRIAL};
use wireloom_ir::{Output, Reason, ReasonSetId, Verdict};
use wireloom_machine::software::Single;
use wireloom_machine::{
    Counts, Error, Files, Machine, MachineKind, Program, Refusal, Result, Settled, Sink, Snapshot,
    UpdateError, Wanted,
};
use wireloom_net::Frame;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::{Store, Update};

use crate::engine::{KernelEngine, Settings, failed};
use crate::kernel::{self, MapType, Mapped, Shape, flag};
use crate::live::{Interface, Limits, Live};

/// The kind `xdp`.
pub static KIND: &dyn MachineKind = &Single {
    name: "xdp",
    about: "a program of the Linux kernel, in the XDP hook of its network drivers",
    refusals: Some(refusals),
    try_out: Some(try_out),
    start: |program, store, _, progress| Ok(Box::new(Trials::new(program, store, progress)?)),
    generate,
};

fn refusals(program: &Program) -> Vec<Refusal> {
    Refusal::of(bpf::refusals(&program.optimised))
}

/// Loads the program once for trials and once for a port.
fn try_out(program: &Program, progress: &dyn Fn(&str)) -> Result {
    let mut store =
        wireloom_ir::store(&program.optimised).map_err(|refused| Error::new(refused.0))?;
    let engine = KernelEngine::new(program, &mut store, None, progress)?;
    let trials = Trials::of(engine, store, progress)?;
    let port = Interface { name: "lo".to_owned(), index: LOOPBACK };
    Live::of(trials.engine, trials.store, &[port], &Limits::default(), progress).map(|_| ())
}

fn generate(program: &Program) -> Result<Files> {
    let refused = |all: Vec<bpf::Refused>| {
        Error::new(all.into_iter().next().map(|refused| refused.message).unwrap_or_default())
            .with_help("check --on xdp lists everything that the kernel does not support")
    };
    let written = bpf::generate(&program.optimised).map_err(refused)?;
    let runtime = RUNTIME.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Ok(std::iter::once(("engine.c".to_owned(), written.text)).chain(runtime).collect())
}

/// A packet of a trial with its result (`struct wl_trial`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Trial {
    now_ns: u64,
    sequence: u64,
    ingress: u32,
    length: u32,
    verdict: u32,
    reasons: u32,
    value: u32,
    is_in_frame: u32,
    window: u32,
    taken: u32,
    payload_length: u32,
    unused: u32,
    bytes: [u8; 512],
}

/// Values of `Trial::verdict`.
mod verdict {
    pub const NOTHING: u32 = 0;
    pub const SENT: u32 = 1;
    pub const TO_CPU: u32 = 2;
    pub const DROPPED: u32 = 3;
    pub const RUNAWAY: u32 = 4;
}

/// The number of the loopback interface, which every computer has.
const LOOPBACK: u32 = 1;
/// The length of the shortest frame that the kernel accepts, in bytes.
const SHORTEST: usize = 14;
/// Room for the longest packet, in bytes.
const LONGEST: usize = MAX_LENGTH + 512;
const PAGE: usize = 4096;

struct Trials {
    engine: KernelEngine,
    program: OwnedFd,
    _trial: OwnedFd,
    shared: Mapped,
    store: Store,
    /// Whether a caller may have changed the store.
    is_store_lent: bool,
    offered: u64,
    frame: Vec<u8>,
    output: Vec<u8>,
}

impl Trials {
    fn new(program: &Program, mut store: Store, progress: &dyn Fn(&str)) -> Result<Self> {
        let engine = KernelEngine::new(program, &mut store, None, progress)?;
        Self::of(engine, store, progress)
    }

    fn of(engine: KernelEngine, store: Store, progress: &dyn Fn(&str)) -> Result<Self> {
        let shape = Shape {
            map_type: MapType::Array,
            key: 4,
            value: size_of::<Trial>() as u32,
            entries: 1,
            flags: flag::MAPPABLE,
        };
        let problem = |error| failed("the map of trials", &error, "");
        let trial = kernel::create_map("wl_trial", shape, None, None).map_err(problem)?;
        let shared = Mapped::new(&trial, PAGE).map_err(problem)?;
        progress("loading the program into the kernel");
        let program =
            engine.loader.load(None, TRIAL, &[("wl_map_trial", &trial)], Settings::default())?;
        Ok(Self {
            engine,
            program,
            _trial: trial,
            shared,
            store,
            is_store_lent: false,
            offered: 0,
            frame: Vec::new(),
            output: vec![0; LONGEST],
        })
    }

    fn write(&mut self, only: Option<usize>) -> Result {
        let written = self.engine.tables.write(&mut self.store, only);
        written.map_err(|error| failed("the tables", &error, ""))
    }

    fn read(&mut self, only: Option<usize>) -> Result {
        let read = self.engine.tables.read(&mut self.store, only);
        read.map_err(|error| failed("the tables", &error, ""))
    }

    /// Runs a packet through the program.
    fn execute(&mut self, frame: &Frame<'_>, sequence: u64, sink: Sink<'_>) -> Result {
        let packet = &frame.bytes[..frame.bytes.len().min(MAX_LENGTH)];
        self.frame.clear();
        self.frame.extend_from_slice(packet);
        self.frame.resize(packet.len().max(SHORTEST), 0);
        let place = self.shared.start().cast::<Trial>();
        let given = Trial {
            now_ns: frame.arrival_ns,
            sequence,
            ingress: frame.ingress.into(),
            length: packet.len() as u32,
            verdict: verdict::NOTHING,
            reasons: 0,
            value: 0,
            is_in_frame: 0,
            window: 0,
            taken: 0,
            payload_length: 0,
            unused: 0,
            bytes: [0; 512],
        };
        // SAFETY: the memory has room for it, and the program that shares it does not run.
        unsafe { place.write(given) };
        let length = kernel::trial(&self.program, &self.frame, &mut self.output)
            .map_err(|error| failed("BPF_PROG_TEST_RUN", &error, ""))?;
        // SAFETY: as above.
        let trial = unsafe { place.read() };
        let program = || Reason::Program(ReasonSetId(trial.reasons), trial.value as u16);
        let verdict = match trial.verdict {
            verdict::NOTHING => return Ok(()),
            verdict::SENT => Verdict::Sent { port: trial.value as u16 },
            verdict::TO_CPU => Verdict::ToCpu(program()),
            verdict::DROPPED => Verdict::Dropped(program()),
            verdict::RUNAWAY => Verdict::Dropped(Reason::Runaway),
            other => return Err(Error::new(format!("the program says verdict {other}"))),
        };
        let whole: Vec<u8>;
        let bytes = if trial.is_in_frame != 0 {
            &self.output[..length]
        } else {
            let window = &trial.bytes[..(trial.window as usize).min(trial.bytes.len())];
            let payload = packet.get(trial.taken as usize..).unwrap_or_default();
            let payload = &payload[..payload.len().min(trial.payload_length as usize)];
            whole = [window, payload].concat();
            &whole
        };
        let (arrival_ns, ingress) = (frame.arrival_ns, frame.ingress);
        sink(Output { sequence, arrival_ns, ingress, verdict, bytes });
        Ok(())
    }
}

impl Machine for Trials {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        if std::mem::take(&mut self.is_store_lent) {
            self.write(None)?;
        }
        let first = self.offered;
        for frame in frames {
            let sequence = self.offered;
            self.offered += 1;
            self.execute(frame, sequence, sink)?;
        }
        Ok(Settled { taken: (first..self.offered).into(), ..Settled::default() })
    }

    fn finish(&mut self, _: Sink<'_>) -> Result<Settled> {
        Ok(Settled::default())
    }

    fn update(&mut self, update: &Update, _: Sink<'_>) -> Result<Settled, UpdateError> {
        let offload = self.store.slots.iter().position(|slot| slot.name == update.offload);
        self.read(offload)?;
        update.apply(&mut self.store).map_err(|refused| UpdateError::Refused(refused.0))?;
        self.write(offload)?;
        Ok(Settled::default())
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn store_mut(&mut self) -> Option<&mut Store> {
        self.engine.tables.read(&mut self.store, None).ok()?;
        self.is_store_lent = true;
        Some(&mut self.store)
    }

    fn read_back(&mut self, _: Wanted<'_>, _: &dyn Fn(&str)) -> Result<Vec<String>> {
        if !self.is_store_lent {
            self.read(None)?;
        }
        Ok(Vec::new())
    }

    fn counts(&self) -> Option<Counts> {
        self.engine.counts(&self.store).ok()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(&mut self.store)?;
        self.is_store_lent = true;
        Ok(())
    }
}
