//! Variable clocks against closed forms, and against a reference that checks every picosecond.

use proptest::prelude::*;

use super::super::*;

#[derive(Clone, Copy, Debug)]
enum Change {
    Rate(Clock, Time),
    Gate,
    Ungate(Time),
    /// Wakes the sleeping unit.
    Wake,
}

/// Each clock has three units: unit `3 * c` has every cycle, unit `3 * c + 1` works at every
/// seventh edge and requests no other cycle, unit `3 * c + 2` works when it is woken.
struct Watch {
    edges: Vec<Vec<(u64, Time)>>,
    sevenths: Vec<Vec<(u64, Time)>>,
    seventh_cycles: u64,
    woken: Vec<bool>,
    wakes: Vec<Vec<Time>>,
}

impl Model for Watch {
    type Event = (usize, Change);

    fn arrive(&mut self, (clock, change): (usize, Change), kernel: &mut Kernel<Self::Event>) {
        match change {
            Change::Rate(rate, settle) => kernel.set_rate(clock, rate, settle),
            Change::Gate => kernel.gate(clock),
            Change::Ungate(settle) => kernel.ungate(clock, settle),
            Change::Wake => {
                self.woken[clock] = true;
                kernel.wake(Unit(3 * clock as u32 + 2));
            }
        }
    }

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Self::Event>) -> Activity {
        let clock = unit.0 as usize / 3;
        // The number of edges includes the current one.
        let edge = kernel.edges(clock) - 1;
        match unit.0 % 3 {
            0 => {
                assert_eq!(kernel.clock(unit).edge(edge), kernel.now());
                assert_eq!(kernel.clock(unit).edge_from(kernel.now()), edge);
                assert_eq!(kernel.steady_until(unit), kernel.now());
                self.edges[clock].push((edge, kernel.now()));
                Activity::Awake
            }
            1 => {
                self.seventh_cycles += 1;
                if edge % 7 == 0 {
                    self.sevenths[clock].push((edge, kernel.now()));
                }
                Activity::After(7 - edge % 7)
            }
            _ => {
                if std::mem::take(&mut self.woken[clock]) {
                    self.wakes[clock].push(kernel.now());
                }
                Activity::Asleep
            }
        }
    }
}

fn watch(
    effort: Effort,
    clocks: &[Clock],
    changes: &[(Time, usize, Change)],
    until: Time,
) -> (Watch, Kernel<(usize, Change)>) {
    let mut kernel = Kernel::new(effort, Time(16));
    for clock in clocks {
        let clock = kernel.add_variable_clock(*clock);
        for _ in 0..3 {
            let unit = kernel.add_unit(clock);
            if unit.0 % 3 != 2 {
                kernel.wake(unit);
            }
        }
    }
    for (time, clock, change) in changes {
        kernel.send(*time, (*clock, *change));
    }
    let none = vec![Vec::new(); clocks.len()];
    let mut watch = Watch {
        edges: none.clone(),
        sevenths: none,
        seventh_cycles: 0,
        woken: vec![false; clocks.len()],
        wakes: vec![Vec::new(); clocks.len()],
    };
    kernel.run(&mut watch, until);
    (watch, kernel)
}

fn times(edges: &[(u64, Time)]) -> Vec<u64> {
    assert!(edges.iter().enumerate().all(|(number, (edge, _))| *edge == number as u64));
    edges.iter().map(|(_, time)| time.0).collect()
}

#[test]
fn edges_are_counted_across_changes() {
    let changes = [
        // Ten edges with period 100, up to 900; then period 30.
        (Time(850), 0, Change::Rate(Clock::ratio(30, 1), Time(0))),
        // Edge 13, at 990, is the last one before the clock settles at 5000; then period 50.
        (Time(1000), 0, Change::Rate(Clock::ratio(50, 1), Time(4000))),
        // Gated from 5050; from 5801, edges are at multiples of 50 again.
        (Time(5050), 0, Change::Gate),
        (Time(5721), 0, Change::Ungate(Time(80))),
    ];
    let wanted: Vec<u64> = (0..10)
        .map(|n| n * 100)
        .chain((1..4).map(|n| 900 + n * 30))
        .chain([5000])
        .chain((0..4).map(|n| 5850 + n * 50))
        .collect();
    for effort in [Effort::Active, Effort::Naive] {
        let (watch, kernel) = watch(effort, &[Clock::ratio(100, 1)], &changes, Time(6000));
        assert_eq!(times(&watch.edges[0]), wanted, "{effort:?}");
        assert_eq!(kernel.edges(0), wanted.len() as u64);
    }
}

