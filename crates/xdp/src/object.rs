//! Object files of the BPF compiler: functions with their references, and constants.

use std::collections::HashMap;

use object::elf;
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, SectionIndex};

use crate::kernel::Instruction;

type Header = elf::FileHeader64<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;
/// Bytes of an instruction.
const INSTRUCTION: usize = 8;
/// Operations (linux/bpf_common.h).
const CALL: u8 = 0x85;
const LOAD_LONG: u8 = 0x18;
/// Stores and loads of registers, without their size.
const STORE: u8 = 0x63;
const LOAD: u8 = 0x61;
/// The bits of an operation that are its size, and the bytes of each.
const SIZE: u8 = 0x18;
const BYTES: [u8; 4] = [4, 2, 1, 8];
/// The register with the end of the stack.
const STACK: u8 = 10;

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

    /// Whether a function stores a short value on its stack and, in the next instruction, loads a
    /// longer one from there into the same register. The compiler does that to a flag now and then
    /// when it runs out of registers; the upper bytes are then what the stack held before.
    pub fn reads_what_it_did_not_write(&self) -> bool {
        let misreads = |pair: &[Instruction]| {
            let [store, load] = pair else { return false };
            let [is_store, is_load] =
                [(store, STORE), (load, LOAD)].map(|(it, code)| it.code & !SIZE == code);
            let [stored, loaded] =
                [store, load].map(|it| BYTES[usize::from((it.code & SIZE) >> 3)]);
            // The source register of a store is the destination of the load, and the stack's base
            // the other one.
            let is_same = store.registers.rotate_left(4) == load.registers
                && store.registers & 15 == STACK
                && store.offset == load.offset;
            is_store && is_load && is_same && loaded > stored
        };
        let mut functions = self.functions.values();
        functions.any(|function| function.instructions.windows(2).any(misreads))
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
        let function = Function { instructions: instructions(bytes), references: Vec::new() };
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

    #[test]
    fn a_value_that_is_read_longer_than_it_was_written_is_found() {
        let object = |store: Instruction, load: Instruction| {
            let function = Function { instructions: vec![store, load], references: Vec::new() };
            Object { functions: [("f".to_owned(), function)].into(), ..Object::default() }
        };
        let store = |code: u8, offset: i16| Instruction::new(code, 10, 3, offset, 0);
        let load = |code: u8, register: u8| Instruction::new(code, register, 10, -8, 0);
        let [byte, word] = [0x73, 0x7b].map(|code| store(code, -8));
        assert!(object(byte, load(0x79, 3)).reads_what_it_did_not_write());
        assert!(object(byte, load(0x61, 3)).reads_what_it_did_not_write());
        for (store, load) in [
            (byte, load(0x71, 3)),
            (word, load(0x79, 3)),
            (byte, load(0x79, 4)),
            (store(0x73, -16), load(0x79, 3)),
        ] {
            assert!(!object(store, load).reads_what_it_did_not_write());
        }
    }
}
