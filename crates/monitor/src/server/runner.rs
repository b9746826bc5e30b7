//! Runs a machine between requests.

use std::time::{Duration, Instant};

use wireloom_machine::Result;

use crate::debugger::{Answer, Debugger};
use crate::session::Session;

/// The time that the machine runs before it looks for requests.
const TURN: Duration = Duration::from_millis(20);
/// Cycles of the first turn.
const FIRST: u64 = 1024;
/// The most cycles of one page command; longer work must be started as a run.
const LONGEST: u64 = 2_000_000;

/// A debugger whose machine can run between requests.
pub struct Runner {
    debugger: Debugger,
    running: bool,
    speed: Option<u64>,
    /// The time and the cycle at which the run began, to keep its speed.
    began: (Instant, u64),
    /// The number of cycles that take about one turn.
    cycles: u64,
    said: String,
}

impl Runner {
    /// Creates a runner whose machine is paused.
    pub fn new(debugger: Debugger) -> Self {
        Self {
            debugger,
            running: false,
            speed: None,
            began: (Instant::now(), 0),
            cycles: FIRST,
            said: String::new(),
        }
    }

    pub fn is_running(&self) -> bool {
        self.running
    }

    /// The target speed in cycles per second; `None` for full speed.
    pub fn speed(&self) -> Option<u64> {
        self.speed
    }

    /// Why the machine has stopped.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// The thread at which the last run ended.
    pub fn thread(&self) -> usize {
        self.debugger.thread()
    }

    pub fn session(&mut self) -> &mut Session {
        self.debugger.session()
    }

    /// Lets the machine run, at `speed` cycles per second if given.
    pub fn start(&mut self, speed: Option<u64>) {
        self.running = true;
        self.speed = speed;
        self.began = (Instant::now(), self.session().cycle());
        self.said.clear();
    }

    pub fn pause(&mut self) {
        self.running = false;
    }

    /// Executes a command. A running machine continues afterwards, unless the command itself runs
    /// it.
    ///
    /// # Errors
    /// If the command is wrong, or the machine fails.
    pub fn command(&mut self, line: &str) -> Result<String> {
        if self.debugger.is_continue(line) {
            self.start(None);
            return Ok(String::new());
        }
        if self.debugger.is_run(line) {
            self.running = false;
            self.said.clear();
        }
        match self.debugger.execute_within(line, LONGEST)? {
            Answer::Text(text) => Ok(text),
            Answer::Quit => Ok("Ctrl-C in the terminal ends the monitor\n".to_owned()),
        }
    }

    /// Runs the machine for one turn, unless it is paused.
    pub fn advance(&mut self) {
        if !self.running {
            return;
        }
        let mut cycles = self.cycles;
        if let Some(speed) = self.speed {
            let due = self.began.0.elapsed().as_secs_f64() * speed as f64;
            let due = self.began.1 + due as u64;
            cycles = cycles.min(due.saturating_sub(self.session().cycle()));
            if cycles == 0 {
                std::thread::sleep(TURN / 4);
                return;
            }
        }
        let begin = Instant::now();
        let ran = self.debugger.advance(cycles);
        let took = begin.elapsed();
        match ran {
            Ok(None) => {}
            Ok(Some(text)) => {
                self.running = false;
                self.said = text;
            }
            Err(error) => {
                self.running = false;
                self.said = error.message;
            }
        }
        if cycles == self.cycles {
            self.cycles = match took < TURN {
                true => self.cycles * 2,
                false => (self.cycles / 2).max(1),
            };
        }
    }
}
