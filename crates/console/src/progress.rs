//! Progress of long work, on standard error: in place on a terminal, else a line now and then.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::output;

/// The interval between reports of long work when standard error is not a terminal.
const SILENCE: Duration = Duration::from_secs(30);

/// Creates a progress bar over this number of packets. If the number is unknown, it shows a count
/// and a rate.
pub fn bar(packets: Option<u64>) -> ProgressBar {
    let (bar, template) = match packets {
        Some(packets) => {
            (ProgressBar::new(packets), "{wide_bar} {human_pos}/{human_len} packets, {eta} to go")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} packets ({rate})"),
    };
    let style = ProgressStyle::with_template(template).expect("a valid template");
    bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
        // Writing to memory cannot fail.
        let _ = out.write_str(&output::packet_rate(state.per_sec()));
    }));
    bar
}

/// Work without countable steps. A terminal shows a spinner until this is dropped; otherwise
/// standard error gets a line each half minute. The line names the innermost of nested activities.
pub struct Working {
    bar: ProgressBar,
    /// The number of the activity, if there is no terminal.
    told: Option<u64>,
}

impl Working {
    /// Shows the current activity.
    pub fn on(what: impl Into<String>) -> Self {
        let (bar, what) = (ProgressBar::new_spinner(), what.into());
        bar.set_message(what.clone());
        let told = if std::io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(100));
            None
        } else {
            Some(begin(what))
        };
        Self { bar, told }
    }

    /// Changes the activity shown.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        if let Some(number) = self.told {
            told().activities.change(number, what);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(number) = self.told {
            end(number);
        }
    }
}

/// The activities under way, the outermost first.
#[derive(Default)]
struct Activities {
    begun: u64,
    under_way: Vec<(u64, String, Instant)>,
}

impl Activities {
    fn push(&mut self, what: String, now: Instant) -> u64 {
        self.begun += 1;
        self.under_way.push((self.begun, what, now));
        self.begun
    }

    fn change(&mut self, number: u64, what: &str) {
        if let Some((_, text, _)) = self.under_way.iter_mut().find(|(own, ..)| *own == number) {
            what.clone_into(text);
        }
    }

    fn remove(&mut self, number: u64) {
        self.under_way.retain(|(own, ..)| *own != number);
    }

    /// Returns the progress line of this moment: the innermost activity and its duration so far.
    fn line(&self, now: Instant) -> Option<String> {
        let (_, what, begun) = self.under_way.last()?;
        Some(format!("{what}: {} s so far", now.duration_since(*begun).as_secs()))
    }
}

/// The activities, and the thread that reports them while there are any.
#[derive(Default)]
struct Told {
    activities: Activities,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

fn told() -> MutexGuard<'static, Told> {
    static TOLD: LazyLock<Mutex<Told>> = LazyLock::new(Mutex::default);
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(what: String) -> u64 {
    let mut told = told();
    let number = told.activities.push(what, Instant::now());
    told.thread.get_or_insert_with(tell);
    number
}

fn end(number: u64) {
    let mut told = told();
    told.activities.remove(number);
    let is_last = told.activities.under_way.is_empty();
    let thread = told.thread.take_if(|_| is_last);
    drop(told);
    if let Some((stop, thread)) = thread {
        drop(stop);
        let _ = thread.join();
    }
}

/// Starts a thread that reports the current activity until the sender is dropped.
fn tell() -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            if let Some(line) = told().activities.line(Instant::now()) {
                output::note(line);
            }
        }
    });
    (stop, thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_work_within_work_one_line_names_the_innermost() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut activities = Activities::default();
        assert_eq!(activities.line(begin), None);
        let outer = activities.push("searching".to_owned(), begin);
        let inner = activities.push("building a model".to_owned(), at(20));
        assert_eq!(activities.line(at(30)).as_deref(), Some("building a model: 10 s so far"));
        activities.change(outer, "measuring");
        activities.remove(inner);
        assert_eq!(activities.line(at(60)).as_deref(), Some("measuring: 60 s so far"));
        activities.remove(outer);
        assert_eq!(activities.line(at(90)), None);
    }

    #[test]
    fn the_thread_lives_as_long_as_there_is_work() {
        let outer = begin("outer".to_owned());
        let inner = begin("inner".to_owned());
        end(outer);
        assert!(told().thread.is_some(), "the inner work continues");
        end(inner);
        assert!(told().thread.is_none());
    }
}
