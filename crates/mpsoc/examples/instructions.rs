//! The instructions per packet of a capture, on both instruction sets, in total and by step. The
//! outcome is compared with the golden model's.
//!
//!     cargo run --release -p wireloom-mpsoc --example instructions -- \
//!         [--listing] PROGRAM CAPTURE [TABLES ...]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wireloom_compile::lower;
use wireloom_ir::{Execute, Golden, Output, Program, Verdict, store};
use wireloom_isa::program::Architecture;
use wireloom_isa::{Arm, Compiled, Riscv};
use wireloom_mpsoc::program::{BuildOptions, Elements, Functional, Partition, build};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Store, load_tables};

fn main() -> ExitCode {
    let mut arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let with_listing = arguments.first().is_some_and(|first| first == Path::new("--listing"));
    arguments.drain(..usize::from(with_listing));
    let [program, capture, tables @ ..] = &arguments[..] else {
        eprintln!("usage: instructions [--listing] PROGRAM CAPTURE [TABLES ...]");
        return ExitCode::from(2);
    };
    match run(program, capture, tables, with_listing) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(
    program: &Path,
    capture: &Path,
    tables: &[PathBuf],
    with_listing: bool,
) -> Result<(), String> {
    let program = compile(program)?;
    let packets = read(capture)?;
    let mut golden = Golden::new(program.clone(), loaded(&program, tables)?);
    let expected = outcome(&mut golden, &packets);
    measure::<Arm>(&program, &packets, tables, &expected, with_listing)?;
    measure::<Riscv>(&program, &packets, tables, &expected, with_listing)
}

fn measure<S: Compiled>(
    program: &Program,
    packets: &[Packet],
    tables: &[PathBuf],
    expected: &[(u64, Verdict, Vec<u8>)],
    with_listing: bool,
) -> Result<(), String> {
    let machine =
        if S::MACHINE == Architecture::Arm { Architecture::Arm } else { Architecture::Riscv };
    let built = build(program, &Partition::whole(), &Elements::none(), &BuildOptions::new(machine))
        .map_err(|e| e.to_string())?;
    let mut functional =
        Functional::<S>::new(&built, program, &Elements::none(), loaded(program, tables)?)?;
    let got = outcome(&mut functional, packets);
    if let Some(at) =
        (0..expected.len().max(got.len())).find(|at| expected.get(*at) != got.get(*at))
    {
        return Err(format!(
            "{}: output {at} is {:?}, not {:?}",
            S::NAME,
            got.get(at),
            expected.get(at)
        ));
    }
    let profile = functional.profile();
    let each = |count: u64| count as f64 / packets.len() as f64;
    let share = 100.0 * profile.total.communication as f64 / profile.total.instructions as f64;
    println!("{}: {}", S::NAME, built.path.display());
    println!(
        "  {:6.1} instructions a packet, {share:.1} % communication",
        each(profile.total.instructions)
    );
    for (name, count) in &profile.parts {
        println!("  {:6.1} {:6.1}  {name}", each(count.instructions), each(count.communication));
    }
    for (address, assembly, count) in functional.listing().filter(|_| with_listing) {
        println!("  {:8.3} {address:8x}  {assembly}", each(count.instructions));
    }
    Ok(())
}

fn compile(path: &Path) -> Result<Program, String> {
    let checked = wireloom_lang::check(path, &wireloom_lang::Options::default());
    let messages = || wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
    Ok(wireloom_mpsoc::for_threads(lower(checked.program.as_ref().ok_or_else(messages)?)))
}

fn read(path: &Path) -> Result<Vec<Packet>, String> {
    let error = |e: wireloom_net::capture::CaptureError| format!("{}: {e}", path.display());
    let mut reader = Reader::open(path).map_err(error)?;
    let mut packets = Vec::new();
    let mut packet = Packet::default();
    while reader.read_into(&mut packet).map_err(error)? {
        packets.push(packet.clone());
    }
    Ok(packets)
}

fn loaded(program: &Program, tables: &[PathBuf]) -> Result<Store, String> {
    let mut store = store(program).map_err(|refused| refused.0)?;
    for path in tables {
        let file = TableFile::open(path).map_err(|e| e.to_string())?;
        load_tables(&mut store, file).map_err(|e| e.to_string())?;
    }
    Ok(store)
}

fn outcome(machine: &mut dyn Execute, packets: &[Packet]) -> Vec<(u64, Verdict, Vec<u8>)> {
    let mut left = Vec::new();
    machine.execute(packets, &mut |o: Output<'_>| {
        left.push((o.sequence, o.verdict, o.bytes.to_vec()))
    });
    left
}
