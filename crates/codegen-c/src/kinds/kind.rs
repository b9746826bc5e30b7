//! What the C code of an offload kind consists of.

use wireloom_offloads::{Config, Method};

use crate::call::Call;
use crate::ops::Operand;
use crate::tree::{Expr, Stmt, Type};

/// The C implementation of an offload kind.
pub struct KindInC {
    /// The kind's name.
    pub name: &'static str,
    /// The runtime header with the kind's functions: its name and its text. Programs that use the
    /// kind include it.
    pub header: Option<(&'static str, &'static str)>,
    /// Returns how the host evaluates a method that is a function, if the kind has any. The
    /// arguments are no expressions with operators.
    pub function: fn(&Config, &Method, &[Operand]) -> Option<Expr>,
    /// Writes a call for the host. Returns `None` for calls that the host's instance executes.
    pub call: fn(&Call<'_>) -> Option<Vec<Stmt>>,
    /// Returns how calls of an offload of the kind split into a request and a reply, or `None` if
    /// splitting does not pay off.
    pub split_phase: fn(&Config) -> Option<&'static dyn SplitPhase>,
    /// Returns an expression that changes whenever a call by another packet may have changed the
    /// reply of the method. The second argument is the address of the offload's slot. `None` if
    /// there is none.
    pub version: fn(&Method, Expr) -> Option<Expr>,
    /// Returns how a hardware thread of a 32-bit processor executes a method itself, or `None` if
    /// it sends a call.
    pub by_thread: fn(&Method) -> Option<ByThread>,
}

/// Makes the expression of a call that a hardware thread executes itself, from the current packet
/// (a pointer) and the arguments.
pub type ByThread = fn(Expr, Vec<Expr>) -> Expr;

impl KindInC {
    /// A kind without any C code of its own.
    pub(super) const PLAIN: Self = Self {
        name: "",
        header: None,
        function: |_, _, _| None,
        call: |_| None,
        split_phase: |_| None,
        version: |_, _| None,
        by_thread: |_| None,
    };
}

/// A kind whose calls access memory that is likely to be far away, so that a prefetch pays off.
pub trait SplitPhase {
    /// Fetches the first memory that a call will read.
    fn fetch(&self, access: &Access<'_>) -> Stmt;

    /// Returns how the call proceeds from one memory access to the next, if it has several.
    fn search(&self) -> Option<&'static dyn Search> {
        None
    }

    /// Whether the memory is only fetched if the call's condition holds, if that is known. A fetch
    /// changes nothing, so it need not be, and one access does not pay for a branch.
    fn is_guarded(&self) -> bool {
        false
    }

    /// Whether this is how calls of a method split; other methods do not split.
    fn suits(&self, _method: &Method) -> bool {
        true
    }
}

/// A call that reads memory several times and can pause before each access.
pub trait Search {
    /// The type of the state of a search.
    fn state(&self) -> Type;

    /// The number of pauses of a search after the first fetch.
    fn pauses(&self, config: &Config) -> usize;

    /// Fetches the first memory and notes something in the state. `None`: [`SplitPhase::fetch`] is
    /// all.
    fn begin(&self, _access: &Access<'_>, _state: &Expr) -> Option<Stmt> {
        None
    }

    /// Returns the pointer in the state that is set at pause 0, if the call cannot do without that
    /// pause. Threads that pass through ordered steps in their turn skip pauses.
    fn begun(&self, _state: &Expr) -> Option<Expr> {
        None
    }

    /// Returns a condition that says at run time whether a search makes use of pause number
    /// `pause`; `None` if it always does. `slot` is the address of the offload's slot.
    fn is_needed(&self, _slot: &Expr, _config: &Config, _pause: usize) -> Option<Expr> {
        None
    }

    /// Continues after pause number `pause`, counted from 0, up to the next fetch, if there is one.
    fn advance(&self, access: &Access<'_>, pause: usize, state: &Expr) -> Option<Stmt>;

    /// Whether some searches need more accesses than there are pauses. Threads whose search does wait
    /// for another round before each.
    fn may_go_further(&self, _config: &Config) -> bool {
        false
    }

    /// Returns an expression that says whether a search that has made all its pauses needs another
    /// access, and then fetches it. Only of searches that [may go further](Self::may_go_further).
    fn further(&self, _access: &Access<'_>, _state: &Expr) -> Expr {
        unreachable!("the search goes no further")
    }
}

/// A split-phase call: its key, and its offload.
pub struct Access<'a> {
    /// The address of the offload's slot.
    pub slot: Expr,
    /// The offload's configuration.
    pub config: &'a Config,
    /// The method.
    pub method: &'static Method,
    /// The first argument.
    pub key: Operand,
}

/// Arrays and counters of at most this many bytes are assumed to be in the first-level cache:
/// waiting for them would cost more than it hides.
const NEAR_BYTES: u64 = 8 << 10;

/// Whether an offload with elements of this many words is likely to be far away in memory.
pub(super) fn is_far(config: &Config, words: u32) -> bool {
    config.param("size").low_u64() * 8 * u64::from(words) > NEAR_BYTES
}
