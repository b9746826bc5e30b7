//! `timer`: times at which a step runs for a key.
//!
//! The step runs at a tick: the first one after the call of `set` that is not before the end of the
//! duration. The memory is that of an `exact` table without values, whose entries stay until the
//! step claims them.

use wireloom_bits::Bits;

use super::exact::table::{Ends, Table};
use super::visit_numbered;
use crate::lanes::{pack, words};
use crate::registry::{
    Delay, METHOD, Method, OffloadKind, ReplyType, SIZE, STEP, StateUse, U64, ValueType, param,
};
use crate::time::NEVER;
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Lifetime, RawView, Refused, StateRow};

/// The interface of `timer`.
pub const KIND: OffloadKind = OffloadKind {
    name: "timer",
    has_key: true,
    has_value: false,
    params: &[
        SIZE,
        param(
            "tick",
            U64,
            Some(1_000_000),
            (1, u64::MAX),
            "Nanoseconds from one tick to the next: times end at ticks.",
        ),
        STEP,
    ],
    methods: &[
        Method {
            name: "set",
            args: &[("key", ValueType::Key), ("nanoseconds", U64)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Change,
            reads_arrival: true,
            advances_time: true,
            delay: Delay::Variable,
            doc: "Lets the step run for the key after this time, in place of the time that was \
                  set before. False, without effect, if the key has no time and `size` keys have.",
            ..METHOD
        },
        Method {
            name: "cancel",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Change,
            reads_arrival: true,
            advances_time: true,
            delay: Delay::Variable,
            doc: "Ends the time of the key without running the step. Returns whether it had one.",
            ..METHOD
        },
        Method {
            name: "left",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::Record(&[("found", ValueType::Bool), ("nanoseconds", U64)]),
            reads_arrival: true,
            delay: Delay::Variable,
            doc: "Returns whether the key has a time, and how long it is until its tick.",
            ..METHOD
        },
        Method {
            name: "claim",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Change,
            reads_arrival: true,
            advances_time: true,
            delay: Delay::Variable,
            doc: "Ends the time of the key if it is over, and returns whether it is. The step of \
                  the timers begins with it.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: Some("claim"),
    doc: "Times at which a step of the engine runs, one for each key. `size` is the largest number \
          of keys that have a time. A time ends at a tick, so that many end together.",
    table: None,
    make: |config| Ok(Box::new(Timer::new(config)?)),
};

/// An instance of `timer`.
#[derive(Clone)]
pub struct Timer {
    key_width: u32,
    table: Table,
}

/// The times of an instance, for machines that keep them in their own memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The latest time of a call that changes a time, in nanoseconds.
    pub time_ns: u64,
    /// Each key with the time at which it was set and with the duration, both in nanoseconds, sorted
    /// by key.
    pub set: Vec<(Bits, u64, u64)>,
}

impl Timer {
    /// Creates an instance without times, as declared.
    ///
    /// # Errors
    /// If the key type is missing, or if there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let Some(key) = &config.key else {
            return Err(Refused("timers need a key type".into()));
        };
        let (key_width, size) = (key.width(), config.param("size").low_u64() as usize);
        let tick_ns = config.param("tick").low_u64();
        let ends = Ends::AtTicks { tick_ns, duration_ns: NEVER, is_claimed: true };
        Ok(Self { key_width, table: Table::new(words(key_width), 0, size, ends)? })
    }

    /// Returns a copy of the times.
    pub fn state(&self) -> State {
        let of =
            |entry| (self.key(entry), self.table.touched_ns(entry), self.table.duration_ns(entry));
        let mut set: Vec<_> = self.table.all().map(of).collect();
        set.sort_unstable();
        State { time_ns: self.table.time_ns, set }
    }

    /// Replaces the times.
    ///
    /// # Errors
    /// If a key does not have the declared width or occurs twice, if there are more keys than the
    /// declaration allows, or if a time was set later than the latest call. The times are then
    /// unchanged.
    pub fn set_state(&mut self, state: &State) -> Result<(), Refused> {
        let mut new = self.clone();
        new.table.clear();
        new.table.time_ns = state.time_ns;
        for (key, set_ns, duration_ns) in &state.set {
            let words = new.whole_key(key)?;
            if new.table.find(&words).is_some() || new.table.is_full() || *set_ns > state.time_ns {
                return Err(Refused(format!("the time of key {key} does not fit")));
            }
            new.set(&words, *set_ns, *duration_ns);
        }
        *self = new;
        Ok(())
    }

    fn key(&self, entry: u32) -> Bits {
        Bits::from_words(self.key_width, self.table.key(entry))
    }

    fn row(&self, entry: u32) -> StateRow {
        let at_ns = Bits::new(64, u128::from(self.table.deadline_ns(entry)));
        StateRow { key: EntryKey::Exact(self.key(entry)), fields: vec![("at_ns".into(), at_ns)] }
    }

    fn find(&self, key: &EntryKey) -> Result<Option<u32>, Refused> {
        let EntryKey::Exact(key) = key else {
            return Err(Refused("the key is not a whole key".into()));
        };
        Ok(self.table.find(&self.whole_key(key)?))
    }

    fn whole_key(&self, key: &Bits) -> Result<Vec<u64>, Refused> {
        if key.width() != self.key_width {
            let (given, width) = (key.width(), self.key_width);
            return Err(Refused(format!("a key of {given} bits where the timers have {width}")));
        }
        Ok(key.words().collect())
    }

    fn set(&mut self, key: &[u64], now_ns: u64, duration_ns: u64) -> bool {
        let entry = match self.table.find(key) {
            Some(entry) => {
                self.table.touch(entry);
                entry
            }
            None if self.table.is_full() => return false,
            None => {
                let entry = self.table.insert(key, std::iter::empty());
                self.table.begin(entry, now_ns);
                entry
            }
        };
        self.table.keep(entry, duration_ns);
        true
    }
}

