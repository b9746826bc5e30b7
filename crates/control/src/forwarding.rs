//! The forwarding thread, and how other threads send it jobs.
//!
//! Packets never wait for a lock. Other threads send a job and ring a bell; the forwarding thread
//! does the job between two batches. Without jobs this costs packets nothing, and a thread without
//! packets stays asleep.

mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_console::{Tally, VerdictCounts};
use wireloom_ir::{Golden, Verdict};
use wireloom_live::{
    Attention, Bell, Control, Forwarder, InKernel, Observer, Paused, RunningMirror, Stop,
    WatchedPrograms, Worker,
};
use wireloom_machine::trace::{Trace, trace};
use wireloom_machine::{Error, Machine, Outputs, Result, UpdateError, Wanted, reason_name};
use wireloom_native::absorb;
use wireloom_net::Packet;
use wireloom_offloads::{Content, Instance, Store, Update, registry};

use crate::capture::{
    self, CAUGHT_WAITING, Caught, Passed, Point, TRACED_WAITING, Tapped, Traced, WAITING_BYTES,
};
use crate::counts;
use crate::engine::{Built, RunningProgram, keeps_state};
use crate::filter::Filter;
use crate::kernel_conditions::KernelConditions;
use crate::status::{Kernel, Memory, Offload, Policed, Status};

pub use tables::{Page, TableStates, Unmade};

/// The state of the forwarding thread.
pub struct Forwarding {
    forwarder: Forwarder,
    cores: Vec<Core>,
    /// Offloads whose entries are changed on the first core's machine only.
    of_all_cores: BTreeSet<String>,
    /// Verdict counts of replaced programs.
    fates_before: VerdictCounts,
    /// Steps and calls of replaced programs.
    counts_before: counts::Named,
    kernel: Option<RunningMirror>,
    /// Kernel features that forwarding ignores.
    conditions: Option<Arc<KernelConditions>>,
    /// The memory limit of this process.
    memory: Option<Arc<wireloom_live::Memory>>,
    /// The programs of an engine in the kernel.
    programs: Option<Arc<InKernel>>,
    /// Counters of the mirrors of replaced programs.
    kernel_before: Kernel,
    /// Packets above the limits of replaced programs, by reason.
    policed_before: BTreeMap<String, u64>,
    reloads: u64,
    begin: Instant,
    jobs: Receiver<Job>,
    is_stopping: bool,
}

type Job = Box<dyn FnOnce(&mut Forwarding) + Send>;

/// Sends jobs to the forwarding thread.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Job>,
    bell: Bell,
}

/// The longest wait for the forwarding thread to finish a job.
const PATIENCE: Duration = Duration::from_secs(10);

/// The machine and the counters of one core.
struct Core {
    /// The machine, with the captures and traces of its packets.
    machine: Tapped,
    control: Option<Control>,
    counted: Counted,
}

/// The verdict counts of a core.
#[derive(Default)]
struct Counted(Tally);

impl Observer for Counted {
    fn output(&mut self, verdict: Verdict, length: usize) {
        self.0.count(verdict, Some(length));
    }
}

/// The result of an exchange.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// Offloads that keep their state.
    pub kept: Vec<String>,
    /// Offloads that were read anew.
    pub read: Vec<String>,
    /// Offloads whose former state is gone, with the reason.
    pub lost: Vec<String>,
    /// The duration of the exchange.
    pub time: Duration,
}

/// The replaced machines and mirror. Another thread than the forwarding thread drops them.
pub struct Replaced {
    cores: Vec<(Box<dyn Machine + Send>, Option<Control>)>,
    mirror: Option<RunningMirror>,
}

impl Replaced {
    /// Drops the machines, and frees the memory of the routes that the mirror has read.
    pub fn end(self) {
        drop(self.cores);
        if let Some(mirror) = self.mirror {
            mirror.end();
        }
    }
}

