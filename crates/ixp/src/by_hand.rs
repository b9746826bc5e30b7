//! Programs written in microcode: either a `.uc` or `.uo` file for all contexts of all engines, or
//! a TOML file that assigns a program to each engine and gives the memory contents.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use wireloom_ir::{self as ir, Reason, ReasonSet, ReasonSetId};
use wireloom_isa::microengine::Image;
use wireloom_machine::{Error, Machine, Options, Program, Result, Source};
use wireloom_offloads::Store;

use crate::compiled::started;
use crate::engine::Program as Stored;
use crate::machine::Ixp;
use crate::processor::Processor;
use crate::spec::Spec;

/// The TOML description of a chip's programs and memories.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chip {
    /// The name in reports.
    name: Option<String>,
    /// Groups of engines that share a program.
    #[serde(default)]
    engines: Vec<Group>,
    /// The initial memory contents.
    #[serde(default)]
    memory: Vec<Block>,
    /// The names of the reason numbers in control words.
    #[serde(default)]
    reasons: Vec<String>,
}

/// Engines with the same program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// The engine numbers.
    numbers: Vec<u32>,
    /// The active contexts; all of them if it is absent.
    contexts: Option<Vec<u32>>,
    /// The program's file, relative to the folder of the TOML file.
    program: PathBuf,
    /// Values of imported names, and names to define.
    #[serde(default)]
    set: std::collections::BTreeMap<String, u32>,
    /// Whether the assembler fills defer slots.
    #[serde(default)]
    optimise: bool,
}

/// Words of a memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    unit: MemoryUnit,
    /// The index of the first word.
    word: u64,
    /// The words.
    words: Option<Vec<u32>>,
    /// A file with the words in hexadecimal, instead of `words`.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MemoryUnit {
    Sram,
    Sdram,
    Scratch,
}

/// Whether a file holds a program in microcode.
pub fn is_by_hand(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("uc" | "uo" | "toml"))
}

fn text(file: &Path) -> Result<String> {
    wireloom_files::read_text(file, wireloom_files::MAX_TEXT_BYTES)
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))
}

/// Starts a chip with a program in microcode. Returns the chip and the description of the program:
/// its name and its reasons.
///
/// # Errors
/// If a file is unreadable or has a mistake, or if an engine, a context or a word does not exist.
pub fn start(
    spec: &Spec,
    source: &Source,
    options: &Options,
) -> Result<(Program, Box<dyn Machine>)> {
    let file = &source.file;
    let folder = file.parent().unwrap_or(Path::new(""));
    let chip = match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => toml::from_str(&text(file)?)
            .map_err(|error| Error::new(format!("{}: {error}", file.display())))?,
        _ => Chip {
            engines: vec![Group {
                numbers: (0..spec.engines).collect(),
                contexts: None,
                program: file.file_name().map(PathBuf::from).unwrap_or_default(),
                set: Default::default(),
                optimise: false,
            }],
            ..Chip::default()
        },
    };
    let wrong = |what: String| Error::new(format!("{}: {what}", file.display()));
    let mut programs = vec![(Stored::default(), 0); spec.engines as usize];
    for group in &chip.engines {
        let stored = assembled(spec, source, folder, group)?;
        let most = spec.engine.contexts;
        let mut mask = 0_u8;
        match &group.contexts {
            None => mask = ((1_u32 << most) - 1) as u8,
            Some(contexts) => {
                for &context in contexts {
                    if context >= most {
                        return Err(wrong(format!("there is no context {context}: {most} are")));
                    }
                    mask |= 1 << context;
                }
            }
        }
        for &number in &group.numbers {
            let place = programs.get_mut(number as usize);
            let place = place.ok_or_else(|| {
                wrong(format!("there is no engine {number}: {} are", spec.engines))
            })?;
            if place.1 != 0 {
                return Err(wrong(format!("engine {number} has two programs")));
            }
            *place = (stored.clone(), mask);
        }
    }
    if programs.iter().all(|(_, mask)| *mask == 0) {
        return Err(wrong("no engine has a program".into())
            .with_help("add [[engines]] with `numbers` and `program`"));
    }
    let (mut processor, rules) = started(spec, programs, options)?;
    for block in &chip.memory {
        fill(&mut processor, folder, block).map_err(|error| match error.help {
            None => wrong(error.message),
            Some(help) => wrong(error.message).with_help(help),
        })?;
    }
    let stem = || file.file_stem().map_or_else(String::new, |name| name.display().to_string());
    let name = chip.name.unwrap_or_else(stem);
    // Every number that fits into the seven reason bits of a control word gets a name, listed or
    // not.
    let names = (0..chip.reasons.len().max(128)).map(|number| {
        chip.reasons.get(number).cloned().unwrap_or_else(|| format!("REASON_{number}"))
    });
    let members: Vec<(u64, String)> = (0..).zip(names).collect();
    let reasons = members.iter().map(|(number, _)| Reason::Program(ReasonSetId(0), *number as u16));
    let machine = Ixp::new(processor, Store::default(), reasons.collect());
    let machine = machine.with_rules(rules).with_rate(options.rate);
    let engine = ir::Engine {
        name,
        kind: ir::EngineKind::Packet,
        context: Vec::new(),
        arrays: Vec::new(),
        offloads: Vec::new(),
        steps: Vec::new(),
    };
    let program = ir::Program {
        files: vec![file.display().to_string()],
        reasons: vec![ReasonSet { name: "Reason".into(), members }],
        engines: vec![engine],
        main: ir::EngineId(0),
    };
    let program = Program { lowered: program.clone(), optimised: program };
    Ok((program, Box::new(machine)))
}

