use proptest::prelude::*;

use super::*;
use crate::{Clock, Effort, Model, Stop};

/// Units that repeat a program of blocking reads and writes.
struct Tiles {
    fifos: Vec<Fifo<u64>>,
    tiles: Vec<Tile>,
    /// The tile of each unit.
    order: Vec<usize>,
    /// The writes, each with time, tile, FIFO and word.
    log: Vec<(Time, usize, usize, u64)>,
    until: Time,
}

#[derive(Clone, Debug)]
struct Tile {
    program: Vec<Op>,
    next: usize,
    word: u64,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Read(usize),
    Write(usize),
    /// Continues after this number of cycles.
    Work(u64),
}

impl Model for Tiles {
    type Event = ();

    fn arrive(&mut self, (): (), _: &mut Kernel<()>) {}

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<()>) -> Activity {
        let number = self.order[unit.0 as usize];
        let tile = &mut self.tiles[number];
        if kernel.now() > self.until || tile.program.is_empty() {
            return Activity::Asleep;
        }
        let op = tile.program[tile.next % tile.program.len()];
        match op {
            Op::Read(fifo) => match self.fifos[fifo].read(kernel) {
                Some(word) => tile.word = tile.word.wrapping_mul(31).wrapping_add(word),
                None => return self.fifos[fifo].wait_for_word(unit),
            },
            Op::Write(fifo) => match self.fifos[fifo].write(tile.word, kernel) {
                Ok(()) => self.log.push((kernel.now(), number, fifo, tile.word)),
                Err(_) => return self.fifos[fifo].wait_for_room(unit),
            },
            Op::Work(_) => {}
        }
        tile.next += 1;
        match op {
            Op::Work(cycles) => Activity::After(cycles),
            _ => Activity::Awake,
        }
    }
}

/// The time, tile and word of each step.
type Log = Vec<(Time, usize, usize, u64)>;

fn run(tiles: &[Vec<Op>], fifos: &[u64], order: &[usize], cycles: u64) -> (Log, Stop, Tiles) {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    let clock = kernel.add_clock(Clock::ratio(100, 1));
    for _ in order {
        let unit = kernel.add_unit(clock);
        kernel.wake(unit);
    }
    let tile = |(number, program): (usize, &Vec<Op>)| Tile {
        program: program.clone(),
        next: 0,
        word: number as u64,
    };
    let until = Time(100 * cycles - 1);
    let mut model = Tiles {
        fifos: fifos.iter().map(|&words| Fifo::new(FifoSpec { words }).unwrap()).collect(),
        tiles: tiles.iter().enumerate().map(tile).collect(),
        order: order.to_vec(),
        log: Vec::new(),
        until,
    };
    let stop = kernel.run(&mut model, until);
    let mut log = std::mem::take(&mut model.log);
    log.sort_unstable();
    (log, stop, model)
}

/// Runs a chain of tiles that pass words on. Returns the number of words that passed each FIFO.
fn chain(tiles: usize, words: u64, cycles: u64) -> Vec<u64> {
    let program = |tile: usize| match tile {
        0 => vec![Op::Write(0)],
        _ if tile + 1 == tiles => vec![Op::Read(tile - 1)],
        _ => vec![Op::Read(tile - 1), Op::Write(tile)],
    };
    let programs: Vec<_> = (0..tiles).map(program).collect();
    let order: Vec<usize> = (0..tiles).rev().collect();
    let (_, _, model) = run(&programs, &vec![words; tiles - 1], &order, cycles);
    model.fifos.iter().map(|fifo| fifo.passed).collect()
}

#[test]
fn a_register_passes_a_word_in_two_cycles_and_a_fifo_of_two_words_one_in_each() {
    // A word written in cycle c is read in c + 1.
    assert_eq!(chain(2, 1, 1000), [500]);
    assert_eq!(chain(2, 2, 1000), [999]);
    assert_eq!(chain(2, 3, 1000), [999]);
    // A tile that alternates between read and write needs two cycles for a word.
    assert_eq!(chain(4, 1, 1000), [500, 499, 498]);
    assert_eq!(chain(4, 2, 1000), [500, 499, 498]);
}

#[test]
fn who_waits_costs_nothing() {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    let clock = kernel.add_clock(Clock::ratio(100, 1));
    let mut model = Tiles {
        fifos: vec![Fifo::new(FifoSpec { words: 1 }).unwrap()],
        tiles: [vec![Op::Work(40), Op::Write(0)], vec![Op::Read(0)]]
            .map(|program| Tile { program, next: 0, word: 7 })
            .into(),
        order: vec![0, 1],
        log: Vec::new(),
        until: Time(99_999),
    };
    for _ in 0..2 {
        let unit = kernel.add_unit(clock);
        kernel.wake(unit);
    }
    kernel.run(&mut model, Time(99_999));
    // In 41 cycles, each side works once, writes once, reads once and waits once.
    assert!(kernel.work().0 < 1000 / 41 * 6, "{:?}", kernel.work());
    assert_eq!(model.fifos[0].record().value("words"), Some(&24u64.into()));
}

#[test]
fn tiles_that_wait_for_each_other_are_silent() {
    let programs = [vec![Op::Read(0), Op::Write(1)], vec![Op::Read(1), Op::Write(0)]];
    let (log, stop, _) = run(&programs, &[1, 1], &[0, 1], 100);
    assert_eq!((log, stop), (Vec::new(), Stop::Silent));
}

#[test]
fn a_fifo_of_no_words_is_refused() {
    let refused = Fifo::<()>::new(FifoSpec { words: 0 }).unwrap_err().to_string();
    assert_eq!(refused, "`words`: is 0; it can be 1 to 65536");
}

/// Programs of five tiles over eight FIFOs, each of which has one writer and one reader.
fn programs() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let ends = prop::collection::vec((0usize..5, 0usize..5), 8);
    let work = prop::collection::vec((0usize..5, 1u64..5), 0..5);
    (ends, work, any::<u64>()).prop_map(|(ends, work, seed)| {
        let mut programs = vec![Vec::new(); 5];
        for (fifo, (writer, reader)) in ends.into_iter().enumerate() {
            programs[writer].push(Op::Write(fifo));
            programs[reader].push(Op::Read(fifo));
        }
        for (tile, cycles) in work {
            programs[tile].push(Op::Work(cycles));
        }
        for (number, program) in programs.iter_mut().enumerate() {
            let length = program.len().max(1);
            program.rotate_left((seed >> (8 * number)) as usize % length);
        }
        programs
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: prop::test_runner::RngSeed::Fixed(23),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn the_order_of_units_does_not_matter(
        programs in programs(),
        fifos in prop::collection::vec(1u64..4, 8),
        order in Just((0..5).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let (wanted, stop, _) = run(&programs, &fifos, &[0, 1, 2, 3, 4], 300);
        let (log, other, _) = run(&programs, &fifos, &order, 300);
        prop_assert_eq!(log, wanted);
        prop_assert_eq!(other, stop);
    }
}
