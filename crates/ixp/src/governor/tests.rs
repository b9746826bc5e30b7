use super::*;

fn running(idle: f64, step: usize) -> EngineSeen {
    EngineSeen {
        idle,
        step,
        mode: Mode::Running,
        is_changing: false,
        receives: true,
        can_stop: true,
    }
}

fn seen(engines: Vec<EngineSeen>) -> Seen {
    Seen {
        engines,
        waiting: 0,
        mean_waiting: 0.0,
        threads: 16,
        backlog: 0,
        served: 100,
        came: 50,
        busiest: 0.5,
        inside: 0,
        is_late: false,
        is_urgent: false,
    }
}

#[test]
fn dvs_goes_one_step_by_idle_time_and_stays_within_its_steps() {
    let mut dvs = Dvs::new(DvsSpec { idle_percent: 10 }, 4);
    let engines = vec![
        running(0.2, 0),
        running(0.05, 3),
        running(0.2, 4),
        running(0.0, 0),
        running(0.1, 2),
        EngineSeen { mode: Mode::Changing, ..running(0.9, 1) },
        running(f64::NAN, 1),
    ];
    let actions = dvs.decide(&seen(engines));
    let expected = [Action::Step { engine: 0, step: 1 }, Action::Step { engine: 1, step: 2 }];
    assert_eq!(actions, expected);
}

#[test]
fn gating_stops_an_engine_when_the_counter_exceeds_a_threshold_that_falls_and_rises() {
    let mut gating = Gating::new(GatingSpec { waiting: 4, count: 2, extra_mpkts: 0 });
    let mut at = |waiting, is_urgent, stopped: &[usize]| {
        let mut seen = seen(vec![running(0.5, 0); 4]);
        (seen.waiting, seen.is_urgent) = (waiting, is_urgent);
        for engine in stopped {
            seen.engines[*engine].mode = Mode::Stopped;
        }
        gating.decide(&seen)
    };
    assert!(at(5, false, &[]).is_empty() && at(4, false, &[]).is_empty());
    assert!(at(5, false, &[]).is_empty());
    // The third call exceeds the threshold of 2. After that, two calls are enough.
    assert_eq!(at(5, false, &[]), [Action::Stop { engine: 3 }]);
    assert!(at(5, false, &[3]).is_empty());
    assert_eq!(at(5, false, &[3]), [Action::Stop { engine: 2 }]);
    // A full buffer starts an engine; then two calls are needed again.
    assert_eq!(at(0, true, &[2, 3]), [Action::Start { engine: 2 }]);
    assert!(at(9, false, &[3]).is_empty());
    assert_eq!(at(9, false, &[3]), [Action::Stop { engine: 2 }]);
    assert!(at(0, true, &[]).is_empty());
}

#[test]
fn packets_that_wait_too_long_start_engines_and_stop_none() {
    let mut gating = Gating::new(GatingSpec { waiting: 4, count: 0, extra_mpkts: 0 });
    let mut seen = seen(vec![running(0.5, 0); 3]);
    (seen.waiting, seen.is_late) = (9, true);
    assert!(gating.decide(&seen).is_empty());
    seen.engines[1].mode = Mode::Stopped;
    seen.engines[2].mode = Mode::Stopping;
    assert_eq!(gating.decide(&seen), [Action::Start { engine: 1 }]);
}

#[test]
fn the_mark_of_demand_does_not_grow_with_ports_that_hold_more_than_it_was_made_for() {
    let mark = |receive_mpkts| Demand::new(demand_spec(), vec![1.0], receive_mpkts).mark();
    assert_eq!([64, 128, 192, 4096].map(mark), [16, 32, 32, 32]);
}

