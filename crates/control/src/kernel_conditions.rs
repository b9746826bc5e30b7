//! Kernel features that forwarding ignores, checked while packets are forwarded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use wireloom_live::conditions::{self, Changes, Found, Place};
use wireloom_live::{Barred, MIRROR_RIGHTS, Tagged, give_up_all_but};
use wireloom_machine::{Error, Result};

/// The time between two looks without a notification. The kernel sends none for most conditions.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest time between two looks.
const REST: Duration = Duration::from_millis(50);

/// The conditions that hold at present.
pub struct KernelConditions {
    /// Held for moments only, since the forwarding thread takes it too.
    known: Mutex<Known>,
    /// Held during a look, so that an earlier look cannot end after a later one.
    looking: Mutex<()>,
    accepted: Vec<String>,
    barred: Arc<Barred>,
    tagged: Arc<Tagged>,
}

struct Known {
    /// `None` while the program does not follow the kernel.
    place: Option<Place>,
    found: Vec<Found>,
}

/// A difference from the last look.
#[derive(Debug, PartialEq, Eq)]
enum Difference<'a> {
    /// The condition holds now, or its detail has changed.
    Holds(&'a Found),
    Gone(&'a Found),
}

impl KernelConditions {
    /// Looks for conditions at these ports, warns of some, and fails if others are not accepted.
    ///
    /// # Errors
    /// If packets would bypass a rule of the kernel, and the user has not accepted it.
    pub fn begin(
        place: Option<Place>,
        ports: &[Option<u32>],
        accepted: &[String],
    ) -> Result<Arc<Self>> {
        let found = place.as_ref().map(conditions::look).unwrap_or_default();
        for warning in conditions::check(&found, accepted)? {
            tracing::warn!("{warning}");
        }
        let conditions = Self {
            known: Mutex::new(Known { place: None, found }),
            looking: Mutex::default(),
            accepted: accepted.to_vec(),
            barred: Arc::new(Barred::new(ports)),
            tagged: Arc::new(Tagged::new(ports)),
        };
        conditions.barred.update(place.is_some());
        conditions.set(place);
        Ok(Arc::new(conditions))
    }

    /// Returns the protocols that are not forwarded, by port.
    pub fn barred(&self) -> &Arc<Barred> {
        &self.barred
    }

    /// The ports at which tagged frames have arrived.
    pub fn tagged(&self) -> &Arc<Tagged> {
        &self.tagged
    }

    fn set(&self, place: Option<Place>) {
        let with_own = |place| Place { tagged: Arc::clone(&self.tagged), ..place };
        self.known().place = place.map(with_own);
    }

    /// Returns the conditions that hold. `None` if the program does not follow the kernel.
    pub fn found(&self) -> Option<Vec<Found>> {
        let known = self.known();
        known.place.is_some().then(|| known.found.clone())
    }

    /// Looks on behalf of another program from now on.
    pub fn replace(&self, place: Option<Place>) {
        self.set(place);
        self.look();
    }

    /// Looks again from time to time, in a thread of its own with [`MIRROR_RIGHTS`].
    ///
    /// # Errors
    /// If the thread cannot be started, or its other rights cannot be given up.
    pub fn watch(self: &Arc<Self>) -> Result {
        let changes = Changes::subscribe()?;
        let conditions = Arc::clone(self);
        let (tell, given_up) = mpsc::channel();
        let watch = move || {
            let result = give_up_all_but(&MIRROR_RIGHTS);
            let is_well = result.is_ok();
            if tell.send(result).is_err() || !is_well {
                return;
            }
            loop {
                // An error means that there are no notifications; the look happens all the same.
                let _ = changes.wait(LOOK);
                conditions.look();
                thread::sleep(REST);
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(format!("a thread for kernel features that forwarding ignores: {error}"))
        };
        let thread = thread::Builder::new().name("conditions".into());
        thread.spawn(watch).map_err(|error| failed(&error))?;
        given_up.recv().map_err(|error| failed(&error))?
    }

    /// Looks again, and logs what has changed.
    fn look(&self) {
        let _looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.known().place.clone();
        self.barred.update(place.is_some());
        // The kernel may take long, so `known` is not locked here.
        let found = place.as_ref().map(conditions::look).unwrap_or_default();
        let before = std::mem::replace(&mut self.known().found, found.clone());
        for difference in differences(&before, &found) {
            match difference {
                Difference::Holds(found) if self.accepted.contains(&found.condition) => {
                    tracing::info!("{}", found.text());
                }
                Difference::Holds(found) => tracing::warn!("{}", found.text()),
                Difference::Gone(gone) => tracing::info!("{}: no longer holds", gone.condition),
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the conditions that appeared, changed or ended.
fn differences<'a>(
    before: &'a [Found],
    now: &'a [Found],
) -> impl Iterator<Item = Difference<'a>> + use<'a> {
    let holds = now.iter().filter(|found| !before.contains(found)).map(Difference::Holds);
    let is_gone = |gone: &&Found| !now.iter().any(|found| found.condition == gone.condition);
    holds.chain(before.iter().filter(is_gone).map(Difference::Gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_logged_again_when_something_else_holds_of_it() {
        let found = |condition: &str, detail: &str| Found {
            condition: condition.into(),
            detail: detail.into(),
        };
        let before = [found("netfilter", "chain a"), found("rp-filter", "r1")];
        let now = [found("netfilter", "chain a, chain b"), found("master", "r2")];
        let all: Vec<_> = differences(&before, &now).collect();
        let expected =
            [Difference::Holds(&now[0]), Difference::Holds(&now[1]), Difference::Gone(&before[1])];
        assert_eq!(all, expected);
        assert_eq!(differences(&now, &now).count(), 0);
    }
}
