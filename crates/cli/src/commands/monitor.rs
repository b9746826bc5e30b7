//! `wireloom monitor`: shows a simulated machine in the browser.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use wireloom_console::output;
use wireloom_monitor::{Debugger, Server};

use crate::commands::watched::WatchedArgs;
use crate::failure::Outcome;

/// See `wireloom monitor --help`.
#[derive(Args, Debug)]
pub struct Monitor {
    #[command(flatten)]
    watched: WatchedArgs,
    /// Listen on this port of the loopback interface; a free one by default
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

impl Monitor {
    /// Starts the machine and serves it until SIGINT or SIGTERM.
    pub fn run(self) -> Outcome {
        let server = Server::bind(self.port)?;
        let interrupt = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        wireloom_monitor::interrupt_on_signals(&interrupt)?;
        let session = self.watched.session(Arc::clone(&interrupt))?;
        output::say(format!("open {} in a browser on this computer; Ctrl-C ends", server.url()));
        Ok(server.run(Debugger::new(session), &interrupt)?)
    }
}
