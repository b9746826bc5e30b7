//! The forwarding thread, and how other threads ask it for something.
//!
//! Nothing that others want makes packets wait for a lock: they send a job and ring, and the
//! forwarding thread does the job between two batches. While nobody asks, that costs packets
//! nothing, and a thread without packets sleeps on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_console::{Fates, Tally};
use wireloom_ir::Verdict;
use wireloom_live::{
    Attention, Bell, Control, Forwarder, InKernel, MirrorCounters, Observer, Paused, Stop,
};
use wireloom_machine::{Error, Machine, Result, Wanted, reason_name};
use wireloom_offloads::{Content, Store, Update, registry};

use crate::engine::{Built, Engine, keeps_state};
use crate::status::{Kernel, Offload, Policed, Status};
use crate::taps::Tapped;

/// What the forwarding thread works with.
pub struct Forwarding {
    forwarder: Forwarder,
    /// The machine, with everything that watches its packets.
    pub machine: Tapped,
    control: Option<Control>,
    counted: Counted,
    kernel: Option<Arc<MirrorCounters>>,
    /// The programs of an engine in the kernel.
    programs: Option<Arc<InKernel>>,
    /// What the mirrors of replaced programs did.
    kernel_before: Kernel,
    /// Packets above the limits of replaced programs, by reason.
    policed_before: BTreeMap<String, u64>,
    reloads: u64,
    begin: Instant,
    jobs: Receiver<Job>,
    is_stopping: bool,
}

type Job = Box<dyn FnOnce(&mut Forwarding) + Send>;

/// Asks the forwarding thread.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Job>,
    bell: Bell,
}

/// How long the forwarding thread may take until it has done a job.
const PATIENCE: Duration = Duration::from_secs(10);

/// The verdicts on packets.
#[derive(Default)]
struct Counted {
    tally: Tally,
    /// Those of programs that were replaced.
    before: Fates,
}

impl Observer for Counted {
    fn output(&mut self, verdict: Verdict, length: usize) {
        self.tally.count(verdict, length);
    }
}

/// What an exchange did.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// Offloads that keep their state.
    pub kept: Vec<String>,
    /// Offloads that were read anew.
    pub read: Vec<String>,
    /// Offloads whose former state is gone, with the reason.
    pub lost: Vec<String>,
    /// How long it took.
    pub time: Duration,
}

/// What was replaced. It is taken apart by another thread than that of packets.
pub struct Replaced {
    _machine: Box<dyn Machine + Send>,
    _control: Option<Control>,
}

