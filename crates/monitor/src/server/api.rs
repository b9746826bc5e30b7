//! The requests of a page and their replies.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;
use wireloom_machine::watch::Breakpoint;

use super::runner::Runner;
use crate::session::Session;

/// The most history intervals, and the most memory words, in a reply.
const MOST: usize = 4096;
/// The most departed packets in a reply.
const LEFT: usize = 24;
/// The most rows of a table in a reply.
const ROWS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body.
    pub kind: &'static str,
    pub body: String,
}

impl Reply {
    /// An error, as a sentence.
    pub fn error(status: u16, message: &str) -> Self {
        Self { status, kind: "text/plain", body: format!("{message}\n") }
    }

    fn json(value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(body) => Self { status: 200, kind: "application/json", body },
            Err(error) => Self::error(500, &error.to_string()),
        }
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The constant description of the machine.
    Machine,
    /// The current state, with the registers of a thread.
    State { thread: usize },
    /// The history of some cycles, as at most `points` samples.
    History { from: u64, to: u64, points: usize },
    /// Words of a memory.
    Memory { memory: usize, address: u64, count: usize },
    /// The offloads.
    Tables,
    /// The first rows of the offload with this number in [`Self::Tables`].
    Entries { table: usize },
    /// A command of the debugger.
    Command(String),
    /// Run, at a speed in cycles per second, or at full speed.
    Run { speed: Option<u64> },
    /// Pause the run.
    Pause,
}

impl Ask {
    /// Parses a request.
    ///
    /// # Errors
    /// If there is no such request: the reply that says so.
    pub fn parse(is_post: bool, name: &str, query: &str, body: String) -> Result<Self, Reply> {
        let values: HashMap<&str, &str> =
            query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let number = |key: &str| -> Result<u64, Reply> {
            let value = values.get(key).and_then(|value| value.parse().ok());
            value.ok_or_else(|| Reply::error(400, &format!("`{key}` has to be a number")))
        };
        let count = |key: &str| Ok::<_, Reply>(number(key)?.min(MOST as u64) as usize);
        let index = |key: &str| Ok::<_, Reply>(usize::try_from(number(key)?).unwrap_or(usize::MAX));
        Ok(match (is_post, name) {
            (false, "machine") => Self::Machine,
            (false, "state") => Self::State { thread: index("thread")? },
            (false, "history") => {
                Self::History { from: number("from")?, to: number("to")?, points: count("points")? }
            }
            (false, "memory") => Self::Memory {
                memory: index("memory")?,
                address: number("address")?,
                count: count("count")?,
            },
            (false, "tables") => Self::Tables,
            (false, "entries") => Self::Entries { table: index("table")? },
            (true, "command") => Self::Command(body),
            (true, "run") => Self::Run {
                speed: match values.get("speed").copied().unwrap_or_default() {
                    "" => None,
                    _ => Some(number("speed")?.max(1)),
                },
            },
            (true, "pause") => Self::Pause,
            (false, "command" | "run" | "pause") => {
                return Err(Reply::error(405, "this changes the machine: POST it"));
            }
            _ => return Err(Reply::error(404, "there is no such question")),
        })
    }
}

impl Runner {
    /// Executes a request.
    pub fn answer(&mut self, ask: Ask) -> Reply {
        match ask {
            Ask::Machine => machine(self.session()),
            Ask::State { thread } => self.state(thread),
            Ask::History { from, to, points } => history(self.session(), from, to, points),
            Ask::Memory { memory, address, count } => {
                let words = self.session().read(memory, address, count);
                Reply::json(&json!({ "words": words }))
            }
            Ask::Tables => match self.session().tables() {
                Ok(tables) => Reply::json(&json!({ "tables": tables })),
                Err(error) => Reply::error(500, &error.message),
            },
            Ask::Entries { table } => entries(self.session(), table),
            Ask::Command(line) => match self.command(&line) {
                Ok(text) => Reply::json(&json!({ "text": text })),
                Err(error) => {
                    let help = error.help.map_or_else(String::new, |help| format!("\n{help}"));
                    Reply::error(400, &format!("{}{help}", error.message))
                }
            },
            Ask::Run { speed } => {
                self.start(speed);
                Reply::json(&json!({}))
            }
            Ask::Pause => {
                self.pause();
                Reply::json(&json!({}))
            }
        }
    }

