//! Watches and steps simulated machines.
//!
//! A [`Session`] is a machine that can be watched ([`wireloom_machine::watch`]) with its packets,
//! breakpoints and history. A [`Debugger`] is a session with commands and answers as text. A
//! [`Server`] shows it to a page in a browser.

mod debugger;
mod history;
mod server;
mod session;
mod sources;

pub use debugger::{Answer, Debugger, HELP};
pub use history::{History, Sample};
pub use server::Server;
pub use session::{Departure, Ended, Session, Verdicts};

/// Makes the signals that ask a process to end interrupt the run instead. A second signal ends the
/// process.
///
/// # Errors
/// If the system refuses the handlers.
#[cfg(unix)]
pub fn interrupt_on_signals(
    interrupt: &std::sync::Arc<std::sync::atomic::AtomicBool>,
) -> wireloom_machine::Result {
    use signal_hook::consts::{SIGINT, SIGTERM};
    for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
        let flag = std::sync::Arc::clone;
        // The shutdown is registered first, so that it sees the flag only if an earlier signal set
        // it.
        signal_hook::flag::register_conditional_shutdown(signal, status, flag(interrupt))
            .and_then(|_| signal_hook::flag::register(signal, flag(interrupt)))
            .map_err(|error| {
                wireloom_machine::Error::new(format!("signals cannot be handled: {error}"))
            })?;
    }
    Ok(())
}
