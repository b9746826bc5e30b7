//! Loads programs of a MIPS compiler: big-endian ELF files for MIPS32 that begin at address 0.

use object::{Architecture, Endianness, Object, ObjectSection, SectionKind};
use wireloom_isa::raw::tile;

use super::{Place, Program};

/// Limit on the bytes of a section. No tile has a larger program.
const MOST: u64 = 1 << 26;

/// Puts a linked ELF file on a tile. Its text becomes the tile's instructions, from address 0. Its
/// data becomes words of a memory.
///
/// # Errors
/// If the file is not such an ELF file, or has an instruction that a tile does not have: the reason
/// and the place.
pub fn add_elf(program: &mut Program, place: Place, bytes: &[u8]) -> Result<(), String> {
    let file = object::File::parse(bytes).map_err(|error| format!("no ELF file: {error}"))?;
    if file.architecture() != Architecture::Mips || file.endianness() != Endianness::Big {
        return Err("no program for big-endian MIPS: compile with -EB".to_owned());
    }
    if file.entry() != 0 {
        return Err(format!("the program begins at {:#x}: link it to begin at 0", file.entry()));
    }
    let mut code = Vec::new();
    for section in file.sections() {
        let is_code = section.kind() == SectionKind::Text;
        let is_data = matches!(
            section.kind(),
            SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyString
                | SectionKind::UninitializedData
        );
        if !(is_code || is_data) || section.size() == 0 {
            continue;
        }
        let (address, size) = (section.address(), section.size());
        let Some(address) = u32::try_from(address).ok().filter(|_| size <= MOST) else {
            return Err(format!(
                "a section of {size} bytes at {address:#x} does not fit the memory"
            ));
        };
        if !address.is_multiple_of(4) {
            return Err(format!("a section at {address:#x}: align it to 4"));
        }
        let mut bytes = section.data().map_err(|error| format!("malformed: {error}"))?.to_vec();
        bytes.resize((size as usize).next_multiple_of(4), 0);
        let word = |word: &[u8]| word.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
        if is_data {
            program.set_data(address, words);
        } else if address == 0 {
            code = words;
        } else {
            return Err(format!("instructions at {address:#x}: link them in one piece from 0"));
        }
    }
    for (number, word) in code.iter().enumerate() {
        tile::decode(*word).map_err(|error| format!("address {:#x}: {error}", 4 * number))?;
    }
    program.set_tile(place, code);
    Ok(())
}
