//! The thread manager: threads, monitors, conditions, semaphores, priorities.
//!
//! Every thread of a program has a hardware thread to itself (section 4.2: "no multiplexing of
//! software threads onto hardware threads is done"). A thread that is created while no hardware
//! thread is free begins when one becomes free. Threads that wait for the same event are served by
//! priority, equals in the order of arrival.

use std::collections::{BTreeMap, BTreeSet};

/// A thread of a program, numbered from zero in the order of creation.
pub type Thread = u32;

/// A hardware thread, numbered through all processors.
pub type Hardware = u32;

/// A request of a thread. Programs name monitors, conditions and semaphores by arbitrary numbers,
/// such as the address of the object that a monitor guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Creates a thread. Returns its number.
    Create {
        /// The address of the thread's function.
        entry: u32,
        /// The function's first argument.
        argument: u32,
        /// The priority; a greater one is more urgent.
        priority: u32,
    },
    /// Ends this thread. Has no reply.
    Exit {
        /// The value for the thread that joins this one.
        value: u32,
    },
    /// Waits until a thread has ended. Returns its exit value.
    Join {
        /// The thread to join.
        thread: Thread,
    },
    /// Enters a monitor. Entries nest and need as many leaves. Returns zero.
    Enter { monitor: u32 },
    /// Leaves a monitor. Returns zero.
    Leave { monitor: u32 },
    /// Leaves a monitor completely, waits for a notification, then enters it as often as before.
    /// Returns zero.
    Wait { condition: u32, monitor: u32 },
    /// Wakes one thread that waits for a condition, if there is one. Returns the number of woken
    /// threads.
    Notify { condition: u32, monitor: u32 },
    /// Wakes all threads that wait for a condition. Returns the number of woken threads.
    NotifyAll { condition: u32, monitor: u32 },
    /// Takes a unit of a semaphore (P); semaphores begin with 0 units. Returns zero.
    Acquire { semaphore: u32 },
    /// Adds units to a semaphore (V). Returns zero.
    Release {
        semaphore: u32,
        /// The number of units.
        count: u32,
    },
    /// Changes the priority of the thread. Returns the previous one.
    SetPriority {
        /// The priority; a greater one is more urgent.
        priority: u32,
    },
    /// Returns the number of the thread.
    Identify,
}

/// The method of [`Request::Exit`].
pub const EXIT: u32 = 1;

/// The number of argument words of a method of the thread manager; `None` if there is no such
/// method. Methods are numbered in the order of [`Request`].
pub fn argument_words(method: u32) -> Option<u32> {
    const WORDS: [u32; 12] = [3, 1, 1, 1, 1, 2, 2, 2, 1, 2, 1, 0];
    WORDS.get(method as usize).copied()
}

impl Request {
    /// Decodes a call of the thread manager; `None` if there is no such method, or the number of
    /// words is wrong.
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

/// An immediate effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A hardware thread gets the reply that it waits for.
    Answer {
        hardware: Hardware,
        /// The value of the reply.
        value: u32,
    },
    /// A hardware thread begins a thread.
    Begin {
        hardware: Hardware,
        /// The thread of the program.
        thread: Thread,
        /// The address of the thread's function.
        entry: u32,
        /// The function's first argument.
        argument: u32,
    },
    /// A hardware thread becomes free.
    Free { hardware: Hardware },
}

/// A request that the program must not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// A request from a hardware thread that runs no thread.
    #[error("hardware thread {0} runs no thread that the thread manager knows")]
    NoThread(Hardware),
    /// A request that names a thread that was never created.
    #[error("there is no thread {0}")]
    Unknown(Thread),
    /// A thread joins itself.
    #[error("thread {0} joins itself")]
    OwnEnd(Thread),
    /// A thread uses a monitor that it has not entered.
    #[error("thread {thread} is not in monitor {monitor:#x}")]
    NotInside { thread: Thread, monitor: u32 },
    /// A thread ends inside monitors, which no other thread could then enter.
    #[error("thread {thread} ends in monitor {monitor:#x}")]
    EndsInside {
        thread: Thread,
        /// One of the monitors.
        monitor: u32,
    },
    /// A semaphore gets more units than it can hold.
    #[error("semaphore {0:#x} has more than 4,294,967,295 units")]
    Overflow(u32),
}

