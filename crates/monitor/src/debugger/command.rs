//! The commands of the debugger.

use wireloom_machine::watch::Access;
use wireloom_machine::{Change, Error, Result};

/// The text of `help`.
pub const HELP: &str = "\
Breakpoints
  break SPOT [in PROGRAM] [thread T]
                                before an instruction: SPOT is an address, a label or FILE:LINE
  break packet N                when the machine begins to take packet N, counted from 0
  break signal NAME [thread T]  when a thread gets a signal; `any` is each of them
  break read|write|access MEMORY ADDRESS[-ADDRESS]   when a memory is accessed there
  breakpoints                   list them
  delete [N]                    delete breakpoint N, or all
Running
  step [N]                      N instructions of the current thread (1)
  stepany [N]                   N instructions of any thread (1)
  cycle [N]                     N cycles of the main clock (1)
  next [N]                      until N packets have left (1)
  continue                      until a breakpoint, or until every packet has left
Looking
  threads                       all threads that have a program, and what they do
  thread T                      make T (engine.context, such as 2.3) the current thread
  where                         where the current thread is, with its source lines
  list [SPOT] [N]               N instructions (20) with their source lines
  labels                        the labels of the current thread's program
  sources                       the files of the programs, and their lines with instructions
  regs [NAME...]                registers of the current thread, by their names or numbers
  mem MEMORY ADDRESS [N]        N addresses (8) of a memory
  queues                        what waits in queues
  use                           shares of time in which parts were in use so far
  power                         mean power of parts so far, if the machine tells its energy
  packets                       what became of the last packets
  trace on|off                  whether runs show the events of commands and signals
Tables
  tables                        the offloads: kind, entries, size
  tables show PATH [KEY]        rows, as the machine's memories have them now
  tables insert PATH ENTRY      add an entry, in the notation of table files
  tables replace PATH ENTRY     write an entry, whether or not there is one with its key
  tables delete PATH KEY        remove an entry
  tables change CHANGE; ...     make such changes together, or none of them
  Packets that the machine has been given leave before entries change.
Leaving
  help, quit

Numbers are decimal or begin with 0x. Names of commands can be cut short: b, br, c, n, s, t, w, l, q.
";

/// A place in a program, as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    Address(u64),
    Label(String),
    /// A file and a line in it.
    Line(String, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Break { spot: Spot, program: Option<String>, thread: Option<String> },
    BreakPacket(u64),
    BreakSignal { signal: String, thread: Option<String> },
    BreakMemory { access: Access, memory: String, first: u64, last: u64 },
    Breakpoints,
    Delete(Option<u32>),
    Step { count: u64, any: bool },
    Cycles(u64),
    Next(u64),
    Continue,
    Threads,
    Thread(String),
    Where,
    List { spot: Option<Spot>, count: usize },
    Labels,
    Sources,
    Registers(Vec<String>),
    Memory { memory: String, address: u64, count: usize },
    Queues,
    Use,
    Power,
    Packets,
    Trace(bool),
    Tables,
    Rows { path: String, key: Option<String> },
    Change(Vec<Change>),
    Help,
    Quit,
}

/// Names of commands, each with the length of its shortest abbreviation and its syntax.
const NAMES: [(&str, usize, &str); 26] = [
    (
        "break",
        1,
        "break SPOT [in PROGRAM] [thread T], break packet N, break signal NAME, break read|write|access MEMORY ADDRESS",
    ),
    ("breakpoints", 6, "breakpoints"),
    ("delete", 1, "delete [N]"),
    ("step", 1, "step [N]"),
    ("stepany", 5, "stepany [N]"),
    ("cycle", 2, "cycle [N]"),
    ("next", 1, "next [N]"),
    ("continue", 1, "continue"),
    ("threads", 7, "threads"),
    ("thread", 1, "thread T"),
    ("where", 1, "where"),
    ("list", 1, "list [SPOT] [N]"),
    ("labels", 2, "labels"),
    ("sources", 2, "sources"),
    ("regs", 1, "regs [NAME...]"),
    ("registers", 5, "regs [NAME...]"),
    ("mem", 1, "mem MEMORY ADDRESS [N]"),
    ("memory", 4, "mem MEMORY ADDRESS [N]"),
    ("queues", 2, "queues"),
    ("use", 1, "use"),
    ("power", 2, "power"),
    ("packets", 1, "packets"),
    ("trace", 2, "trace on|off"),
    (
        "tables",
        2,
        "tables, tables show PATH [KEY], tables insert|replace PATH ENTRY, tables delete PATH KEY, tables change CHANGE; CHANGE",
    ),
    ("help", 1, "help"),
    ("quit", 1, "quit"),
];

/// The most that `list` and `mem` show at once.
const MOST: u64 = 4096;