impl Forwarding {
    /// Joins ports and an engine. Also returns the handle for other threads.
    pub fn new(
        mut forwarder: Forwarder,
        built: Built,
        bell: Bell,
        memory: Option<Arc<wireloom_live::Memory>>,
        conditions: Option<Arc<KernelConditions>>,
    ) -> (Handle, Self) {
        forwarder.limit(&built.limits);
        if let Some(conditions) = &conditions {
            forwarder.watch_ports(conditions.barred(), conditions.tagged());
        }
        let (sender, jobs) = mpsc::channel();
        let mut controls = built.controls.into_iter();
        let cores = built.machines.into_iter().map(|machine| Core {
            machine: Tapped::new(Arc::clone(&built.engine), machine),
            control: controls.next(),
            counted: Counted::default(),
        });
        let forwarding = Self {
            forwarder,
            cores: cores.collect(),
            of_all_cores: built.of_all_cores,
            fates_before: VerdictCounts::default(),
            counts_before: counts::Named::default(),
            kernel: built.kernel,
            conditions,
            memory,
            programs: built.programs,
            kernel_before: Kernel::default(),
            policed_before: BTreeMap::new(),
            reloads: 0,
            begin: Instant::now(),
            jobs,
            is_stopping: false,
        };
        (Handle { jobs: sender, bell }, forwarding)
    }

