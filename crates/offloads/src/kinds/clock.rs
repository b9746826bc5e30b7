//! `clock`: the current time, which is the arrival time of the packet that started the thread.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{METHOD, Method, OffloadKind, ReplyType, StateUse, U64};
use crate::{Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `clock`.
pub const KIND: OffloadKind = OffloadKind {
    name: "clock",
    has_key: false,
    has_value: false,
    params: &[],
    methods: &[Method {
        name: "now",
        reply: ReplyType::One(U64),
        state: StateUse::Pure,
        reads_arrival: true,
        doc: "Returns the arrival time, in nanoseconds, of the packet that started the thread. It \
              is the same on every machine.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "The time of arrival.",
    table: None,
    make: |_| Ok(Box::new(Clock)),
};

/// An instance of `clock`. It has no state.
#[derive(Clone)]
pub struct Clock;

impl Instance for Clock {
    fn call(&mut self, _method: usize, _args: &[Bits], env: &mut Env<'_>) -> Bits {
        Bits::new(64, u128::from(env.now_ns))
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("clock")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("clock")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    #[test]
    fn now_is_the_arrival_time() {
        let mut bench = Bench::new("clock", None, None, &[]);
        bench.now = u64::MAX;
        assert_eq!(bench.call("now", &[]), Bits::new(64, u128::from(u64::MAX)));
        assert!(
            bench.instance.load(Entry { key: EntryKey::Index(0), value: Bits::zero(1) }).is_err()
        );
    }
}
