//! What decides in the kernel where packets go and is not followed, while packets are forwarded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use wireloom_live::conditions::{self, Changes, Found, Place};
use wireloom_live::{Barred, MIRROR_RIGHTS, Tagged, give_up_all_but};
use wireloom_machine::{Error, Result};

/// Time between two looks, if the kernel notifies of nothing: it does not of most conditions.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two looks at least.
const REST: Duration = Duration::from_millis(50);

/// The conditions that hold at present.
pub struct Unfollowed {
    known: Mutex<Known>,
    accepted: Vec<String>,
    barred: Arc<Barred>,
    tagged: Arc<Tagged>,
}

struct Known {
    /// `None` while the program does not follow the kernel.
    place: Option<Place>,
    found: Vec<Found>,
}

impl Unfollowed {
    /// Looks for conditions at these ports, warns of some, and fails if others are not accepted.
    ///
    /// # Errors
    /// If packets would pass what is to stop them, and nobody accepts it.
    pub fn begin(
        place: Option<Place>,
        ports: &[Option<u32>],
        accepted: &[String],
    ) -> Result<Arc<Self>> {
        let found = place.as_ref().map(conditions::look).unwrap_or_default();
        for warning in conditions::check(&found, accepted)? {
            tracing::warn!("{warning}");
        }
        let (barred, tagged) = (Arc::new(Barred::new(ports)), Arc::new(Tagged::new(ports)));
        let known = Mutex::new(Known { place: None, found });
        let unfollowed = Self { known, accepted: accepted.to_vec(), barred, tagged };
        unfollowed.set(place);
        Ok(Arc::new(unfollowed))
    }

    /// What is not forwarded from which port.
    pub fn barred(&self) -> &Arc<Barred> {
        &self.barred
    }

    /// Where tagged frames have arrived.
    pub fn tagged(&self) -> &Arc<Tagged> {
        &self.tagged
    }

    fn set(&self, place: Option<Place>) {
        let with_own = |place| Place { tagged: Arc::clone(&self.tagged), ..place };
        self.known().place = place.map(with_own);
    }

    /// The conditions that hold. `None` if the program does not follow the kernel.
    pub fn found(&self) -> Option<Vec<Found>> {
        let known = self.known();
        known.place.is_some().then(|| known.found.clone())
    }

    /// Looks for another program from now on.
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
        let unfollowed = Arc::clone(self);
        let (tell, given_up) = mpsc::channel();
        let watch = move || {
            let result = give_up_all_but(&MIRROR_RIGHTS);
            let is_well = result.is_ok();
            if tell.send(result).is_err() || !is_well {
                return;
            }
            loop {
                // Without notifications it looks all the same.
                let _ = changes.wait(LOOK);
                unfollowed.look();
                thread::sleep(REST);
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(format!("a thread for what is not followed: {error}"))
        };
        let thread = thread::Builder::new().name("conditions".into());
        thread.spawn(watch).map_err(|error| failed(&error))?;
        given_up.recv().map_err(|error| failed(&error))?
    }

    /// Looks again, and logs what has changed.
    fn look(&self) {
        self.barred.update();
        let mut known = self.known();
        let found = known.place.as_ref().map(conditions::look).unwrap_or_default();
        let before = std::mem::replace(&mut known.found, found);
        for found in &known.found {
            match before.iter().any(|other| other.condition == found.condition) {
                true => {}
                false if self.accepted.contains(&found.condition) => {
                    tracing::info!("{}", found.text());
                }
                false => tracing::warn!("{}", found.text()),
            }
        }
        for gone in &before {
            if !known.found.iter().any(|other| other.condition == gone.condition) {
                tracing::info!("{}: no more", gone.condition);
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
