//! Shows long texts to people, through a pager on a terminal.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::Command;

use wireloom_console::output;
use wireloom_files::TemporaryFolder;

/// Shows a text. On a terminal, the pager in `PAGER`, or less, replaces this process. Otherwise, or
/// without a pager, the text is printed.
pub fn show(text: &str) {
    if io::stdout().is_terminal() {
        let pager = std::env::var_os("PAGER").filter(|pager| !pager.is_empty());
        // The call returns only if there is no pager.
        let _ = page(text, pager);
    }
    output::print(text);
}

/// Replaces this process by the pager, which alone then handles the keyboard's signals.
fn page(text: &str, pager: Option<OsString>) -> io::Result<()> {
    let folder = TemporaryFolder::new()?;
    let path = folder.path().join("page");
    std::fs::write(&path, text)?;
    let file = File::open(path)?;
    // The open file lasts until the pager has read it.
    drop(folder);
    let mut command = match pager {
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(pager);
            shell
        }
        None => {
            let mut less = Command::new("less");
            less.arg("-R");
            less
        }
    };
    if std::env::var_os("LESS").is_none() {
        // Leave at once if the text fits the screen, show styles, and leave the text on the screen.
        command.env("LESS", "FRX");
    }
    Err(command.stdin(file).exec())
}