/// Assembles the program for a group of engines.
fn assembled(spec: &Spec, source: &Source, folder: &Path, group: &Group) -> Result<Stored> {
    let file = folder.join(&group.program);
    let name = file.display().to_string();
    // Errors quote the source text. A chip description must not reveal files that its author cannot
    // read.
    let end = file.extension().and_then(|end| end.to_str());
    if !matches!(end, Some("uc" | "uo")) {
        return Err(Error::new(format!("{name} is not named as a program is"))
            .with_help("`program` names a file that ends in .uc or .uo"));
    }
    let mut values: Vec<(&str, u32)> =
        group.set.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for (name, value) in &source.set {
        values.retain(|(known, _)| known != name);
        values.push((name, number(value).map_err(|why| Error::new(format!("{name}: {why}")))?));
    }
    let content = text(&file)?;
    // Imported names get their values in the image; other names are defined in the source text.
    let imports = content.lines().filter_map(|line| line.trim_start().strip_prefix(".import_var"));
    let imported: Vec<&str> = imports.flat_map(str::split_whitespace).collect();
    let mut image: Image = if file.extension().is_some_and(|extension| extension == "uo") {
        let read = wireloom_microcode::read_object(&content);
        read.map_err(|why| Error::new(format!("{name}: {why}")))?
    } else {
        let options = wireloom_microcode::Options {
            definitions: values
                .iter()
                .filter(|(name, _)| !imported.contains(name))
                .map(|(name, value)| ((*name).to_owned(), value.to_string()))
                .collect(),
            version: None,
            control_store: Some(spec.engine.control_store as usize),
            optimise: group.optimise,
        };
        let mut read = |wanted: &Path| {
            let found = source.include.iter().map(|folder| folder.join(wanted));
            let path = found.into_iter().find(|path| path.exists());
            let path = path.unwrap_or_else(|| wanted.to_owned());
            wireloom_files::read_text(&path, wireloom_files::MAX_TEXT_BYTES)
                .map_err(|error| error.to_string())
        };
        wireloom_microcode::assemble(&name, &content, &options, &mut read)
            .map_err(|refused| Error::new(refused.render(false)))?
    };
    wireloom_microcode::supply(&mut image, &values).map_err(|missing| {
        Error::new(format!("{name}: the imported name {missing} has no value"))
            .with_help(format!("say --set {missing}=VALUE, or `set` in the file of the chip"))
    })?;
    Stored::load(image, spec.engine.control_store)
        .map_err(|refused| Error::new(format!("{name}: {}", refused.0)))
}

/// Parses a number in C notation.
fn number(text: &str) -> std::result::Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text} is no number of 32 bits"))
}

/// Writes words into a memory.
fn fill<E>(processor: &mut Processor<E>, folder: &Path, block: &Block) -> Result<()> {
    let words = match (&block.words, &block.file) {
        (Some(words), None) => words.clone(),
        (None, Some(file)) => {
            let file = folder.join(file);
            let content = text(&file)?;
            let words = content
                .lines()
                .flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
                .map(|word| {
                    let digits = word.trim_start_matches("0x");
                    u32::from_str_radix(digits, 16).map_err(|_| {
                        let file = file.display();
                        Error::new(format!("{file}: `{word}` is no word of 32 bits in hexadecimal"))
                    })
                });
            words.collect::<Result<_>>()?
        }
        _ => return Err(Error::new("a [[memory]] has either `words` or `file`")),
    };
    let chip = &mut processor.chip;
    let memory = match block.unit {
        MemoryUnit::Sram => chip.sram.words_mut(),
        MemoryUnit::Sdram => chip.sdram.words_mut(),
        MemoryUnit::Scratch => chip.scratch.words_mut(),
    };
    let most = memory.len();
    let place = usize::try_from(block.word)
        .ok()
        .and_then(|first| memory.get_mut(first..first.checked_add(words.len())?));
    let place = place.ok_or_else(|| {
        Error::new(format!(
            "{} words from word {} on do not fit into a memory of {most}",
            words.len(),
            block.word
        ))
    })?;
    place.copy_from_slice(&words);
    Ok(())
}