impl Command {
    /// Parses a command; `None` if the line is empty or a comment (`#`).
    ///
    /// # Errors
    /// If the line is not a command.
    pub fn parse(line: &str) -> Result<Option<Self>> {
        let line = line.split_once(" #").map_or(line, |(before, _)| before).trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let said = words.next().unwrap_or_default();
        let is_it = |(name, least, _): &&(&str, usize, &str)| {
            name.starts_with(said) && (said.len() >= *least || *name == said)
        };
        let exact = NAMES.iter().find(|(name, ..)| *name == said);
        let Some((name, _, form)) = exact.or_else(|| NAMES.iter().find(is_it)) else {
            return Err(Error::new(format!("there is no command `{said}`"))
                .with_help("help lists the commands"));
        };
        let words: Vec<&str> = words.collect();
        let wrong = || Error::new(format!("`{line}`: write {form}"));
        if *name == "tables" {
            return Self::of_tables(line[said.len()..].trim()).ok_or_else(wrong).map(Some);
        }
        Self::of(name, &words, wrong).map(Some)
    }

    fn of(name: &str, words: &[&str], wrong: impl Fn() -> Error) -> Result<Self> {
        let count = |words: &[&str]| match words {
            [] => Ok(1),
            [count] => number(count)
                .filter(|count| *count > 0)
                .ok_or_else(|| Error::new(format!("`{count}` is no number above 0"))),
            _ => Err(wrong()),
        };
        Ok(match (name, words) {
            ("break", _) => return Self::break_of(words, wrong),
            ("breakpoints", []) => Self::Breakpoints,
            ("delete", []) => Self::Delete(None),
            ("delete", [text]) => {
                let found = number(text).and_then(|number| u32::try_from(number).ok());
                Self::Delete(Some(found.ok_or_else(wrong)?))
            }
            ("step", words) => Self::Step { count: count(words)?, any: false },
            ("stepany", words) => Self::Step { count: count(words)?, any: true },
            ("cycle", words) => Self::Cycles(count(words)?),
            ("next", words) => Self::Next(count(words)?),
            ("continue", []) => Self::Continue,
            ("threads", []) => Self::Threads,
            ("thread", [thread]) => Self::Thread((*thread).to_owned()),
            ("where", []) => Self::Where,
            ("list", []) => Self::List { spot: None, count: 20 },
            ("list", [at]) => Self::List { spot: Some(spot(at)), count: 20 },
            ("list", [at, words @ ..]) => {
                let count = count(words)?.min(MOST) as usize;
                Self::List { spot: Some(spot(at)), count }
            }
            ("labels", []) => Self::Labels,
            ("sources", []) => Self::Sources,
            ("regs" | "registers", names) => {
                Self::Registers(names.iter().map(|name| (*name).to_owned()).collect())
            }
            ("mem" | "memory", [memory, address, words @ ..]) => {
                let at = number(address)
                    .ok_or_else(|| Error::new(format!("`{address}` is no address")))?;
                let count = if words.is_empty() { 8 } else { count(words)?.min(MOST) as usize };
                Self::Memory { memory: (*memory).to_owned(), address: at, count }
            }
            ("queues", []) => Self::Queues,
            ("use", []) => Self::Use,
            ("power", []) => Self::Power,
            ("packets", []) => Self::Packets,
            ("trace", ["on"]) => Self::Trace(true),
            ("trace", ["off"]) => Self::Trace(false),
            ("help", []) => Self::Help,
            ("quit", []) => Self::Quit,
            _ => return Err(wrong()),
        })
    }

    /// Parses what follows `tables`.
    fn of_tables(text: &str) -> Option<Self> {
        let (what, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        Some(match (what, rest.trim()) {
            ("", "") => Self::Tables,
            ("show", rest) if !rest.is_empty() => {
                let (path, key) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let key = Some(key.trim()).filter(|key| !key.is_empty());
                Self::Rows { path: path.to_owned(), key: key.map(str::to_owned) }
            }
            ("change", rest) => {
                Self::Change(parts(rest).map(Change::parse).collect::<Option<_>>()?)
            }
            _ => Self::Change(vec![Change::parse(text)?]),
        })
    }

    fn break_of(words: &[&str], wrong: impl Fn() -> Error) -> Result<Self> {
        let (words, thread) = match words {
            [before @ .., "thread", thread] => (before, Some((*thread).to_owned())),
            _ => (words, None),
        };
        Ok(match words {
            ["packet", text] if thread.is_none() => Self::BreakPacket(
                number(text).ok_or_else(|| Error::new(format!("`{text}` is no packet number")))?,
            ),
            ["signal", signal] => Self::BreakSignal { signal: (*signal).to_owned(), thread },
            [access @ ("read" | "write" | "access"), memory, range] if thread.is_none() => {
                let access = match *access {
                    "read" => Access::Read,
                    "write" => Access::Write,
                    _ => Access::Any,
                };
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last) = number(first)
                    .zip(number(last))
                    .ok_or_else(|| Error::new(format!("`{range}` is no address")))?;
                Self::BreakMemory { access, memory: (*memory).to_owned(), first, last }
            }
            [at] => Self::Break { spot: spot(at), program: None, thread },
            [at, "in", program] => {
                Self::Break { spot: spot(at), program: Some((*program).to_owned()), thread }
            }
            _ => return Err(wrong()),
        })
    }
}

