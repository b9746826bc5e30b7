//! Names for addresses, and addresses for names.

use std::collections::BTreeMap;

/// The symbols of a program. Without a symbol table it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The functions by address; addresses are unique.
    functions: Vec<Function>,
    /// Addresses and sizes.
    names: BTreeMap<String, (u32, u32)>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub address: u32,
    /// In bytes; 0 if the symbol table does not say: then it reaches to the next.
    pub size: u32,
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Other,
}

impl Symbols {
    /// Symbols by name, address, size, kind, and whether other files see them.
    pub(super) fn new(mut symbols: Vec<(String, u32, u32, Kind, bool)>) -> Self {
        // Among several with one name or one address the first is kept: a global one, then one with
        // a size.
        symbols.sort_by(|a, b| (!a.4, a.2 == 0, &a.0, a.1).cmp(&(!b.4, b.2 == 0, &b.0, b.1)));
        let mut names = BTreeMap::new();
        let mut functions: Vec<Function> = Vec::new();
        for (name, address, size, kind, _) in symbols {
            names.entry(name.clone()).or_insert((address, size));
            if kind == Kind::Function {
                functions.push(Function { name, address, size });
            }
        }
        functions.sort_by_key(|function| function.address);
        functions.dedup_by_key(|function| function.address);
        Self { functions, names }
    }

    /// Returns the functions by address, for profiles.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The number of the function that an address is in.
    pub fn function_at(&self, address: u32) -> Option<usize> {
        let behind = self.functions.partition_point(|function| function.address <= address);
        let number = behind.checked_sub(1)?;
        let function = &self.functions[number];
        (function.size == 0 || address - function.address < function.size).then_some(number)
    }

    /// Returns the function that contains an address, and the offset in bytes.
    pub fn at(&self, address: u32) -> Option<(&Function, u32)> {
        let function = &self.functions[self.function_at(address)?];
        Some((function, address - function.address))
    }

    /// Returns the variable, or another symbol with a name and a size, that contains an address,
    /// and the offset in bytes.
    pub fn variable_at(&self, address: u32) -> Option<(&str, u32)> {
        let offset =
            |place: &(u32, u32)| address.checked_sub(place.0).filter(|offset| *offset < place.1);
        self.names.iter().find_map(|(name, place)| Some((name.as_str(), offset(place)?)))
    }

    /// Returns the address of a function or a variable, and its size, both in bytes; of several
    /// with the same name, the global one.
    pub fn find(&self, name: &str) -> Option<(u32, u32)> {
        self.names.get(name).copied()
    }
}
