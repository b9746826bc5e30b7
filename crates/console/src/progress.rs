//! Progress of long work, on standard error and only on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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

/// A spinner for work without steps to count; removed when it is dropped.
pub struct Working(ProgressBar);

impl Working {
    /// Shows the current activity.
    pub fn on(what: impl Into<String>) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what.into());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Changes the activity shown.
    pub fn now(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