/// Plays the chip: applies actions at once.
fn play(demand: &mut Demand, seen: &mut Seen, periods: usize) -> Vec<Action> {
    let mut all = Vec::new();
    for _ in 0..periods {
        for action in demand.decide(seen) {
            match action {
                Action::Step { engine, step } => seen.engines[engine].step = step,
                Action::Stop { engine } => seen.engines[engine].mode = Mode::Stopped,
                Action::Start { engine } => seen.engines[engine].mode = Mode::Running,
            }
            let first = seen.engines[0].mode == Mode::Running;
            for engine in 0..seen.engines.len() {
                seen.engines[engine].can_stop = engine > 0 || !first;
            }
            all.push(action);
        }
    }
    all
}

fn demand_spec() -> DemandSpec {
    DemandSpec {
        low_percent: 80,
        urgent_percent: 25,
        window: 2,
        loss_permille: 10,
        changes: 16,
        extra_mpkts: 0,
    }
}

fn demand() -> Demand {
    Demand::new(demand_spec(), vec![1.0, 0.8, 0.6], 64)
}

/// Three engines with 4 threads each. `busy` is the work in units of one engine at the fastest
/// step.
fn load(seen: &mut Seen, busy: f64, threads: f64) {
    let off = |engine: &&EngineSeen| engine.mode != Mode::Stopped;
    let on = seen.engines.iter().filter(off).count() as f64;
    let rate = [1.0, 0.8, 0.6][seen.engines[0].step];
    let each = (busy / rate / on).min(1.0);
    seen.engines.iter_mut().for_each(|engine| engine.idle = 1.0 - each);
    seen.threads = 4 * on as u32;
    seen.mean_waiting = (f64::from(seen.threads) - each * on - threads).max(0.0);
}

fn steps(seen: &Seen) -> Vec<usize> {
    seen.engines.iter().map(|engine| engine.step).collect()
}

fn stopped(seen: &Seen) -> usize {
    seen.engines.iter().filter(|engine| engine.mode == Mode::Stopped).count()
}

#[test]
fn demand_first_slows_down_all_engines_and_then_stops_some_until_a_port_fills() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    for _ in 0..200 {
        load(&mut seen, 0.3, 0.5);
        play(&mut demand, &mut seen, 1);
    }
    assert_eq!((steps(&seen), stopped(&seen)), (vec![2; 3], 2));
    (seen.is_urgent, seen.backlog) = (true, 16);
    let actions = play(&mut demand, &mut seen, 1);
    assert_eq!(actions, [Action::Start { engine: 1 }, Action::Start { engine: 2 }]);
}

/// The chip loses nothing at steps 0 and 1; at step 2 a backlog grows.
#[test]
fn a_level_that_leaves_a_backlog_is_left_and_tried_less_and_less_often() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    let (mut tries, mut before) = (Vec::new(), 0);
    for period in 0..4000 {
        load(&mut seen, 1.7, 4.0);
        let step = seen.engines[0].step;
        seen.backlog = if step == 2 { seen.backlog + 4 } else { 0 };
        play(&mut demand, &mut seen, 1);
        if before < 2 && step == 2 {
            tries.push(period);
        }
        before = step;
    }
    let gaps: Vec<i32> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 3 && gaps.is_sorted(), "{gaps:?}");
    assert!(gaps.last() > Some(&(3 * gaps[0])), "{gaps:?}");
}

/// Step 2 leaves a backlog at 50 MPKTs a period, but not at 10.
#[test]
fn a_level_that_failed_is_tried_at_once_under_a_lower_load() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    let at_full_load = 1500;
    let mut low = None;
    for period in 0..at_full_load + 500 {
        let is_full = period < at_full_load;
        load(&mut seen, if is_full { 1.7 } else { 0.9 }, 3.0);
        let step = seen.engines[0].step;
        seen.came = if is_full { 50 } else { 10 };
        seen.backlog = if is_full && step == 2 { seen.backlog + 4 } else { 0 };
        play(&mut demand, &mut seen, 1);
        if !is_full && step == 2 {
            low = low.or(Some(period - at_full_load));
        }
    }
    // If bans ignored the load, those from the first periods would last for hundreds more.
    assert!(low.is_some_and(|periods| periods < 40), "{low:?}");
}

