//! Compares the disassembly with GNU's objdump over random words. Every instruction must have the
//! same text.
//!
//! objdump also accepts words that are refused here, such as extensions and unpredictable forms.
//! These are left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wireloom_isa::{Arm, Class, InstructionSet, Riscv};

/// The address of the first word.
const BASE: u32 = 0x10000;

/// Returns objdump's text for words, one line for each, without its comments and with single
/// blanks.
fn objdump(program: &str, options: &[&str], words: &[u32]) -> Vec<String> {
    let file: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}.bin"));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&file, bytes).expect("the folder for tests can be written");
    let output = Command::new(program)
        .args(["-b", "binary", "-D", "-z", &format!("--adjust-vma={BASE}")])
        .args(options)
        .arg(&file)
        .output()
        .unwrap_or_else(|error| {
            panic!("'{program}' cannot be started ({error}): run `make tools`")
        });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .filter_map(|line| line.trim_start().split_once(":\t"))
        .map(|(_, line)| {
            let instruction = line.split_once('\t').map_or("", |(_, instruction)| instruction);
            let comment = [" ; ", "\t; ", " @ ", "\t@ ", " # "]
                .iter()
                .filter_map(|mark| instruction.find(mark))
                .min();
            instruction[..comment.unwrap_or(instruction.len())]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

/// Compares the words that are instructions here. There must be at least `least`.
fn compare<S: InstructionSet>(words: &[u32], theirs: &[String], least: usize) {
    assert_eq!(words.len(), theirs.len());
    let mut compared = 0;
    let mut different = Vec::new();
    for (index, (word, theirs)) in words.iter().zip(theirs).enumerate() {
        let address = BASE + 4 * index as u32;
        if S::class(&S::decode(*word, address)) == Class::Undefined {
            continue;
        }
        compared += 1;
        let ours = S::disassemble(*word, address);
        if ours != *theirs {
            different.push(format!("0x{word:08x} is `{ours}` here and `{theirs}` there"));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {compared}, such as\n{}",
        different.len(),
        different[..different.len().min(12)].join("\n")
    );
    assert!(compared >= least, "only {compared} of {} words are instructions", words.len());
}

#[test]
fn arm_reads_as_objdump_writes_it() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let words: Vec<u32> = (0..60_000)
        .map(|_| {
            let word = random.random::<u32>();
            // Draw more words with many fields that must be 0 or 1.
            match random.random_range(0..10) {
                0 => word & 0xf0ff_ff0f | 0x90,
                1 => word & 0xf1ff_f06f | 0x90,
                2 => word & 0xf040_f00f | 0x0100_0090 | word & 0x000f_0000,
                3 => word & 0xf3e0_ffff | 0x01a0_0000,
                4 => word & 0xf3ff_0fff | 0x0110_0000,
                5 => word & 0xf000_f000 | 0x010f_0000,
                6 => word & 0xf009_000f | 0x0120_f000,
                _ => word,
            }
        })
        .collect();
    let theirs = objdump("arm-none-eabi-objdump", &["-m", "armv4"], &words);
    compare::<Arm>(&words, &theirs, 20_000);
}

#[test]
fn riscv_reads_as_objdump_writes_it() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let opcodes = [0x37, 0x17, 0x6f, 0x67, 0x63, 0x03, 0x23, 0x13, 0x33, 0x33, 0x0f];
    let mut words: Vec<u32> = (0..30_000)
        .map(|_| {
            let word =
                random.random::<u32>() & !0x7f | opcodes[random.random_range(0..opcodes.len())];
            match random.random_range(0..3) {
                // objdump, unlike a processor, does not ignore the other fields of a fence.
                _ if word & 0x7f == 0x0f => word & 0x0ff0_707f,
                0 => word & 0x01ff_ffff,
                1 => word & 0x43ff_ffff,
                _ => word,
            }
        })
        .collect();
    words.extend([0x0000_0073, 0x0010_0073]);
    let theirs =
        objdump("riscv64-unknown-elf-objdump", &["-m", "riscv:rv32", "-M", "no-aliases"], &words);
    compare::<Riscv>(&words, &theirs, 10_000);
}
