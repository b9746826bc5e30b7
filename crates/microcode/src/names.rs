//! Names of registers and signals, with their scopes.

use std::collections::HashMap;

use wireloom_isa::microengine::{Bank, Index, TransferFile, Version};

use crate::diagnostic::Place;

/// The maximum number of names of a program: two for each instruction of the longest control store.
/// Allocation takes memory by their square, 32 MB at the maximum.
pub const MAX_NAMES: usize = 16_384;

/// A general-purpose register that the program names. The allocator assigns it.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub place: Place,
    /// Whether all contexts share the register (`@name`).
    pub is_absolute: bool,
    /// The register that the program requests (`.reg x=a3`).
    pub pinned: Option<(Bank, Index)>,
    pub is_read: bool,
    pub is_written: bool,
    /// A place in the text that reads the register.
    pub read: Option<Place>,
}

/// A signal that the program names. On version 1 it is the signal of a unit, which its first
/// command determines.
#[derive(Clone, Debug)]
pub struct Signal {
    pub name: String,
    pub number: Option<u8>,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A general-purpose register: an index of [`Names::nodes`].
    Gpr(usize),
    Transfer(TransferFile, u8),
    Neighbour(u8),
    /// An index of [`Names::signals`].
    Signal(usize),
    /// A value that the loader supplies.
    Import,
}

struct Scope {
    names: HashMap<String, Named>,
}

pub struct Names {
    version: Version,
    scopes: Vec<Scope>,
    pub nodes: Vec<Node>,
    pub signals: Vec<Signal>,
    /// The transfer registers in use: SRAM, SDRAM; then the next-neighbour registers in use.
    used: [Vec<bool>; 3],
    used_signals: [bool; 16],
    /// For each transfer register, the number after the last register that was declared with it:
    /// SRAM and SDRAM.
    ends: [Vec<u8>; 2],
    /// The names of transfer registers, for debuggers.
    pub transfers: Vec<(String, TransferFile, u8)>,
}

/// The reason why a name cannot be declared.
pub enum Undeclared {
    Twice,
    /// No register of the kind is free, or not enough consecutive ones.
    NoneLeft,
    Malformed,
    TooMany,
}

