//! `array`: directly indexed elements with atomic read-modify-write operations.

use std::any::Any;

use wireloom_bits::{Bits, Known};

use crate::kinds::{check_value, field_values, index_of, visit_numbered};
use crate::lanes::{Lanes, nothing, pack, words};
use crate::memory::zeroed;
use crate::registry::{
    METHOD, Method, OffloadKind, ReplyType, SIZE, StateUse, TableForm, TableKey, U32, ValueType,
    declared_value,
};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Layout, RawView, Refused, StateRow};

/// The interface of `array`.
pub const KIND: OffloadKind = OffloadKind {
    name: "array",
    has_key: false,
    has_value: true,
    params: &[SIZE],
    methods: &[
        Method {
            name: "read",
            args: &[("index", U32)],
            reply: ReplyType::One(ValueType::Value),
            doc: "The element; zero if the index is out of range.",
            ..METHOD
        },
        Method {
            name: "write",
            args: &[("index", U32), ("value", ValueType::Value)],
            state: StateUse::Change,
            doc: "Replaces the element. No effect if the index is out of range (also of the \
                  methods below).",
            ..METHOD
        },
        Method {
            name: "add",
            args: &[("index", U32), ("delta", ValueType::Value)],
            state: StateUse::Commuting,
            doc: "Adds to each field of the element; a sum wraps at the field's width.",
            ..METHOD
        },
        Method {
            name: "fetch_add",
            args: &[("index", U32), ("delta", ValueType::Value)],
            reply: ReplyType::One(ValueType::Value),
            state: StateUse::Change,
            doc: "As `add`; returns the previous element.",
            ..METHOD
        },
        Method {
            name: "exchange",
            args: &[("index", U32), ("value", ValueType::Value)],
            reply: ReplyType::One(ValueType::Value),
            state: StateUse::Change,
            doc: "Replaces the element and returns the previous one.",
            ..METHOD
        },
        Method {
            name: "compare_swap",
            args: &[("index", U32), ("expected", ValueType::Value), ("value", ValueType::Value)],
            reply: ReplyType::Record(&[("swapped", ValueType::Bool), ("value", ValueType::Value)]),
            state: StateUse::Change,
            doc: "Replaces the element if it equals `expected`; returns the previous element in \
                  any case.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "An array with an index. Elements are zero until the control plane or a packet writes \
          them.",
    table: Some(TableForm { key: TableKey::Index, value: declared_value }),
    make: |config| Ok(Box::new(Array::new(config)?)),
};

/// The index of the method `read`.
const READ: usize = 0;

/// An instance of `array`.
#[derive(Clone)]
pub struct Array {
    layout: Layout,
    lanes: Lanes,
    width: u32,
    size: usize,
    /// The elements. Each occupies as many little-endian words as its width needs.
    elements: Box<[u64]>,
    /// The bits that some element may have. `None` if packets may have written elements since
    /// [`Instance::look_again`]. No bit is certainly 1, since an index may be out of range.
    possible: Option<Bits>,
}

impl Array {
    /// Creates an instance as declared, with all elements zero.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let layout =
            config.value.clone().ok_or_else(|| Refused("an array needs a value type".into()))?;
        let size = config.param("size").low_u64() as usize;
        let width = layout.width();
        let elements = zeroed(size.saturating_mul(words(width)))?;
        let possible = Some(Bits::zero(width));
        Ok(Self { lanes: Lanes::new(&layout), layout, width, size, elements, possible })
    }

    fn get(&self, index: usize) -> Bits {
        let stride = words(self.width);
        Bits::from_words(self.width, &self.elements[index * stride..][..stride])
    }

    fn set(&mut self, index: usize, value: &Bits) {
        let stride = words(self.width);
        for (to, from) in self.elements[index * stride..][..stride].iter_mut().zip(value.words()) {
            *to = from;
        }
    }

    /// Returns the row of an element, unless the element is zero.
    fn row(&self, index: usize) -> Option<StateRow> {
        let stride = words(self.width);
        let element = &self.elements[index * stride..][..stride];
        element.iter().any(|&word| word != 0).then(|| StateRow {
            key: EntryKey::Index(index as u64),
            fields: field_values(&self.layout, &Bits::from_words(self.width, element)),
        })
    }
}

impl Instance for Array {
    fn call(&mut self, method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        let index = args[0].low_u64() as usize;
        let inside = index < self.size;
        let before = if inside { self.get(index) } else { Bits::zero(self.width) };
        let (after, reply) = match method {
            READ => return before,
            1 => (args[1].clone(), nothing()),
            2 => (self.lanes.add(&before, &args[1]), nothing()),
            3 => (self.lanes.add(&before, &args[1]), before),
            4 => (args[1].clone(), before),
            5 => {
                let swap = inside && before == args[1];
                let after = if swap { args[2].clone() } else { before.clone() };
                (after, pack(&[Bits::bool(swap), before]))
            }
            _ => unreachable!("an array has six methods"),
        };
        if inside {
            self.possible = None;
            self.set(index, &after);
        }
        reply
    }

    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let index = index_of(&entry.key, self.size)?;
        check_value(&entry.value, self.width)?;
        self.set(index, &entry.value);
        self.possible = self.possible.take().map(|possible| possible.or(&entry.value));
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let index = index_of(key, self.size)?;
        let was = !self.get(index).is_zero();
        self.set(index, &Bits::zero(self.width));
        Ok(was)
    }

    fn rows(&self) -> Vec<StateRow> {
        (0..self.size).filter_map(|index| self.row(index)).collect()
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        Ok(self.row(index_of(key, self.size)?))
    }

    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        visit_numbered(from, most, self.size, |index| self.row(index), visit)
    }

    /// Every element exists already.
    fn room(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn certain(&self, method: usize) -> Option<Known> {
        let possible = self.possible.as_ref().filter(|_| method == READ)?;
        Some(Known { zeros: possible.not(), ones: Bits::zero(self.width) })
    }

    fn look_again(&mut self) {
        let stride = words(self.width);
        let mut possible = vec![0; stride];
        for element in self.elements.chunks_exact(stride) {
            possible.iter_mut().zip(element).for_each(|(all, own)| *all |= own);
        }
        self.possible = Some(Bits::from_words(self.width, &possible));
    }

    fn changed_outside(&mut self) {
        self.possible = None;
    }

    fn absorb(&mut self, other: &mut dyn Instance) {
        let Some(other) = (other as &mut dyn Any).downcast_mut::<Self>() else { return };
        self.possible = None;
        other.possible = None;
        for index in 0..self.size.min(other.size) {
            let added = other.get(index);
            if !added.is_zero() {
                self.set(index, &self.lanes.add(&self.get(index), &added));
                other.set(index, &Bits::zero(other.width));
            }
        }
    }

    fn raw(&mut self) -> Option<RawView> {
        Some(RawView::Array { data: self.elements.as_mut_ptr(), elements: self.size as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    fn index(i: u32) -> Bits {
        Bits::new(32, u128::from(i))
    }

    fn bench(fields: &[(&str, u32)]) -> Bench {
        Bench::new("array", None, Some(fields), &[("size", 8)])
    }

    #[test]
    fn elements_are_zero_until_written() {
        let mut bench = bench(&[("", 200)]);
        assert_eq!(bench.call("read", &[index(7)]), Bits::zero(200));
        let value = Bits::ones(200).shl(3);
        bench.call("write", &[index(7), value.clone()]);
        assert_eq!(bench.call("read", &[index(7)]), value);
        assert_eq!(bench.call("read", &[index(6)]), Bits::zero(200));
    }

    #[test]
    fn out_of_range_reads_zero_and_changes_nothing() {
        let mut bench = bench(&[("", 16)]);
        let one = Bits::new(16, 1);
        for at in [8, u32::MAX] {
            bench.call("write", &[index(at), one.clone()]);
            bench.call("add", &[index(at), one.clone()]);
            assert!(bench.call("fetch_add", &[index(at), one.clone()]).is_zero());
            assert!(bench.call("exchange", &[index(at), one.clone()]).is_zero());
            assert!(
                bench.call("compare_swap", &[index(at), Bits::zero(16), one.clone()]).is_zero()
            );
            assert!(bench.call("read", &[index(at)]).is_zero());
        }
        assert!(bench.instance.rows().is_empty());
    }

    #[test]
    fn read_modify_write_operations_answer_the_element_from_before() {
        let mut bench = bench(&[("high", 8), ("low", 8)]);
        bench.call("write", &[index(2), Bits::new(16, 0x01ff)]);
        assert_eq!(
            bench.call("fetch_add", &[index(2), Bits::new(16, 0x0102)]),
            Bits::new(16, 0x01ff)
        );
        assert_eq!(
            bench.call("read", &[index(2)]),
            Bits::new(16, 0x0201),
            "no carry between the fields"
        );
        bench.call("add", &[index(2), Bits::new(16, 0xff00)]);
        assert_eq!(bench.call("exchange", &[index(2), Bits::new(16, 5)]), Bits::new(16, 0x0101));
        let swap = |bench: &mut Bench, expected, value| {
            bench.call("compare_swap", &[index(2), Bits::new(16, expected), Bits::new(16, value)])
        };
        assert_eq!(swap(&mut bench, 6, 9), Bits::new(17, 5), "not swapped");
        assert_eq!(swap(&mut bench, 5, 9), Bits::new(17, 1 << 16 | 5), "swapped");
        assert_eq!(bench.call("read", &[index(2)]), Bits::new(16, 9));
    }

    #[test]
    fn rows_name_the_fields_of_elements_that_are_not_zero() {
        let mut bench = bench(&[("high", 8), ("low", 8)]);
        bench
            .instance
            .load(Entry { key: EntryKey::Index(4), value: Bits::new(16, 0x0203) })
            .unwrap();
        let fields =
            vec![("high".to_owned(), Bits::new(8, 2)), ("low".to_owned(), Bits::new(8, 3))];
        assert_eq!(bench.instance.rows(), [StateRow { key: EntryKey::Index(4), fields }]);
        assert_eq!(bench.instance.unload(&EntryKey::Index(4)), Ok(true));
        assert!(bench.instance.rows().is_empty());
        let wrong = Entry { key: EntryKey::Exact(Bits::zero(3)), value: Bits::zero(16) };
        assert!(bench.instance.load(wrong).is_err());
    }

    #[test]
    fn bits_that_no_element_has_are_certain() {
        let mut bench = bench(&[("", 16)]);
        let load = |bench: &mut Bench, at, value| {
            let entry = Entry { key: EntryKey::Index(at), value: Bits::new(16, value) };
            bench.instance.load(entry).unwrap();
        };
        let zeros = |bench: &Bench| {
            bench.instance.certain(READ).map(|known| {
                assert!(known.ones.is_zero(), "an index may be out of range");
                known.zeros.low_u64()
            })
        };
        assert_eq!(zeros(&bench), Some(0xffff));
        load(&mut bench, 3, 0x0f00);
        load(&mut bench, 4, 0x0001);
        assert_eq!((zeros(&bench), bench.instance.certain(1)), (Some(0xf0fe), None));
        load(&mut bench, 3, 0);
        assert_eq!(zeros(&bench), Some(0xf0fe), "what was may still be");
        bench.instance.look_again();
        assert_eq!(zeros(&bench), Some(0xfffe));
        bench.call("write", &[index(1), Bits::new(16, 0x8000)]);
        assert_eq!(zeros(&bench), None, "packets write");
        bench.instance.look_again();
        assert_eq!(zeros(&bench), Some(0x7ffe));
        bench.instance.changed_outside();
        assert_eq!(zeros(&bench), None);
    }

    #[test]
    fn the_raw_view_is_the_elements() {
        let mut bench = bench(&[("", 65)]);
        bench.call("write", &[index(1), Bits::ones(65)]);
        let Some(RawView::Array { data, elements: 8 }) = bench.instance.raw() else {
            panic!("an array's view")
        };
        // SAFETY: the view covers 8 elements of 2 words, and the instance is not used meanwhile.
        let words = unsafe { std::slice::from_raw_parts(data, 16) };
        assert_eq!(words[2..4], [u64::MAX, 1]);
    }
}
