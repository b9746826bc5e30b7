//! Names for addresses, and addresses for names.

use std::collections::BTreeMap;

/// The symbols of a program. Without a symbol table it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// By address, of which no two have the same.
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

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Other,
}

impl Symbols {
    /// Of names, addresses, sizes, and whether they are seen by other files.
    pub(super) fn new(mut symbols: Vec<(String, u32, u32, Kind, bool)>) -> Self {
        // Of several with one name or one address the first is kept: one that others see, then one with a size.
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

    /// Functions by address: what a profile counts for.
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

    /// The function that an address is in, and how far in it is, in bytes.
    pub fn at(&self, address: u32) -> Option<(&Function, u32)> {
        let function = &self.functions[self.function_at(address)?];
        Some((function, address - function.address))
    }

    /// The variable, or what else has a name and a size, that an address is in, and how far in it is, in bytes.
    pub fn variable_at(&self, address: u32) -> Option<(&str, u32)> {
        let offset = |place: &(u32, u32)| address.checked_sub(place.0).filter(|offset| *offset < place.1);
        self.names.iter().find_map(|(name, place)| Some((name.as_str(), offset(place)?)))
    }

    /// Where a function or a variable is, and its size, both in bytes; of the same name the one that other files see.
    pub fn find(&self, name: &str) -> Option<(u32, u32)> {
        self.names.get(name).copied()
    }
}