    fn state(&mut self, thread: usize) -> Reply {
        let (running, speed, said) = (self.is_running(), self.speed(), self.said().to_owned());
        let current = self.thread();
        let session = self.session();
        let (to_come, done) = session.packets();
        let breakpoints: Vec<_> = session
            .breakpoints()
            .iter()
            .map(|numbered| {
                let (listing, addresses) = match &numbered.breakpoint {
                    Breakpoint::Instruction { listing, addresses, .. } => {
                        (Some(*listing), addresses.clone())
                    }
                    _ => (None, Vec::new()),
                };
                json!({
                    "number": numbered.number,
                    "text": numbered.text,
                    "listing": listing,
                    "addresses": addresses,
                })
            })
            .collect();
        let mut left: Vec<_> = session.left().rev().take(LEFT).cloned().collect();
        left.reverse();
        Reply::json(&json!({
            "cycle": session.cycle(),
            "running": running,
            "speed": speed,
            "said": said,
            "to_come": to_come,
            "done": done,
            "thread": current,
            "threads": session.threads(),
            "now": session.now(),
            "breakpoints": breakpoints,
            "left": left,
            "registers": session.registers(thread),
        }))
    }
}

/// Describes the constant parts of a machine.
fn machine(session: &mut Session) -> Reply {
    let parts: Vec<usize> = session.threads().iter().map(|thread| thread.part).collect();
    let named = session.names.iter().zip(parts);
    let threads: Vec<_> = named.map(|(name, part)| json!({ "name": name, "part": part })).collect();
    Reply::json(&json!({
        "name": session.parts[0].name,
        "hertz": session.hertz,
        "parts": session.parts,
        "measures": session.measures,
        "threads": threads,
        "listings": session.listings,
        "memories": session.memories,
    }))
}

/// Lists the first rows of an offload.
fn entries(session: &mut Session, table: usize) -> Reply {
    let paths = session.table_paths();
    let Some(path) = paths.get(table) else {
        return Reply::error(404, "there is no table with this number");
    };
    match session.entries(path, None, ROWS) {
        Ok((rows, more)) => Reply::json(&json!({ "rows": rows, "more": more })),
        Err(error) => Reply::error(500, &error.message),
    }
}

/// Lists the differences between samples.
fn history(session: &Session, from: u64, to: u64, points: usize) -> Reply {
    let rows = session.rows(from, to, points);
    let cycles: Vec<u64> = rows.iter().map(|row| row.cycle).collect();
    let change = |measure: usize| -> Vec<u64> {
        let pairs = rows.windows(2);
        pairs.map(|pair| pair[1].values[measure].saturating_sub(pair[0].values[measure])).collect()
    };
    let values: Vec<Vec<u64>> = (0..session.measures.len()).map(change).collect();
    Reply::json(&json!({ "cycles": cycles, "values": values }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(is_post: bool, name: &str, query: &str) -> Result<Ask, u16> {
        Ask::parse(is_post, name, query, "step".into()).map_err(|reply| reply.status)
    }

    #[test]
    fn questions_have_their_numbers() {
        assert_eq!(parsed(false, "state", "thread=3"), Ok(Ask::State { thread: 3 }));
        let history = Ask::History { from: 0, to: 9, points: MOST };
        assert_eq!(parsed(false, "history", "from=0&to=9&points=999999"), Ok(history));
        assert_eq!(parsed(false, "history", "from=0&to=-1&points=9"), Err(400));
        assert_eq!(parsed(false, "memory", "memory=0"), Err(400));
        assert_eq!(parsed(false, "entries", "table=1"), Ok(Ask::Entries { table: 1 }));
        assert_eq!(parsed(false, "entries", "table=x"), Err(400));
        assert_eq!(parsed(true, "run", "speed="), Ok(Ask::Run { speed: None }));
        assert_eq!(parsed(true, "run", "speed=0"), Ok(Ask::Run { speed: Some(1) }));
        assert_eq!(parsed(true, "run", "speed=x"), Err(400));
    }

    #[test]
    fn only_posts_change_the_machine() {
        assert_eq!(parsed(true, "command", ""), Ok(Ask::Command("step".into())));
        assert_eq!(parsed(false, "command", ""), Err(405));
        assert_eq!(parsed(false, "pause", ""), Err(405));
        assert_eq!(parsed(true, "machine", ""), Err(404));
    }
}
