//! A program in C on a tile, compiled as docs/machines/raw.md says.

use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_raw::asm::{Program, add_elf};
use wireloom_raw::device::{Memory, MemorySpec};
use wireloom_raw::{Chip, Side, Spec};

/// What a tile has not, or uses otherwise than other MIPS32 processors.
const FLAGS: &str = "-O2 -march=mips32 -EB -mno-abicalls -fno-pic -G0 -ffreestanding -msoft-float \
    -fno-delayed-branch -mno-branch-likely -mno-check-zero-division -fno-reorder-functions \
    -ffixed-24 -ffixed-25 -ffixed-26 -ffixed-27";
const LINKED: &str = "-EB -e _start -Ttext 0 -Tdata 0x8000 -z max-page-size=4 -s";

/// The bytes of start.s and checksums.c, compiled and linked, in a folder of that name.
fn compiled(name: &str) -> Vec<u8> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/raw/c");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let objects: Vec<PathBuf> = ["start", "checksums"].map(|o| folder.join(o)).into();
    for (source, object) in ["start.s", "checksums.c"].iter().zip(&objects) {
        let mut gcc = Command::new("mips-linux-gnu-gcc");
        run(gcc.args(FLAGS.split_whitespace()).arg("-c").arg(sources.join(source)), object);
    }
    let linked = folder.join("checksums.elf");
    let mut ld = Command::new("mips-linux-gnu-ld");
    run(ld.args(LINKED.split_whitespace()).args(&objects), &linked);
    std::fs::read(&linked).unwrap()
}

/// Runs a command that writes a file.
fn run(command: &mut Command, output: &Path) {
    let result = command.arg("-o").arg(output).output().unwrap_or_else(|error| {
        panic!("{:?} cannot be started ({error}): run `make tools`", command.get_program())
    });
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

/// The words that the program leaves from 64 KB on, computed here.
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
    add_elf(&mut program, (1, 1), &compiled("results")).unwrap();
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

#[test]
fn files_that_no_tile_runs_are_refused() {
    let elf = compiled("refused");
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