impl Names {
    pub fn new(version: Version) -> Self {
        let sizes = version.sizes();
        let share = vec![false; sizes.transfer / sizes.contexts];
        let neighbours = vec![false; sizes.neighbour / sizes.contexts];
        let ends = vec![0; share.len()];
        Self {
            version,
            scopes: vec![Scope { names: HashMap::new() }],
            nodes: Vec::new(),
            signals: Vec::new(),
            used: [share.clone(), share, neighbours],
            ends: [ends.clone(), ends],
            used_signals: [false; 16],
            transfers: Vec::new(),
        }
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// Opens a scope.
    pub fn begin(&mut self) {
        self.scopes.push(Scope { names: HashMap::new() });
    }

    /// Closes a scope and frees its transfer registers and signals. Returns false if no scope is
    /// open.
    pub fn end(&mut self) -> bool {
        if self.scopes.len() == 1 {
            return false;
        }
        let names = self.scopes.pop().map(|scope| scope.names).unwrap_or_default();
        for named in names.into_values() {
            match named {
                Named::Transfer(file, number) => {
                    self.used[file as usize][usize::from(number)] = false;
                }
                Named::Neighbour(number) => self.used[2][usize::from(number)] = false,
                Named::Signal(signal) => {
                    if let Some(number) = self.signals[signal].number {
                        self.used_signals[usize::from(number)] = false;
                    }
                }
                Named::Gpr(_) | Named::Import => {}
            }
        }
        true
    }

    pub fn open_scopes(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Replaces `&$x`, `&n$x` and `&x` in a constant by the numbers of transfer registers, next
    /// neighbours and signals. Names without a number stay.
    pub fn numbered(&self, text: &str) -> String {
        let mut parts = text.split('&');
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
            let end = part.find(|c| !is_of_name(c)).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let number = match self.find(name) {
                Some(Named::Transfer(_, number) | Named::Neighbour(number)) => Some(number),
                Some(Named::Signal(signal)) => self.signals[signal].number,
                _ => None,
            };
            match number {
                Some(number) => result += &number.to_string(),
                None => {
                    result.push('&');
                    result += name;
                }
            }
            result += rest;
        }
        result
    }

    /// The meaning of a name in the innermost scope that declares it.
    pub fn find(&self, name: &str) -> Option<Named> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name).copied())
    }

    fn insert(&mut self, name: &str, named: Named) -> Result<(), Undeclared> {
        let scope = self.scopes.last_mut().ok_or(Undeclared::Malformed)?;
        if scope.names.contains_key(name) {
            return Err(Undeclared::Twice);
        }
        scope.names.insert(name.to_owned(), named);
        Ok(())
    }

    pub fn import(&mut self, name: &str) -> Result<(), Undeclared> {
        if !is_plain(name) {
            return Err(Undeclared::Malformed);
        }
        self.insert(name, Named::Import)
    }

    /// Declares a general-purpose register, `x`, `@x` or `x=a3`.
    pub fn gpr(&mut self, text: &str, place: Place) -> Result<(), Undeclared> {
        let (name, pin) = match text.split_once('=') {
            Some((name, pin)) => (name, Some(pin)),
            None => (text, None),
        };
        let is_absolute = name.starts_with('@');
        if !is_plain(name.trim_start_matches('@')) || raw_gpr(name).is_some() {
            return Err(Undeclared::Malformed);
        }
        let pinned = match pin {
            Some(pin) => Some(raw_gpr(pin).ok_or(Undeclared::Malformed)?),
            None => None,
        };
        if self.nodes.len() >= MAX_NAMES {
            return Err(Undeclared::TooMany);
        }
        self.insert(name, Named::Gpr(self.nodes.len()))?;
        self.nodes.push(Node {
            name: name.to_owned(),
            place,
            is_absolute,
            pinned,
            is_read: false,
            is_written: false,
            read: None,
        });
        Ok(())
    }

    /// Declares transfer registers (or next neighbours, `n$x`) with consecutive numbers.
    pub fn transfer(&mut self, names: &[&str]) -> Result<(), Undeclared> {
        let Some(first) = names.first() else { return Ok(()) };
        let (file, prefix) = kind(first).ok_or(Undeclared::Malformed)?;
        if names.iter().any(|name| !name.strip_prefix(prefix).is_some_and(is_plain)) {
            return Err(Undeclared::Malformed);
        }
        let used = &mut self.used[file];
        let count = names.len();
        let start = (0..(used.len() + 1).saturating_sub(count))
            .find(|&start| used[start..start + count].iter().all(|used| !used))
            .ok_or(Undeclared::NoneLeft)?;
        used[start..start + count].fill(true);
        for (name, number) in names.iter().zip(start as u8..) {
            let named = match file {
                0 => Named::Transfer(TransferFile::Sram, number),
                1 => Named::Transfer(TransferFile::Sdram, number),
                _ => Named::Neighbour(number),
            };
            self.insert(name, named)?;
            if let Named::Transfer(file, number) = named {
                self.transfers.push(((*name).to_owned(), file, number));
            }
        }
        if let Some(ends) = self.ends.get_mut(file) {
            ends[start..start + count].fill((start + count) as u8);
        }
        Ok(())
    }

    /// Records that transfer registers are consecutive, from one to another.
    pub fn join(&mut self, file: TransferFile, first: u8, last: u8) {
        let ends = &mut self.ends[file as usize];
        let end = ends[usize::from(last)];
        ends[usize::from(first)..=usize::from(last)].fill(end);
    }

    /// The number of transfer registers that were declared together from this one on; `None` for a
    /// register given by its number.
    pub fn follow(&self, name: &str, file: TransferFile, number: u8) -> Option<u8> {
        self.find(name)?;
        Some(self.ends[file as usize].get(usize::from(number))?.saturating_sub(number))
    }

    pub fn signal(&mut self, name: &str) -> Result<(), Undeclared> {
        if !is_plain(name) {
            return Err(Undeclared::Malformed);
        }
        if self.signals.len() >= MAX_NAMES {
            return Err(Undeclared::TooMany);
        }
        let number = match self.version {
            Version::One => None,
            Version::Two => {
                let free = (1..16).find(|&number| !self.used_signals[number]);
                Some(free.ok_or(Undeclared::NoneLeft)? as u8)
            }
        };
        self.insert(name, Named::Signal(self.signals.len()))?;
        if let Some(number) = number {
            self.used_signals[usize::from(number)] = true;
        }
        self.signals.push(Signal { name: name.to_owned(), number });
        Ok(())
    }

    /// A declared name that is similar to an unknown one.
    pub fn similar(&self, name: &str) -> Option<String> {
        let near = |known: &&String| {
            let known: &str = known;
            known.eq_ignore_ascii_case(name)
                || known.trim_start_matches(['$', '@']) == name.trim_start_matches(['$', '@'])
                || one_apart(known, name)
        };
        let mut names: Vec<&String> =
            self.scopes.iter().flat_map(|scope| scope.names.keys()).filter(near).collect();
        names.sort();
        names.first().map(|name| (*name).clone())
    }
}

/// Whether two words differ by one letter that is added, removed or changed.
fn one_apart(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let ends = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    let longest = a.len().max(b.len());
    longest > 2 && a.len().abs_diff(b.len()) <= 1 && same + ends + 1 >= longest
}

/// The file of a transfer register's name (2: next neighbour) and the mark before the name.
fn kind(name: &str) -> Option<(usize, &'static str)> {
    if name.starts_with("n$") {
        Some((2, "n$"))
    } else if name.starts_with("$$") {
        Some((1, "$$"))
    } else if name.starts_with('$') {
        Some((0, "$"))
    } else {
        None
    }
}

/// Whether a name is the name of a transfer register.
pub fn is_transfer(name: &str) -> bool {
    kind(name).is_some()
}

/// Whether a word is a name that can be declared.
fn is_plain(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(crate::line::is_name)
}

fn number(text: &str, count: usize) -> Option<u8> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|&number: &u8| is_canonical && usize::from(number) < count)
}

/// A general-purpose register by its number: `a3`, `@b40`.
pub fn raw_gpr(name: &str) -> Option<(Bank, Index)> {
    let (bare, is_absolute) = match name.strip_prefix('@') {
        Some(bare) => (bare, true),
        None => (name, false),
    };
    let bank = match bare.as_bytes().first()? {
        b'a' => Bank::A,
        b'b' => Bank::B,
        _ => return None,
    };
    let number = number(&bare[1..], 128)?;
    Some((bank, if is_absolute { Index::Absolute(number) } else { Index::Relative(number) }))
}

/// A transfer register or next neighbour by its number: `$3`, `$$3`, `n$3`.
pub fn raw_transfer(name: &str) -> Option<Named> {
    let (file, prefix) = kind(name)?;
    let number = number(name.strip_prefix(prefix)?, 128)?;
    Some(match file {
        0 => Named::Transfer(TransferFile::Sram, number),
        1 => Named::Transfer(TransferFile::Sdram, number),
        _ => Named::Neighbour(number),
    })
}
