//! The state of a path through a step: the values of variables, and whether control has already
//! left.

use std::rc::Rc;

use wireloom_ir::Value;

/// Whether control has left in one particular way before the current point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exited {
    /// Control has left on no path.
    Never,
    /// Control has left on the paths on which this one-bit value is 1.
    If(Value),
    /// Control has left on every path.
    Always,
}

/// The ways in which control can leave a list of statements before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The step has ended.
    pub exited: Exited,
    /// The function being inlined has returned.
    pub returned: Exited,
    /// The innermost loop has ended.
    pub broke: Exited,
    /// The current iteration of the innermost loop has ended.
    pub continued: Exited,
}

impl Flow {
    /// Control has not left.
    pub const STRAIGHT: Self = Self {
        exited: Exited::Never,
        returned: Exited::Never,
        broke: Exited::Never,
        continued: Exited::Never,
    };

    /// Returns whether control has left only by ending the step. The values of the paths that left
    /// then no longer matter.
    pub fn only_exits(&self) -> bool {
        [self.returned, self.broke, self.continued] == [Exited::Never; 3]
    }

    /// Returns the four ways, for code that handles them alike.
    pub fn ways(&self) -> [Exited; 4] {
        [self.exited, self.returned, self.broke, self.continued]
    }

    /// Creates a flow from its ways: the inverse of [`ways`](Self::ways).
    pub fn from_ways([exited, returned, broke, continued]: [Exited; 4]) -> Self {
        Self { exited, returned, broke, continued }
    }

    /// Returns whether no path reaches the current point, so that the code after it need not be
    /// lowered. (The values of variables may still matter: after a `return`, to the caller.)
    pub fn is_dead(&self) -> bool {
        self.ways().contains(&Exited::Always)
    }
}

/// The state of a path.
#[derive(Clone, Debug)]
pub struct State {
    /// The leaves of each variable of the engine that has a value here.
    pub vars: Vec<Option<Rc<[Value]>>>,
    /// The leaves of the inlined function's result.
    pub result: Rc<[Value]>,
    /// The number of the next step, assigned to `Next_step`: 16 bits.
    pub next: Option<Value>,
    /// The ways in which control may have left.
    pub flow: Flow,
}
