//! Program listings: instructions next to their microcode and Loom C.

use wireloom_isa::microengine::{Version, disassemble};
use wireloom_machine::watch::{Instruction, Listing, Place, Source};

use crate::engine::{Microengine, Program};

/// Source texts of programs that images do not contain.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The names and texts of assembled files.
    pub microcode: Vec<(String, String)>,
    /// Paths of files in Loom C. Comments `; FILE:LINE` in the microcode name a file by the end of
    /// its path.
    pub loom: Vec<String>,
}

/// The distinct programs of the engines, and the index of each engine's program among them.
pub fn distinct(engines: &[Microengine]) -> (Vec<&Program>, Vec<Option<usize>>) {
    let mut programs: Vec<&Program> = Vec::new();
    let mut of = Vec::new();
    for engine in engines {
        let program = engine.program();
        if program.is_empty() {
            of.push(None);
            continue;
        }
        let known = programs.iter().position(|other| other.is_same(program));
        of.push(Some(known.unwrap_or(programs.len())));
        if known.is_none() {
            programs.push(program);
        }
    }
    (programs, of)
}

/// The listing of a program.
pub fn of(program: &Program, version: Version, sources: &Sources) -> Listing {
    let image = program.image();
    let mut listing = Listing::default();
    // For each line of each microcode source, its place in Loom C.
    let mut loom: Vec<Vec<Option<(usize, u32)>>> = Vec::new();
    let files = image.map_or(&[][..], |image| &image.files);
    for file in files {
        let text = sources.microcode.iter().find(|(name, _)| name == file);
        let text = text.map(|(_, text)| text.clone());
        loom.push(text.as_deref().map_or_else(Vec::new, |text| loom_lines(text, &sources.loom)));
        listing.sources.push(Source { name: file.clone(), text });
    }
    let first = listing.sources.len();
    let named = sources.loom.iter();
    listing.sources.extend(named.map(|name| Source { name: name.clone(), text: None }));
    listing.name = files.first().cloned().unwrap_or_default();
    let labels = image.map_or(&[][..], |image| &image.labels);
    for address in 0..program.len() as u16 {
        let Some(decoded) = program.at(address) else { continue };
        let line = image.and_then(|image| image.lines.get(usize::from(address)).copied().flatten());
        let mut places = Vec::new();
        if let Some(line) = line {
            places.push(Place { source: line.file.into(), line: line.line });
            let lines = loom.get(usize::from(line.file));
            let above = lines.and_then(|lines| lines.get(line.line.checked_sub(1)? as usize));
            if let Some((file, line)) = above.copied().flatten() {
                places.push(Place { source: first + file, line });
            }
        }
        let text = disassemble(version, &decoded.instruction);
        let target = decoded.instruction.target();
        let label = labels.iter().find(|(_, at)| Some(*at) == target);
        let text = match label {
            Some((label, at)) => text.replace(&format!("l{at}"), &format!("{label}#")),
            None => text,
        };
        listing.instructions.push(Instruction { text, places });
    }
    listing.labels = labels.iter().map(|(name, at)| (name.clone(), u64::from(*at))).collect();
    listing.labels.sort_by_key(|(_, at)| *at);
    listing
}

/// Whether a name is a path, or the last components of it.
fn is_end(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// For each line of a text, the file and line of Loom C that the last comment before it names. A
/// comment applies up to the next step, or up to the code that all programs share, which begins
/// with a rule (`----`).
fn loom_lines(text: &str, files: &[String]) -> Vec<Option<(usize, u32)>> {
    let mut now = None;
    let line = |line: &str| {
        let line = line.trim();
        if let Some(named) = line.strip_prefix("; ") {
            if let Some((name, number)) = named.rsplit_once(':')
                && let Ok(number) = number.parse()
                && let Some(file) = files.iter().position(|file| is_end(file, name))
            {
                now = Some((file, number));
            } else if named.starts_with("Step `") || named.starts_with("----") {
                now = None;
            }
        }
        now
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_say_which_lines_of_loom_c_microcode_comes_from() {
        let text = "    nop\n; Step `a`.\na#:\n    ; r.loom:7\n    nop\n    ; other\n    nop\n; -----\n    nop\n";
        let files = ["lib/x.loom".into(), "programs/other.loom".into(), "programs/r.loom".into()];
        let lines = loom_lines(text, &files);
        let place = Some((2, 7));
        assert_eq!(lines, [None, None, None, place, place, place, place, None, None]);
    }
}
