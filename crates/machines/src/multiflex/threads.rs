//! The thread manager: threads, monitors, conditions, semaphores, priorities.
//!
//! Every thread of a program has a hardware thread to itself (section 4.2: "no multiplexing of software threads onto hardware threads is done"); one that is
//! created while none is free begins when one is. Whoever waits for the same thing is served by priority, among equals in the order of coming.

use std::collections::{BTreeMap, BTreeSet};

/// A thread of a program, numbered from zero in the order of creation.
pub type Thread = u32;

/// A hardware thread, numbered through all processors.
pub type Hardware = u32;

/// What a thread asks for. Monitors, conditions and semaphores are named by any number that the program chooses, such as the address of the
/// object that a monitor guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A new thread. Answers its number.
    Create {
        /// Where it begins.
        entry: u32,
        /// What it finds in its first argument.
        argument: u32,
        /// Greater is more urgent.
        priority: u32,
    },
    /// This thread ends. No answer.
    Exit {
        /// For who joins it.
        value: u32,
    },
    /// Waits until a thread has ended. Answers its value.
    Join {
        /// Which.
        thread: Thread,
    },
    /// Enters a monitor, as often as wanted (it must be left as often). Answers zero.
    Enter {
        /// Which.
        monitor: u32,
    },
    /// Leaves a monitor. Answers zero.
    Leave {
        /// Which.
        monitor: u32,
    },
    /// Leaves a monitor altogether, waits for a notification, enters again as often. Answers zero.
    Wait {
        /// For what.
        condition: u32,
        /// In which.
        monitor: u32,
    },
    /// Wakes one that waits for a condition, if there is one. Answers how many were woken.
    Notify {
        /// Which.
        condition: u32,
        /// In which.
        monitor: u32,
    },
    /// Wakes all that wait for a condition. Answers how many were woken.
    NotifyAll {
        /// Which.
        condition: u32,
        /// In which.
        monitor: u32,
    },
    /// Takes a unit of a semaphore (P), which begins with none. Answers zero.
    Acquire {
        /// Which.
        semaphore: u32,
    },
    /// Gives units to a semaphore (V). Answers zero.
    Release {
        /// Which.
        semaphore: u32,
        /// How many.
        count: u32,
    },
    /// Changes the priority of the thread. Answers the one before.
    SetPriority {
        /// Greater is more urgent.
        priority: u32,
    },
    /// Answers the number of the thread.
    Identify,
}

/// The method of [`Request::Exit`].
pub const EXIT: u32 = 1;

/// Words of arguments that a method of the thread manager has; nothing if there is no such method. Methods are numbered in the order of [`Request`].
pub fn argument_words(method: u32) -> Option<u32> {
    const WORDS: [u32; 12] = [3, 1, 1, 1, 1, 2, 2, 2, 1, 2, 1, 0];
    WORDS.get(method as usize).copied()
}

impl Request {
    /// What a call of the thread manager asks for; nothing if there is no such method, or it has another number of words.
    pub fn decode(method: u32, words: &[u32]) -> Option<Self> {
        Some(match (method, words) {
            (0, &[entry, argument, priority]) => Self::Create { entry, argument, priority },
            (EXIT, &[value]) => Self::Exit { value },
            (2, &[thread]) => Self::Join { thread },
            (3, &[monitor]) => Self::Enter { monitor },
            (4, &[monitor]) => Self::Leave { monitor },
            (5, &[condition, monitor]) => Self::Wait { condition, monitor },
            (6, &[condition, monitor]) => Self::Notify { condition, monitor },
            (7, &[condition, monitor]) => Self::NotifyAll { condition, monitor },
            (8, &[semaphore]) => Self::Acquire { semaphore },
            (9, &[semaphore, count]) => Self::Release { semaphore, count },
            (10, &[priority]) => Self::SetPriority { priority },
            (11, &[]) => Self::Identify,
            _ => return None,
        })
    }
}

/// What is to be done about a request, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A hardware thread gets the answer that it waits for.
    Answer {
        /// Which.
        hardware: Hardware,
        /// What.
        value: u32,
    },
    /// A hardware thread begins a thread.
    Begin {
        /// Which.
        hardware: Hardware,
        /// What it runs.
        thread: Thread,
        /// Where it begins.
        entry: u32,
        /// What it finds in its first argument.
        argument: u32,
    },
    /// A hardware thread has nothing to run.
    Free {
        /// Which.
        hardware: Hardware,
    },
}

