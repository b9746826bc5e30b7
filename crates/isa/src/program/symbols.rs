//! Maps names to addresses, and addresses to names.

use std::collections::BTreeMap;

/// The symbols of a program. Without a symbol table it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The functions by address. Addresses are unique.
    functions: Vec<Function>,
    /// Addresses and sizes by name.
    names: BTreeMap<String, (u32, u32)>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub address: u32,
    /// The size in bytes; 0 if the symbol table does not have it. The function then reaches to the
    /// next one.
    pub size: u32,
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolKind {
    Function,
    Other,
}

impl Symbols {
    /// Creates symbols from name, address, size, kind, and whether other files see them.
    pub(super) fn new(mut symbols: Vec<(String, u32, u32, SymbolKind, bool)>) -> Self {
        // If several have the same name or address, the first in this order is kept: global symbols
        // first, then symbols with a size.
        symbols.sort_by(|a, b| (!a.4, a.2 == 0, &a.0, a.1).cmp(&(!b.4, b.2 == 0, &b.0, b.1)));
        let mut names = BTreeMap::new();
        let mut functions: Vec<Function> = Vec::new();
        for (name, address, size, kind, _) in symbols {
            names.entry(name.clone()).or_insert((address, size));
            if kind == SymbolKind::Function {
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

    /// Returns the index of the function that contains an address.
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

    /// Returns the address of a function or a variable and its size, both in bytes. Among several
    /// with the same name it takes the global one.
    pub fn find(&self, name: &str) -> Option<(u32, u32)> {
        self.names.get(name).copied()
    }
}
