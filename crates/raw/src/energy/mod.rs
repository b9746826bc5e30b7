//! The energy of a chip: its parts with their models, and the events of its units.
//!
//! Units always count their events. [`charge`] hands the counts to an
//! [`Account`](wireloom_power::Account). docs/power.md lists the parts, and docs/results/raw.md
//! lists their energies.

mod ledger;
mod parts;
mod spec;

pub use ledger::charge;
pub use parts::{ChipPart, TilePart, account, groups};
pub use spec::PowerSpec;

use wireloom_power::Account;
use wireloom_sim::{Clock, SpecError};

use crate::{Chip, Spec};

/// Returns the clock of a chip.
pub(crate) fn clock(spec: &Spec) -> Clock {
    Clock::hertz(u64::from(spec.clock_mhz) * 1_000_000)
}

/// Returns the energy of a chip and of the memories at its ports since reset.
///
/// # Errors
/// If a number of the description is out of its range.
pub fn spent(chip: &Chip) -> Result<Account, SpecError> {
    let mut account = account(chip, None)?;
    account.advance(clock(chip.spec()).edge(chip.cycles()));
    charge(&mut account, chip, chip.cycles());
    Ok(account)
}
