//! Reading ELF executables (System V ABI, "Object Files"; ELF for the Arm Architecture; RISC-V ELF
//! psABI).

use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, SectionIndex};

use super::symbols::SymbolKind;
use super::{Architecture, Error, Lines, MOST_MEMORY, Place, Program, Segment, Symbols};

type Header = elf::FileHeader32<LittleEndian>;

const ENDIAN: LittleEndian = LittleEndian;

pub(super) fn parse(file: &[u8]) -> Result<Program, Error> {
    identify(file)?;
    let header = Header::parse(file).map_err(|error| at(0, error.to_string()))?;
    let machine = machine(header)?;
    let segments = segments(header, file)?;
    let entry = header.e_entry.get(ENDIAN);
    let is_code = |segment: &Segment| {
        segment.is_executable && entry.wrapping_sub(segment.address) < segment.bytes.len() as u32
    };
    if !segments.iter().any(is_code) || !entry.is_multiple_of(4) {
        return Err(at(
            24,
            format!(
                "the entry point 0x{entry:x} is no instruction of {machine}'s in the executable segment"
            ),
        ));
    }
    let symbols = symbols(header, file)?;
    let lines = lines(header, file, &segments);
    Ok(Program { machine, entry, segments, symbols, lines })
}

fn at(byte: u64, what: impl Into<String>) -> Error {
    Error::Bad { place: Place::Byte(byte), what: what.into() }
}

/// Checks the kind of ELF file before any other field is used.
fn identify(file: &[u8]) -> Result<(), Error> {
    if !file.starts_with(&elf::ELFMAG) {
        return Err(at(0, "this is no ELF file"));
    }
    if file.len() < size_of::<Header>() {
        return Err(at(file.len() as u64, "the file ends in its header"));
    }
    if file[4] != elf::ELFCLASS32.0 {
        return Err(at(4, "this is no ELF file of 32 bits: compile for ARM or for 32-bit RISC-V"));
    }
    if file[5] != elf::ELFDATA2LSB.0 {
        return Err(at(5, "the program is big-endian: compile it little-endian"));
    }
    Ok(())
}

/// Offsets of fields of the file header.
const TYPE: u64 = 16;
const MACHINE: u64 = 18;
const FLAGS: u64 = 36;

fn machine(header: &Header) -> Result<Architecture, Error> {
    match header.e_type.get(ENDIAN) {
        elf::ET_EXEC => {}
        elf::ET_REL => return Err(at(TYPE, "this is an object file: link it")),
        elf::ET_DYN => {
            return Err(at(
                TYPE,
                "this is position-independent or shared: link with -static and -no-pie",
            ));
        }
        other => return Err(at(TYPE, format!("ELF type {} is no executable", other.0))),
    }
    let flags = header.e_flags.get(ENDIAN).0;
    let refuse = |what: &str| Err(at(FLAGS, format!("flags 0x{flags:08x}: {what}")));
    match header.e_machine.get(ENDIAN) {
        elf::EM_ARM if flags & elf::EF_ARM_EABIMASK != elf::EF_ARM_EABI_VER5.0 => {
            refuse("the program does not follow version 5 of ARM's EABI")
        }
        elf::EM_ARM if flags & elf::EF_ARM_BE8.0 != 0 => {
            refuse("the data of the program are big-endian")
        }
        elf::EM_ARM if flags & elf::EF_ARM_ABI_FLOAT_HARD != 0 => {
            refuse("there are no floating-point registers: compile with -mfloat-abi=soft")
        }
        elf::EM_ARM => Ok(Architecture::Arm),
        elf::EM_RISCV if flags & elf::EF_RISCV_RVC.0 != 0 => {
            refuse("there are no compressed instructions: compile with -march=rv32im")
        }
        elf::EM_RISCV if flags & elf::EF_RISCV_FLOAT_ABI != elf::EF_RISCV_FLOAT_ABI_SOFT.0 => {
            refuse("there are no floating-point registers: compile with -mabi=ilp32")
        }
        elf::EM_RISCV if flags & elf::EF_RISCV_RVE.0 != 0 => {
            refuse("the program follows the conventions of 16 registers: compile with -mabi=ilp32")
        }
        elf::EM_RISCV => Ok(Architecture::Riscv),
        other => Err(at(
            MACHINE,
            format!("the program is for the machine {}, not for ARM (40) or RISC-V (243)", other.0),
        )),
    }
}

