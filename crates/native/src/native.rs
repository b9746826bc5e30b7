//! The machine that executes packets with a built program.

mod cores;

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use wireloom_compile::analysis::order;
use wireloom_ir::{
    Clock, Execute, OffloadId, OffloadTarget, Output, Program, Reason, ReasonSetId, Verdict,
};
use wireloom_machine::Counts;
use wireloom_net::Frame;
use wireloom_offloads::{Content, Store};

use crate::abi;
use crate::control::{Control, Controlled};
use crate::host::Offloads;
use crate::library::{BuildError, BuildOptions, Library};
use crate::special::{Change, Special, SpecialisationListener, Specialiser};

pub use cores::{absorb, in_any_order};

/// The native machine of a program.
pub struct Native {
    store: Store,
    offloads: Offloads,
    state: State,
    /// The engine that is specialised to the table contents, while there is one.
    special: Option<State>,
    specialiser: Option<Specialiser>,
    /// The offloads that packets change.
    changed: Vec<OffloadId>,
    /// The number of threads that began each step. The state holds the address.
    steps: Box<[u64]>,
    next_sequence: u64,
    /// Engine time, if times of the program end at ticks.
    clock: Option<Clock>,
    /// The first sequence number of the engine. Each core has its own range of numbers.
    numbers_from: u64,
    controlled: Controlled,
    /// Whether a caller may have replaced the store.
    is_store_lent: bool,
}

// SAFETY: it holds addresses of memory that it owns or that never changes; instances are `Send`.
unsafe impl Send for Native {}

impl Native {
    /// Creates a machine with these offloads, as `wireloom_ir::store` makes them.
    ///
    /// # Panics
    /// If the store belongs to another program, or there is not enough memory for the state (less
    /// than a megabyte).
    pub fn new(library: Library, mut store: Store) -> Self {
        let program = library.program();
        assert!(suits(program, program.main.index(), &store), "the store is another program's");
        let engine = library.engine();
        let offloads = Offloads::new(&mut store, engine);
        assert!(abi::is_frame_as_in_c(), "engines read frames as they are");
        let main = &program.engines[program.main.index()];
        let changed = order::changed(program, program.main);
        let mut steps = vec![0; main.steps.len()].into_boxed_slice();
        let clock = Clock::of(program);
        let state = State::new(library, &mut steps);
        Self {
            store,
            offloads,
            state,
            special: None,
            specialiser: None,
            changed,
            steps,
            next_sequence: 0,
            clock,
            numbers_from: 0,
            controlled: Controlled::new(),
            is_store_lent: false,
        }
    }

    /// Returns the offloads, including the state that packets changed.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns how often packets began steps and called offloads; `None` without
    /// [`BuildOptions::counts`](crate::BuildOptions::counts).
    pub fn counts(&self) -> Option<Counts> {
        let counts = || Counts { steps: self.steps.to_vec(), calls: self.offloads.calls() };
        self.state.library.counts().then(counts)
    }

    /// Returns the number of packets that vector instructions executed, sixteen at a time. Threads
    /// executed the others.
    pub fn in_lanes(&self) -> u64 {
        let states = std::iter::once(&self.state).chain(&self.special);
        // SAFETY: a state begins with the machine, and is not in use.
        states.map(|state| unsafe { (*state.machine()).in_lanes }).sum()
    }

    /// From now on, builds engines in the background that are specialised to the table contents,
    /// and executes packets with them until the contents change. `options` are the build options of
    /// the library. Results stay the same; see docs/machines/native.md, "Specialised to its
    /// tables".
    pub fn specialise(&mut self, options: BuildOptions, report: SpecialisationListener) {
        let program = self.state.library.program();
        let special = Special::new(program, options, report);
        self.specialiser = Some(Specialiser::new(special, Duration::ZERO));
    }

