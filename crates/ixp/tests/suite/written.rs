//! Engines in Loom C that tests write themselves, and comparisons of machines with golden.

use std::sync::Arc;

use wireloom_ixp::Spec;
use wireloom_machine::{Contender, Options, Program, Source};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Update;

/// Compiles a program with this text.
pub fn written(text: &str) -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.loom");
    std::fs::write(&file, text).expect("a file");
    Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

/// Compares a machine with golden. While there are updates, a table changes before each batch of
/// `each` packets.
pub fn agree_while_tables_change(
    spec: Spec,
    program: &Program,
    updates: &[Update],
    packets: &[Packet],
    each: usize,
) {
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let contender = Contender::new(Arc::new(spec), program, &store, &Options::default(), &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    for (number, part) in packets.chunks(each).enumerate() {
        if let Some(update) = updates.get(number) {
            contender.update(&program.optimised, update, &mut |_| ()).expect("it changes");
        }
        let frames: Vec<Frame<'_>> = part.iter().map(Packet::frame).collect();
        contender.offer(&program.optimised, &frames, &mut |_| ()).expect("it works");
    }
    contender.finish(&program.optimised, &mut |_| ()).expect("it works");
    contender.compare_state(&|_| ()).expect("it works");
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    assert_eq!(contender.compared as usize, packets.len());
}