/// Splits a text at semicolons outside of quoted patterns. An empty last part is left out.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let ends = move |letter: char| {
        is_quoted ^= letter == '"';
        letter == ';' && !is_quoted
    };
    text.trim_end().trim_end_matches(';').split(ends)
}

/// Parses a decimal or hexadecimal number.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn spot(text: &str) -> Spot {
    if let Some(address) = number(text) {
        return Spot::Address(address);
    }
    match text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Spot::Line(file.to_owned(), line),
        None => Spot::Label(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Command {
        Command::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).expect("a command")
    }

    #[test]
    fn commands_can_be_cut_short() {
        assert_eq!(parsed("s"), Command::Step { count: 1, any: false });
        assert_eq!(parsed("stepany 0x10"), Command::Step { count: 16, any: true });
        assert_eq!(parsed("c"), Command::Continue);
        assert_eq!(parsed("cy 100  # some"), Command::Cycles(100));
        assert_eq!(parsed("t 1.2"), Command::Thread("1.2".into()));
        assert_eq!(parsed("threads"), Command::Threads);
        assert_eq!(Command::parse("  # nothing"), Ok(None));
    }

    #[test]
    fn breakpoints_have_many_forms() {
        let at = |spot| Command::Break { spot, program: None, thread: None };
        assert_eq!(parsed("b 17"), at(Spot::Address(17)));
        let program = Some("part1.uc".to_owned());
        let other = Command::Break { spot: Spot::Address(3), program, thread: None };
        assert_eq!(parsed("b 3 in part1.uc"), other);
        assert_eq!(parsed("b loop#"), at(Spot::Label("loop#".into())));
        assert_eq!(parsed("b a/r.loom:12"), at(Spot::Line("a/r.loom".into(), 12)));
        assert_eq!(parsed("break packet 3"), Command::BreakPacket(3));
        let thread = Some("0.1".to_owned());
        let signal = Command::BreakSignal { signal: "sram".into(), thread };
        assert_eq!(parsed("break signal sram thread 0.1"), signal);
        let memory = Command::BreakMemory {
            access: Access::Write,
            memory: "sram".into(),
            first: 16,
            last: 31,
        };
        assert_eq!(parsed("b write sram 0x10-0x1f"), memory);
    }

    #[test]
    fn changes_of_tables_are_divided_outside_of_patterns() {
        let insert = |entry: &str| Change::Insert { table: "t".into(), entry: entry.into() };
        let delete = Change::Delete { table: "t.u".into(), key: "a=1 b=2".into() };
        let both = vec![insert("\"a;  b\" = 1"), delete];
        let line = "tables change insert t \"a;  b\" = 1; delete t.u a=1 b=2;";
        assert_eq!(parsed(line), Command::Change(both));
        assert_eq!(parsed("ta insert t 7 = 1"), Command::Change(vec![insert("7 = 1")]));
        let key = Some("10.0.0.0/8".to_owned());
        assert_eq!(parsed("tables show r 10.0.0.0/8"), Command::Rows { path: "r".into(), key });
        assert_eq!(parsed("tables"), Command::Tables);
        for wrong in ["tables t", "tables show", "tables change", "tables delete t"] {
            let message = Command::parse(wrong).expect_err(wrong).message;
            assert!(message.contains("write tables, tables show PATH [KEY]"), "{message}");
        }
    }

    #[test]
    fn wrong_commands_are_told_how_to_write_them() {
        let wrong = |line| Command::parse(line).expect_err(line).message;
        assert_eq!(wrong("jump 7"), "there is no command `jump`");
        assert_eq!(wrong("trace maybe"), "`trace maybe`: write trace on|off");
        assert_eq!(wrong("step 0"), "`0` is no number above 0");
        assert_eq!(wrong("mem sram x"), "`x` is no address");
        assert_eq!(wrong("break packet one"), "`one` is no packet number");
        assert!(wrong("break").starts_with("`break`: write break SPOT"));
    }

    #[test]
    fn every_command_is_in_the_help() {
        for (name, ..) in NAMES.iter().filter(|(_, least, _)| !matches!(least, 4 | 5)) {
            assert!(HELP.contains(name), "{name}");
        }
    }
}
