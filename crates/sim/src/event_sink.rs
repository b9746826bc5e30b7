//! The interface from a part to the kernel of its machine.

use std::marker::PhantomData;

use crate::{Kernel, Time};

/// The kernel's services for a part: the time, and a way to send its own events.
///
/// A part knows its own events only. A machine wraps them into its own event type with
/// [`EventSink::wrapped`], and passes arriving events back to the part:
///
/// ```
/// # use wireloom_sim::{Activity, EventSink, Kernel, Model, Time, Unit};
/// # struct Part;
/// # impl Part {
/// #     fn begin(&mut self, events: &mut impl EventSink<u8>) { events.send(Time(5), 1) }
/// #     fn arrive(&mut self, _: u8) {}
/// # }
/// enum Event { Left(u8), Right(u8) }
/// struct Machine { left: Part, right: Part }
/// impl Model for Machine {
///     type Event = Event;
///     fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
///         match event {
///             Event::Left(event) => self.left.arrive(event),
///             Event::Right(event) => self.right.begin(&mut kernel.wrapped(Event::Right)),
///         }
///     }
/// #   fn cycle(&mut self, _: Unit, _: &mut Kernel<Event>) -> Activity { Activity::Asleep }
/// }
/// ```
pub trait EventSink<E> {
    /// The current time.
    fn now(&self) -> Time;

    /// Sends an event that arrives after a delay. Events for the same time arrive in the order in
    /// which they were sent.
    fn send(&mut self, delay: Time, event: E);

    /// Sends an event as [`send`](Self::send) does, but from a time that may be in the future: the
    /// event arrives `delay` after that time, in the order in which it would arrive if it were sent
    /// then. The delay must not be zero for a time in the future.
    fn send_from(&mut self, sent: Time, delay: Time, event: E);

    /// Sends an event that arrives at a given time, or at this instant if that time has passed.
    fn send_at(&mut self, time: Time, event: E) {
        self.send(time.since(self.now()), event);
    }

    /// Wraps the event sink for a part with its own event type: `wrap` converts the part's events
    /// into the machine's and is usually the name of a variant.
    fn wrapped<P, F: Fn(P) -> E>(&mut self, wrap: F) -> Wrapped<'_, Self, E, F>
    where
        Self: Sized,
    {
        Wrapped { outer: self, wrap, events: PhantomData }
    }
}

impl<E> EventSink<E> for Kernel<E> {
    fn now(&self) -> Time {
        Kernel::now(self)
    }

    fn send(&mut self, delay: Time, event: E) {
        Kernel::send(self, delay, event);
    }

    fn send_from(&mut self, sent: Time, delay: Time, event: E) {
        Kernel::send_from(self, sent, delay, event);
    }
}

/// An event sink that wraps a part's events; see [`EventSink::wrapped`].
pub struct Wrapped<'a, A, E, F> {
    outer: &'a mut A,
    wrap: F,
    events: PhantomData<fn(E)>,
}

impl<A: EventSink<E>, E, P, F: Fn(P) -> E> EventSink<P> for Wrapped<'_, A, E, F> {
    fn now(&self) -> Time {
        self.outer.now()
    }

    fn send(&mut self, delay: Time, event: P) {
        self.outer.send(delay, (self.wrap)(event));
    }

    fn send_from(&mut self, sent: Time, delay: Time, event: P) {
        self.outer.send_from(sent, delay, (self.wrap)(event));
    }
}
