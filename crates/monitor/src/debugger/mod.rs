//! The debugger: commands and their answers as text, reproducible from run to run.

mod command;
mod show;

use wireloom_machine::watch::{Access, Breakpoint, Goal, Place};
use wireloom_machine::{Error, Result};

pub use command::HELP;
use command::{Command, Spot};

use crate::session::{Ended, Session};

/// The most cycles of `step` and `next`, whose goal may never be reached.
const WITHIN: u64 = 10_000_000;

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Text to show.
    Text(String),
    /// The user asked to leave.
    Quit,
}

/// A session, and the thread that commands apply to.
pub struct Debugger {
    session: Session,
    thread: usize,
    traces: bool,
}

impl Debugger {
    /// Debugs a session. Commands apply to its first thread that has a program.
    pub fn new(mut session: Session) -> Self {
        let threads = session.threads();
        let runs = threads.iter().position(|thread| thread.state != "stopped");
        Self { session, thread: runs.unwrap_or_default(), traces: false }
    }

    /// Returns the first lines that the debugger shows.
    pub fn greeting(&mut self) -> String {
        let threads = self.session.threads();
        let run = threads.iter().filter(|thread| thread.state != "stopped").count();
        format!(
            "{}: {} threads, {run} with a program; {} MHz\nhelp lists the commands\n",
            self.session.parts[0].name,
            threads.len(),
            self.session.hertz / 1e6
        )
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The index of the thread that commands apply to.
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// Whether a command runs the machine without a limit.
    pub fn is_continue(&self, line: &str) -> bool {
        matches!(Command::parse(line), Ok(Some(Command::Continue)))
    }

    /// Whether a command runs the machine.
    pub fn is_run(&self, line: &str) -> bool {
        use Command::{Continue, Cycles, Next, Step};
        matches!(Command::parse(line), Ok(Some(Continue | Cycles(_) | Next(_) | Step { .. })))
    }

    /// Runs some cycles. Returns the reason if the run should not continue.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn advance(&mut self, cycles: u64) -> Result<Option<String>> {
        let ended = self.session.run(None, cycles)?;
        if let Ended::Done { .. } = ended {
            return Ok(None);
        }
        Ok(Some(self.ended(&ended)))
    }

    /// Executes a command.
    ///
    /// # Errors
    /// If the command is wrong, or the machine fails.
    pub fn execute(&mut self, line: &str) -> Result<Answer> {
        self.execute_within(line, u64::MAX)
    }