/// What no thread may ask for: its program is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The hardware thread runs no thread.
    #[error("hardware thread {0} runs no thread that the thread manager knows")]
    NoThread(Hardware),
    /// A thread that was never created.
    #[error("there is no thread {0}")]
    Unknown(Thread),
    /// A thread that waits for its own end.
    #[error("thread {0} joins itself")]
    OwnEnd(Thread),
    /// A monitor that the thread is not in.
    #[error("thread {thread} is not in monitor {monitor:#x}")]
    NotInside {
        /// Who.
        thread: Thread,
        /// What.
        monitor: u32,
    },
    /// A thread that ends in monitors, which nobody could enter any more.
    #[error("thread {thread} ends in monitor {monitor:#x}")]
    EndsInside {
        /// Who.
        thread: Thread,
        /// One of them.
        monitor: u32,
    },
    /// More units than a semaphore can have.
    #[error("semaphore {0:#x} has more than 4,294,967,295 units")]
    Overflow(u32),
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A free hardware thread.
    Hardware,
    /// Another thread's end.
    End(Thread),
    /// A monitor, in which there is a thread.
    Monitor(u32, Thread),
    /// A condition.
    Condition(u32),
    /// A semaphore.
    Semaphore(u32),
}

/// Threads that wait for one thing: the most urgent first, among equals in the order of coming.
#[derive(Clone, Debug, Default)]
struct Queue(BTreeSet<(std::cmp::Reverse<u32>, u64, Thread)>);

impl Queue {
    fn push(&mut self, priority: u32, order: u64, thread: Thread) {
        self.0.insert((std::cmp::Reverse(priority), order, thread));
    }

    fn pop(&mut self) -> Option<Thread> {
        self.0.pop_first().map(|(_, _, thread)| thread)
    }
}

#[derive(Clone, Debug, Default)]
struct Monitor {
    /// Who is in it, and how often it has entered.
    owner: Option<(Thread, u32)>,
    queue: Queue,
}

#[derive(Clone, Debug)]
enum State {
    Pending { entry: u32, argument: u32 },
    Running(Hardware),
    Ended(u32),
}

#[derive(Clone, Debug)]
struct Known {
    state: State,
    priority: u32,
    waiting: Option<Waiting>,
    /// Of one that waits for a condition: how often it had entered the monitor.
    entered: u32,
    joining: Queue,
}

/// The thread manager.
#[derive(Clone, Debug)]
pub struct ThreadManager {
    threads: Vec<Known>,
    running: BTreeMap<Hardware, Thread>,
    free: BTreeSet<Hardware>,
    pending: Queue,
    monitors: BTreeMap<u32, Monitor>,
    conditions: BTreeMap<u32, Queue>,
    semaphores: BTreeMap<u32, (u32, Queue)>,
    /// Counts arrivals in queues.
    order: u64,
}

impl ThreadManager {
    /// A manager of hardware threads, the first of which runs the program's first thread, number 0.
    ///
    /// # Panics
    /// If there is no hardware thread.
    pub fn new(hardware: impl IntoIterator<Item = Hardware>) -> Self {
        let mut free: BTreeSet<Hardware> = hardware.into_iter().collect();
        let first = free.pop_first().expect("a program has a hardware thread");
        Self {
            threads: vec![Known::new(State::Running(first), 0)],
            running: BTreeMap::from([(first, 0)]),
            free,
            pending: Queue::default(),
            monitors: BTreeMap::new(),
            conditions: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            order: 0,
        }
    }

    /// The thread that a hardware thread runs.
    pub fn thread(&self, hardware: Hardware) -> Option<Thread> {
        self.running.get(&hardware).copied()
    }

