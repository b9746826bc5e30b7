//! Contexts of a microengine.

/// What a context does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It never runs, or no more.
    Stopped,
    /// It waits for its turn.
    Ready,
    /// It has the engine.
    Running,
    /// It waits for signals.
    Waiting,
}

/// A context.
#[derive(Clone, Debug)]
pub struct Context {
    /// The address of its next instruction.
    pub pc: u16,
    /// What it does.
    pub state: State,
    /// Signals that have come.
    pub signals: u16,
    /// Signals for which it waits: all, or any of them.
    pub mask: u16,
    /// Whether any will do.
    pub any: bool,
    /// Instructions that it executed.
    pub instructions: u64,
    /// How often it has given up the engine.
    pub swaps: u64,
    /// Cycles in which it waited for signals, waited for its turn, and had the engine.
    pub waited: [u64; 3],
    /// The instruction at which it gave up the engine last, and the cycle.
    pub left_at: u16,
    pub left_in: u64,
    last: u64,
    counted: Option<usize>,
}

impl Context {
    /// Creates a context at an address.
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

    /// Whether it waits and what it waits for has come.
    pub fn is_answered(&self) -> bool {
        let come = self.signals & self.mask;
        self.state == State::Waiting && if self.any { come != 0 } else { come == self.mask }
    }

    /// [`waited`](Self::waited) up to a cycle of the engine.
    pub fn waited_until(&self, cycle: u64) -> [u64; 3] {
        let mut waited = self.waited;
        if let Some(counted) = self.counted {
            waited[counted] += cycle.saturating_sub(self.last);
        }
        waited
    }

    /// Counts the cycles since its last change of state, up to a cycle of the engine.
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