    /// Executes a command that runs at most this number of cycles.
    ///
    /// # Errors
    /// If the command is wrong, or the machine fails.
    pub fn execute_within(&mut self, line: &str, most: u64) -> Result<Answer> {
        let Some(command) = Command::parse(line)? else { return Ok(Answer::Text(String::new())) };
        Ok(Answer::Text(match command {
            Command::Quit => return Ok(Answer::Quit),
            Command::Help => HELP.to_owned(),
            Command::Break { spot, program, thread } => {
                self.break_at(line, &spot, program.as_deref(), thread.as_deref())?
            }
            Command::BreakPacket(number) => self.add(line, Breakpoint::Packet(number)),
            Command::BreakSignal { signal, thread } => {
                let thread = thread.map(|name| self.thread_named(&name)).transpose()?;
                let signal = self.signal_named(&signal)?;
                self.add(line, Breakpoint::Signal { signal, thread })
            }
            Command::BreakMemory { access, memory, first, last } => {
                self.break_memory(line, access, &memory, (first, last))?
            }
            Command::Breakpoints => show::breakpoints(&self.session),
            Command::Delete(None) => {
                let all: Vec<u32> = self.session.breakpoints().iter().map(|b| b.number).collect();
                all.iter().for_each(|number| {
                    self.session.delete(*number);
                });
                format!("{} breakpoints deleted\n", all.len())
            }
            Command::Delete(Some(number)) => {
                if !self.session.delete(number) {
                    let message = format!("there is no breakpoint {number}");
                    return Err(Error::new(message).with_help("breakpoints lists them"));
                }
                String::new()
            }
            Command::Step { count, any } => {
                let thread = (!any).then_some(self.thread);
                self.run(Some(Goal::Instructions { thread, count, within: WITHIN }), most)?
            }
            Command::Cycles(cycles) => self.run(Some(Goal::Cycles(cycles)), most)?,
            Command::Next(count) => {
                self.run(Some(Goal::Packets { count, within: WITHIN }), most)?
            }
            Command::Continue => self.run(None, most)?,
            Command::Threads => show::threads(&mut self.session, self.thread),
            Command::Thread(name) => {
                self.thread = self.thread_named(&name)?;
                show::place(&mut self.session, self.thread)
            }
            Command::Where => show::place(&mut self.session, self.thread),
            Command::List { spot, count } => self.list(spot.as_ref(), count)?,
            Command::Labels => show::labels(
                self.session.threads()[self.thread]
                    .listing
                    .and_then(|listing| self.session.listings.get(listing)),
            ),
            Command::Sources => show::sources(&self.session.listings),
            Command::Registers(names) => {
                show::registers(&self.session.registers(self.thread), &names)?
            }
            Command::Memory { memory, address, count } => {
                let number = self.memory_named(&memory)?;
                self.check_address(number, address)?;
                let words = self.session.memories[number].words;
                let read = self.session.read(number, address, count * words as usize);
                show::memory(&read, address, words as usize)
            }
            Command::Queues => show::queues(&mut self.session),
            Command::Use => show::used(&mut self.session),
            Command::Power => show::power(&mut self.session),
            Command::Packets => show::packets(&mut self.session),
            Command::Tables => show::tables(&self.session.tables()?),
            Command::Rows { path, key } => show::rows(&mut self.session, &path, key.as_deref())?,
            Command::Change(changes) => {
                let first = self.session.change(&changes, most)?;
                let cycle = self.session.cycle();
                format!("changed before packet {first}, at cycle {cycle}\n")
            }
            Command::Trace(on) => {
                self.traces = on;
                self.session.keep_events(on);
                format!("trace {}\n", if on { "on" } else { "off" })
            }
        }))
    }

    fn add(&mut self, line: &str, breakpoint: Breakpoint) -> String {
        let line = line.trim();
        format!("breakpoint {}: {line}\n", self.session.add(line, breakpoint))
    }

    fn break_at(
        &mut self,
        line: &str,
        spot: &Spot,
        program: Option<&str>,
        thread: Option<&str>,
    ) -> Result<String> {
        let thread = thread.map(|name| self.thread_named(name)).transpose()?;
        let order = match (program, thread) {
            (Some(program), _) => vec![self.program_named(program)?],
            (None, Some(thread)) => vec![self.listing(thread)?],
            (None, None) => self.own_first(spot)?,
        };
        let (listing, addresses) = self.addresses(spot, &order)?;
        let places: Vec<String> = addresses.iter().map(u64::to_string).collect();
        let name = &self.session.listings[listing].name;
        let places = format!("address {} of {name}", places.join(", "));
        let added = self.add(line, Breakpoint::Instruction { listing, addresses, thread });
        Ok(format!("{} ({places})\n", added.trim_end()))
    }

    fn break_memory(
        &mut self,
        line: &str,
        access: Access,
        memory: &str,
        (first, last): (u64, u64),
    ) -> Result<String> {
        let memory = self.memory_named(memory)?;
        self.check_address(memory, first)?;
        self.check_address(memory, last)?;
        if last < first {
            return Err(Error::new(format!(
                "{first:#x}-{last:#x}: the last address is below the first"
            )));
        }
        Ok(self.add(line, Breakpoint::Memory { memory, first, last, access }))
    }

    /// Returns the program of a thread.
    fn listing(&mut self, thread: usize) -> Result<usize> {
        let listing = self.session.threads()[thread].listing;
        let name = &self.session.names[thread];
        listing.ok_or_else(|| {
            Error::new(format!("thread {name} has no program"))
                .with_help("threads lists those that have one; thread NAME chooses one")
        })
    }

