//! Parts with their classes of events. Machines name both: a value belongs to a class by its name,
//! not by its place in a list.

use std::borrow::Cow;

use wireloom_sim::Energy;

/// A part with its classes of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: Cow<'static, str>,
    /// The names of the classes of events.
    pub classes: &'static [&'static str],
}

/// A value for each class of a part, by the name of the class, in any order.
pub type ByClass<'a, T> = &'a [(&'a str, T)];

impl Part {
    /// Creates a part.
    pub const fn new(name: &'static str, classes: &'static [&'static str]) -> Self {
        Self { name: Cow::Borrowed(name), classes }
    }

    /// Creates a part whose name comes from a program, such as the unit of an offload.
    pub const fn named(name: String, classes: &'static [&'static str]) -> Self {
        Self { name: Cow::Owned(name), classes }
    }

    /// Returns the values in the order of the part's classes.
    ///
    /// # Panics
    /// Unless each class has one value.
    pub fn in_order<'a, T: Copy>(
        &'a self,
        values: ByClass<'a, T>,
    ) -> impl ExactSizeIterator<Item = T> + 'a {
        let count = values.len();
        assert_eq!(count, self.classes.len(), "{}: {count} values", self.name);
        self.classes.iter().map(move |class| {
            let value = values.iter().find(|(name, _)| name == class);
            value.unwrap_or_else(|| panic!("{}: no value for {class}", self.name)).1
        })
    }

    /// Returns the number of a class.
    ///
    /// # Panics
    /// If the part has no such class.
    pub fn class(&self, name: &str) -> usize {
        let class = self.classes.iter().position(|class| *class == name);
        class.unwrap_or_else(|| panic!("{}: no class {name}", self.name))
    }
}

/// The model of a part: the energy of an event of each class, and the constant power in nanowatts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartModel {
    /// The energy of an event, by class of the part.
    pub energies: Vec<(&'static str, Energy)>,
    /// The constant power, by leakage or standby, in nanowatts.
    pub nanowatts: u64,
}

impl PartModel {
    /// Returns the energy of an event.
    ///
    /// # Panics
    /// If the model has no such class.
    pub fn energy(&self, class: &str) -> Energy {
        let energy = self.energies.iter().find(|(name, _)| *name == class);
        energy.unwrap_or_else(|| panic!("no energy for {class}")).1
    }
}

/// The place of a part in a list of parts.
pub trait Place: Copy {
    /// Returns the place, from 0.
    fn place(self) -> usize;
}

/// The keys of the parts of a machine. [`parts!`](crate::parts!) writes it.
pub trait PartKey: Place + 'static {
    /// All keys, in order.
    const ALL: &'static [Self];
    /// The parts, in the order of the keys.
    const PARTS: &'static [Part];

    /// Returns the part of the key.
    fn part(self) -> &'static Part {
        &Self::PARTS[self.place()]
    }
}

/// Declares parts: an enumeration of their keys, with the name and the classes of each.
///
/// ```
/// use wireloom_power::{PartKey, parts};
///
/// parts! {
///     /// The parts of a tile.
///     pub enum TilePart {
///         Alu = "alu" [add, logic, idle],
///         Pins = "pins" [word],
///     }
/// }
/// assert_eq!(TilePart::Alu.part().classes, ["add", "logic", "idle"]);
/// ```
#[macro_export]
macro_rules! parts {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Key:ident {
            $($Part:ident = $name:literal [$($class:ident),+],)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Key { $($Part),+ }

        impl $crate::Place for $Key {
            fn place(self) -> usize {
                self as usize
            }
        }

        impl $crate::PartKey for $Key {
            const ALL: &'static [Self] = &[$(Self::$Part),+];
            const PARTS: &'static [$crate::Part] =
                &[$($crate::Part::new($name, &[$(stringify!($class)),+])),+];
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    parts! {
        enum Key {
            Alu = "alu" [add, logic, idle],
            Bus = "bus" [word],
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_parts() {
        let places: Vec<usize> = Key::ALL.iter().map(|key| key.place()).collect();
        assert_eq!(places, [0, 1]);
        assert_eq!(Key::Bus.part(), &Part::new("bus", &["word"]));
        assert_eq!(Key::Alu.part().class("idle"), 2);
    }

    #[test]
    fn values_go_to_the_class_of_their_name() {
        let ordered =
            |values: ByClass<'_, u64>| Key::Alu.part().in_order(values).collect::<Vec<_>>();
        assert_eq!(ordered(&[("add", 1), ("logic", 2), ("idle", 3)]), [1, 2, 3]);
        assert_eq!(ordered(&[("idle", 3), ("add", 1), ("logic", 2)]), [1, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "alu: no value for logic")]
    fn a_value_of_another_class_is_refused() {
        Key::Alu.part().in_order(&[("add", 1), ("word", 2), ("idle", 3)]).for_each(drop);
    }

    #[test]
    #[should_panic(expected = "alu: 2 values")]
    fn each_class_needs_a_value() {
        Key::Alu.part().in_order(&[("add", 1), ("idle", 3)]).for_each(drop);
    }
}