#[test]
fn a_unit_that_is_woken_while_its_clock_is_gated_has_its_cycle_afterwards() {
    let changes = [
        (Time(110), 0, Change::Gate),
        (Time(150), 0, Change::Wake),
        (Time(431), 0, Change::Ungate(Time(0))),
    ];
    let (watch, kernel) = watch(Effort::Active, &[Clock::ratio(100, 1)], &changes, Time(1000));
    assert_eq!((&watch.wakes[0][..], kernel.is_gated(0)), (&[Time(500)][..], false));
}

#[test]
fn a_unit_that_asked_for_a_time_is_not_late_when_its_clock_becomes_slower() {
    struct Late(Vec<Time>);
    impl Model for Late {
        type Event = Option<Clock>;
        fn arrive(&mut self, rate: Option<Clock>, kernel: &mut Kernel<Self::Event>) {
            match rate {
                Some(rate) => kernel.set_rate(0, rate, Time(0)),
                None => kernel.wake_by(Unit(0), Time(3000)),
            }
        }
        fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Self::Event>) -> Activity {
            self.0.push(kernel.now());
            if kernel.now() < Time(3000) {
                let clock = kernel.clock(unit);
                let edges = clock.edge_from(Time(3000)) - clock.edge_from(kernel.now());
                return Activity::After(edges);
            }
            Activity::Asleep
        }
    }
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    let clock = kernel.add_variable_clock(Clock::ratio(100, 1));
    kernel.add_unit(clock);
    kernel.send(Time(1), None);
    kernel.send(Time(501), Some(Clock::ratio(700, 1)));
    let mut late = Late(Vec::new());
    assert_eq!(kernel.run(&mut late, Time(100_000)), Stop::Silent);
    // Edges at 600, 1300, 2000, 2700 and 3400.
    assert_eq!(late.0, [Time(600), Time(3400)]);
}

#[test]
fn a_machine_whose_clocks_are_all_gated_is_silent() {
    let mut kernel = Kernel::<(usize, Change)>::new(Effort::Active, Time(10));
    let clock = kernel.add_variable_clock(Clock::ratio(10, 1));
    for _ in 0..3 {
        let unit = kernel.add_unit(clock);
        kernel.wake(unit);
    }
    kernel.gate(clock);
    let mut watch = Watch {
        edges: vec![Vec::new()],
        sevenths: vec![Vec::new()],
        seventh_cycles: 0,
        woken: vec![false],
        wakes: vec![Vec::new()],
    };
    assert_eq!(kernel.run(&mut watch, Time(1000)), Stop::Silent);
    kernel.ungate(clock, Time(0));
    assert_eq!(kernel.run(&mut watch, Time(1000)), Stop::Reached);
    assert_eq!(watch.edges[0].len(), 101);
}

#[test]
#[should_panic(expected = "clock 0 has a constant rate: use `add_variable_clock`")]
fn a_clock_of_constant_rate_does_not_change() {
    let mut kernel = Kernel::<()>::new(Effort::Active, Time(10));
    let clock = kernel.add_clock(Clock::ratio(10, 1));
    kernel.gate(clock);
}

/// A clock that checks at every picosecond whether it has an edge.
struct Ticking {
    period: (u64, u64),
    /// Picoseconds times the denominator since the origin, modulo the numerator.
    phase: u64,
    /// The next rate, the earliest time at which it may begin, and whether the period before it is
    /// over.
    next: Option<((u64, u64), u64, bool)>,
    is_gated: bool,
    /// Edges before this time are gated too.
    open_from: u64,
}