    /// Returns the programs in which a spot is searched, the current thread's program first.
    fn own_first(&mut self, spot: &Spot) -> Result<Vec<usize>> {
        let own = self.listing(self.thread);
        let Ok(own) = own else {
            // Only an address needs the thread's own program.
            let all: Vec<usize> = (0..self.session.listings.len()).collect();
            let is_enough = !matches!(spot, Spot::Address(_)) && !all.is_empty();
            return if is_enough { Ok(all) } else { own.map(|own| vec![own]) };
        };
        let others = (0..self.session.listings.len()).filter(|other| *other != own);
        Ok([own].into_iter().chain(others).collect())
    }

    fn program_named(&self, name: &str) -> Result<usize> {
        let listings = &self.session.listings;
        listings.iter().position(|listing| listing.name == name).ok_or_else(|| {
            let names: Vec<&str> = listings.iter().map(|listing| listing.name.as_str()).collect();
            Error::new(format!("there is no program `{name}`"))
                .with_help(format!("the programs are {}", names.join(", ")))
        })
    }

    /// Returns the addresses of a spot, in the first of these programs that has it. A numeric
    /// address refers to the first program.
    fn addresses(&self, spot: &Spot, order: &[usize]) -> Result<(usize, Vec<u64>)> {
        let own = order[0];
        let listings = &self.session.listings;
        match spot {
            Spot::Address(address) => {
                let count = listings[own].instructions.len() as u64;
                if *address >= count {
                    return Err(Error::new(format!(
                        "there is no instruction {address}: {} has {count}, from 0",
                        listings[own].name
                    )));
                }
                Ok((own, vec![*address]))
            }
            Spot::Label(label) => {
                let found = order.iter().find_map(|l| Some((*l, vec![listings[*l].label(label)?])));
                found.ok_or_else(|| {
                    Error::new(format!("there is no label `{label}`"))
                        .with_help("labels lists those of the thread's program")
                })
            }
            Spot::Line(file, line) => {
                let named = order.iter().flat_map(|listing| {
                    let sources = listings[*listing].sources_named(file);
                    sources.into_iter().map(|source| (*listing, source))
                });
                let named: Vec<(usize, usize)> = named.collect();
                let Some(&(listing, source)) = named.first() else {
                    let all = listings.iter().flat_map(|listing| &listing.sources);
                    let mut names: Vec<&str> = all.map(|source| source.name.as_str()).collect();
                    names.dedup();
                    return Err(Error::new(format!("no instruction comes from a file `{file}`"))
                        .with_help(format!("the files are {}", names.join(", "))));
                };
                let found = named.iter().find_map(|(listing, source)| {
                    let begins = listings[*listing].begins(*source, *line);
                    (!begins.is_empty()).then_some((*listing, begins))
                });
                found.ok_or_else(|| {
                    let mut lines = listings[listing].lines(source);
                    for (listing, source) in &named[1..] {
                        lines.extend(listings[*listing].lines(*source));
                    }
                    lines.sort_unstable();
                    let next = lines.iter().find(|other| *other > line).or(lines.last());
                    let error = Error::new(format!("{file}:{line}: no instruction comes from it"));
                    match next {
                        Some(next) => error.with_help(format!("line {next} has instructions")),
                        None => error,
                    }
                })
            }
        }
    }

    fn list(&mut self, spot: Option<&Spot>, count: usize) -> Result<String> {
        let (listing, address) = match spot {
            Some(spot) => {
                let order = self.own_first(spot)?;
                let (listing, addresses) = self.addresses(spot, &order)?;
                (listing, addresses[0])
            }
            None => {
                let listing = self.listing(self.thread)?;
                let address = self.session.threads()[self.thread].address;
                (listing, address.saturating_sub(count as u64 / 3))
            }
        };
        Ok(show::listing(&mut self.session, listing, address, count, self.thread))
    }

