//! Progress of long work, on standard error: in place on a terminal, else a line now and then.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// How often long work reports what it is doing, without a terminal.
const SILENCE: Duration = Duration::from_secs(30);

/// Creates a bar over `total` things of this name (`packets`), or a count of them if the total is
/// unknown.
pub fn bar(total: Option<u64>, what: &'static str) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => {
            (ProgressBar::new(total), "{wide_bar} {human_pos}/{human_len} {msg}, {eta} to go")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} {msg} ({per_sec})"),
    };
    bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
    bar.set_message(what);
    bar
}

/// Work without steps to count: a spinner on a terminal, removed when it is dropped; else a line on
/// standard error each half minute.
pub struct Working {
    bar: ProgressBar,
    what: Arc<Mutex<String>>,
    lines: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Shows the current activity.
    pub fn on(what: impl Into<String>) -> Self {
        let (bar, what) = (ProgressBar::new_spinner(), what.into());
        bar.set_message(what.clone());
        let what = Arc::new(Mutex::new(what));
        let lines = if std::io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(100));
            None
        } else {
            Some(tell(Arc::clone(&what)))
        };
        Self { bar, what, lines }
    }

    /// Changes the activity shown.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        what.clone_into(&mut self.what.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some((stop, thread)) = self.lines.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// Starts a thread that reports the current activity until the sender is dropped.
fn tell(what: Arc<Mutex<String>>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let thread = thread::spawn(move || {
        let begin = Instant::now();
        while stopped.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            let what = what.lock().unwrap_or_else(PoisonError::into_inner).clone();
            output::note(format!("{what}: {} s so far", begin.elapsed().as_secs()));
        }
    });
    (stop, thread)
}
