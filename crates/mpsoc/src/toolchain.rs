//! Debian's cross compilers for the processors' instruction sets.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use wireloom_codegen_c::thread::Refused;
use wireloom_install::tools::{cross_compiler, is_older, version_in};
use wireloom_install::{Cache, complaint};
use wireloom_isa::program::Architecture;

/// The oldest GCC version that supports the options.
const EXPECTED: &str = "10.0";

/// The largest frame of a function, in bytes. It is a little smaller than the stack in a thread's
/// local store, which called functions share.
pub(super) const STACK_BYTES: u32 = 2048;

/// The options of both compilers. There is no library except the compiler's own, and no loop may
/// become a library call. A function whose variables exceed a thread's stack is rejected.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    // Lines of the source for each instruction; the code is the same.
    "-g1",
    "-fno-tree-loop-distribute-patterns",
    "-fno-asynchronous-unwind-tables",
    "-Werror=frame-larger-than=2048",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
];

/// The tuned options of both compilers. -O2 arranges blocks by their likelihood, so that the path
/// of a forwarded packet is dense; -Os leaves blocks in source order. Nothing is aligned, because
/// padding takes cache lines. Conditions exit as soon as they are decided, because engines branch
/// more than they loop. Loads are not moved forward to hide a latency that other threads hide, and
/// known ranges of values do not make copies of paths: both cost registers.
const TUNED: &[&str] = &[
    "-O2",
    "-falign-functions=4",
    "-falign-jumps=1",
    "-falign-loops=1",
    "-falign-labels=1",
    "--param=logical-op-non-short-circuit=0",
    "-fno-schedule-insns",
    "-fno-tree-vrp",
    "-fno-tree-tail-merge",
];

/// With `-march=armv4` the compiler also tells the linker to replace BX, which is in its library
/// but not in ARMv4. The tuned options reduce register pressure (there are sixteen registers). No
/// constants are kept in registers from one packet to the next. Nothing is computed before it is
/// known to be needed, and no expression is moved forward. The loop around all packets does not
/// keep the variables of loops around labels out of registers.
const ARM: Toolchain = Toolchain {
    compiler: "arm-none-eabi-gcc",
    flags: &["-march=armv4", "-marm", "-mfloat-abi=soft"],
    tuned: &[
        "-fno-tree-loop-im",
        "-fno-move-loop-invariants",
        "-fno-code-hoisting",
        "-fno-tree-ter",
        "-fira-region=all",
    ],
};
const RISCV: Toolchain = Toolchain {
    compiler: "riscv64-unknown-elf-gcc",
    flags: &["-march=rv32im", "-mabi=ilp32"],
    tuned: &[],
};

/// How the compiler optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimisation {
    /// With the options that make engines fastest. They also make engines small.
    #[default]
    Tuned,
    /// With -O2 and no other option.
    O2,
}

/// A compiler for an instruction set.
#[derive(Debug)]
pub(super) struct Toolchain {
    compiler: &'static str,
    flags: &'static [&'static str],
    tuned: &'static [&'static str],
}

/// The reason why a program cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The engine uses features that the processors' threads do not support.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The program cache is not accessible.
    #[error(transparent)]
    Cache(#[from] wireloom_install::CacheError),
    /// The compiler is too old.
    #[error("the cross compiler `{compiler}` is version {found}; {expected} or newer is expected")]
    OldCompiler {
        compiler: &'static str,
        /// The version that it reports.
        found: String,
        /// The required version.
        expected: &'static str,
    },
    /// The compiler could not be started.
    #[error(
        "the cross compiler `{compiler}` (GCC {EXPECTED} or newer) does not start: {source}; \
         `make tools` or `wireloom tools --fetch cross` installs it"
    )]
    NoCompiler { compiler: &'static str, source: io::Error },
    /// The compiler rejected the code.
    #[error("{}", failed(compiler, why, log.as_deref()))]
    Compiler {
        compiler: &'static str,
        /// The line of the output that states the reason.
        why: String,
        /// The complete output.
        output: String,
        /// The file with the complete command and the output, unless it could not be written.
        log: Option<PathBuf>,
    },
    /// The output file is no valid program.
    #[error("{}: {source}", path.display())]
    Program { path: PathBuf, source: wireloom_isa::program::Error },
}