    /// Specialises like [`specialise`](Self::specialise), but builds the first engine now and waits
    /// for it. Returns whether it differs from the general one.
    ///
    /// # Errors
    /// If the engine cannot be built.
    pub fn specialise_now(&mut self, options: BuildOptions) -> Result<bool, BuildError> {
        let program = Arc::clone(self.state.library.program());
        let special = Special::new(&program, options, Arc::new(|_| {}));
        let mut specialiser = Specialiser::new(special, Duration::from_secs(30));
        if let Some(library) = specialiser.build_now(&program, &mut self.store)? {
            self.special = Some(State::new(library, &mut self.steps));
        }
        self.specialiser = Some(specialiser);
        Ok(self.special.is_some())
    }

    /// Whether the next packets go through an engine that is specialised to the table contents,
    /// unless these change before.
    pub fn is_specialised(&self) -> bool {
        self.special.is_some()
    }

    /// Returns a handle with which a control plane in another thread changes the offloads while
    /// packets flow. Prefix tables change at once, in that thread. All other changes are made after
    /// 16 batches of packets at the latest.
    pub fn control(&mut self) -> Control {
        self.controlled.control(&self.store)
    }

    /// Returns the offloads, for the control plane to change between packets. Do not replace the
    /// store by another program's: the next packets would panic.
    pub fn store_mut(&mut self) -> &mut Store {
        self.is_store_lent = true;
        self.controlled.close();
        &mut self.store
    }
}

/// Batches between two refreshes of the offloads' addresses. Memory that a control plane in another
/// thread replaces stays valid for this time.
const BATCHES_PER_LOOK: usize = 16;

impl Native {
    /// Makes changes of the control plane. Returns the state that executes packets until the next
    /// call.
    fn look(&mut self) -> *mut abi::MachineAbi {
        self.offloads.release(&mut self.store);
        self.controlled.apply(&mut self.store);
        if let Some(specialiser) = &mut self.specialiser {
            match specialiser.attend(self.state.library.program(), &mut self.store) {
                Change::None => {}
                Change::Use(library) => self.special = Some(State::new(library, &mut self.steps)),
                Change::Withdraw => self.special = None,
            }
        }
        let machine = self.special.as_ref().unwrap_or(&self.state).machine();
        let slots = self.offloads.refresh(&mut self.store);
        // SAFETY: the state begins with the machine and is not in use.
        unsafe { (*machine).slots = slots };
        machine
    }
}

impl Execute for Native {
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>)) {
        self.whole(sink, |native, sink| native.offer_to(frames, sink));
    }

    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>, &[u8])) {
        self.offer_to(frames, sink);
    }

    fn advance_to(&mut self, time_ns: u64, sink: &mut dyn FnMut(Output<'_>)) {
        self.whole(sink, |native, sink| {
            native.run_timers(time_ns, sink);
            if let Some(clock) = &mut native.clock {
                clock.arrive(time_ns);
            }
        });
    }

    fn next_timer(&self) -> Option<u64> {
        self.clock.as_ref()?.next_timer(&self.store)
    }
}

