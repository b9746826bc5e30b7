//! Debian's cross compilers for the processors' instruction sets.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_isa::program::Machine;
use wireloom_native::thread::Refused;

/// What both compilers are told. There is no library but the compiler's own, and no loop may become a call of one. Small code
/// is also the quickest here, with conditions that leave as soon as they are decided: engines branch more than they loop. A
/// function whose variables do not fit into a thread's stack is refused.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-Os",
    "--param=logical-op-non-short-circuit=0",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-tree-loop-distribute-patterns",
    "-fno-asynchronous-unwind-tables",
    "-Werror=frame-larger-than=2048",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
];

/// `-march=armv4` also lets the compiler tell the linker to replace BX, which is in its library but not in ARMv4. The rest is for want of registers, of which
/// there are sixteen: no constants are kept in them from one packet to the next, nothing is computed before it is known whether it is needed, no expression
/// before its place, and the loop around all packets is no reason to keep out of registers what is used in one around labels.
const ARM: Toolchain = Toolchain {
    compiler: "arm-none-eabi-gcc",
    flags: &[
        "-march=armv4",
        "-marm",
        "-mfloat-abi=soft",
        "-fno-tree-loop-im",
        "-fno-move-loop-invariants",
        "-fno-code-hoisting",
        "-fno-tree-ter",
        "-fira-region=all",
    ],
};
const RISCV: Toolchain =
    Toolchain { compiler: "riscv64-unknown-elf-gcc", flags: &["-march=rv32im", "-mabi=ilp32"] };

/// A compiler for an instruction set.
#[derive(Debug)]
pub(super) struct Toolchain {
    compiler: &'static str,
    flags: &'static [&'static str],
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The engine does what the processors' threads cannot.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compiler could not be started.
    #[error("the cross compiler `{compiler}` does not start: {source}; `make tools` installs it")]
    NoCompiler {
        /// Its name.
        compiler: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The compiler refused the code.
    #[error("the cross compiler failed: {command}\n{output}")]
    Compiler {
        /// The whole command.
        command: String,
        /// What it printed.
        output: String,
    },
    /// What it made is no program.
    #[error("{}: {source}", path.display())]
    Program {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: wireloom_isa::program::Error,
    },
}

impl Toolchain {
    /// The one for an instruction set.
    pub(super) fn of(machine: Machine) -> &'static Self {
        match machine {
            Machine::Arm => &ARM,
            Machine::Riscv => &RISCV,
        }
    }

    /// All that it is told whatever it compiles.
    pub(super) fn flags(&self) -> impl std::hash::Hash {
        (self.flags, FLAGS)
    }

    /// What it says of itself.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn version(&self) -> Result<Vec<u8>, BuildError> {
        let output = Command::new(self.compiler).arg("--version").output();
        Ok(output.map_err(|source| BuildError::NoCompiler { compiler: self.compiler, source })?.stdout)
    }

    /// Compiles and links files, with more options; answers what the compiler had to say.
    ///
    /// # Errors
    /// If it cannot be started, or refuses the code.
    pub(super) fn compile(
        &self,
        options: &[&OsStr],
        script: &Path,
        files: &[PathBuf],
        program: &Path,
    ) -> Result<String, BuildError> {
        let mut command = Command::new(self.compiler);
        command.args(self.flags).args(FLAGS).args(options).arg("-T").arg(script);
        command.args(files).arg("-lgcc").arg("-o").arg(program);
        let output =
            command.output().map_err(|source| BuildError::NoCompiler { compiler: self.compiler, source })?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        Err(BuildError::Compiler { command: words.join(" "), output: said })
    }
}

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { path, source }
}