/// Step 2 keeps each port below the mark, yet packets wait too long.
#[test]
fn demand_leaves_a_step_at_which_packets_wait_too_long_in_short_queues() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    let mut at_slowest = 0;
    for _ in 0..2000 {
        load(&mut seen, 1.7, 4.0);
        seen.is_late = seen.engines[0].step == 2;
        seen.backlog = if seen.is_late { 3 } else { 0 };
        play(&mut demand, &mut seen, 1);
        at_slowest += u32::from(seen.engines[0].step == 2);
    }
    assert!((1..500).contains(&at_slowest), "{at_slowest} periods");
}

/// Ports hold the backlog of a burst now and then. SDRAM is full during it, or not.
#[test]
fn a_backlog_is_no_failure_of_a_step_while_a_unit_is_full() {
    let changes = |busiest: f64| {
        let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
        let mut faster = 0;
        for period in 0..1000 {
            load(&mut seen, 0.5, 3.0);
            let is_burst = period > 100 && period % 50 < 30;
            (seen.backlog, seen.busiest) = if is_burst { (60, busiest) } else { (0, 0.85) };
            let step = seen.engines[0].step;
            play(&mut demand, &mut seen, 1);
            faster += usize::from(seen.engines[0].step < step);
        }
        faster
    };
    assert_eq!(changes(0.97), 0);
    assert!(changes(0.9) > 0);
}

#[test]
fn no_engine_stops_while_a_unit_is_busy() {
    for (busiest, expected) in [(0.5, 2), (0.9, 0)] {
        let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
        for _ in 0..200 {
            load(&mut seen, 0.3, 0.5);
            seen.busiest = busiest;
            play(&mut demand, &mut seen, 1);
        }
        assert_eq!((steps(&seen), stopped(&seen)), (vec![2; 3], expected), "{busiest}");
    }
}

/// Under overload, steps 0 and 1 serve equally much and step 2 serves less.
#[test]
fn under_overload_demand_takes_the_slowest_step_that_serves_as_much() {
    for (busiest, served, expected) in [
        ([1.0, 1.0, 0.9], [100, 100, 90], 1),
        ([1.0, 1.0, 1.0], [100, 98, 99], 2),
        ([1.0, 1.0, 1.0], [100, 100, 80], 1),
        ([0.7, 0.7, 0.7], [100, 100, 100], 2),
        ([0.7, 0.7, 0.7], [100, 95, 90], 0),
    ] {
        let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
        let mut at_expected = 0;
        for _ in 0..2000 {
            load(&mut seen, 1.0, 12.0);
            let step = seen.engines[0].step;
            (seen.busiest, seen.served, seen.backlog) = (busiest[step], served[step], 64);
            at_expected += usize::from(step == expected);
            play(&mut demand, &mut seen, 1);
        }
        assert!(at_expected > 1500, "{busiest:?} {served:?}: {at_expected} at {expected}");
    }
}

/// A change takes longer than a period and leaves a backlog. That backlog must not undo the change,
/// or engines stand still most of the time.
#[test]
fn the_backlog_of_a_change_does_not_undo_it() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    let mut changes = 0;
    for _ in 0..400 {
        load(&mut seen, 0.9, 3.0);
        let steps = |actions: Vec<Action>| {
            actions.iter().filter(|action| matches!(action, Action::Step { .. })).count()
        };
        let now = steps(play(&mut demand, &mut seen, 1));
        changes += now;
        if now > 0 {
            seen.backlog = 60;
            seen.is_urgent = true;
            changes += steps(play(&mut demand, &mut seen, 3));
            seen.is_urgent = false;
        }
        seen.backlog = seen.backlog.saturating_sub(8);
    }
    assert_eq!(changes, 6, "each of three engines goes down two steps");
}
