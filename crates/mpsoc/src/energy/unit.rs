//! The hardware units of offloads, and the events of a call in them.

use wireloom_bits::Bits;
use wireloom_offloads::Config;
use wireloom_offloads::registry::{self, Method};
use wireloom_sim::Clock;

use crate::element::ObjectSpec;

/// The number of bits of a key that a level of a trie decides (assumed).
const STRIDE_BITS: u32 = 8;
/// The number of places in which a key of an exact table can be (assumed).
const KEY_PLACES: u32 = 2;
/// The number of bits of an entry without a value type: two counts, or the state of a meter
/// (assumed).
const STATE_BITS: u32 = 128;
/// The number of bits of the registers between two stages of a pipeline (assumed).
const STAGE_BITS: u32 = 256;

/// A unit: its memory, and the work of each method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    pub contents: Contents,
    /// The work of each method, by method number.
    pub methods: Vec<Work>,
}

/// The memory of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// No memory.
    #[default]
    Nothing,
    /// A memory of the size that the machine file gives to search engines.
    Search,
    /// A number of entries of equal width.
    Entries {
        count: u64,
        /// The width of an entry in bits.
        bits: u32,
    },
}

/// The events of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of entries that the call reads.
    pub reads: u64,
    /// The number of entries that the call writes.
    pub writes: u64,
    /// The number of logical operations of 32 bits.
    pub steps: u64,
    /// The number of entries that the call reads for each byte of its packet.
    pub reads_a_byte: u64,
    /// The number of logical operations for each word of four bytes of its packet.
    pub steps_a_word: u64,
}

/// The memory of a unit, and the work of a method.
type Model = (Contents, fn(&Config, &Method) -> Work);

/// Returns the unit of an offload.
type UnitOf = fn(&Config) -> Model;

/// The kinds with their own units. Other kinds have entries if they have a size, and logic
/// otherwise.
const KINDS: &[(&str, UnitOf)] = &[
    // A trie.
    ("lpm", |_| {
        (Contents::Search, |config, _| {
            let reads = width(&config.key).div_ceil(STRIDE_BITS).into();
            Work { reads, ..Work::default() }
        })
    }),
    // An automaton.
    ("match", |_| (Contents::Search, |_, _| Work { reads_a_byte: 1, ..Work::default() })),
    ("bloom", |config| {
        let count = number(config, "size").unwrap_or_default().div_ceil(32).max(1);
        (Contents::Entries { count, bits: 32 }, |config, method| {
            let reads = number(config, "hashes").unwrap_or(1);
            let writes = u64::from(method.state.has_effect()) * reads;
            Work { reads, writes, ..Work::default() }
        })
    }),
];

/// The unit of a kind that is not in [`KINDS`].
fn other(config: &Config) -> Model {
    let Some(size) = number(config, "size") else {
        return (Contents::Nothing, |_, method| Work {
            steps: method.args.len().max(1) as u64,
            steps_a_word: 1,
            ..Work::default()
        });
    };
    let (key, value) = (width(&config.key), width(&config.value));
    let bits = if value == 0 { key + STATE_BITS } else { key + value };
    (Contents::Entries { count: size.max(1), bits: bits.max(1) }, |config, method| {
        let has_key = registry::kind(&config.kind).is_some_and(|kind| kind.has_key);
        let reads = if has_key { KEY_PLACES.into() } else { 1 };
        Work { reads, writes: method.state.has_effect().into(), ..Work::default() }
    })
}

fn width(layout: &Option<registry::Layout>) -> u32 {
    layout.as_ref().map_or(0, registry::Layout::width)
}

fn number(config: &Config, name: &str) -> Option<u64> {
    config.params.get(name).map(Bits::low_u64)
}

impl Unit {
    /// The unit of an offload.
    ///
    /// # Panics
    /// There is no kind of that name.
    pub fn of(config: &Config) -> Self {
        let kind = registry::kind(&config.kind).expect("a verified program");
        let own = KINDS.iter().find(|(name, _)| *name == kind.name);
        let (contents, work) = own.map_or_else(|| other(config), |(_, model)| model(config));
        let methods = kind.methods.iter().map(|method| work(config, method));
        Self { contents, methods: methods.collect() }
    }

    /// The pipeline of a called engine at a clock: a register after each stage. Memories inside are
    /// not counted.
    pub fn pipeline(times: &ObjectSpec, clock: Clock) -> Self {
        let stages = (times.latency.0 / clock.cycles(1).0.max(1)).max(1);
        let contents = Contents::Entries { count: stages, bits: STAGE_BITS };
        Self { contents, methods: vec![Work { writes: stages, ..Work::default() }] }
    }

    /// The numbers of entries that calls have read and written, and of their logical operations.
    /// `done` has, for each method, the number of calls and of bytes that they worked on.
    pub(super) fn totals(&self, done: &[[u64; 2]]) -> [u64; 3] {
        let mut totals = [0; 3];
        for (work, [calls, bytes]) in self.methods.iter().zip(done) {
            totals[0] += work.reads * calls + work.reads_a_byte * bytes;
            totals[1] += work.writes * calls;
            totals[2] += work.steps * calls + work.steps_a_word * bytes.div_ceil(4);
        }
        totals
    }
}