impl Toolchain {
    /// The toolchain of an instruction set.
    pub(super) fn of(machine: Architecture) -> &'static Self {
        match machine {
            Architecture::Arm => &ARM,
            Architecture::Riscv => &RISCV,
        }
    }

    /// All options that do not depend on the source.
    pub(super) fn flags(&self, optimisation: Optimisation) -> impl Iterator<Item = &'static str> {
        let [common, own]: [&[&str]; 2] = match optimisation {
            Optimisation::Tuned => [TUNED, self.tuned],
            Optimisation::O2 => [&["-O2"], &[]],
        };
        [self.flags, FLAGS, common, own].into_iter().flatten().copied()
    }

    /// The version text of the compiler.
    ///
    /// # Errors
    /// The compiler cannot be started, or is too old.
    pub(super) fn version(&self) -> Result<Vec<u8>, BuildError> {
        let output = Command::new(cross_compiler(self.compiler)).arg("--version").output();
        let output =
            output.map_err(|source| BuildError::NoCompiler { compiler: self.compiler, source })?;
        let said = String::from_utf8_lossy(&output.stdout);
        let found = said.lines().next().and_then(version_in).unwrap_or_default();
        if is_older(&found, EXPECTED) {
            return Err(BuildError::OldCompiler {
                compiler: self.compiler,
                found,
                expected: EXPECTED,
            });
        }
        Ok(output.stdout)
    }

    /// Compiles and links files with further options. Returns the compiler's messages.
    ///
    /// # Errors
    /// The compiler cannot be started, or rejects the code.
    pub(super) fn compile(
        &self,
        optimisation: Optimisation,
        options: &[&OsStr],
        script: &Path,
        files: &[PathBuf],
        program: &Path,
    ) -> Result<String, BuildError> {
        let mut command = Command::new(cross_compiler(self.compiler));
        command.args(self.flags(optimisation)).args(options).arg("-T").arg(script);
        command.args(files).arg("-lgcc").arg("-o").arg(program);
        let output = command
            .output()
            .map_err(|source| BuildError::NoCompiler { compiler: self.compiler, source })?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        let log = Cache::of_user("mpsoc").log(self.compiler, &words.join(" "), &said);
        let why = complaint(output.status, &said);
        Err(BuildError::Compiler { compiler: self.compiler, why, output: said, log })
    }
}

/// The message about a compiler that fails on code that a working one accepts.
fn failed(compiler: &str, why: &str, log: Option<&Path>) -> String {
    let log = log.map(|log| format!("; its command and messages are in {}", log.display()));
    format!(
        "the cross compiler `{compiler}` failed on code that GCC {EXPECTED} and newer accept: {why}{}. \
         `wireloom tools --fetch cross` installs one",
        log.unwrap_or_default()
    )
}

/// Whether the compiler's output says that a program is too large for its processor: a jump or an
/// address does not reach, or a section exceeds the available addresses.
pub(super) fn is_too_large(said: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "relocation truncated to fit",
        "will not fit in region",
        "overflowed by",
        "out of range",
        "size of array",
        "exceeds maximum object size",
    ];
    SIGNS.iter().any(|sign| said.contains(sign))
}

/// The size in bytes of the largest frame that the compiler's output rejects as too large.
pub(super) fn frame_in(said: &str) -> Option<u32> {
    let sizes = said.split("the frame size of ").skip(1);
    sizes.filter_map(|rest| rest.split(' ').next()?.parse().ok()).max()
}

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_too_large_are_told_from_broken_compilers() {
        let branch = "engine.c:(.text+0x10): relocation truncated to fit: R_ARM_CALL against `f'";
        let section = "engine.elf section `.text' will not fit in region `rom'";
        assert!(is_too_large(branch) && is_too_large(section));
        assert!(!is_too_large("a.c:7:1: error: expected ';'"));
        let said = failed("some-gcc", "`no room`", Some(Path::new("/tmp/some-gcc.log")));
        assert!(said.contains("some-gcc.log") && said.contains("`no room`"), "{said}");
    }

    #[test]
    fn the_largest_frame_is_found_in_what_the_compiler_says() {
        let said = "a.c: In function 'f':\na.c:7:1: error: the frame size of 5248 bytes is larger than 2048 bytes [-Werror=frame-larger-than=]\n\
                    a.c:9:1: error: the frame size of 9976 bytes is larger than 2048 bytes [-Werror=frame-larger-than=]\n";
        assert_eq!(frame_in(said), Some(9976));
        assert_eq!(frame_in("a.c:7:1: error: expected ';'"), None);
        assert!(FLAGS.contains(&&*format!("-Werror=frame-larger-than={STACK_BYTES}")));
    }
}
