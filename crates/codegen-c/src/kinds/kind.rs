//! The interface of the C code of an offload kind.

use wireloom_offloads::{Config, Layout, Method};

use crate::bpf::map::{Content, Map};
use crate::call::Call;
use crate::ops::Operand;
use crate::tree::{Expr, Stmt, Type};
use crate::types::Model;

/// The C implementation of an offload kind.
pub struct KindInC {
    pub name: &'static str,
    /// The runtime header with the kind's functions: its name and its text. Programs that use the
    /// kind include it.
    pub header: Option<(&'static str, &'static str)>,
    /// Returns the expression with which the host evaluates a method that is a function, if the
    /// kind has one. Arguments are never expressions with operators.
    pub function: fn(&Config, &Method, &[Operand]) -> Option<Expr>,
    /// Writes a call for the host. Returns `None` for calls that the host's instance executes.
    pub call: fn(&Call<'_>) -> Option<Vec<Stmt>>,
    /// Returns how calls of an offload of the kind split into a request and a reply, or `None` if
    /// splitting does not pay off.
    pub split_phase: fn(&Config) -> Option<&'static dyn SplitPhase>,
    /// Returns an expression that changes whenever a call by another packet may have changed the
    /// reply of the method. The second argument is the address of the offload's slot. Returns
    /// `None` if there is no such expression.
    pub version: fn(&Method, Expr) -> Option<Expr>,
    /// Returns how a hardware thread of a 32-bit processor executes a method itself, or `None` if
    /// it sends a call.
    pub by_thread: fn(&Method) -> Option<ByThread>,
    /// Returns how the lanes of a vector call a method, or `None` if they cannot.
    pub in_lanes: fn(&Config, &Method) -> Option<InLanes>,
    /// How programs in the Linux kernel use the kind.
    pub in_kernel: InKernel,
}

/// Builds the expression of a call that a hardware thread executes itself, from the current packet
/// (a pointer) and the arguments.
pub type ByThread = fn(Expr, Vec<Expr>) -> Expr;

impl KindInC {
    /// A kind without C code.
    pub(super) const PLAIN: Self = Self {
        name: "",
        header: None,
        function: |_, _, _| None,
        call: |_| None,
        split_phase: |_| None,
        version: |_, _| None,
        by_thread: |_| None,
        in_lanes: |_, _| None,
        in_kernel: InKernel::NONE,
    };
}

/// A call that the lanes of a vector execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InLanes {
    /// Searches for the longest prefix of the first argument.
    Search,
    /// Reads the element at the first argument, which has this number of words.
    Read { words: usize },
    /// Adds a packet and its bytes to the counter at the first argument, which has this number of
    /// words.
    Count { words: usize },
    /// Shortens the packet to the first argument.
    Truncate,
}

/// An offload kind in programs of the Linux kernel.
pub struct InKernel {
    /// The runtime header with the kind's functions.
    pub header: Option<&'static str>,
    /// Returns the content of an offload's map, or `None` if it has no map. The second argument
    /// says whether packets change the offload.
    pub map: fn(&Config, bool) -> Option<Content>,
    /// Returns whether programs can call a method.
    pub calls: fn(&Method) -> bool,
    /// Whether programs evaluate the methods that are [functions](KindInC::function).
    pub evaluates: bool,
    /// Returns why a configuration of the kind prevents a call that programs can make otherwise.
    pub refusal: fn(&Config, &Method) -> Option<String>,
    /// Writes a call that is not refused.
    pub call: fn(&KernelCall<'_>) -> Option<Vec<Stmt>>,
}

impl InKernel {
    /// A kind that programs in the kernel cannot use.
    pub(super) const NONE: Self = Self {
        header: None,
        map: |_, _| None,
        calls: |_| false,
        evaluates: false,
        refusal: |_, _| None,
        call: |_| None,
    };
}

/// A call in a program of the Linux kernel.
pub struct KernelCall<'a> {
    pub call: Call<'a>,
    /// The index of the offload in the engine.
    pub offload: usize,
    /// The offload's map, if it has one.
    pub map: Option<&'a Map>,
}

/// Returns the number of words of an offload's values in the kernel.
pub(super) fn value_words(config: &Config) -> u32 {
    Model::Bits64.words(config.value.as_ref().map_or(1, Layout::width)).max(1)
}

/// Returns the address of a constant object of a structure.
pub(super) fn object(tag: &str, fields: Vec<Expr>) -> Expr {
    Expr::Object(Type::structure(tag).constant(), fields).address()
}

/// A kind whose calls access memory that is likely to be far away, so that a prefetch pays off.
pub trait SplitPhase {
    /// Fetches the first memory that a call will read.
    fn fetch(&self, access: &Access<'_>) -> Stmt;

    /// Returns how the call proceeds from one memory access to the next, if it has several.
    fn search(&self) -> Option<&'static dyn Search> {
        None
    }

    /// Returns whether to fetch the memory only if the call's condition is known to hold. A fetch
    /// changes nothing, so that is optional, and one access is not worth a branch.
    fn is_guarded(&self) -> bool {
        false
    }

    /// Returns whether calls of this method split. Other methods do not.
    fn suits(&self, _method: &Method) -> bool {
        true
    }
}

/// A call that reads memory several times and can pause before each access.
pub trait Search {
    /// Returns the type of a search's state.
    fn state(&self) -> Type;

    /// Returns the number of pauses of a search after the first fetch.
    fn pauses(&self, config: &Config) -> usize;

    /// Fetches the first memory and initialises the state. `None`: [`SplitPhase::fetch`] does
    /// everything.
    fn begin(&self, _access: &Access<'_>, _state: &Expr) -> Option<Stmt> {
        None
    }

    /// Returns the pointer in the state that pause 0 sets, if the call depends on that pause.
    /// Threads that pass through ordered steps in their turn skip pauses.
    fn begun(&self, _state: &Expr) -> Option<Expr> {
        None
    }

    /// Returns the run-time condition under which a search needs pause number `pause`. Returns
    /// `None` if it always does. `slot` is the address of the offload's slot.
    fn is_needed(&self, _slot: &Expr, _config: &Config, _pause: usize) -> Option<Expr> {
        None
    }

    /// Continues after pause number `pause`, counted from 0, up to the next fetch, if there is one.
    fn advance(&self, access: &Access<'_>, pause: usize, state: &Expr) -> Option<Stmt>;

    /// Returns whether some searches need more accesses than there are pauses. Threads with such a
    /// search wait for another round before each.
    fn may_go_further(&self, _config: &Config) -> bool {
        false
    }

    /// Returns an expression that says whether a search that has made all its pauses needs another
    /// access, and that fetches the access then. Only called for searches that [may go
    /// further](Self::may_go_further).
    fn further(&self, _access: &Access<'_>, _state: &Expr) -> Expr {
        unreachable!("the search goes no further")
    }
}

/// A split-phase call: its key, and its offload.
pub struct Access<'a> {
    /// The address of the offload's slot.
    pub slot: Expr,
    pub config: &'a Config,
    pub method: &'static Method,
    /// The first argument: the key.
    pub key: Operand,
}

/// Arrays and counters of at most this many bytes are assumed to be in the first-level cache:
/// waiting for them would cost more than it hides.
const NEAR_BYTES: u64 = 8 << 10;

/// Returns whether an offload with elements of this many words is likely to be far away in memory.
pub(super) fn is_far(config: &Config, words: u32) -> bool {
    config.param("size").low_u64() * 8 * u64::from(words) > NEAR_BYTES
}
