//! Adds the source lines of the units to errors of a chip.

use wireloom_machine::Error;
use wireloom_sim::wait_graph::WaitAnalysis;

use super::{Programs, THREADS};
use crate::Chip;
use crate::chip;

/// Turns an error of a chip into an error of the machine that names source lines.
pub fn located(chip: &Chip, programs: &Programs, error: chip::Error) -> Error {
    let error = match error {
        chip::Error::Fault { unit, at, cycle, why } => {
            let place = at.and_then(|(((x, y), is_switch), instruction)| {
                let tile = usize::from(y) * chip.layout.columns + usize::from(x);
                programs.place(THREADS * tile + usize::from(is_switch), instruction.into())
            });
            let why = place.map_or(why.clone(), |(line, text)| format!("{line} (`{text}`): {why}"));
            chip::Error::Fault { unit, at, cycle, why }
        }
        chip::Error::Stuck { since, report } => {
            let report = Box::new(with_lines(chip, programs, *report));
            chip::Error::Stuck { since, report }
        }
        other => other,
    };
    Error::new(error.to_string())
}

/// Returns a report in which each waiting processor and switch has its source line.
fn with_lines(chip: &Chip, programs: &Programs, mut report: WaitAnalysis) -> WaitAnalysis {
    let progress = super::progress(chip);
    let name = |thread: usize| match thread % THREADS {
        0 => chip.layout.processor(thread / THREADS),
        _ => chip.layout.mover(thread / THREADS, 0),
    };
    let names: Vec<String> = (0..progress.len()).map(name).collect();
    let chains = report.blockers.iter_mut().map(|blocker| &mut blocker.chain);
    for wait in report.cycles.iter_mut().chain(chains).flatten() {
        let thread = names.iter().position(|name| *name == wait.who);
        let place = thread.and_then(|thread| programs.place(thread, progress[thread].1));
        if let Some((line, text)) = place {
            wait.why += &format!(", at {line} (`{text}`)");
        }
    }
    report
}