impl Forwarding {
    /// Joins ports and an engine. Returns also the handle for other threads.
    pub fn new(mut forwarder: Forwarder, built: Built, bell: Bell) -> (Handle, Self) {
        forwarder.limit(built.limits);
        let (sender, jobs) = mpsc::channel();
        let forwarding = Self {
            forwarder,
            machine: Tapped::new(built.engine, built.machine),
            control: built.control,
            counted: Counted::default(),
            kernel: built.kernel,
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

    /// Forwards until a signal or a job asks it to stop.
    ///
    /// # Errors
    /// As [`Forwarder::run`].
    pub fn run(&mut self, stop: &Stop, attention: &mut Attention, busy: bool) -> Result {
        while !self.is_stopping {
            let (machine, control) = (&mut self.machine, self.control.as_mut());
            let counted = &mut self.counted;
            match self.forwarder.run(machine, control, stop, attention, busy, counted)? {
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

    /// Whether packets stay in the kernel, where this process does not see them.
    pub fn is_in_kernel(&self) -> bool {
        self.programs.is_some()
    }

    /// Ends [`run`](Self::run) after the present job.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// The program that runs.
    pub fn engine(&self) -> &Arc<Engine> {
        self.machine.engine()
    }

    /// Returns all counters.
    pub fn status(&mut self) -> Status {
        let engine = Arc::clone(self.engine());
        let mut fates = self.counted.before.clone();
        self.count_in_kernel();
        fates.add(&self.counted.tally.fates(&engine.program.optimised));
        // What a machine keeps elsewhere is as it was last read: the counters of a table that is
        // gone are missing.
        let _ = self.machine.read_back(Wanted::All, &|_| ());
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
            offloads: offloads(self.machine.store()),
            kernel: self.kernel().map(|kernel| kernel.after(self.kernel_before)),
        }
    }

    /// Takes over the verdicts that an engine in the kernel has counted.
    fn count_in_kernel(&mut self) {
        let Some(Ok(verdicts)) = self.programs.as_ref().map(|programs| programs.verdicts()) else {
            return;
        };
        self.counted.tally = Tally::default();
        for (verdict, (packets, bytes)) in verdicts {
            self.counted.tally.add(verdict, packets, bytes);
        }
    }

    /// Packets above the limits so far, by the names of the reasons.
    fn policed(&self) -> BTreeMap<String, u64> {
        let mut policed = self.policed_before.clone();
        for (reason, packets) in self.forwarder.policed() {
            let name = reason_name(&self.engine().program.optimised, reason);
            *policed.entry(name).or_default() += packets;
        }
        policed
    }

    fn kernel(&self) -> Option<Kernel> {
        let counters = self.kernel.as_ref()?;
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(Kernel {
            routes: value(&counters.routes),
            neighbours: value(&counters.neighbours),
            updates: value(&counters.updates),
            repairs: value(&counters.repairs),
            reads: value(&counters.reads),
            overruns: value(&counters.overruns),
            failures: value(&counters.failures),
        })
    }

    /// Replaces the engine: the next packet goes to the new one. Offloads whose state packets change
    /// move to it as they are, if both engines declare them in the same way. No entry is copied.
    ///
    /// # Errors
    /// If the kernel does not take a program that is to be in it.
    pub fn exchange(&mut self, mut built: Built) -> Result<(Exchanged, Replaced)> {
        let begin = Instant::now();
        let is_following = built.control.is_some();
        let mut exchanged = match (self.machine.store_mut(), built.machine.store_mut()) {
            (Some(old), Some(new)) => hand_over(old, new, is_following),
            _ => Exchanged::default(),
        };
        built.machine.finish(&mut |_| ())?;
        if let Some(programs) = &built.programs {
            self.forwarder.replace(Arc::clone(programs))?;
            self.count_in_kernel();
        }
        self.programs = built.programs;
        let tally = std::mem::take(&mut self.counted.tally);
        let fates = tally.fates(&self.engine().program.optimised);
        self.counted.before.add(&fates);
        if let Some(kernel) = self.kernel() {
            self.kernel_before = kernel.after(self.kernel_before);
        }
        self.kernel = built.kernel;
        self.policed_before = self.policed();
        self.forwarder.limit(built.limits);
        self.reloads += 1;
        let control = std::mem::replace(&mut self.control, built.control);
        let machine = self.machine.replace(built.engine, built.machine);
        exchanged.time = begin.elapsed();
        Ok((exchanged, Replaced { _machine: machine, _control: control }))
    }

    /// Changes entries of tables; returns what was refused.
    pub fn update(&mut self, updates: &[Update]) -> Vec<String> {
        let mut refused = Vec::new();
        for update in updates {
            if let Err(why) = self.machine.update(update, &mut |_| ()) {
                refused.push(format!("`{}`: {why}", update.offload));
            }
        }
        if let Err(why) = self.machine.finish(&mut |_| ()) {
            refused.push(why.message);
        }
        refused
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
            // Others have nothing that could be read.
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

fn offloads(store: &Store) -> Vec<Offload> {
    let offload = |name: String| {
        let Content::Kind { config, instance } = &store.find(&name)?.content else { return None };
        Some(Offload { kind: config.kind.clone(), entries: instance.entries(), name })
    };
    store.paths().into_iter().filter_map(offload).collect()
}

impl Handle {
    /// Has the forwarding thread do something, and returns the result.
    ///
    /// # Errors
    /// If forwarding has ended, or the thread does not get to it within ten seconds.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Forwarding) -> T + Send + 'static,
    ) -> Result<T> {
        // The asker takes the lock only when the other end is gone: the forwarding thread never
        // waits for it.
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
mod tests {
    use wireloom_ir as ir;
    use wireloom_lang::check_source;
    use wireloom_machine::Program;
    use wireloom_net::tables::TableFile;
    use wireloom_offloads::{Content, load_tables};

    use super::*;

    fn store(source: &str, tables: &str) -> Store {
        let checked = check_source("e.loom", source, &Default::default());
        let program = Program::new(&checked.program.expect("a program"));
        let mut store = ir::store(&program.optimised).expect("offloads");
        let file = TableFile::from_text(std::path::Path::new("t.tables"), tables);
        load_tables(&mut store, file.expect("tables")).expect("entries");
        store
    }

    const SOURCE: &str = "\
        engine e() {\n\
            offload destinations4 : lpm<u32, u8>;\n\
            offload flows : exact<u32, u16, size = 16>;\n\
            offload counts : counter<size = 4>;\n\
            step s { finish; }\n\
        }\n";

    fn entries(store: &Store, path: &str) -> Option<u64> {
        match &store.find(path)?.content {
            Content::Kind { instance, .. } => instance.entries(),
            Content::Engine(_) => None,
        }
    }

    #[test]
    fn state_of_packets_goes_over_where_the_declarations_agree() {
        let rows = "table destinations4\n10.0.0.0/8 = 1\ntable flows\n1 = 1\n2 = 2\n";
        let mut old = store(SOURCE, rows);
        let mut new = store(SOURCE, "table destinations4\n10.0.0.0/8 = 2\n11.0.0.0/8 = 2\n");
        let exchanged = hand_over(&mut old, &mut new, true);
        assert_eq!(exchanged.kept, ["flows", "counts"]);
        assert_eq!(exchanged.read, ["destinations4"]);
        assert_eq!(entries(&new, "flows"), Some(2));
        assert_eq!(entries(&new, "destinations4"), Some(2));
    }

    #[test]
    fn state_that_does_not_suit_is_named() {
        let mut old = store(SOURCE, "table flows\n1 = 1\n");
        let other = SOURCE.replace("u32, u16", "u32, u32");
        let other = other.replace("offload counts : counter<size = 4>;\n", "");
        let mut new = store(&other, "");
        let exchanged = hand_over(&mut old, &mut new, true);
        assert_eq!(exchanged.kept, Vec::<String>::new());
        assert_eq!(
            exchanged.lost,
            ["flows (declared in another way)", "counts (no longer declared)"]
        );
        assert_eq!(entries(&new, "flows"), Some(0));
    }
}
