use super::*;

#[test]
fn instructions_leave_at_their_edges() {
    let mut pipeline = Pipeline::default();
    assert_eq!((pipeline.piped(), pipeline.take(0)), (0, 0));
    let issued: Vec<(u64, u32)> = (0..200)
        .filter(|edge| edge % 7 != 3 && edge % 5 != 0)
        .map(|edge| (edge, 1 << (edge as u32 % 32)))
        .collect();
    let leaves = |edge: u64| edge + STAGES as u64;
    for edge in 0..200 + STAGES as u64 {
        let due = issued.iter().find(|(issued, _)| leaves(*issued) == edge);
        let due = due.map(|(_, thread)| *thread);
        assert!(due.is_none_or(|thread| pipeline.piped() & thread != 0));
        assert_eq!(pipeline.take(edge), due.unwrap_or(0));
        if let Some((_, thread)) = issued.iter().find(|(issued, _)| *issued == edge) {
            pipeline.put(leaves(edge), *thread);
        }
        let is_within = |(begin, _): &&(u64, u32)| *begin <= edge && leaves(*begin) > edge;
        let piped = issued.iter().filter(is_within).fold(0, |piped, (_, thread)| piped | thread);
        assert_eq!(pipeline.piped(), piped);
    }
}

/// Returns the number of instructions that each thread issues in this number of cycles without
/// waits.
fn issued(stages: u64, threads: u32, cycles: u64, held: u64) -> Vec<u64> {
    let mut barrel = Barrel::new(stages);
    let mut ready = u32::MAX >> (32 - threads);
    let mut counts = vec![0; threads as usize];
    for edge in 0..cycles {
        let turn = barrel.cycle(edge, &mut ready, 0);
        if turn != 0 {
            counts[turn.trailing_zeros() as usize] += 1;
            barrel.hold(edge + held);
        }
        assert!(!barrel.is_over(edge, ready));
    }
    counts
}

#[test]
fn a_barrel_issues_an_instruction_a_cycle_if_there_are_as_many_threads_as_stages() {
    assert_eq!(issued(5, 5, 1000, 1), [200; 5]);
    // Fewer threads than stages leave gaps; more threads share the cycles.
    assert_eq!(issued(8, 2, 800, 1), [100; 2]);
    assert_eq!(issued(4, 8, 800, 1), [100; 8]);
    // Instructions that keep the first stage for two cycles halve the rate.
    assert_eq!(issued(4, 4, 800, 2), [100; 4]);
}

#[test]
fn a_thread_that_waits_leaves_the_barrel() {
    let mut barrel = Barrel::new(3);
    let mut ready = 0b11;
    let turns: Vec<u32> = (0..9)
        .map(|edge| barrel.cycle(edge, &mut ready, if edge < 6 { 0b10 } else { 0 }))
        .collect();
    // Thread 1 issues at edge 1 and waits, so it is not ready when its instruction has left the
    // pipeline.
    assert_eq!(turns, [1, 2, 0, 1, 0, 0, 1, 0, 0]);
    assert!(!barrel.is_over(8, ready));
    assert_eq!(barrel.piped(), 1);
    let mut none = 0;
    assert_eq!(barrel.cycle(9, &mut none, 0b11), 0);
    assert!(barrel.is_over(9, none));
}

#[test]
fn a_thread_keeps_the_pipeline_until_it_gives_way() {
    let mut switch = SwitchOnWait::default();
    assert_eq!(switch.current(), 0);
    let turns: Vec<u32> = [0b1010, 0b1010, 0b1010, 0, 0b0101]
        .map(|ready| {
            switch.give_way(ready);
            switch.current()
        })
        .into();
    assert_eq!(turns, [1, 3, 1, 1, 2]);
    assert_eq!(threads_of(0b1000_0101).collect::<Vec<_>>(), [0, 2, 7]);
}
