//! Reads the files of programs written by hand, and describes such programs to other crates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wireloom_bits::Bits;
use wireloom_ir as ir;
use wireloom_machine::watch::Source as Text;
use wireloom_machine::{Error, Program, Result, Source};
use wireloom_offloads::{Config, Content, EntryKey, Layout, Store};

use crate::asm::{Assembled, assemble_whole, read_object};
use crate::board::BoardSection;
use crate::dir24::Route;

/// The name of the offload through which the control plane writes a program's tables.
const ROUTES: &str = "routes";
/// Bits of an address, and of a port number.
const KEY: u32 = 32;
const VALUE: u32 = 16;

/// Whether a file holds a program of this kind.
pub fn is_by_hand(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("rasm" | "robj"))
}

/// Returns an error about an option that does not apply to programs written by hand.
pub fn without_effect(file: &Path, option: &str) -> Error {
    let message = format!("{}: {option} has no effect on programs of tiles", file.display());
    Error::new(message).with_help("leave it out; `.equ` in the program names constants")
}

fn text(file: &Path) -> Result<String, String> {
    wireloom_files::read_text(file, wireloom_files::MAX_TEXT_BYTES)
        .map_err(|error| error.to_string())
}

/// Reads a program and assembles it. Returns it with the files of its text.
///
/// # Errors
/// If a file cannot be read or has errors, or an option does not apply to such programs.
pub fn read(source: &Source) -> Result<(Assembled, Vec<Text>)> {
    let file = &source.file;
    let name = file.display().to_string();
    if !source.set.is_empty() {
        return Err(without_effect(file, "--set"));
    }
    if source.engine.is_some() {
        return Err(without_effect(file, "--engine"));
    }
    let content = text(file).map_err(|why| Error::new(format!("{name}: {why}")))?;
    if content.starts_with("wireloom raw") {
        let program = read_object(&content).map_err(|why| Error::new(format!("{name}: {why}")))?;
        return Ok((Assembled { program, ..Assembled::default() }, Vec::new()));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let find = |wanted: &str| -> PathBuf {
        let found = source.include.iter().map(|folder| folder.join(wanted));
        let here = folder.join(wanted);
        if here.exists() {
            here
        } else {
            found.into_iter().find(|path| path.exists()).unwrap_or(here)
        }
    };
    let include = |wanted: &str| text(&find(wanted));
    let assembled = assemble_whole(&name, &content, &include)
        .map_err(|refused| Error::new(refused.render()))?;
    let own = Text { name, text: Some(content) };
    let others = assembled.files.iter().skip(1);
    let others = others.map(|file| Text { name: find(file).display().to_string(), text: None });
    let sources = [own].into_iter().chain(others).collect();
    Ok((assembled, sources))
}

/// Describes a program: its name, and an offload for its tables, if it has tables.
pub fn described(file: &Path, section: &BoardSection) -> Program {
    let routes = ir::Offload {
        name: ROUTES.to_owned(),
        target: ir::OffloadTarget::Kind(Config {
            kind: "lpm".to_owned(),
            key: Some(Layout::scalar(KEY)),
            value: Some(Layout::scalar(VALUE)),
            params: BTreeMap::from([("miss".to_owned(), Bits::ones(VALUE))]),
        }),
    };
    let engine = ir::Engine {
        name: file.file_stem().map_or_else(String::new, |name| name.display().to_string()),
        kind: ir::EngineKind::Packet,
        context: Vec::new(),
        arrays: Vec::new(),
        offloads: if section.tables.is_empty() { Vec::new() } else { vec![routes] },
        steps: Vec::new(),
    };
    let program = ir::Program {
        files: vec![file.display().to_string()],
        reasons: Vec::new(),
        engines: vec![engine],
        main: ir::EngineId(0),
    };
    Program { lowered: program.clone(), optimised: program }
}

/// Returns the routes of a store.
///
/// # Errors
/// If a route leads to a port that the tables cannot represent.
pub fn routes(store: &Store) -> Result<Vec<Route>> {
    let Some(slot) = store.find(ROUTES) else { return Ok(Vec::new()) };
    let Content::Kind { instance, .. } = &slot.content else { return Ok(Vec::new()) };
    let mut routes = Vec::new();
    for row in instance.rows() {
        let port = row.fields.first().map_or(0, |(_, value)| value.low_u64() as u16);
        if let EntryKey::Prefix { bits, length } = row.key {
            routes.push(Route { prefix: bits.low_u64() as u32, length: length as u8, port });
        }
    }
    Ok(routes)
}
