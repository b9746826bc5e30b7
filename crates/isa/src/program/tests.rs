//! Tests with files built here byte by byte. tests/suite/compiled.rs has compiled programs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Architecture, End, Error, Place, Program};
use crate::set::Thread as _;
use crate::{Arm, Cause, Compiled, InstructionSet, Memory, Riscv};

const TEXT: u32 = 0x1_0000;
const DATA: u32 = 0x2_0000;

/// Offsets in the output of `program`.
const SEGMENTS: usize = 52;
const TEXT_AT: usize = SEGMENTS + 2 * 32;

/// Returns an executable with `_start` and `stop` of one instruction each, a variable of one word,
/// and zeros.
fn program(machine: u16, flags: u32, words: [u32; 2]) -> Vec<u8> {
    let names = b"\0_start\0stop\0count\0$d\0";
    let symbol = |name: u32, address: u32, size: u32, info: u8, section: u16| {
        let mut bytes: Vec<u8> =
            [name, address, size].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend([info, 0]);
        bytes.extend(section.to_le_bytes());
        bytes
    };
    let symbols = [
        symbol(0, 0, 0, 0, 0),
        symbol(1, TEXT, 0, 0x10, 1),  // global, without a type
        symbol(8, TEXT + 4, 4, 2, 1), // a local function
        symbol(13, DATA, 4, 0x11, 2), // a global variable
        symbol(19, DATA, 0, 0, 2),
    ]
    .concat();
    let data_at = TEXT_AT + 8;
    let symbols_at = data_at + 4;
    let names_at = symbols_at + symbols.len();
    let sections_at = names_at + names.len();

    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|v| file.extend(v.to_le_bytes()))
    };
    let words_of = |file: &mut Vec<u8>, values: &[u32]| {
        values.iter().for_each(|v| file.extend(v.to_le_bytes()))
    };
    halves(&mut file, &[2, machine]);
    words_of(&mut file, &[1, TEXT, SEGMENTS as u32, sections_at as u32, flags]);
    halves(&mut file, &[52, 32, 2, 40, 5, 4]);
    words_of(&mut file, &[1, TEXT_AT as u32, TEXT, TEXT, 8, 8, 5, 4]);
    words_of(&mut file, &[1, data_at as u32, DATA, DATA, 4, 16, 6, 4]);
    words_of(&mut file, &words);
    words_of(&mut file, &[77]);
    file.extend(symbols.iter());
    file.extend(names);
    let [symbols_size, names_size] = [symbols.len(), names.len()].map(|size| size as u32);
    for section in [
        [0; 10],
        [0, 1, 6, TEXT, TEXT_AT as u32, 8, 0, 0, 4, 0],
        [0, 1, 3, DATA, data_at as u32, 4, 0, 0, 4, 0],
        [0, 2, 0, 0, symbols_at as u32, symbols_size, 4, 3, 4, 16],
        [0, 3, 0, 0, names_at as u32, names_size, 0, 0, 1, 0],
    ] {
        words_of(&mut file, &section);
    }
    file
}

fn riscv() -> Vec<u8> {
    program(243, 0, [0x0011_0113, 0x0000_0073]) // addi sp,sp,1; ecall
}

fn arm() -> Vec<u8> {
    program(40, 0x0500_0200, [0xe591_0000, 0xef00_0003]) // ldr r0, [r1]; svc 3
}

/// Returns the error for the file after these bytes of it have changed.
#[track_caller]
fn refused(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> String {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    Program::parse(&file).expect_err("refused").to_string()
}

#[test]
fn segments_symbols_and_text_are_there() {
    let program = Program::parse(&riscv()).expect("a program");
    assert_eq!(
        (program.machine, program.entry, program.segments.len()),
        (Architecture::Riscv, TEXT, 2)
    );
    let data = &program.segments[1];
    assert_eq!((data.address, &data.bytes[..], data.size), (DATA, &77u32.to_le_bytes()[..], 16));
    assert!(data.is_writable && !data.is_executable && program.executable().address == TEXT);

    let symbols = &program.symbols;
    assert_eq!(symbols.find("count"), Some((DATA, 4)));
    assert_eq!(symbols.find("$d"), None);
    let names: Vec<_> = symbols.functions().iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["_start", "stop"]);
    assert_eq!(
        symbols.at(TEXT + 2).map(|(function, offset)| (function.name.as_str(), offset)),
        Some(("_start", 2))
    );
    assert_eq!(
        [TEXT - 1, TEXT + 4, TEXT + 8].map(|address| symbols.function_at(address)),
        [None, Some(1), None]
    );

    let text = program.text::<Riscv>().expect("of RISC-V");
    let mut thread = <Riscv as InstructionSet>::Thread::new(program.entry);
    let end = text.runner().run(&mut thread, &mut Memory::new(0, Vec::new()), 10);
    assert_eq!((end, thread.register(2)), (Ok((2, End::Service(0))), 1));
    let outside = text
        .runner()
        .run(&mut thread, &mut Memory::new(0, Vec::new()), 10)
        .expect_err("behind the text");
    assert_eq!((outside.address, outside.cause), (TEXT + 8, Cause::OutsideText));
    assert_eq!(
        [TEXT + 1, TEXT - 4, 0].map(|pc| text.fetch(pc).err()),
        [Some(Cause::OutsideText); 3]
    );

    let message = program.text::<Arm>().expect_err("not of ARM");
    assert_eq!(message, "the program was compiled for RISC-V, not for ARM");
}

