//! Program listings for users: instructions with the lines of their sources.

/// A program of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Listing {
    pub name: String,
    /// The instructions, from address 0.
    pub instructions: Vec<Instruction>,
    /// Labels, by address.
    pub labels: Vec<(String, u64)>,
    /// The sources, from the lowest level up: microcode, then Loom C.
    pub sources: Vec<Source>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Instruction {
    /// The instruction as text.
    pub text: String,
    /// The lines that it comes from, at most one line of each source.
    pub places: Vec<Place>,
}

/// A line of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The index of the source.
    pub source: usize,
    /// The line, from 1.
    pub line: u32,
}

/// A source of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Source {
    /// The name, as users know it.
    pub name: String,
    /// The text, if the machine has it. Otherwise it is in the file of this name.
    pub text: Option<String>,
}

/// For each line of an assembler text, the file and line of Loom C that the last comment before it
/// names. Such a comment is an indented `# NAME:LINE`, in which NAME is the end of a file's path. A
/// comment that is not indented, or an unconditional jump, ends its range, as the following
/// instructions are reached from elsewhere.
pub fn loom_lines(text: &str, files: &[String], jumps: &[&str]) -> Vec<Option<(usize, u32)>> {
    let mut now = None;
    text.lines()
        .map(|line| {
            let statement = line.trim();
            if line.starts_with('#') || line.starts_with('.') {
                now = None;
            } else if let Some(comment) = statement.strip_prefix("# ") {
                if let Some((name, number)) = comment.rsplit_once(':')
                    && let Ok(number) = number.parse()
                    && let Some(file) = files.iter().position(|path| is_end(path, name))
                {
                    now = Some((file, number));
                }
            } else if statement.split_whitespace().next().is_some_and(|op| jumps.contains(&op)) {
                return now.take();
            }
            now
        })
        .collect()
}

/// Whether a name is a path, or the last components of it.
fn is_end(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

impl Listing {
    /// Returns the address of a label.
    pub fn label(&self, name: &str) -> Option<u64> {
        let is_it =
            |(label, _): &&(String, u64)| label == name || label.trim_end_matches('#') == name;
        self.labels.iter().find(is_it).map(|(_, address)| *address)
    }

    /// Returns the last label at or before an address, and the distance from it.
    pub fn nearest(&self, address: u64) -> Option<(&str, u64)> {
        let before = self.labels.iter().filter(|(_, at)| *at <= address);
        before.max_by_key(|(_, at)| *at).map(|(name, at)| (name.as_str(), address - at))
    }

    /// Returns the line of an instruction in the highest-level source, as `FILE:LINE`, if one is
    /// known.
    pub fn line_of(&self, address: u64) -> Option<String> {
        let instruction = self.instructions.get(usize::try_from(address).ok()?)?;
        let place = instruction.places.last()?;
        Some(format!("{}:{}", self.sources.get(place.source)?.name, place.line))
    }

    /// Returns the sources that match a name: a whole path, or the last components of it.
    pub fn sources_named(&self, name: &str) -> Vec<usize> {
        let sources = self.sources.iter().enumerate();
        let named = sources.filter(|(_, source)| {
            let rest = source.name.strip_suffix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        });
        named.map(|(number, _)| number).collect()
    }

    /// Returns the shortest end of a source's path that no other source has.
    pub fn short_name(&self, source: usize) -> &str {
        let Some(Source { name, .. }) = self.sources.get(source) else { return "" };
        let ends = name.rmatch_indices('/').map(|(at, _)| &name[at + 1..]);
        ends.into_iter().find(|end| self.sources_named(end).len() == 1).unwrap_or(name)
    }

    /// Returns the addresses at which a line's instructions begin: the first address of each run.
    pub fn begins(&self, source: usize, line: u32) -> Vec<u64> {
        let is_at = |at: usize| {
            self.instructions[at].places.iter().any(|p| p.source == source && p.line == line)
        };
        let all = 0..self.instructions.len();
        all.filter(|at| is_at(*at) && (*at == 0 || !is_at(at - 1))).map(|at| at as u64).collect()
    }

    /// Returns the lines of a source that have instructions, in order.
    pub fn lines(&self, source: usize) -> Vec<u32> {
        let places = self.instructions.iter().flat_map(|instruction| &instruction.places);
        let mut lines: Vec<u32> =
            places.filter(|place| place.source == source).map(|place| place.line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let at =
            |line| Instruction { text: String::new(), places: vec![Place { source: 0, line }] };
        Listing {
            name: "a".into(),
            instructions: [3, 3, 5, 3].into_iter().map(at).collect(),
            labels: vec![("begin#".into(), 0), ("loop#".into(), 2)],
            sources: ["programs/a.loom", "lib/b.loom", "c/b.loom"]
                .map(|name| Source { name: name.into(), text: None })
                .into(),
        }
    }

    #[test]
    fn a_line_begins_where_control_comes_to_it() {
        let listing = listing();
        assert_eq!(listing.sources_named("a.loom"), [0]);
        assert_eq!((listing.short_name(0), listing.short_name(2)), ("a.loom", "c/b.loom"));
        assert_eq!(listing.sources_named("b.loom"), [1, 2]);
        assert_eq!((listing.begins(0, 3), listing.begins(0, 5)), (vec![0, 3], vec![2]));
        assert_eq!(listing.lines(0), [3, 5]);
    }

    #[test]
    fn comments_say_which_lines_of_loom_c_instructions_come_from() {
        let text = "# of the runtime\n nop\n        # r.loom:7\n nop\n j far\nnear:\n nop\n\
                    \x20       # step `a`\n        # other.loom:1\n nop\n.switch 0 0\n nop\n";
        let files = ["lib/x.loom".into(), "programs/other.loom".into(), "programs/r.loom".into()];
        let [line, other] = [Some((2, 7)), Some((1, 1))];
        let found = loom_lines(text, &files, &["j"]);
        let none = None;
        assert_eq!(
            found,
            [none, none, line, line, line, none, none, none, other, other, none, none]
        );
    }

    #[test]
    fn addresses_are_named_by_labels() {
        let listing = listing();
        assert_eq!((listing.label("loop"), listing.label("loop#")), (Some(2), Some(2)));
        assert_eq!(listing.nearest(3), Some(("loop#", 1)));
        assert_eq!(listing.label("end"), None);
    }
}
