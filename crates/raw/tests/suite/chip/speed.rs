//! The speed of the simulator.

use std::fmt::Write;
use std::time::Instant;

use super::chip;

/// Sixteen tiles compute and exchange a word in every fourth instruction. Run it with
/// `cargo test --release -p wireloom-raw --test suite speed -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn busy_tiles_reach_three_million_cycles_a_second() {
    let mut source = String::new();
    for row in 0..4 {
        for column in 0..4 {
            let side = if column % 2 == 0 { 'E' } else { 'W' };
            let _ = writeln!(
                source,
                ".tile {column} {row}\nagain: addiu $csto, $t0, 1\n addu $t1, $t0, $csti\n \
                 xor $t0, $t0, $t1\n j again\n.switch {column} {row}\nagain: route $csto->$c{side}o\n j again route $c{side}i->$csti"
            );
        }
    }
    let mut chip = chip(4, 4, &source);
    let cycles = 200_000;
    let start = Instant::now();
    chip.run(cycles).unwrap();
    let rate = 16.0 * cycles as f64 / start.elapsed().as_secs_f64();
    let (executed, ..) = chip.counts((1, 1));
    println!("{:.1} million tile cycles/s, {executed} instructions a tile", rate / 1e6);
    assert!(rate >= 3e6);
}