    fn run(&mut self, goal: Option<Goal>, most: u64) -> Result<String> {
        let ended = self.session.run(goal, most);
        let mut out = String::new();
        if self.traces {
            out += &show::events(&self.session.take_events(), &self.session.names);
        }
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) if out.is_empty() => return Err(error),
            Err(error) => {
                return Err(Error { message: format!("{out}{}", error.message), ..error });
            }
        };
        out += &self.ended(&ended);
        out.push('\n');
        if let Ended::Breakpoint { thread: Some(thread), .. }
        | Ended::Done { thread: Some(thread) } = ended
        {
            out += &show::place(&mut self.session, thread);
        }
        Ok(out)
    }

    /// Says in a line why a run has ended. Later commands apply to the thread at which it ended.
    fn ended(&mut self, ended: &Ended) -> String {
        if let Ended::Breakpoint { thread: Some(thread), .. }
        | Ended::Done { thread: Some(thread) } = ended
        {
            self.thread = *thread;
        }
        let cycle = self.session.cycle();
        match ended {
            Ended::Breakpoint { number, .. } => {
                let breakpoints = self.session.breakpoints();
                let text = breakpoints.iter().find(|b| b.number == *number);
                let text = text.map_or("", |b| b.text.as_str());
                format!("cycle {cycle}: breakpoint {number}, {text}")
            }
            Ended::Done { .. } => format!("cycle {cycle}"),
            Ended::Finished => format!("cycle {cycle}: every packet has left"),
            Ended::Stuck => {
                format!("cycle {cycle}: packets do not get on; threads shows what waits")
            }
            Ended::Late => {
                format!("cycle {cycle}: it has not happened yet; threads shows what waits")
            }
            Ended::Interrupted => format!("cycle {cycle}: interrupted"),
        }
    }

    fn thread_named(&mut self, name: &str) -> Result<usize> {
        let names = &self.session.names;
        names.iter().position(|other| other == name).ok_or_else(|| {
            let last = names.last().map_or("", String::as_str);
            Error::new(format!("there is no thread `{name}`"))
                .with_help(format!("threads are called by engine and context, from 0.0 to {last}"))
        })
    }

    fn memory_named(&self, name: &str) -> Result<usize> {
        let memories = &self.session.memories;
        memories.iter().position(|memory| memory.name == name).ok_or_else(|| {
            let names: Vec<&str> = memories.iter().map(|memory| memory.name.as_str()).collect();
            Error::new(format!("there is no memory `{name}`"))
                .with_help(format!("the memories are {}", names.join(", ")))
        })
    }

    fn check_address(&self, memory: usize, address: u64) -> Result {
        let memory = &self.session.memories[memory];
        if address < memory.addresses {
            return Ok(());
        }
        Err(Error::new(format!(
            "{address:#x}: {} has the addresses from 0 to {:#x}, of {} bytes each",
            memory.name,
            memory.addresses - 1,
            4 * memory.words
        )))
    }

    fn signal_named(&self, name: &str) -> Result<Option<u32>> {
        if self.session.signals.is_empty() {
            let name = &self.session.parts[0].name;
            return Err(Error::new(format!("threads of {name} have no signals"))
                .with_help("break where they execute, at a packet or at a memory"));
        }
        if name == "any" {
            return Ok(None);
        }
        let found = self.session.signals.iter().find(|(_, other)| other == name);
        let names = self.session.signals.iter().map(|(_, name)| name.as_str());
        found.map(|(number, _)| Some(*number)).ok_or_else(|| {
            let names: Vec<&str> = names.collect();
            Error::new(format!("there is no signal `{name}`"))
                .with_help(format!("say any, or one of {}", names.join(", ")))
        })
    }
}

/// Formats a source position for people.
fn place_text(session: &Session, listing: usize, place: Place) -> Option<(String, String)> {
    let listing = session.listings.get(listing)?;
    let source = listing.sources.get(place.source)?;
    let text = source.text.as_deref().and_then(|text| text.lines().nth(place.line as usize - 1));
    let name = listing.short_name(place.source);
    Some((format!("{name}:{}", place.line), text.unwrap_or_default().trim().to_owned()))
}
