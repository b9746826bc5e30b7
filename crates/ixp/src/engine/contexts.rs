//! Contexts of a microengine.

/// The state of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The context has never run, or has ended.
    Stopped,
    /// The context waits for the engine.
    Ready,
    /// The context has the engine.
    Running,
    /// The context waits for signals.
    Waiting,
}

#[derive(Clone, Debug)]
pub struct Context {
    /// The address of the context's next instruction.
    pub pc: u16,
    pub state: State,
    /// A bit mask of the signals that have arrived.
    pub signals: u16,
    /// A bit mask of the signals that the context waits for.
    pub mask: u16,
    /// Whether one of these signals is enough.
    pub any: bool,
    /// The count of executed instructions.
    pub instructions: u64,
    /// The number of times that the context gave up the engine.
    pub swaps: u64,
    /// Cycles of waiting for signals, of waiting for the engine, and of having it.
    pub waited: [u64; 3],
    /// The instruction at which the context last gave up the engine, and the cycle.
    pub left_at: u16,
    pub left_in: u64,
    last: u64,
    counted: Option<usize>,
}

impl Context {
    /// Creates a context that starts at an address if it runs.
    pub fn new(pc: u16, runs: bool) -> Self {
        Self {
            pc,
            state: if runs { State::Ready } else { State::Stopped },
            signals: 0,
            mask: 0,
            any: false,
            instructions: 0,
            swaps: 0,
            waited: [0; 3],
            left_at: pc,
            left_in: 0,
            last: 0,
            counted: runs.then_some(1),
        }
    }

    /// Whether the context waits and the awaited signals have arrived.
    pub fn is_answered(&self) -> bool {
        let come = self.signals & self.mask;
        self.state == State::Waiting && if self.any { come != 0 } else { come == self.mask }
    }

    /// [`waited`](Self::waited) up to an engine cycle.
    pub fn waited_until(&self, cycle: u64) -> [u64; 3] {
        let mut waited = self.waited;
        if let Some(counted) = self.counted {
            waited[counted] += cycle.saturating_sub(self.last);
        }
        waited
    }

    /// Counts the cycles since the last change of state, up to an engine cycle.
    pub(super) fn since(&mut self, cycle: u64) {
        if let Some(counted) = self.counted {
            self.waited[counted] += cycle.saturating_sub(self.last);
        }
        self.last = cycle.max(self.last);
        self.counted = match self.state {
            State::Stopped => None,
            State::Waiting => Some(0),
            State::Ready => Some(1),
            State::Running => Some(2),
        };
    }
}