impl Instance for Timer {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let key: Vec<u64> = args[0].words().collect();
        let entry = self.table.find(&key);
        if method == 2 {
            let now = self.table.time_ns.max(env.now_ns);
            let left = entry.map(|entry| self.table.deadline_ns(entry).saturating_sub(now));
            let nanoseconds = Bits::new(64, u128::from(left.unwrap_or(0)));
            return pack(&[Bits::bool(left.is_some()), nanoseconds]);
        }
        self.table.time_ns = self.table.time_ns.max(env.now_ns);
        let ended = match method {
            0 => return Bits::bool(self.set(&key, self.table.time_ns, args[1].low_u64())),
            1 => entry,
            _ => entry.filter(|entry| self.table.is_over(*entry)),
        };
        if let Some(entry) = ended {
            self.table.remove(entry);
        }
        Bits::bool(ended.is_some())
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        super::no_table("timer")
    }

    /// Ends the time of a key without running the step.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let entry = self.find(key)?;
        if let Some(entry) = entry {
            self.table.remove(entry);
        }
        Ok(entry.is_some())
    }

    fn entries(&self) -> Option<u64> {
        Some(u64::from(self.table.count()))
    }

    /// Returns the keys with the times at which their steps run, sorted by key.
    fn rows(&self) -> Vec<StateRow> {
        let mut rows: Vec<StateRow> = self.table.all().map(|entry| self.row(entry)).collect();
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        rows
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        Ok(self.find(key)?.map(|entry| self.row(entry)))
    }

    /// A time keeps its slot until it ends.
    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        let row = |slot| self.table.at(slot as u32).map(|entry| self.row(entry));
        visit_numbered(from, most, self.table.slots() as usize, row, visit)
    }

    fn lifetime(&self, key: &EntryKey) -> Option<Lifetime> {
        let entry = self.find(key).ok()??;
        let ends_ns = Some(self.table.deadline_ns(entry)).filter(|end| *end != NEVER);
        Some(Lifetime { touched_ns: self.table.touched_ns(entry), ends_ns })
    }

    fn raw(&mut self) -> Option<RawView> {
        Some(RawView::Exact(self.table.as_ptr().cast()))
    }

    fn next_due(&self) -> Option<u64> {
        self.table.next_due()
    }

    fn due(&mut self, now_ns: u64, visit: &mut dyn FnMut(&Bits)) {
        let width = self.key_width;
        self.table.due(now_ns, &mut |key| visit(&Bits::from_words(width, key)));
    }
}