    /// Threads that wait, and for what: for the report of a program that is stuck.
    pub fn waits(&self) -> impl Iterator<Item = (Thread, Waiting)> + '_ {
        (0..).zip(&self.threads).filter_map(|(thread, known)| known.waiting.map(|waiting| (thread, waiting)))
    }

    /// A request of a hardware thread. Until it is answered the thread waits.
    ///
    /// # Errors
    /// [`Misuse`]; then nothing has changed.
    pub fn request(&mut self, hardware: Hardware, request: Request) -> Result<Vec<Effect>, Misuse> {
        let thread = self.thread(hardware).ok_or(Misuse::NoThread(hardware))?;
        let mut effects = Vec::new();
        let answer = match request {
            Request::Create { entry, argument, priority } => {
                Some(self.create(entry, argument, priority, &mut effects))
            }
            Request::Exit { value } => {
                self.exit(thread, hardware, value, &mut effects)?;
                None
            }
            Request::Join { thread: other } => self.join(thread, other)?,
            Request::Enter { monitor } => self.enter(thread, monitor, 1).then_some(0),
            Request::Leave { monitor } => {
                let times = self.inside(thread, monitor)?;
                self.leave(thread, monitor, times - 1, &mut effects);
                Some(0)
            }
            Request::Wait { condition, monitor } => {
                self.threads[thread as usize].entered = self.inside(thread, monitor)?;
                self.leave(thread, monitor, 0, &mut effects);
                let (priority, order) = self.wait(thread, Waiting::Condition(condition));
                self.conditions.entry(condition).or_default().push(priority, order, thread);
                None
            }
            Request::Notify { condition, monitor } => Some(self.notify(thread, condition, monitor, 1)?),
            Request::NotifyAll { condition, monitor } => {
                Some(self.notify(thread, condition, monitor, u32::MAX)?)
            }
            Request::Acquire { semaphore } => self.acquire(thread, semaphore).then_some(0),
            Request::Release { semaphore, count } => {
                self.release(semaphore, count, &mut effects)?;
                Some(0)
            }
            Request::SetPriority { priority } => {
                Some(std::mem::replace(&mut self.threads[thread as usize].priority, priority))
            }
            Request::Identify => Some(thread),
        };
        effects.extend(answer.map(|value| Effect::Answer { hardware, value }));
        Ok(effects)
    }

    fn create(&mut self, entry: u32, argument: u32, priority: u32, effects: &mut Vec<Effect>) -> u32 {
        let thread = self.threads.len() as Thread;
        self.threads.push(Known::new(State::Pending { entry, argument }, priority));
        let (priority, order) = self.wait(thread, Waiting::Hardware);
        self.pending.push(priority, order, thread);
        self.begin_pending(effects);
        thread
    }

    /// Threads that were created begin as long as there is hardware for them.
    fn begin_pending(&mut self, effects: &mut Vec<Effect>) {
        while !self.free.is_empty()
            && let Some(thread) = self.pending.pop()
            && let Some(hardware) = self.free.pop_first()
        {
            let known = &mut self.threads[thread as usize];
            if let State::Pending { entry, argument } = known.state {
                effects.push(Effect::Begin { hardware, thread, entry, argument });
            }
            known.state = State::Running(hardware);
            known.waiting = None;
            self.running.insert(hardware, thread);
        }
    }

    fn exit(
        &mut self,
        thread: Thread,
        hardware: Hardware,
        value: u32,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Misuse> {
        let inside = |monitor: &Monitor| monitor.owner.is_some_and(|(owner, _)| owner == thread);
        if let Some((&monitor, _)) = self.monitors.iter().find(|(_, monitor)| inside(monitor)) {
            return Err(Misuse::EndsInside { thread, monitor });
        }
        let known = &mut self.threads[thread as usize];
        known.state = State::Ended(value);
        let mut joining = std::mem::take(&mut known.joining);
        while let Some(other) = joining.pop() {
            self.answer(other, value, effects);
        }
        self.running.remove(&hardware);
        self.free.insert(hardware);
        effects.push(Effect::Free { hardware });
        self.begin_pending(effects);
        Ok(())
    }

    fn join(&mut self, thread: Thread, other: Thread) -> Result<Option<u32>, Misuse> {
        if thread == other {
            return Err(Misuse::OwnEnd(thread));
        }
        let known = self.threads.get(other as usize).ok_or(Misuse::Unknown(other))?;
        if let State::Ended(value) = known.state {
            return Ok(Some(value));
        }
        let (priority, order) = self.wait(thread, Waiting::End(other));
        self.threads[other as usize].joining.push(priority, order, thread);
        Ok(None)
    }

    /// Enters a monitor so many times, if nobody else is in it; else the thread waits.
    fn enter(&mut self, thread: Thread, monitor: u32, times: u32) -> bool {
        let state = self.monitors.entry(monitor).or_default();
        match &mut state.owner {
            None => state.owner = Some((thread, times)),
            Some((owner, entered)) if *owner == thread => *entered += times,
            Some((owner, _)) => {
                let owner = *owner;
                self.threads[thread as usize].entered = times;
                let (priority, order) = self.wait(thread, Waiting::Monitor(monitor, owner));
                self.monitors.entry(monitor).or_default().queue.push(priority, order, thread);
                return false;
            }
        }
        true
    }

    /// How often a thread has entered a monitor.
    fn inside(&self, thread: Thread, monitor: u32) -> Result<u32, Misuse> {
        let owner = self.monitors.get(&monitor).and_then(|state| state.owner);
        let times = owner.filter(|(owner, _)| *owner == thread).map(|(_, times)| times);
        times.ok_or(Misuse::NotInside { thread, monitor })
    }

    /// The thread has still entered so many times; with none, the next one enters.
    fn leave(&mut self, thread: Thread, monitor: u32, times: u32, effects: &mut Vec<Effect>) {
        if times > 0 {
            self.monitors.entry(monitor).or_default().owner = Some((thread, times));
            return;
        }
        let Some(mut state) = self.monitors.remove(&monitor) else { return };
        let Some(next) = state.queue.pop() else { return };
        state.owner = Some((next, self.threads[next as usize].entered));
        for (_, _, waiting) in &state.queue.0 {
            self.threads[*waiting as usize].waiting = Some(Waiting::Monitor(monitor, next));
        }
        self.monitors.insert(monitor, state);
        self.answer(next, 0, effects);
    }

    /// Those that are woken wait for the monitor, which the one that notifies is still in.
    fn notify(&mut self, thread: Thread, condition: u32, monitor: u32, most: u32) -> Result<u32, Misuse> {
        self.inside(thread, monitor)?;
        let mut woken = 0;
        while woken < most
            && let Some(next) = self.conditions.get_mut(&condition).and_then(Queue::pop)
        {
            let times = self.threads[next as usize].entered;
            self.enter(next, monitor, times);
            woken += 1;
        }
        if self.conditions.get(&condition).is_some_and(|queue| queue.0.is_empty()) {
            self.conditions.remove(&condition);
        }
        Ok(woken)
    }

    fn acquire(&mut self, thread: Thread, semaphore: u32) -> bool {
        let (units, _) = self.semaphores.entry(semaphore).or_default();
        if *units > 0 {
            *units -= 1;
            return true;
        }
        let (priority, order) = self.wait(thread, Waiting::Semaphore(semaphore));
        self.semaphores.entry(semaphore).or_default().1.push(priority, order, thread);
        false
    }

    fn release(&mut self, semaphore: u32, count: u32, effects: &mut Vec<Effect>) -> Result<(), Misuse> {
        let (units, queue) = self.semaphores.entry(semaphore).or_default();
        // Who waits takes a unit at once.
        let taken = count.min(u32::try_from(queue.0.len()).unwrap_or(u32::MAX));
        *units = units.checked_add(count - taken).ok_or(Misuse::Overflow(semaphore))?;
        let woken: Vec<Thread> = (0..taken).filter_map(|_| queue.pop()).collect();
        for thread in woken {
            self.answer(thread, 0, effects);
        }
        Ok(())
    }

    /// A thread waits from now on: its priority, and its place among equals.
    fn wait(&mut self, thread: Thread, waiting: Waiting) -> (u32, u64) {
        let known = &mut self.threads[thread as usize];
        known.waiting = Some(waiting);
        self.order += 1;
        (known.priority, self.order)
    }

    /// What a thread waited for is there.
    fn answer(&mut self, thread: Thread, value: u32, effects: &mut Vec<Effect>) {
        let known = &mut self.threads[thread as usize];
        known.waiting = None;
        if let State::Running(hardware) = known.state {
            effects.push(Effect::Answer { hardware, value });
        }
    }
}

impl Known {
    fn new(state: State, priority: u32) -> Self {
        Self { state, priority, waiting: None, entered: 0, joining: Queue::default() }
    }
}

#[cfg(test)]
mod tests;