    /// Takes the packets of all ports from the kernel. They wait for [`run`](Self::run).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn begin(&mut self) -> Result {
        self.forwarder.begin()
    }

    /// Forwards until a signal or a job asks it to stop.
    ///
    /// # Errors
    /// As [`Forwarder::run`].
    pub fn run(&mut self, stop: &Stop, attention: &mut Attention, busy: bool) -> Result {
        while !self.is_stopping {
            let workers = self.cores.iter_mut().map(|core| Worker {
                machine: &mut core.machine,
                control: core.control.as_mut(),
                observer: &mut core.counted,
            });
            match self.forwarder.run(workers.collect(), stop, attention, busy)? {
                Paused::Stop => return Ok(()),
                Paused::Attention => {
                    attention.clear();
                    while let Ok(job) = self.jobs.try_recv() {
                        job(self);
                    }
                }
            }
        }
        Ok(())
    }

    /// The programs of an engine in the kernel.
    pub fn programs(&self) -> Option<Arc<InKernel>> {
        self.programs.clone()
    }

    /// Replaces these programs by programs that pass packets on. Returns whether `programs` still
    /// belong to the running engine; otherwise nothing changes.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn watch(&mut self, programs: &Arc<InKernel>, watched: &WatchedPrograms) -> Result<bool> {
        let is_same = self.programs.as_ref().is_some_and(|own| Arc::ptr_eq(own, programs));
        if is_same {
            self.forwarder.watch(Some(watched))?;
        }
        Ok(is_same)
    }

    /// Puts the engine's own programs back.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn unwatch(&mut self) -> Result {
        self.forwarder.watch(None)
    }

    /// Executes a packet with golden on the machine's present tables, which stay unchanged. Returns
    /// `None` if `engine` has been replaced.
    ///
    /// # Errors
    /// If the tables cannot be read.
    pub fn trace_aside(
        &mut self,
        engine: &Arc<RunningProgram>,
        mut golden: Golden,
        packet: &Packet,
        most_steps: u64,
    ) -> Result<Option<(Trace, Outputs)>> {
        if !Arc::ptr_eq(engine, self.engine()) {
            return Ok(None);
        }
        let mut traced = None;
        self.cores[0].machine.lend(&mut |store| {
            std::mem::swap(store, golden.store_mut());
            let (program, names) = (&engine.program.lowered, &engine.names);
            traced = Some(trace(program, names, &mut golden, packet.frame(), most_steps));
            std::mem::swap(store, golden.store_mut());
        })?;
        Ok(traced)
    }

    /// Ends [`run`](Self::run) after the present job.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// The running program.
    pub fn engine(&self) -> &Arc<RunningProgram> {
        self.cores[0].machine.engine()
    }

    /// Starts a capture of the packets that the filter accepts at these points. It ends after the
    /// given number of packets or bytes.
    ///
    /// # Errors
    /// If there is no memory for packets that wait to be read.
    pub fn capture(
        &mut self,
        points: &[Point],
        filter: &Filter,
        packets: u64,
        bytes: u64,
    ) -> Result<Passed<Caught>> {
        if self
            .memory
            .as_ref()
            .is_some_and(|memory| memory.used().saturating_add(WAITING_BYTES) > memory.limit())
        {
            return Err(Error::new("there is no memory for a further capture")
                .with_help("end another one, or start with a larger --memory"));
        }
        let (passing, passed) = capture::passing(CAUGHT_WAITING, packets, bytes);
        for machine in self.machines() {
            machine.capture(points.to_vec(), filter.clone(), passing.clone());
        }
        Ok(passed)
    }

    /// Starts traces of up to `packets` packets that the filter accepts, with a golden for each
    /// core; see [`Tapped::trace`]. Returns nothing if another trace is under way, or if `engine`
    /// has been replaced.
    pub fn trace(
        &mut self,
        engine: &Arc<RunningProgram>,
        golden: Vec<Golden>,
        filter: &Filter,
        packets: u64,
        most_steps: u64,
    ) -> Option<Passed<Traced>> {
        if !Arc::ptr_eq(engine, self.engine()) || self.machines().any(Tapped::is_traced) {
            return None;
        }
        let (passing, passed) = capture::passing(TRACED_WAITING, packets, u64::MAX);
        for (machine, golden) in self.machines().zip(golden) {
            machine.trace(golden, filter.clone(), most_steps, passing.clone());
        }
        Some(passed)
    }

    /// Ends captures and traces that nobody reads any more.
    pub fn end_unwanted(&mut self) {
        self.machines().for_each(Tapped::end_unwanted);
    }

    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    fn machines(&mut self) -> impl Iterator<Item = &mut Tapped> {
        self.cores.iter_mut().map(|core| &mut core.machine)
    }

    /// Collects the counts of all cores in the first core's machine.
    fn sum_up(&mut self) {
        let engine = Arc::clone(self.engine());
        let mut machines = self.machines();
        let Some(sum) = machines.next().and_then(|machine| machine.store_mut()) else { return };
        for other in machines.filter_map(|machine| machine.store_mut()) {
            absorb(&engine.program.optimised, sum, other);
        }
    }

    /// Returns the verdict counts of the running program and of earlier programs.
    fn fates(&self) -> VerdictCounts {
        let mut fates = self.fates_before.clone();
        for core in &self.cores {
            fates.add(&core.counted.0.fates(&self.engine().program.optimised));
        }
        fates
    }

    /// Returns how often packets began steps and called offloads, in the running program and in
    /// earlier ones.
    fn counts(&self) -> counts::Named {
        let mut all = self.counts_before.clone();
        let program = &self.engine().program.optimised;
        for machine in self.cores.iter().map(|core| &core.machine) {
            if let Some(counts) = machine.counts() {
                all.add(program, machine.store(), &counts);
            }
        }
        all
    }

    /// Returns all counters.
    pub fn status(&mut self) -> Status {
        let engine = Arc::clone(self.engine());
        self.count_in_kernel();
        let fates = self.fates();
        let counts = self.counts();
        // Tables outside this process show their last read state. The counters of a table that no
        // longer exists are missing.
        let _ = self.cores[0].machine.read_back(Wanted::All, &|_| ());
        let policed = self.policed().into_iter();
        let policed = policed.map(|(reason, packets)| Policed { reason, packets });
        Status {
            program: engine.file.clone(),
            engine: engine.name.clone(),
            seconds: self.begin.elapsed().as_secs_f64(),
            reloads: self.reloads,
            ports: self.forwarder.counters(),
            without_port: self.forwarder.without_port(),
            fates,
            policed: policed.collect(),
            steps: counts.steps(&engine.program.optimised),
            offloads: offloads(self.cores[0].machine.store(), &counts),
            kernel: self.kernel().map(|kernel| kernel.after(self.kernel_before)),
            unfollowed: self.conditions.as_ref().and_then(|conditions| conditions.found()),
            memory: self
                .memory
                .as_ref()
                .map(|memory| Memory { used: memory.used(), limit: memory.limit() }),
        }
    }

    /// Adds the verdicts that an engine in the kernel has counted.
    fn count_in_kernel(&mut self) {
        let Some(Ok(verdicts)) = self.programs.as_ref().map(|programs| programs.verdicts()) else {
            return;
        };
        let mut tally = Tally::default();
        for (verdict, (packets, bytes)) in verdicts {
            tally.add(verdict, packets, Some(bytes));
        }
        self.cores[0].counted = Counted(tally);
    }

    /// Returns the packets above the limits so far, by the names of the reasons.
    fn policed(&self) -> BTreeMap<String, u64> {
        let mut policed = self.policed_before.clone();
        let in_kernel = self.programs.as_ref().and_then(|programs| programs.policed().ok());
        for (reason, packets) in
            self.forwarder.policed().into_iter().chain(in_kernel.unwrap_or_default())
        {
            let name = reason_name(&self.engine().program.optimised, reason);
            *policed.entry(name).or_default() += packets;
        }
        policed
    }

    fn kernel(&self) -> Option<Kernel> {
        let counters = &self.kernel.as_ref()?.counters;
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(Kernel {
            routes: value(&counters.routes),
            neighbours: value(&counters.neighbours),
            updates: value(&counters.updates),
            repairs: value(&counters.repairs),
            reads: value(&counters.reads),
            overruns: value(&counters.overruns),
            failures: value(&counters.failures),
            unheld: value(&counters.unheld),
        })
    }

    /// Replaces the engine: the next packet goes to the new one. Offloads whose state packets
    /// change move to the new engine unchanged if both engines declare them in the same way. No
    /// entry is copied.
    ///
    /// # Errors
    /// If the kernel refuses a program that runs in it.
    pub fn exchange(&mut self, mut built: Built) -> Result<(Exchanged, Replaced)> {
        let begin = Instant::now();
        let is_following = !built.controls.is_empty();
        self.sum_up();
        let mut exchanged = Exchanged::default();
        let [old, new] = [&self.of_all_cores, &built.of_all_cores];
        if let Some((first, others)) = built.machines.split_first_mut() {
            if let Some(first) = first.store_mut() {
                if let Some(old) = self.cores[0].machine.store_mut() {
                    exchanged = hand_over(old, first, is_following);
                }
                for (core, machine) in self.cores[1..].iter_mut().zip(others) {
                    let kept = exchanged.kept.iter().filter(|path| !new.contains(*path));
                    for path in kept {
                        let same = core.machine.store_mut().filter(|_| !old.contains(path));
                        hand_copy_over(same, first, machine.store_mut(), path);
                    }
                }
            }
            first.finish(&mut |_| ())?;
        }
        if let Some(programs) = &built.programs {
            self.forwarder.replace(Arc::clone(programs))?;
            self.count_in_kernel();
        }
        self.policed_before = self.policed();
        self.programs = built.programs;
        self.fates_before = self.fates();
        self.counts_before = self.counts();
        if let Some(kernel) = self.kernel() {
            self.kernel_before = kernel.after(self.kernel_before);
        }
        let mirror = std::mem::replace(&mut self.kernel, built.kernel);
        self.forwarder.limit(&built.limits);
        self.reloads += 1;
        self.of_all_cores = built.of_all_cores;
        let mut controls = built.controls.into_iter();
        let replaced = self.cores.iter_mut().zip(built.machines).map(|(core, machine)| {
            core.counted = Counted::default();
            let control = std::mem::replace(&mut core.control, controls.next());
            (core.machine.replace(Arc::clone(&built.engine), machine), control)
        });
        let replaced = Replaced { cores: replaced.collect(), mirror };
        exchanged.time = begin.elapsed();
        Ok((exchanged, replaced))
    }

    /// Changes entries of tables. Returns the refused changes.
    pub fn update(&mut self, updates: &[Update]) -> Vec<String> {
        // An entry that packets changed combines the counts of all cores.
        self.sum_up();
        let mut refused = Vec::new();
        for update in updates {
            if let Err(why) = self.change_entry(update) {
                refused.push(format!("`{}`: {why}", update.offload));
            }
        }
        refused.extend(self.finish_changes().err().map(|why| why.message));
        refused
    }

    /// Changes an entry on every core that has a copy of it.
    fn change_entry(&mut self, update: &Update) -> Result<(), UpdateError> {
        let cores = match self.of_all_cores.contains(&update.offload) {
            true => 1,
            false => self.cores.len(),
        };
        let machines = self.machines().take(cores);
        let made: Vec<_> = machines.map(|machine| machine.update(update, &mut |_| ())).collect();
        made.into_iter().try_for_each(|made| made.map(drop))
    }

    fn finish_changes(&mut self) -> Result {
        self.machines().try_for_each(|machine| machine.finish(&mut |_| ()).map(drop))
    }
}

