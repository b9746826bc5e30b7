//! Runs C programs on a tile, compiled as docs/machines/raw.md describes.

use std::path::Path;

use wireloom_machine::Registry;
use wireloom_raw::asm::{Program, add_elf};
use wireloom_raw::c::{self, Error};
use wireloom_raw::device::{Memory, MemorySpec};
use wireloom_raw::mapper::MachineSpec;
use wireloom_raw::{Chip, Side, Spec};

/// Compiles and links a program of programs/raw/c in a folder of this name. Returns the ELF file.
fn compiled(name: &str, file: &str) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/raw/c").join(file);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    c::compile(&[source], &folder).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the words that the program leaves from 64 KB on, computed here.
fn wanted() -> Vec<u32> {
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed
    };
    let mut words: Vec<u32> = (0..16 * 16).map(|_| random()).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let (mut sums, mut quotients) = (Vec::new(), Vec::new());
    for packet in bytes.chunks(64) {
        let length = 20 + random() as usize % 45;
        let half = |half: &[u8]| u32::from(half[0]) << 8 | half.get(1).map_or(0, |b| u32::from(*b));
        let mut sum: u32 = packet[..length].chunks(2).map(half).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sums.push(!sum & 0xffff);
        quotients.push(random() / (!sum & 0xffff | 1));
    }
    words.extend(sums);
    words.extend(quotients);
    words
}

#[test]
fn a_program_in_c_computes_what_the_host_does() {
    let mut program = Program::default();
    add_elf(&mut program, (1, 1), &compiled("results", "checksums.c")).unwrap();
    let spec = Spec { columns: 2, rows: 2, ..Spec::built_in() };
    let mut chip = Chip::new(&spec, &program).unwrap();
    chip.attach((0, 0), Side::West, Memory::new(MemorySpec::full_duplex(1 << 20))).unwrap();
    chip.run(1_000_000).unwrap();
    assert!(chip.is_halted());
    let wanted = wanted();
    let memory = chip.device::<Memory>((0, 0), Side::West).unwrap();
    for (number, word) in (0..).zip(&wanted) {
        assert_eq!(memory.word(0x10000 + 4 * number), Some(&mut word.clone()), "word {number}");
    }
}

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

/// Returns the machine of the description `raw`.
fn machine() -> MachineSpec {
    let machine = REGISTRY.find("raw").unwrap();
    machine.downcast_ref::<MachineSpec>().unwrap().clone()
}

#[test]
fn a_program_in_c_runs_on_the_first_tile_of_a_machine() {
    let elf = compiled("machine", "checksums.c");
    let (ran, chip) = c::execute(&machine(), &elf, 1_000_000).unwrap();
    assert_eq!(ran.returned, Some(0));
    // All cycles are accounted for, and the tile waits for no network.
    let spent = &ran.spent;
    assert_eq!(spent.executed, ran.executed);
    assert_eq!(ran.cycles, spent.executed + spent.operands + spent.branches + spent.misses);
    assert!(ran.misses > 0 && ran.hits > ran.misses);
    for (number, word) in (0..).zip(wanted()) {
        assert_eq!(chip.word(0x10000 + 4 * number), Some(word), "word {number}");
    }
    // A limit of one cycle less is too low.
    let (ran, _) = c::execute(&machine(), &elf, ran.cycles - 1).unwrap();
    assert_eq!(ran.returned, None);
}

#[test]
fn programs_in_c_that_a_tile_cannot_run_are_refused_with_the_reason() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-place");
    std::fs::create_dir_all(&folder).unwrap();
    let compile = |text: &str| {
        let source = folder.join("main.c");
        std::fs::write(&source, text).unwrap();
        c::compile(&[source], &folder)
    };
    let refused = |text: &str| match compile(text) {
        Err(Error::Refused(said)) => said,
        other => panic!("{other:?}"),
    };
    assert!(refused("int main(void) { return x; }").contains("main.c:1"));
    let text = "float half(float x) { return x / 2; } int main(int n) { return half(n); }";
    assert!(refused(text).contains("a tile has no library"));
    // The program has more instructions than fit on a tile.
    let text = "int main(void) { __asm__(\".rept 9000\\n nop\\n .endr\"); return 0; }";
    let error = c::execute(&machine(), &compile(text).unwrap(), 10).err().unwrap().to_string();
    assert!(error.contains("there is room for 8192"), "{error}");
    // A load past the memory of 128 MB stops the chip.
    let text = "int main(void) { return *(volatile int *)0x10000000; }";
    let error = c::execute(&machine(), &compile(text).unwrap(), 1000).err().unwrap();
    assert!(matches!(error, Error::Chip(wireloom_raw::Error::Fault { .. })), "{error}");
}

#[test]
fn files_that_no_tile_runs_are_refused() {
    let elf = compiled("refused", "checksums.c");
    let refused = |change: fn(&mut Vec<u8>)| {
        let mut bytes = elf.clone();
        change(&mut bytes);
        add_elf(&mut Program::default(), (0, 0), &bytes).unwrap_err()
    };
    assert!(refused(|bytes| bytes.truncate(10)).contains("no ELF file"));
    assert!(refused(|bytes| bytes[19] = 40).contains("no program for big-endian MIPS"));
    assert!(refused(|bytes| bytes[27] = 4).contains("link it to begin at 0"));
    let error = refused(|bytes| {
        // The first instruction, `lui $sp, 0x10`.
        let at = bytes.windows(4).position(|word| word == [0x3c, 0x1d, 0, 0x10]).unwrap();
        bytes[at..at + 4].fill(0xff);
    });
    assert!(error.contains("address 0x0: 0xffffffff is no instruction"), "{error}");
}
