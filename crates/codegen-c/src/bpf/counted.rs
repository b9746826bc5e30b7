//! The counts of a thread: of its steps, and of its calls of offloads.

use wireloom_ir::Engine;

use crate::tree::Expr;

/// The layout of a thread's counts: how often it began each step, then for each method of each
/// offload its calls and the calls that found an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number of steps.
    pub steps: usize,
    /// The index at which each offload's counts begin, and finally the number of all counts.
    pub offloads: Vec<usize>,
}

impl Counted {
    pub fn of(engine: &Engine) -> Self {
        let mut end = engine.steps.len();
        let begins = engine.offloads.iter().map(|offload| {
            let begin = end;
            end += 2 * offload.kind().map_or(0, |kind| kind.methods.len());
            begin
        });
        let mut offloads: Vec<usize> = begins.collect();
        offloads.push(end);
        Self { steps: engine.steps.len(), offloads }
    }

    /// Returns the number of counts.
    pub fn len(&self) -> usize {
        self.offloads.last().copied().unwrap_or_default()
    }

    /// Returns whether there are no counts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the count of a method's calls.
    pub(super) fn calls(&self, offload: usize, method: usize) -> Expr {
        counted(self.offloads[offload] + 2 * method)
    }

    /// Returns the count of a method's calls that found an entry.
    pub(super) fn found(&self, offload: usize, method: usize) -> Expr {
        counted(self.offloads[offload] + 2 * method + 1)
    }
}

/// Returns a count of the thread.
pub fn counted(index: usize) -> Expr {
    Expr::name("t").arrow("counted").at(index)
}