/// Moves the state that packets made from one store to another.
fn hand_over(old: &mut Store, new: &mut Store, is_following: bool) -> Exchanged {
    let mut exchanged = Exchanged::default();
    for path in new.paths() {
        let Some(Content::Kind { config, instance }) =
            new.find_mut(&path).map(|slot| &mut slot.content)
        else {
            continue;
        };
        if !keeps_state(&path, config, is_following) {
            // Other kinds have no entries to read.
            if registry::kind(&config.kind).is_some_and(|kind| kind.table.is_some()) {
                exchanged.read.push(path);
            }
            continue;
        }
        match old.find_mut(&path).map(|slot| &mut slot.content) {
            Some(Content::Kind { config: before, instance: state }) if before == config => {
                std::mem::swap(instance, state);
                exchanged.kept.push(path);
            }
            Some(_) => exchanged.lost.push(format!("{path} (declared in another way)")),
            None => exchanged.read.push(path),
        }
    }
    for path in old.paths() {
        let Some(Content::Kind { config, .. }) = old.find(&path).map(|slot| &slot.content) else {
            continue;
        };
        if keeps_state(&path, config, is_following) && new.find(&path).is_none() {
            exchanged.lost.push(format!("{path} (no longer declared)"));
        }
    }
    exchanged
}

