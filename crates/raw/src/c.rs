//! Programs in C on a tile, built with Debian's cross compiler for MIPS, restricted to the
//! instructions of a tile (docs/machines/raw.md#programs-in-c).

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use wireloom_install::tools::cross_compiler;

use crate::asm::{Program, add_elf};
use crate::device::{Memory, MemorySpec};
use crate::machine::MachineSpec;
use crate::spent::TileCycles;
use crate::{Chip, Side};

/// The start-up code: it sets the stack and calls `main`.
const START: &str = include_str!("../../../programs/raw/c/start.s");
/// Turns off what a tile lacks or does differently from other MIPS32 processors.
const FLAGS: &str = "-O2 -march=mips32 -EB -mno-abicalls -fno-pic -G0 -ffreestanding -msoft-float \
    -fno-delayed-branch -mno-branch-likely -mno-check-zero-division -fno-reorder-functions \
    -ffixed-24 -ffixed-25 -ffixed-26 -ffixed-27";
const LINKED: &str = "-EB -e _start -Ttext 0 -Tdata 0x8000 -z max-page-size=4 -s";
const COMPILER: &str = "mips-linux-gnu-gcc";
const LINKER: &str = "mips-linux-gnu-ld";
/// The tile that runs the program. Its memory is at one of its ports.
const TILE: (u8, u8) = (0, 0);
const PORT: Side = Side::West;
/// The register that holds the return value of `main`: $v0.
const RETURNED: u8 = 2;

/// Why a program cannot be built or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler or linker cannot be started.
    #[error("`{tool}` does not start: {source}; `wireloom tools --fetch cross` fetches it")]
    Start { tool: &'static str, source: io::Error },
    /// A file cannot be written or read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The compiler or linker rejects the program.
    #[error("{0}")]
    Refused(String),
    /// The program does not fit a tile: it has an instruction that a tile lacks, or too many
    /// instructions.
    #[error("{0}")]
    Unfit(String),
    /// The program faulted on the chip.
    #[error(transparent)]
    Chip(#[from] crate::Error),
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The return value of `main`; none if it did not return within the limit.
    pub returned: Option<u32>,
    /// Cycles of the chip.
    pub cycles: u64,
    /// Instructions that the tile executed.
    pub executed: u64,
    /// Hits of the tile's data cache.
    pub hits: u64,
    /// Misses of the tile's data cache.
    pub misses: u64,
    /// The tile's cycles by cause.
    #[serde(skip)]
    pub spent: TileCycles,
}

/// Compiles C files and links them with the start-up code to an ELF file for a tile. Writes object
/// files into a folder.
///
/// # Errors
/// If the compiler is missing or rejects a file.
pub fn compile(sources: &[PathBuf], folder: &Path) -> Result<Vec<u8>, Error> {
    let start = folder.join("start.s");
    std::fs::write(&start, START).map_err(|source| Error::File { path: start.clone(), source })?;
    let mut objects = Vec::new();
    for (number, source) in [start].iter().chain(sources).enumerate() {
        let object = folder.join(format!("{number}.o"));
        run(COMPILER, FLAGS, |gcc| gcc.arg("-c").arg(source).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let linked = folder.join("program.elf");
    run(LINKER, LINKED, |ld| ld.args(&objects).arg("-o").arg(&linked))?;
    std::fs::read(&linked).map_err(|source| Error::File { path: linked, source })
}

fn run(
    tool: &'static str,
    flags: &str,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<(), Error> {
    let mut command = Command::new(cross_compiler(tool));
    arguments(command.args(flags.split_whitespace()));
    let output = command.output().map_err(|source| Error::Start { tool, source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    let hint = if said.contains("undefined reference to") {
        "\na tile has no library: `memcpy`, floating point and 64-bit division need functions of your own"
    } else {
        ""
    };
    Err(Error::Refused(said + hint))
}

/// Runs an ELF file on the first tile of a machine's chip for at most `most` cycles. The machine's
/// memory begins at address 0. Also returns the chip, whose memory holds the program's results.
///
/// # Errors
/// If the program does not fit the tile or faults.
pub fn execute(machine: &MachineSpec, elf: &[u8], most: u64) -> Result<(Ran, Chip), Error> {
    let mut program = Program::default();
    add_elf(&mut program, TILE, elf).map_err(Error::Unfit)?;
    let mut chip = Chip::new(&machine.chip, &program)?;
    chip.attach(
        TILE,
        PORT,
        Memory::new(MemorySpec {
            latency_cycles: machine.memory.latency_cycles,
            outstanding: machine.memory.outstanding as usize,
            ..MemorySpec::full_duplex(machine.memory.megabytes << 20)
        }),
    )?;
    while !chip.is_halted() && chip.cycles() < most {
        chip.run((most - chip.cycles()).min(1 << 12))?;
    }
    let (executed, hits, misses) = chip.counts(TILE);
    let spent = chip.spent(TILE).0;
    let returned = chip.is_halted().then(|| chip.register(TILE, RETURNED));
    // After the program has ended the chip runs for some more cycles, until nothing moves.
    let cycles = if chip.is_halted() { spent.total() } else { chip.cycles() };
    Ok((Ran { returned, cycles, executed, hits, misses, spent }, chip))
}
