//! Progress of long work, on standard error and only where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `total` things of this name (`packets`), or a count of them if the total is not known.
pub fn bar(total: Option<u64>, what: &'static str) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{wide_bar} {human_pos}/{human_len} {msg}, {eta} to go"),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} {msg} ({per_sec})"),
    };
    bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
    bar.set_message(what);
    bar
}

/// A sign of life for work without steps to count; gone when it is dropped.
pub struct Working(ProgressBar);

impl Working {
    /// Shows what is being done.
    pub fn on(what: impl Into<String>) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what.into());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Shows what is being done now.
    pub fn now(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