impl Ticking {
    fn change(&mut self, now: u64, change: Tick) {
        match change {
            Tick::Rate(period, settle) => {
                let (ready, is_over) = match self.next {
                    Some((_, ready, is_over)) => (ready.max(now + settle), is_over),
                    None => (now + settle, self.is_gated),
                };
                self.next = Some((period, ready, is_over));
            }
            Tick::Gate => self.is_gated = true,
            Tick::Ungate(settle) => {
                if std::mem::take(&mut self.is_gated) {
                    self.open_from = now + settle;
                }
            }
        }
    }

    /// Whether there is an edge at this picosecond.
    fn tick(&mut self, now: u64) -> bool {
        let (numerator, denominator) = self.period;
        let mut is_edge = self.phase == 0 || self.phase + denominator > numerator;
        self.phase = (self.phase + denominator) % numerator;
        if let Some((period, ready, is_over)) = &mut self.next {
            *is_over |= is_edge && now >= self.open_from;
            is_edge = *is_over && now >= *ready;
            if is_edge {
                self.period = *period;
                self.phase = period.1 % period.0;
                self.next = None;
            }
        }
        is_edge && !self.is_gated && now >= self.open_from
    }
}

#[derive(Clone, Copy, Debug)]
enum Tick {
    Rate((u64, u64), u64),
    Gate,
    Ungate(u64),
}

fn period() -> impl Strategy<Value = (u64, u64)> {
    (1u64..40, 1u64..5).prop_map(|(whole, denominator)| (whole * denominator + 1, denominator))
}

fn change() -> impl Strategy<Value = Tick> {
    let settle = || prop_oneof![Just(0u64), 0u64..300];
    prop_oneof![
        (period(), settle()).prop_map(|(period, settle)| Tick::Rate(period, settle)),
        Just(Tick::Gate),
        settle().prop_map(Tick::Ungate),
        settle().prop_map(Tick::Ungate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: prop::test_runner::RngSeed::Fixed(11),
        failure_persistence: None,
        cases: 400,
        ..Default::default()
    })]

    #[test]
    fn edges_are_those_of_a_reference_that_looks_at_every_picosecond(
        periods in prop::collection::vec(period(), 1..3),
        changes in prop::collection::vec((0u64..3000, 0usize..2, change()), 0..12),
        naive in any::<bool>(),
    ) {
        const END: u64 = 4000;
        let mut changes = changes;
        changes.iter_mut().for_each(|(_, clock, _)| *clock %= periods.len());
        changes.sort_by_key(|(time, ..)| *time);
        let mut wanted = vec![Vec::new(); periods.len()];
        let clock = |(numerator, denominator)| Clock::ratio(numerator, denominator);
        let mut ticking: Vec<Ticking> = periods
            .iter()
            .map(|&period| Ticking {
                period,
                phase: 0,
                next: None,
                is_gated: false,
                open_from: 0,
            })
            .collect();
        for now in 0..=END {
            for (_, clock, change) in changes.iter().filter(|(time, ..)| *time == now) {
                ticking[*clock].change(now, *change);
            }
            for (clock, edges) in ticking.iter_mut().zip(&mut wanted) {
                if clock.tick(now) {
                    edges.push(now);
                }
            }
        }
        let commands: Vec<_> = changes
            .iter()
            .map(|(time, number, change)| {
                let change = match *change {
                    Tick::Rate(period, settle) => Change::Rate(clock(period), Time(settle)),
                    Tick::Gate => Change::Gate,
                    Tick::Ungate(settle) => Change::Ungate(Time(settle)),
                };
                (Time(*time), *number, change)
            })
            .collect();
        let clocks: Vec<Clock> = periods.iter().map(|period| clock(*period)).collect();
        let effort = if naive { Effort::Naive } else { Effort::Active };
        let (watch, kernel) = watch(effort, &clocks, &commands, Time(END));
        for (number, wanted) in wanted.iter().enumerate() {
            prop_assert_eq!(&times(&watch.edges[number]), wanted);
            prop_assert_eq!(kernel.edges(number), wanted.len() as u64);
            let sevenths: Vec<_> = watch.edges[number].iter().step_by(7).copied().collect();
            prop_assert_eq!(&watch.sevenths[number], &sevenths);
        }
        let edges: usize = wanted.iter().map(Vec::len).sum();
        let most = edges / 7 + (1 + changes.len()) * periods.len() + 2;
        prop_assert!(naive || watch.seventh_cycles <= most as u64);
    }
}
