//! What a path through a step knows: the values of variables, and whether control has already left.

use std::rc::Rc;

use wireloom_ir::Value;

/// Whether control has left in some way on the way to the current point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// On no path.
    Never,
    /// On the paths on which this one-bit value is 1.
    If(Value),
    /// On every path.
    Always,
}

/// The ways in which control can leave a list of statements before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The step has ended.
    pub exited: Left,
    /// The function being inlined has returned.
    pub returned: Left,
    /// The innermost loop is done with.
    pub broke: Left,
    /// The innermost loop's iteration is done with.
    pub continued: Left,
}

impl Flow {
    /// Nothing has left.
    pub const STRAIGHT: Self =
        Self { exited: Left::Never, returned: Left::Never, broke: Left::Never, continued: Left::Never };

    /// Whether control, where it has left, has always left by ending the step: then nothing that those paths know
    /// matters any more.
    pub fn only_exits(&self) -> bool {
        [self.returned, self.broke, self.continued] == [Left::Never; 3]
    }

    /// The four ways, for code that treats them alike.
    pub fn ways(&self) -> [Left; 4] {
        [self.exited, self.returned, self.broke, self.continued]
    }

    /// The inverse of [`ways`](Self::ways).
    pub fn from_ways([exited, returned, broke, continued]: [Left; 4]) -> Self {
        Self { exited, returned, broke, continued }
    }

    /// Whether no path reaches the current point: what follows need not be lowered. (What variables hold can still
    /// matter: after a `return`, to the caller.)
    pub fn is_dead(&self) -> bool {
        self.ways().contains(&Left::Always)
    }
}

/// What a path knows.
#[derive(Clone, Debug)]
pub struct State {
    /// The leaves of each variable of the engine that has a value here.
    pub vars: Vec<Option<Rc<[Value]>>>,
    /// The leaves of the inlined function's answer.
    pub result: Rc<[Value]>,
    /// The step that `Next_step` names: 16 bits.
    pub next: Option<Value>,
    /// Where control may have gone.
    pub flow: Flow,
}
