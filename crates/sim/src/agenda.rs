//! How a part talks to the kernel of whatever machine it stands in.

use std::marker::PhantomData;

use crate::{Kernel, Time};

/// What a part needs of the kernel: the time, and a way to let its own events arrive later.
///
/// A part knows its own events only. A machine wraps them into its own kind with [`Agenda::wrapped`], and hands what arrives back to the part:
///
/// ```
/// # use wireloom_sim::{Activity, Agenda, Kernel, Model, Time, Unit};
/// # struct Part;
/// # impl Part { fn begin(&mut self, agenda: &mut impl Agenda<u8>) { agenda.send(Time(5), 1) } fn arrive(&mut self, _: u8) {} }
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
pub trait Agenda<E> {
    /// The time.
    fn now(&self) -> Time;

    /// Lets an event arrive after so long; events of one time arrive in the order in which they were sent.
    fn send(&mut self, delay: Time, event: E);

    /// As [`send`](Self::send) at a time that may not have come: the event arrives so long behind that, which is not at once then, in the order in which it
    /// would if it were sent then.
    fn send_from(&mut self, sent: Time, delay: Time, event: E);

    /// Lets an event arrive then, or at this instant if that has passed.
    fn send_at(&mut self, time: Time, event: E) {
        self.send(time.since(self.now()), event);
    }

    /// The same agenda for a part with events of its own: `wrap` makes the machine's events of them, usually a variant's name.
    fn wrapped<P, F: Fn(P) -> E>(&mut self, wrap: F) -> Wrapped<'_, Self, E, F>
    where
        Self: Sized,
    {
        Wrapped { outer: self, wrap, events: PhantomData }
    }
}

impl<E> Agenda<E> for Kernel<E> {
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

/// An agenda that wraps a part's events; see [`Agenda::wrapped`].
pub struct Wrapped<'a, A, E, F> {
    outer: &'a mut A,
    wrap: F,
    events: PhantomData<fn(E)>,
}

impl<A: Agenda<E>, E, P, F: Fn(P) -> E> Agenda<P> for Wrapped<'_, A, E, F> {
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