#[test]
fn an_exception_names_the_function() {
    let program = Program::parse(&arm()).expect("a program");
    let text = program.text::<Arm>().expect("of ARM");
    let mut thread = <Arm as InstructionSet>::Thread::new(program.entry);
    thread.set_register(1, 0x123);
    let exception = text
        .runner()
        .run(&mut thread, &mut Memory::new(0, Vec::new()), 10)
        .expect_err("misaligned");
    assert_eq!(
        exception.within(&program.symbols).to_string(),
        "at 0x00010000 (_start+0x0), `ldr r0, [r1]` (0xe5910000): load of a word at 0x00000123, which is no multiple of 4"
    );
    assert!(exception.to_string().starts_with("at 0x00010000, `ldr"));
}

#[test]
fn other_files_are_refused_with_a_reason() {
    assert_eq!(
        Program::parse(b"#!/bin/sh").expect_err("text").to_string(),
        "byte 0x0: this is no ELF file"
    );
    assert_eq!(
        Program::parse(&riscv()[..40]).expect_err("cut").to_string(),
        "byte 0x28: the file ends in its header"
    );
    for (file, at, bytes, part) in [
        (riscv(), 4, &[2][..], "byte 0x4: this is no ELF file of 32 bits"),
        (riscv(), 5, &[2], "byte 0x5: the program is big-endian"),
        (riscv(), 16, &[1], "byte 0x10: this is an object file: link it"),
        (riscv(), 16, &[3], "byte 0x10: this is position-independent or shared"),
        (riscv(), 18, &[62], "byte 0x12: the program is for the machine 62"),
        (riscv(), 36, &[1], "compile with -march=rv32im"),
        (riscv(), 36, &[4], "compile with -mabi=ilp32"),
        (arm(), 37, &[4], "compile with -mfloat-abi=soft"),
        (arm(), 39, &[4], "does not follow version 5"),
        (arm(), 24, &[1], "byte 0x18: the entry point 0x10001 is no instruction of ARM's"),
        (arm(), 26, &[2], "byte 0x18: the entry point 0x20000"),
    ] {
        let message = refused(file, at, bytes);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn damaged_segments_are_refused_with_their_place() {
    let second = SEGMENTS + 32;
    for (at, bytes, part) in [
        (
            second,
            &3u32.to_le_bytes()[..],
            "segment 1 (header at byte 0x54): the program is linked dynamically",
        ),
        (
            second + 4,
            &[0xff; 4],
            "segment 1 (header at byte 0x54): its 0x4 bytes from byte 0xffffffff on are not all",
        ),
        (second + 20, &[3], "more bytes in the file, 0x4, than in memory, 0x3"),
        (second + 8, &[0xfc, 0xff, 0xff, 0xff], "beyond the last address"),
        (
            second + 8,
            &(TEXT + 4).to_le_bytes(),
            "it begins at 0x10004, in the segment from 0x10000 on",
        ),
        (second + 20, &[0, 0, 0, 0x10], "byte 0x34: the segments take"),
        (second + 24, &[7], "second executable segment"),
        (SEGMENTS + 24, &[4], "byte 0x34: no segment is executable"),
        (SEGMENTS + 8, &[2], "begins at 0x10002, which is no multiple of 4"),
        (28, &[0xff; 4], "byte 0xffffffff"),
    ] {
        let message = refused(riscv(), at, bytes);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn damaged_symbols_are_refused_and_missing_ones_are_not() {
    let mut file = riscv();
    let sections = u32::from_le_bytes([file[32], file[33], file[34], file[35]]) as usize;
    let table = sections + 3 * 40;
    let outside = refused(file.clone(), table + 16, &[0xff; 4]);
    assert!(outside.starts_with("section 3: "), "{outside}");
    let symbols = u32::from_le_bytes([file[table + 16], file[table + 17], 0, 0]) as usize;
    let unnamed = Program::parse(&{
        file[symbols + 16..symbols + 20].copy_from_slice(&[0xff; 4]);
        file
    });
    assert!(matches!(unnamed, Err(Error::Bad { place: Place::Section(4), .. })), "{unnamed:?}");

    let mut stripped = riscv();
    stripped[32..36].fill(0);
    stripped[48..52].fill(0);
    let program = Program::parse(&stripped).expect("a program without symbols");
    assert!(program.symbols.functions().is_empty() && program.symbols.find("count").is_none());
}

/// Any file is refused or can be run.
#[test]
fn no_bytes_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut parsed = 0;
    for _ in 0..10_000 {
        let mut file = if random.random() { arm() } else { riscv() };
        for _ in 0..random.random_range(0..6) {
            let at = random.random_range(0..file.len());
            file[at] = random.random();
        }
        if random.random_bool(0.1) {
            file.truncate(random.random_range(0..file.len()));
        }
        let Ok(program) = Program::parse(&file) else { continue };
        parsed += 1;
        match program.machine {
            Architecture::Arm => start::<Arm>(&program),
            Architecture::Riscv => start::<Riscv>(&program),
        }
    }
    assert!((1000..9000).contains(&parsed), "{parsed} files are programs");
}

fn start<S: Compiled>(program: &Program) {
    let text = program.text::<S>().expect("of this machine");
    let mut thread = S::Thread::new(program.entry);
    if let Err(exception) = text.runner().run(&mut thread, &mut Memory::new(DATA, vec![0; 64]), 20)
    {
        assert!(!exception.within(&program.symbols).to_string().is_empty());
    }
}