impl Native {
    /// Works with a sink that takes packets in two pieces, and passes them on as one.
    fn whole(
        &mut self,
        sink: &mut dyn FnMut(Output<'_>),
        work: impl FnOnce(&mut Self, &mut dyn FnMut(Output<'_>, &[u8])),
    ) {
        let mut whole = Vec::new();
        work(self, &mut |output, rest| {
            if rest.is_empty() {
                return sink(output);
            }
            whole.clear();
            whole.extend_from_slice(output.bytes);
            whole.extend_from_slice(rest);
            sink(Output { bytes: &whole, ..output });
        });
    }

    /// Like [`Execute::offer_in_pieces`], for callers that know the type of the machine. The `sink`
    /// becomes part of the loop, while the trait's method calls it for each packet.
    pub fn offer_to(&mut self, frames: &[Frame<'_>], mut sink: impl FnMut(Output<'_>, &[u8])) {
        if self.clock.is_none() {
            let first = self.next_sequence;
            self.next_sequence += frames.len() as u64;
            return self.execute_all(frames, first, sink);
        }
        let mut rest = frames;
        while let Some(next) = rest.first() {
            self.run_timers(next.arrival_ns, &mut sink);
            let Some(clock) = &mut self.clock else { return };
            clock.arrive(next.arrival_ns);
            // Packets up to the next tick set no timer that runs before one of them.
            let end_ns = clock.next_tick();
            let later = rest.iter().position(|frame| frame.arrival_ns >= end_ns);
            let (now, after) = rest.split_at(later.unwrap_or(rest.len()));
            let sequence = self.next_sequence;
            self.next_sequence += now.len() as u64;
            let timely = |frame: &Frame<'_>| {
                let arrival_ns = clock.arrive(frame.arrival_ns);
                (arrival_ns != frame.arrival_ns).then_some(arrival_ns)
            };
            let late: Vec<Option<u64>> = now.iter().map(timely).collect();
            if late.iter().all(Option::is_none) {
                self.execute_all(now, sequence, &mut sink);
            } else {
                let in_time = now.iter().zip(&late).map(|(frame, arrival_ns)| Frame {
                    arrival_ns: arrival_ns.unwrap_or(frame.arrival_ns),
                    ..*frame
                });
                let in_time: Vec<Frame<'_>> = in_time.collect();
                // A packet leaves with the time that it came with.
                self.execute_all(&in_time, sequence, |output, rest| {
                    let arrival_ns = now[(output.sequence - sequence) as usize].arrival_ns;
                    sink(Output { arrival_ns, ..output }, rest);
                });
            }
            rest = after;
        }
    }

    /// Runs the timers that are due by a time.
    fn run_timers(&mut self, time_ns: u64, mut sink: impl FnMut(Output<'_>, &[u8])) {
        while let Some(clock) = &mut self.clock
            && let Some(due) = clock.due(&mut self.store, time_ns)
        {
            let frames: Vec<Frame<'_>> = due.frames().collect();
            self.execute_all(&frames, due.first, &mut sink);
        }
    }

    /// Executes packets whose sequence numbers begin with `first`.
    fn execute_all(
        &mut self,
        frames: &[Frame<'_>],
        mut first: u64,
        mut sink: impl FnMut(Output<'_>, &[u8]),
    ) {
        if std::mem::take(&mut self.is_store_lent) {
            let program = self.state.library.program();
            assert!(
                suits(program, program.main.index(), &self.store),
                "the store is another program's"
            );
        }
        let batch = self.state.library.engine().batch as usize;
        let mut machine = std::ptr::null_mut();
        for index in 0..frames.len().div_ceil(batch) {
            if index % BATCHES_PER_LOOK == 0 {
                machine = self.look();
            }
            // This batch and the next one, whose packets are prefetched while this one executes.
            let known = &frames[index * batch..];
            let known = &known[..known.len().min(2 * batch)];
            let executed = &known[..known.len().min(batch)];
            let execute = self.special.as_ref().unwrap_or(&self.state).library.engine().execute;
            // SAFETY: the state is the engine's own. The frames have the layout of C, and their
            // packets live until the outputs have been handed on. The slots belong to a store that
            // suits the program.
            unsafe {
                execute(
                    machine.cast(),
                    known.as_ptr().cast(),
                    executed.len() as u32,
                    known.len() as u32,
                    self.numbers_from + first,
                );
                hand_on(machine, executed, first, &mut sink);
            }
            first += executed.len() as u64;
        }
        self.offloads.release(&mut self.store);
        for offload in &self.changed {
            if let Content::Kind { instance, .. } = &mut self.store.slots[offload.index()].content {
                instance.changed_outside();
            }
        }
    }
}

/// Hands on the outputs of a batch, packet by packet. Emitted copies come before the packet itself.
///
/// # Safety
/// The machine has just executed the frames.
unsafe fn hand_on(
    machine: *const abi::MachineAbi,
    frames: &[Frame<'_>],
    first: u64,
    sink: &mut impl FnMut(Output<'_>, &[u8]),
) {
    // SAFETY: the machine ends with `ends`, which has an element for each packet of a batch.
    let ends = unsafe {
        std::slice::from_raw_parts((&raw const (*machine).ends).cast::<abi::End>(), frames.len())
    };
    for ((frame, end), sequence) in frames.iter().zip(ends).zip(first..) {
        let mut send = |output: &abi::Output| {
            // SAFETY: both pieces are valid until the next batch; their addresses are never null.
            let [bytes, rest] = unsafe {
                [(output.window, output.window_length), (output.payload, output.payload_length)]
                    .map(|(start, length)| std::slice::from_raw_parts(start, length as usize))
            };
            let (arrival_ns, ingress) = (frame.arrival_ns, frame.ingress);
            let with = |verdict| Output { sequence, arrival_ns, ingress, verdict, bytes };
            // Two calls instead of one with a selected verdict, which would go through memory and
            // stall.
            if output.verdict == abi::verdict::SENT {
                sink(with(Verdict::Sent { port: output.value }), rest);
            } else {
                sink(with(aside(output)), rest);
            }
        };
        let mut emitted = end.first_emitted;
        while emitted != abi::NO_OUTPUT {
            // SAFETY: the chain links indices of emitted packets of this batch.
            let copy = unsafe { &*(*machine).emitted.add(emitted as usize) };
            send(copy);
            emitted = copy.next;
        }
        if end.last.verdict != abi::verdict::NOTHING {
            send(&end.last);
        }
    }
}

/// Returns the verdict of a packet that was not sent.
#[cold]
fn aside(output: &abi::Output) -> Verdict {
    let program = || Reason::Program(ReasonSetId(output.reasons), output.value);
    match output.verdict {
        abi::verdict::TO_CPU => Verdict::ToCpu(program()),
        abi::verdict::DROPPED => Verdict::Dropped(program()),
        abi::verdict::RUNAWAY => Verdict::Dropped(Reason::Runaway),
        other => unreachable!("verdict {other}"),
    }
}

/// The memory that generated code works on: the `struct wl_machine` of its engine.
struct State {
    start: *mut c_void,
    layout: Layout,
    /// Keeps the code in memory until the state has been closed with it.
    library: Library,
}

impl State {
    /// Creates a machine of the library's engine, which counts steps in `steps` if the library
    /// counts. The array must not move.
    fn new(library: Library, steps: &mut [u64]) -> Self {
        let layout = Layout::from_size_align(library.engine().state_size, 64)
            .expect("a size that C could state");
        // SAFETY: the layout's size is not zero: a machine holds its threads.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        if start.is_null() {
            alloc::handle_alloc_error(layout);
        }
        let state = Self { start: start.cast(), layout, library };
        // SAFETY: the state begins with the machine and is not in use.
        unsafe { (*state.machine()).steps = steps.as_mut_ptr() };
        state
    }

    fn machine(&self) -> *mut abi::MachineAbi {
        self.start.cast()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; the library outlives the state.
        unsafe {
            (self.library.engine().close)(self.start);
            alloc::dealloc(self.start.cast(), self.layout);
        }
    }
}

/// Whether the store matches the engine: the same offloads in the same order, including nested
/// ones.
fn suits(program: &Program, engine: usize, store: &Store) -> bool {
    let offloads = &program.engines[engine].offloads;
    offloads.len() == store.slots.len()
        && offloads.iter().zip(&store.slots).all(|(offload, slot)| {
            match (&offload.target, &slot.content) {
                (OffloadTarget::Kind(wanted), Content::Kind { config, .. }) => wanted == config,
                (OffloadTarget::Engine(id), Content::Engine(inner)) => {
                    suits(program, id.index(), inner)
                }
                _ => false,
            }
        })
}