fn segments(header: &Header, file: &[u8]) -> Result<Vec<Segment>, Error> {
    let table = u64::from(header.e_phoff.get(ENDIAN));
    let headers =
        header.program_headers(ENDIAN, file).map_err(|error| at(table, error.to_string()))?;
    let mut found: Vec<(Place, Segment)> = Vec::new();
    for (number, header) in headers.iter().enumerate() {
        let place = Place::Segment {
            number,
            header: table + (number * size_of::<elf::ProgramHeader32<LittleEndian>>()) as u64,
        };
        let bad = |what: String| Err(Error::Bad { place, what });
        match header.p_type(ENDIAN) {
            elf::PT_LOAD => {}
            elf::PT_INTERP | elf::PT_DYNAMIC => {
                return bad("the program is linked dynamically: link with -static".into());
            }
            _ => continue,
        }
        let (address, size) = (header.p_vaddr(ENDIAN), header.p_memsz(ENDIAN));
        if size == 0 {
            continue;
        }
        let Ok(bytes) = header.data(ENDIAN, file) else {
            return bad(format!(
                "its 0x{:x} bytes from byte 0x{:x} on are not all in the file, which has 0x{:x}",
                header.p_filesz(ENDIAN),
                header.p_offset(ENDIAN),
                file.len()
            ));
        };
        if bytes.len() as u64 > u64::from(size) {
            return bad(format!(
                "it has more bytes in the file, 0x{:x}, than in memory, 0x{size:x}",
                bytes.len()
            ));
        }
        if u64::from(address) + u64::from(size) > 1 << 32 {
            return bad(format!(
                "it goes from 0x{address:x} for 0x{size:x} bytes, beyond the last address"
            ));
        }
        let has = |flag: elf::ProgramFlags| header.p_flags(ENDIAN).0 & flag.0 != 0;
        let segment = Segment {
            address,
            bytes: bytes.to_vec(),
            size,
            is_writable: has(elf::PF_W),
            is_executable: has(elf::PF_X),
        };
        if segment.is_executable && !address.is_multiple_of(4) {
            return bad(format!(
                "it is executable and begins at 0x{address:x}, which is no multiple of 4"
            ));
        }
        found.push((place, segment));
    }
    let memory: u64 = found.iter().map(|(_, segment)| u64::from(segment.size)).sum();
    if memory > MOST_MEMORY {
        return Err(at(
            table,
            format!("the segments take {memory} bytes of memory, more than {MOST_MEMORY}"),
        ));
    }
    found.sort_by_key(|(_, segment)| segment.address);
    for pair in found.windows(2) {
        let [(_, low), (place, high)] = pair else { continue };
        if high.address - low.address < low.size {
            return Err(Error::Bad {
                place: *place,
                what: format!(
                    "it begins at 0x{:x}, in the segment from 0x{:x} on",
                    high.address, low.address
                ),
            });
        }
    }
    let mut executable = found.iter().filter(|(_, segment)| segment.is_executable);
    match (executable.next(), executable.next()) {
        (Some(_), None) => Ok(found.into_iter().map(|(_, segment)| segment).collect()),
        (None, _) => Err(at(table, "no segment is executable")),
        (_, Some((place, _))) => Err(Error::Bad {
            place: *place,
            what: "it is the second executable segment: link all text into one".into(),
        }),
    }
}

/// Returns the symbol table; empty if the program is stripped.
fn symbols(header: &Header, file: &[u8]) -> Result<Symbols, Error> {
    let table = u64::from(header.e_shoff.get(ENDIAN));
    let sections = header.sections(ENDIAN, file).map_err(|error| at(table, error.to_string()))?;
    let symbols = sections.symbols(ENDIAN, file, elf::SHT_SYMTAB).map_err(|error| {
        let number = sections.iter().position(|section| section.sh_type(ENDIAN) == elf::SHT_SYMTAB);
        Error::Bad { place: Place::Section(number.unwrap_or(0)), what: error.to_string() }
    })?;
    let mut found = Vec::new();
    for symbol in symbols.iter() {
        let Ok(name) = symbol.name(ENDIAN, symbols.strings()) else {
            return Err(Error::Bad {
                place: Place::Section(symbols.string_section().0),
                what: "the name of a symbol is not in it".into(),
            });
        };
        let name = String::from_utf8_lossy(name);
        // `$a`, `$d` and `$x` are mapping symbols, which tell disassemblers whether code or data
        // follows.
        if name.is_empty() || name.starts_with('$') || symbol.is_undefined(ENDIAN) {
            continue;
        }
        let index = SectionIndex(usize::from(symbol.st_shndx.get(ENDIAN).0));
        let is_code = sections
            .section(index)
            .is_ok_and(|section| section.sh_flags(ENDIAN).0 & elf::SHF_EXECINSTR.0 != 0);
        let is_global = symbol.st_bind() == elf::STB_GLOBAL || symbol.st_bind() == elf::STB_WEAK;
        let kind = match symbol.st_type() {
            elf::STT_FUNC => SymbolKind::Function,
            // Assemblers leave functions without a type. Local symbols are labels within functions.
            elf::STT_NOTYPE if is_code && is_global => SymbolKind::Function,
            elf::STT_OBJECT | elf::STT_NOTYPE => SymbolKind::Other,
            _ => continue,
        };
        found.push((
            name.into_owned(),
            symbol.st_value.get(ENDIAN),
            symbol.st_size.get(ENDIAN),
            kind,
            is_global,
        ));
    }
    Ok(Symbols::new(found))
}

/// The source lines of the executable segment's instructions.
fn lines(header: &Header, file: &[u8], segments: &[Segment]) -> Lines {
    let Ok(sections) = header.sections(ENDIAN, file) else { return Lines::default() };
    let section = |name: &str| -> &[u8] {
        let section = sections.section_by_name(ENDIAN, name.as_bytes());
        section.and_then(|(_, section)| section.data(ENDIAN, file).ok()).unwrap_or_default()
    };
    let Some(text) = segments.iter().find(|segment| segment.is_executable) else {
        return Lines::default();
    };
    Lines::read(section, text.address, (text.bytes.len() / 4) as u32)
}
