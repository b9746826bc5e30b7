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
        busiest: 0.5,
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
    let mut gating = Gating::new(GatingSpec { waiting: 4, count: 2 });
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
    // The third time exceeds 2; then two times are enough.
    assert_eq!(at(5, false, &[]), [Action::Stop { engine: 3 }]);
    assert!(at(5, false, &[3]).is_empty());
    assert_eq!(at(5, false, &[3]), [Action::Stop { engine: 2 }]);
    // A full buffer starts one, and two times are needed again.
    assert_eq!(at(0, true, &[2, 3]), [Action::Start { engine: 2 }]);
    assert!(at(9, false, &[3]).is_empty());
    assert_eq!(at(9, false, &[3]), [Action::Stop { engine: 2 }]);
    assert!(at(0, true, &[]).is_empty());
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

fn demand() -> Demand {
    let spec = DemandSpec {
        low_percent: 50,
        high_percent: 80,
        urgent_percent: 25,
        patience: 2,
        full_percent: 97,
        changes: 1,
    };
    Demand::new(spec, vec![1.0, 0.8, 0.6])
}

#[test]
fn demand_first_slows_down_all_engines_and_then_stops_some() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    seen.mean_waiting = 12.0;
    // A quarter of three engines at 1.0 is 1.2 at a use of 62.5 %: two engines at 0.6.
    play(&mut demand, &mut seen, 2);
    assert_eq!((demand.step, demand.stopped), (2, 1));
    play(&mut demand, &mut seen, 100);
    let stopped = seen.engines.iter().filter(|engine| engine.mode == Mode::Stopped).count();
    assert_eq!(stopped, 2, "one engine is left");
    let steps: Vec<usize> = seen.engines.iter().map(|engine| engine.step).collect();
    assert_eq!(steps, [2, 0, 0], "stopped engines wait at the fastest step");
    // A port fills: all run at once, and the slow one becomes faster.
    (seen.is_urgent, seen.mean_waiting) = (true, 0.0);
    let actions = play(&mut demand, &mut seen, 1);
    assert_eq!(actions.iter().filter(|a| matches!(a, Action::Start { .. })).count(), 2);
    assert_eq!(actions.iter().filter(|a| matches!(a, Action::Step { .. })).count(), 1);
}

#[test]
fn demand_stays_where_the_load_is_between_its_marks() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    seen.mean_waiting = 6.0;
    assert!(play(&mut demand, &mut seen, 100).is_empty());
    seen.mean_waiting = 0.0;
    assert!(play(&mut demand, &mut seen, 100).is_empty(), "it is as fast as it can be");
}

#[test]
fn at_a_full_unit_demand_slows_down_and_tries_less_often_when_that_costs() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 2]));
    (seen.busiest, seen.mean_waiting) = (1.0, 0.0);
    let mut attempts = Vec::new();
    let mut before = 0;
    for period in 0..400 {
        // The unit is full at step 0 only.
        seen.busiest = if seen.engines.iter().all(|engine| engine.step == 0) { 1.0 } else { 0.9 };
        play(&mut demand, &mut seen, 1);
        let now = seen.engines.iter().filter(|engine| engine.step > 0).count();
        if before == 0 && now > 0 {
            attempts.push(period);
        }
        before = now;
    }
    assert!(attempts.len() >= 3, "{attempts:?}");
    let gaps: Vec<i32> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.is_sorted() && gaps.last() > gaps.first(), "{gaps:?}");
    // Where slower engines are enough, they stay slow.
    seen.busiest = 1.0;
    play(&mut demand, &mut seen, 2000);
    assert!(seen.engines.iter().all(|engine| engine.step == 2), "{:?}", seen.engines);
}
