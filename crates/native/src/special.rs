//! Engines that are specialised to the contents of their tables. They are built in the background
//! while packets go through the general engine.
//!
//! A machine asks its offloads which facts about their replies are certain
//! ([`Instance::certain`](wireloom_offloads::Instance::certain)), builds an engine for these facts
//! ([`specialise`]), and executes packets with it. Whenever tables may have changed, it checks the
//! facts before the next packet. If they no longer hold, that packet goes through the general
//! engine. Both engines work on the same offloads, and no packet state outlives a batch, so calling
//! the other engine is enough.

use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wireloom_compile::specialise::{Facts, broken, facts, methods, specialise};
use wireloom_ir::{OffloadId, Program};
use wireloom_offloads::Store;

use crate::library::{BuildError, BuildOptions, Library};

/// The time between two looks for more facts.
const BETWEEN_LOOKS: Duration = Duration::from_secs(30);

/// The pause after facts that did not last. It doubles each time.
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(600);

/// An event of a specialised engine.
#[derive(Debug)]
pub enum Specialisation {
    /// Packets go through it from now on. The build took this time.
    Used(Duration),
    /// Packets go through the general engine again, because the table of this offload changed.
    Withdrawn(String),
    /// The build failed. There will be no other attempt.
    Failed(BuildError),
}

/// Gets each event.
pub type SpecialisationListener = Arc<dyn Fn(&Specialisation) + Send + Sync>;

/// A program that is specialised to the contents of its tables, for the machines of all cores.
#[derive(Clone)]
pub(crate) struct Special {
    options: BuildOptions,
    report: SpecialisationListener,
    /// The methods of offloads that packets only read.
    methods: Vec<(OffloadId, usize)>,
    /// The last build on any core.
    built: Arc<Mutex<Option<(Facts, Library)>>>,
}

/// The specialised engine of one machine.
pub(crate) struct Specialiser {
    special: Special,
    /// The facts on which the engine in use depends.
    facts: Option<Facts>,
    /// Facts that do not change the program.
    useless: Option<Facts>,
    building: Option<Building>,
    look_at: Instant,
    rest: Duration,
}

struct Building {
    facts: Facts,
    begun: Instant,
    library: Receiver<Result<Option<Library>, BuildError>>,
}

/// The next action of a machine.
pub(crate) enum Change {
    /// Continue with the current engine.
    None,
    /// Switch to this engine.
    Use(Library),
    /// Switch to the general engine.
    Withdraw,
}

impl Special {
    pub(crate) fn new(
        program: &Program,
        options: BuildOptions,
        report: SpecialisationListener,
    ) -> Self {
        Self { options, report, methods: methods(program), built: Arc::default() }
    }

    /// Builds the engine for these facts, unless they do not change the program.
    fn build(&self, program: &Program, facts: &Facts) -> Result<Option<Library>, BuildError> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, library)) = &*built
            && known == facts
        {
            return Ok(Some(library.clone()));
        }
        let keeps_calls = self.options.counts;
        let special = specialise(program, facts, keeps_calls);
        if special == specialise(program, &Facts::new(), keeps_calls) {
            return Ok(None);
        }
        let library = Library::build(&special, &self.options)?;
        *built = Some((facts.clone(), library.clone()));
        Ok(Some(library))
    }
}

impl Specialiser {
    /// Creates the specialiser of a machine. It looks for facts after `rest` at the earliest.
    pub(crate) fn new(special: Special, rest: Duration) -> Self {
        let look_at = Instant::now() + rest;
        Self { special, facts: None, useless: None, building: None, look_at, rest: FIRST_REST }
    }

    pub(crate) fn special(&self) -> &Special {
        &self.special
    }

    /// Builds an engine for the current table contents, and waits for it. `None` if it equals the
    /// general engine.
    pub(crate) fn build_now(
        &mut self,
        program: &Program,
        store: &mut Store,
    ) -> Result<Option<Library>, BuildError> {
        let facts = facts(&self.special.methods, store);
        let library = self.special.build(program, &facts)?;
        self.facts = library.is_some().then_some(facts);
        Ok(library)
    }

    /// Checks whether the engine in use is still valid, and whether another one is ready or should
    /// be built. Call it when the tables may have changed, before the next packet.
    pub(crate) fn attend(&mut self, program: &Arc<Program>, store: &mut Store) -> Change {
        if let Some(facts) = &self.facts
            && let Some(offload) = broken(facts, store)
        {
            let name = program.engines[program.main.index()].offloads[offload.index()].name.clone();
            self.facts = None;
            self.look_at = Instant::now() + self.rest;
            self.rest = (2 * self.rest).min(LONGEST_REST);
            (self.special.report)(&Specialisation::Withdrawn(name));
            return Change::Withdraw;
        }
        match &self.building {
            Some(building) => match building.library.try_recv() {
                Err(TryRecvError::Empty) => Change::None,
                result => {
                    let building = self.building.take().expect("it was there");
                    self.finish(building, result.unwrap_or(Ok(None)), store)
                }
            },
            None if Instant::now() >= self.look_at => {
                self.look_at = Instant::now() + BETWEEN_LOOKS;
                let facts = facts(&self.special.methods, store);
                let is_known =
                    [&self.facts, &self.useless].into_iter().flatten().any(|own| *own == facts);
                if !facts.is_empty() && !is_known {
                    self.begin(program, facts);
                }
                Change::None
            }
            None => Change::None,
        }
    }

    fn begin(&mut self, program: &Arc<Program>, facts: Facts) {
        let (sender, library) = sync_channel(1);
        let (mut special, program) = (self.special.clone(), Arc::clone(program));
        let wanted = facts.clone();
        // Packets have priority. Only the compiler gets the lowest priority: a thread with it could
        // keep the memory and the sockets of a killed process for seconds.
        special.options.yields = true;
        let build = move || {
            let _ = sender.send(special.build(&program, &wanted));
        };
        // Without a thread there is no specialised engine, and the next look tries again.
        if std::thread::Builder::new().name("specialise".into()).spawn(build).is_ok() {
            self.building = Some(Building { facts, begun: Instant::now(), library });
        }
    }

    fn finish(
        &mut self,
        building: Building,
        result: Result<Option<Library>, BuildError>,
        store: &mut Store,
    ) -> Change {
        match result {
            Ok(Some(library)) if broken(&building.facts, store).is_none() => {
                self.facts = Some(building.facts);
                (self.special.report)(&Specialisation::Used(building.begun.elapsed()));
                Change::Use(library)
            }
            // The tables have changed since the build began.
            Ok(Some(_)) => Change::None,
            Ok(None) => {
                self.useless = Some(building.facts);
                Change::None
            }
            Err(error) => {
                self.special.methods.clear();
                (self.special.report)(&Specialisation::Failed(error));
                Change::None
            }
        }
    }
}
