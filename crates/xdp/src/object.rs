//! Object files of the BPF compiler: functions with their references, and constants.

use std::collections::{BTreeSet, HashMap};

use object::elf;
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, SectionIndex};

use crate::kernel::{CLASS, Instruction, STACK};

type Header = elf::FileHeader64<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;
/// Bytes of an instruction.
const INSTRUCTION: usize = 8;
/// Operations (linux/bpf_common.h).
const CALL: u8 = 0x85;
const LOAD_LONG: u8 = 0x18;
const EXIT: u8 = 0x95;
/// Stores and loads of registers, and stores of constants, without their size.
const STORE: u8 = 0x63;
const LOAD: u8 = 0x61;
const STORE_CONSTANT: u8 = 0x62;
/// The bits of an operation that are its size, and the bytes of each.
const SIZE: u8 = 0x18;
const BYTES: [u8; 4] = [4, 2, 1, 8];

/// An object file.
#[derive(Debug, Default)]
pub struct Object {
    /// The functions by name.
    pub functions: HashMap<String, Function>,
    /// Constants of all functions.
    pub constants: Vec<u8>,
    /// The places of named constants.
    places: HashMap<String, usize>,
}

/// A function.
#[derive(Debug, Default)]
pub struct Function {
    pub instructions: Vec<Instruction>,
    /// References by the index of their instruction.
    pub references: Vec<(usize, Reference)>,
}

impl Function {
    /// Mends loads of spilled values. When the compiler runs out of registers, it stores a short
    /// value on the stack and loads more bytes than it stored. It relies on zeros in the upper
    /// bytes, but they are what the stack held before. Such a load becomes as short as the store
    /// in front of it, which has the same register and offset. Objects of several values are left
    /// alone: the function also stores to one of the upper bytes.
    fn shorten_reloads(&mut self) {
        let targets: BTreeSet<usize> = self.jump_targets().collect();
        let inside = |place: i16, bytes: u8, at: i16| at > place && at < place + i16::from(bytes);
        for at in 1..self.instructions.len() {
            let [store, load] = [self.instructions[at - 1], self.instructions[at]];
            let is_reload = store.is_access(STORE)
                && load.is_access(LOAD)
                // The source of a store is the destination of a load, and the base the other one.
                && store.registers.rotate_left(4) == load.registers
                && store.registers & 15 == STACK
                && store.offset == load.offset
                && load.bytes() > store.bytes()
                && !targets.contains(&at);
            let is_part = |other: &Instruction| {
                (other.is_access(STORE) || other.is_access(STORE_CONSTANT))
                    && other.registers & 15 == STACK
                    && inside(load.offset, load.bytes(), other.offset)
            };
            if is_reload && !self.instructions.iter().any(is_part) {
                self.instructions[at].code = load.code & !SIZE | store.code & SIZE;
            }
        }
    }

    /// Returns the indices of the instructions that others jump to.
    fn jump_targets(&self) -> impl Iterator<Item = usize> {
        let is_jump = |code: u8| matches!(code & CLASS, 5 | 6) && !matches!(code, CALL | EXIT);
        let all = self.instructions.iter().enumerate();
        let jumps = all.filter(move |(_, instruction)| is_jump(instruction.code));
        jumps.filter_map(|(at, jump)| (at + 1).checked_add_signed(jump.offset.into()))
    }
}

impl Instruction {
    /// Whether this is an access of this kind, of any size.
    fn is_access(&self, kind: u8) -> bool {
        self.code & !SIZE == kind
    }

    /// Returns the bytes of an access.
    fn bytes(&self) -> u8 {
        BYTES[usize::from((self.code & SIZE) >> 3)]
    }
}

/// The target of a reference in an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A function that is called, or whose address is taken.
    Function(String),
    /// A map.
    Map(String),
    /// An offset into the constants.
    Constant(u32),
}

impl Object {
    /// Reads an object file.
    ///
    /// # Errors
    /// If the BPF compiler did not write it, or it refers to something that the kernel does not
    /// have.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        read(file).map_err(|error| error.to_string())
    }

    /// Returns a constant of 32 bits by its name.
    ///
    /// # Errors
    /// If there is no such constant.
    pub fn constant(&self, name: &str) -> Result<u32, String> {
        let place = self.place(name)?;
        let bytes = self.constants.get(place..place + 4);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or_else(|| format!("{name}: not in the constants"))
    }

    /// Returns the offset of a named constant.
    ///
    /// # Errors
    /// If there is no such constant.
    pub fn place(&self, name: &str) -> Result<usize, String> {
        self.places.get(name).copied().ok_or_else(|| format!("there is no `{name}`"))
    }
}

