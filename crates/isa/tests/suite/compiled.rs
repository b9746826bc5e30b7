//! Takes a C program from Debian's cross compilers to its result: compiles, links, loads and runs
//! it.

use std::path::Path;
use std::process::Command;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wireloom_isa::program::End;
use wireloom_isa::{Arm, Riscv};
use wireloom_isa::{Compiled, Memory, Program, Thread};

/// The bytes of an ELF file's header.
const FILE_HEADER: usize = 52;

/// Flags of both compilers: no library but the compiler's own, no start files.
const FLAGS: [&str; 4] = ["-ffreestanding", "-nostdlib", "-static", "-O2"];

/// `-march=armv4` also makes the compiler tell the linker to replace BX, which occurs in the
/// compiler's library but not in ARMv4.
const ARM: (&str, &[&str]) = ("arm-none-eabi-gcc", &["-march=armv4", "-marm", "-mfloat-abi=soft"]);
const RISCV: (&str, &[&str]) = ("riscv64-unknown-elf-gcc", &["-march=rv32im", "-mabi=ilp32"]);

fn compile((compiler, flags): (&str, &[&str]), more: &[&str]) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sort_and_check.c");
    let output =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{compiler}{}.elf", more.concat()));
    let result = Command::new(compiler)
        .args(flags)
        .args(FLAGS)
        .args(more)
        .arg(source)
        .args(["-lgcc", "-o"])
        .arg(&output)
        .output()
        .unwrap_or_else(|error| {
            panic!("'{compiler}' cannot be started ({error}): run `make tools`")
        });
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    std::fs::read(&output).expect("the program")
}

/// Runs the program to its end. Compares the results, and finds the time of `sort` by the symbols.
fn runs<S: Compiled>(program: &Program) {
    let text = program.text::<S>().expect("of this machine");
    let base = program.segments[0].address;
    let last = program.segments.last().expect("segments");
    let top = (last.address + last.size + 4096) & !7;
    let mut bytes = vec![0; (top - base) as usize];
    for segment in &program.segments {
        let at = (segment.address - base) as usize;
        bytes[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    let mut memory = Memory::new(base, bytes);
    let mut thread = S::Thread::new(program.entry);
    thread.set_register(S::STACK_POINTER, top);

    let mut profile = vec![0u32; program.symbols.functions().len()];
    let runner = text.runner();
    let end = loop {
        if let Some(function) = program.symbols.function_at(thread.pc()) {
            profile[function] += 1;
        }
        match runner.run(&mut thread, &mut memory, 1) {
            Ok((_, End::Enough)) => {}
            Ok((_, end)) => break end,
            Err(exception) => panic!("{}", exception.within(&program.symbols)),
        }
    };
    assert_eq!(end, End::Service(1));
    assert_eq!(thread.register(S::ARGUMENTS[0]), 0xcbf4_3926);

    let (results, size) = program.symbols.find("results").expect("a variable");
    assert_eq!(size, 32);
    let results: Vec<u32> = memory.bytes()[(results - base) as usize..][..32]
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let quotient = (0x0123_4567_89ab_cdef_u64 / 13) as u32;
    let expected = [0xcbf4_3926, 1, 76_923, 8, -76_923_i32 as u32, quotient, 99, -603_i32 as u32];
    assert_eq!(results, expected);

    let sort = program
        .symbols
        .functions()
        .iter()
        .position(|function| function.name.starts_with("sort"))
        .expect("a function");
    assert!(profile[sort] > 64 * 64 / 4, "{} instructions in sort", profile[sort]);
}

#[test]
fn what_debians_compiler_for_arm_makes_runs() {
    runs::<Arm>(&Program::parse(&compile(ARM, &[])).expect("a program"));
}

#[test]
fn what_debians_compiler_for_riscv_makes_runs() {
    runs::<Riscv>(&Program::parse(&compile(RISCV, &[])).expect("a program"));
}

#[test]
fn debug_information_gives_each_instruction_its_lines() {
    let source = include_str!("../programs/sort_and_check.c");
    for target in [ARM, RISCV] {
        let without = Program::parse(&compile(target, &[])).expect("a program");
        let with = Program::parse(&compile(target, &["-g1"])).expect("a program");
        // The file's header can lie in the segment, and tells where the sections are.
        let code = |program: &Program| program.executable().bytes[FILE_HEADER..].to_vec();
        assert!(code(&with) == code(&without), "the code is the same");
        let text = with.executable();
        let addresses = || (text.address..text.address + text.bytes.len() as u32).step_by(4);
        // The compiler's own library may have some.
        assert!(!without.lines.files().iter().any(|file| file.ends_with("sort_and_check.c")));
        let lines: Vec<&str> = addresses()
            .flat_map(|address| with.lines.at(address))
            .filter(|line| with.lines.files()[line.file].ends_with("sort_and_check.c"))
            .map(|line| source.lines().nth(line.line as usize - 1).expect("a line of the file"))
            .collect();
        assert!(lines.iter().any(|line| line.contains("while") || line.contains("for (")));
        assert!(lines.len() > 60, "{} instructions have a line", lines.len());
        for address in [0, text.address - 4, text.address + text.bytes.len() as u32, u32::MAX] {
            assert!(with.lines.at(address).is_empty());
        }
    }
}

#[test]
fn damaged_debug_information_is_no_error() {
    let whole = compile(RISCV, &["-g1"]);
    let good = Program::parse(&whole).expect("a program");
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut differ = 0;
    for _ in 0..300 {
        let mut file = whole.clone();
        for _ in 0..random.random_range(1..20) {
            let at = random.random_range(0..file.len());
            file[at] = random.random();
        }
        let Ok(program) = Program::parse(&file) else { continue };
        differ += u32::from(program.lines != good.lines);
    }
    assert!(differ > 30, "{differ} programs have other lines");
}