/// Gives the machine of a further core the first core's new entries: it takes them over from its
/// predecessor if that has the same offload, and copies them otherwise.
fn hand_copy_over(old: Option<&mut Store>, first: &Store, new: Option<&mut Store>, path: &str) {
    fn instance<'a>(store: Option<&'a mut Store>, path: &str) -> Option<&'a mut Box<dyn Instance>> {
        match &mut store?.find_mut(path)?.content {
            Content::Kind { instance, .. } => Some(instance),
            Content::Engine(_) => None,
        }
    }
    let Some(new) = instance(new, path) else { return };
    match (instance(old, path), first.find(path).map(|slot| &slot.content)) {
        (Some(old), _) => std::mem::swap(new, old),
        (None, Some(Content::Kind { instance, .. })) => *new = instance.duplicate(),
        (None, _) => {}
    }
}

fn offloads(store: &Store, counts: &counts::Named) -> Vec<Offload> {
    let offload = |name: String| {
        let Content::Kind { config, instance } = &store.find(&name)?.content else { return None };
        let calls = counts.calls(&name);
        Some(Offload { kind: config.kind.clone(), entries: instance.entries(), calls, name })
    };
    store.paths().into_iter().filter_map(offload).collect()
}

impl Handle {
    /// Runs a job on the forwarding thread and returns its result.
    ///
    /// # Errors
    /// If forwarding has ended, or the thread does not finish the job within ten seconds.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Forwarding) -> T + Send + 'static,
    ) -> Result<T> {
        // The asking thread takes the lock only after the other end has been dropped, so the
        // forwarding thread never waits for it.
        let mut answer = Arc::new(Mutex::new(None));
        let (answering, asker) = (Arc::clone(&answer), thread::current());
        let job = Box::new(move |forwarding: &mut Forwarding| {
            let result = work(forwarding);
            *answering.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            drop(answering);
            asker.unpark();
        });
        let ended = || Error::new("forwarding has ended");
        self.jobs.send(job).map_err(|_| ended())?;
        self.bell.ring();
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = Arc::get_mut(&mut answer) {
                let result = lock.get_mut().unwrap_or_else(PoisonError::into_inner).take();
                return result.ok_or_else(ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::new("the forwarding thread did not answer within 10 s"));
            }
            thread::park_timeout(left.min(Duration::from_millis(100)));
        }
    }

    /// Returns all counters.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn status(&self) -> Result<Status> {
        self.ask(Forwarding::status)
    }
}

#[cfg(test)]
mod tests;