fn read(file: &[u8]) -> Result<Object, Box<dyn std::error::Error>> {
    let header = Header::parse(file)?;
    let sections = header.sections(ENDIAN, file)?;
    let index = |name: &str| {
        let all = sections.enumerate();
        let mut found = all
            .filter(|(_, section)| sections.section_name(ENDIAN, section) == Ok(name.as_bytes()));
        found.next()
    };
    let (code_index, code) = index(".text").ok_or("no code")?;
    let constants = index(".rodata");
    let symbols = sections.symbols(ENDIAN, file, elf::SHT_SYMTAB)?;
    let code_bytes = code.data(ENDIAN, file)?;

    let mut object = Object::default();
    if let Some((_, section)) = constants {
        object.constants = section.data(ENDIAN, file)?.to_vec();
    }
    let constants = constants.map(|(index, _)| index);
    // The first byte of each function.
    let mut starts: Vec<(usize, usize, String)> = Vec::new();
    for symbol in symbols.iter() {
        let name = String::from_utf8_lossy(symbols.symbol_name(ENDIAN, symbol)?).into_owned();
        let section = SectionIndex(usize::from(symbol.st_shndx(ENDIAN).0));
        let value = symbol.st_value(ENDIAN) as usize;
        if symbol.st_type() == elf::STT_FUNC && section == code_index {
            starts.push((value, symbol.st_size(ENDIAN) as usize, name));
        } else if symbol.st_type() == elf::STT_OBJECT && Some(section) == constants {
            object.places.insert(name, value);
        }
    }
    starts.sort();
    for (start, size, name) in &starts {
        let bytes = code_bytes.get(*start..start + size).ok_or("a function past the code")?;
        let mut function = Function { instructions: instructions(bytes), references: Vec::new() };
        function.shorten_reloads();
        object.functions.insert(name.clone(), function);
    }
    let containing = |at: usize| {
        let index = starts.partition_point(|(start, ..)| *start <= at).checked_sub(1)?;
        let (start, size, name) = &starts[index];
        (at < start + size).then_some((name, at - start))
    };
    for section in sections.iter() {
        let Some((relocations, link)) = section.rel(ENDIAN, file)? else { continue };
        if section.info_link(ENDIAN) != code_index || link != symbols.section() {
            continue;
        }
        for relocation in relocations {
            let at = relocation.r_offset.get(ENDIAN) as usize;
            let (name, offset) = containing(at).ok_or("a reference outside functions")?;
            let symbol = symbols.symbol(object::SymbolIndex(relocation.r_sym(ENDIAN) as usize))?;
            let target = String::from_utf8_lossy(symbols.symbol_name(ENDIAN, symbol)?).into_owned();
            let function = object.functions.get_mut(name).ok_or("a function")?;
            let number = offset / INSTRUCTION;
            let instruction = function.instructions[number];
            let section = SectionIndex(usize::from(symbol.st_shndx(ENDIAN).0));
            let is_section = symbol.st_type() == elf::STT_SECTION;
            let addend = instruction.value as usize;
            let reference = if section == code_index {
                let target = match (is_section, instruction.code) {
                    (false, _) => target,
                    // A call counts instructions from the next one.
                    (true, CALL) => start_name(&starts, (addend + 1) * INSTRUCTION)?,
                    (true, _) => start_name(&starts, addend)?,
                };
                Reference::Function(target)
            } else if Some(section) == constants {
                // The assembler has added the offset of the symbol already.
                Reference::Constant(addend as u32)
            } else if section.0 == 0 && instruction.code == LOAD_LONG {
                Reference::Map(target)
            } else {
                return Err(format!("`{target}` is not there in the kernel").into());
            };
            function.references.push((number, reference));
        }
    }
    Ok(object)
}

fn start_name(starts: &[(usize, usize, String)], at: usize) -> Result<String, String> {
    let found = starts.iter().find(|(start, ..)| *start == at);
    found.map(|(.., name)| name.clone()).ok_or_else(|| format!("no function at {at}"))
}

fn instructions(bytes: &[u8]) -> Vec<Instruction> {
    let words = bytes.chunks_exact(INSTRUCTION);
    words
        .map(|word| Instruction {
            code: word[0],
            registers: word[1],
            offset: i16::from_le_bytes([word[2], word[3]]),
            value: i32::from_le_bytes([word[4], word[5], word[6], word[7]]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code of the load of a function after it was shortened.
    fn shortened(instructions: &[Instruction], load: usize) -> u8 {
        let instructions = instructions.to_vec();
        let mut function = Function { instructions, references: Vec::new() };
        function.shorten_reloads();
        function.instructions[load].code
    }

    #[test]
    fn a_reload_is_as_long_as_its_store() {
        let store = |code: u8, offset: i16| Instruction::new(code, 10, 3, offset, 0);
        let load = |code: u8, register: u8| Instruction::new(code, register, 10, -8, 0);
        let [byte, word, long] = [0x73, 0x63, 0x7b].map(|code| store(code, -8));
        assert_eq!(shortened(&[byte, load(0x79, 3)], 1), 0x71);
        assert_eq!(shortened(&[byte, load(0x61, 3)], 1), 0x71);
        assert_eq!(shortened(&[word, load(0x79, 3)], 1), 0x61);
        // Another length, register, or place.
        assert_eq!(shortened(&[byte, load(0x71, 3)], 1), 0x71);
        assert_eq!(shortened(&[long, load(0x79, 3)], 1), 0x79);
        assert_eq!(shortened(&[byte, load(0x79, 4)], 1), 0x79);
        assert_eq!(shortened(&[store(0x73, -16), load(0x79, 3)], 1), 0x79);
    }

    #[test]
    fn an_object_of_several_values_is_loaded_as_a_whole() {
        let store = |code: u8, offset: i16| Instruction::new(code, 10, 3, offset, 0);
        let load = Instruction::new(0x79, 3, 10, -8, 0);
        let low = store(0x63, -8);
        for high in [store(0x63, -4), store(0x73, -1), Instruction::new(0x62, 10, 0, -4, 7)] {
            assert_eq!(shortened(&[high, low, load], 2), 0x79);
        }
        assert_eq!(shortened(&[store(0x7b, 0), low, load], 2), 0x61);
        assert_eq!(shortened(&[store(0x7b, -16), low, load], 2), 0x61);
        // A jump leads to the load.
        let back = Instruction::new(0x05, 0, 0, -2, 0);
        assert_eq!(shortened(&[low, load, back], 1), 0x79);
    }
}
