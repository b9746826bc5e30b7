//! One-way calls: the limit on the calls that a thread may have in progress.
//!
//! Nothing comes back from a one-way call, so without a limit a thread could make calls faster than
//! the receiver begins them. The last call of each group to one receiver requests an
//! acknowledgement, which the receiver sends when it begins that call. Until the acknowledgement
//! arrives, the thread makes no more calls to that receiver. As calls can overtake each other in
//! transit, at most two groups can be in progress.

use super::call::Target;

/// The receiver of calls: an object, a service or the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receiver {
    Object(u32),
    Service(super::broker::Service),
    Console,
}

impl Receiver {
    /// The receiver of a call; `None` for calls of the thread manager.
    pub(super) fn of(target: Target) -> Option<Self> {
        match target {
            Target::Object { object, .. } => Some(Self::Object(object)),
            Target::Service { service, .. } => Some(Self::Service(service)),
            Target::Console { .. } => Some(Self::Console),
            Target::ThreadManager { .. } => None,
        }
    }
}

/// The one-way calls that a thread has made.
#[derive(Clone, Debug)]
pub(super) struct OneWayCalls {
    /// The number of calls to a receiver per acknowledgement.
    bound: u32,
    made: Vec<Made>,
}

/// The calls of one receiver.
#[derive(Clone, Copy, Debug)]
struct Made {
    receiver: Receiver,
    /// The number of calls since the last acknowledgement request.
    count: u32,
    /// Whether an acknowledgement is outstanding.
    is_asked: bool,
}

impl OneWayCalls {
    /// The state of a thread without calls, with a bound of 1 or more.
    pub(super) fn new(bound: u32) -> Self {
        Self { bound, made: Vec::new() }
    }

    /// Makes a call. Returns whether it requests an acknowledgement, or `None` if the thread must
    /// first wait for one.
    pub(super) fn make(&mut self, receiver: Receiver) -> Option<bool> {
        let place =
            self.made.iter().position(|made| made.receiver == receiver).unwrap_or_else(|| {
                self.made.push(Made { receiver, count: 0, is_asked: false });
                self.made.len() - 1
            });
        let made = &mut self.made[place];
        if made.is_asked {
            return None;
        }
        made.count += 1;
        if made.count == self.bound {
            (made.count, made.is_asked) = (0, true);
        }
        Some(made.is_asked)
    }

    /// Handles the arrival of an acknowledgement.
    pub(super) fn acknowledge(&mut self, receiver: Receiver) {
        let asked = self.made.iter_mut().find(|made| made.receiver == receiver);
        if let Some(made) = asked {
            made.is_asked = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_so_many_calls_of_a_receiver_is_acknowledged_before_the_next() {
        let mut calls = OneWayCalls::new(2);
        let (first, second) = (Receiver::Object(1), Receiver::Console);
        let made = [first, second, first, first, second].map(|receiver| calls.make(receiver));
        assert_eq!(made, [Some(false), Some(false), Some(true), None, Some(true)]);
        calls.acknowledge(first);
        let made = [first, second, first, first].map(|receiver| calls.make(receiver));
        assert_eq!(made, [Some(false), None, Some(true), None]);
    }
}
