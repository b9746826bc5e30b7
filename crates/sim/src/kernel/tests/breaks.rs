//! Observers, breakpoints, single steps and checkpoints, on the mill.

use super::*;

const END: Time = Time(u64::MAX / 2);

/// The log of the mill: time, unit and thing.
type Log = Vec<(Time, Unit, u32)>;

/// Runs the mill without a break. Returns the log and the work.
fn whole(effort: Effort) -> (Log, (u64, u64)) {
    let (mut mill, mut kernel) = mill(effort);
    assert_eq!(kernel.run(&mut mill, END), Stop::Silent);
    (mill.log, kernel.work())
}

#[test]
fn single_steps_do_what_a_run_does() {
    for effort in [Effort::Active, Effort::Naive] {
        let (mut mill, mut kernel) = mill(effort);
        mill.left = 100;
        let (mut reference, mut whole) = (mill.clone(), kernel.clone());
        assert_eq!(whole.run(&mut reference, END), Stop::Silent);
        let (mut cycles, mut events) = (0, 0);
        let stop = loop {
            match kernel.step(&mut mill, END) {
                ControlFlow::Break(Happened::Event) => events += 1,
                ControlFlow::Break(Happened::Cycle(_)) => cycles += 1,
                ControlFlow::Continue(stop) => break stop,
            }
            assert_eq!(kernel.work(), (cycles, events));
        };
        assert_eq!((stop, kernel.work()), (Stop::Silent, whole.work()));
        assert_eq!(mill.log, reference.log);
    }
}

#[test]
fn a_breakpoint_breaks_where_its_condition_holds_first() {
    let (log, work) = whole(Effort::Active);
    let (mut mill, mut kernel) = mill(Effort::Active);
    let at = log[500];
    let mut breakpoint = Breakpoint(|mill: &Mill, _: &Kernel<Thing>| mill.log.len() == 501);
    let broken = kernel.observe(&mut mill, END, &mut breakpoint);
    assert_eq!(broken, ControlFlow::Break(Happened::Event));
    assert_eq!((kernel.now(), mill.log.last()), (at.0, Some(&at)));
    // A unit that has worked on a thing is in the middle of an edge's units.
    let mut breakpoint = Breakpoint(|mill: &Mill, _: &Kernel<Thing>| mill.units[7].cycles_left > 1);
    let broken = kernel.observe(&mut mill, END, &mut breakpoint);
    assert_eq!(broken, ControlFlow::Break(Happened::Cycle(Unit(7))));
    // The breakpoint also holds without progress. The run breaks after the next event or cycle,
    // then continues without the breakpoint.
    assert!(kernel.observe(&mut mill, END, &mut breakpoint).is_break());
    assert_eq!(kernel.run(&mut mill, END), Stop::Silent);
    assert_eq!((mill.log, kernel.work()), (log, work));
}

#[test]
fn an_observer_sees_every_event_and_cycle_and_changes_nothing() {
    #[derive(Default)]
    struct Tally {
        events: Vec<(Time, Unit, u32)>,
        cycles: u64,
    }
    impl Observer<Mill> for Tally {
        type Break = std::convert::Infallible;
        fn arrives(&mut self, thing: &Thing, mill: &Mill, kernel: &Kernel<Thing>) {
            assert_eq!(mill.log.len(), self.events.len());
            self.events.push((kernel.now(), thing.to, thing.number));
        }
        fn has_cycled(&mut self, _: Unit, _: &Mill, _: &Kernel<Thing>) -> ControlFlow<Self::Break> {
            self.cycles += 1;
            ControlFlow::Continue(())
        }
    }
    let (log, work) = whole(Effort::Active);
    let (mut mill, mut kernel) = mill(Effort::Active);
    let mut tally = Tally::default();
    let ControlFlow::Continue(stop) = kernel.observe(&mut mill, END, &mut tally);
    assert_eq!((stop, tally.cycles, kernel.work()), (Stop::Silent, work.0, work));
    assert_eq!((&tally.events, &mill.log), (&log, &log));
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_is_the_same() {
    // A naive run simulates every cycle of every unit, which takes long.
    let breaks = [(Effort::Active, &[0, 1, 30, 500, 1001, 2222][..]), (Effort::Naive, &[2222])];
    for (effort, breaks) in breaks {
        let (log, work) = whole(effort);
        let (mut mill, mut kernel) = mill(effort);
        let mut checkpoints = Vec::new();
        // Breaks after a fixed number of steps, at any event or cycle within an instant.
        for &steps in breaks {
            for _ in 0..steps {
                assert!(kernel.step(&mut mill, END).is_break());
            }
            checkpoints.push(Checkpoint::take(&mill, &kernel));
        }
        for checkpoint in checkpoints {
            for _ in 0..2 {
                let (mut mill, mut kernel) = checkpoint.restore();
                assert_eq!(kernel.now(), checkpoint.time());
                assert_eq!(kernel.run(&mut mill, END), Stop::Silent);
                assert_eq!((&mill.log, kernel.work()), (&log, work));
            }
        }
    }
}