/// The event that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A free hardware thread.
    Hardware,
    /// The end of another thread.
    End(Thread),
    /// A monitor that another thread has entered.
    Monitor(u32, Thread),
    Condition(u32),
    Semaphore(u32),
}

/// Threads that wait for one event: the most urgent first, equals in the order of arrival.
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
    /// The thread inside, and the number of its entries.
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
    /// For a thread that waits for a condition: the number of its entries into the monitor.
    entered: u32,
    joining: Queue,
}

#[derive(Clone, Debug)]
pub struct ThreadManager {
    threads: Vec<Known>,
    running: BTreeMap<Hardware, Thread>,
    free: BTreeSet<Hardware>,
    pending: Queue,
    monitors: BTreeMap<u32, Monitor>,
    conditions: BTreeMap<u32, Queue>,
    semaphores: BTreeMap<u32, (u32, Queue)>,
    /// A counter of entries into queues.
    order: u64,
}

impl ThreadManager {
    /// Creates a manager of hardware threads, the first of which runs the program's first thread,
    /// number 0.
    ///
    /// # Panics
    /// There is no hardware thread.
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

    /// The waiting threads with their events, for the report of a program that is stuck.
    pub fn waits(&self) -> impl Iterator<Item = (Thread, Waiting)> + '_ {
        (0..)
            .zip(&self.threads)
            .filter_map(|(thread, known)| known.waiting.map(|waiting| (thread, waiting)))
    }

    /// Handles a request of a hardware thread. The thread waits for the reply.
    ///
    /// # Errors
    /// [`Misuse`]; in this case nothing has changed.
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
            Request::Notify { condition, monitor } => {
                Some(self.notify(thread, condition, monitor, 1)?)
            }
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

    fn create(
        &mut self,
        entry: u32,
        argument: u32,
        priority: u32,
        effects: &mut Vec<Effect>,
    ) -> u32 {
        let thread = self.threads.len() as Thread;
        self.threads.push(Known::new(State::Pending { entry, argument }, priority));
        let (priority, order) = self.wait(thread, Waiting::Hardware);
        self.pending.push(priority, order, thread);
        self.begin_pending(effects);
        thread
    }

    /// Starts pending threads while hardware threads are free.
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

    /// Enters a monitor `times` times if it is free; otherwise the thread waits. Returns whether
    /// the thread has entered.
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

    /// The number of a thread's entries into a monitor.
    fn inside(&self, thread: Thread, monitor: u32) -> Result<u32, Misuse> {
        let owner = self.monitors.get(&monitor).and_then(|state| state.owner);
        let times = owner.filter(|(owner, _)| *owner == thread).map(|(_, times)| times);
        times.ok_or(Misuse::NotInside { thread, monitor })
    }

    /// Sets the number of the thread's remaining entries. At 0, the next waiting thread enters.
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

    /// Wakes up to `most` threads that wait for the condition. They wait for the monitor, because
    /// the notifying thread is still inside.
    fn notify(
        &mut self,
        thread: Thread,
        condition: u32,
        monitor: u32,
        most: u32,
    ) -> Result<u32, Misuse> {
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

    fn release(
        &mut self,
        semaphore: u32,
        count: u32,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Misuse> {
        let (units, queue) = self.semaphores.entry(semaphore).or_default();
        // Waiting threads take their units at once.
        let taken = count.min(u32::try_from(queue.0.len()).unwrap_or(u32::MAX));
        *units = units.checked_add(count - taken).ok_or(Misuse::Overflow(semaphore))?;
        let woken: Vec<Thread> = (0..taken).filter_map(|_| queue.pop()).collect();
        for thread in woken {
            self.answer(thread, 0, effects);
        }
        Ok(())
    }

    /// Begins the wait of a thread. Returns its priority and its position among equals.
    fn wait(&mut self, thread: Thread, waiting: Waiting) -> (u32, u64) {
        let known = &mut self.threads[thread as usize];
        known.waiting = Some(waiting);
        self.order += 1;
        (known.priority, self.order)
    }

    /// Ends the wait of a thread.
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
