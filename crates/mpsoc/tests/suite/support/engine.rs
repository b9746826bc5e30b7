//! Comparison of golden with a timed machine.

use std::cell::RefCell;

use wireloom_description::Description;
use wireloom_fuzz::input::Input;
use wireloom_ir::{Execute, Golden, Output, Program, print, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_offloads::Store;
use wireloom_sim::Effort;
use wireloom_sim::stats::{Record, Value};

use super::{Sent, keep, replayed, rows};

/// Executes packets in two batches on a machine, and asserts that all outputs equal golden's.
pub fn agree_in_time(
    spec: &Spec,
    program: &Program,
    packets: &[Packet],
    load: &dyn Fn(&mut Store),
) -> MpsocEngine {
    let loaded = || {
        let mut store = store(program).expect("offloads of a verified program");
        load(&mut store);
        store
    };
    let mut expected = Vec::new();
    Golden::new(program.clone(), loaded())
        .execute(packets, &mut |output| keep(&mut expected, output));
    let mut engine =
        MpsocEngine::new(spec, program, loaded(), Options::default()).expect("an engine");
    let mut got = Vec::new();
    let (first, second) = packets.split_at(packets.len() / 3);
    let mut settled = engine.execute(first, &mut |output| keep(&mut got, output)).expect("it runs");
    for lot in [second, &[]] {
        let mut sink = |output: Output<'_>| keep(&mut got, output);
        let more = match lot {
            [] => engine.finish(&mut sink),
            lot => engine.execute(lot, &mut sink),
        };
        settled.taken.extend(more.expect("it runs").taken);
    }
    let set = spec.processor.instruction_set;
    assert!(settled.taken.iter().copied().eq(0..packets.len() as u64), "{set:?}");
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "{set:?}");
    }
    assert_eq!(got.len(), expected.len(), "{set:?}");
    engine
}

/// Replays a log on a machine with the active kernel (with sleep and timing wheels) and with the
/// naive one. Asserts that all outputs and the final state of the offloads equal golden's, and that
/// both kernels have equal statistics. Returns the message if the machine is rejected.
pub fn agree_on_both_kernels(spec: &Spec, program: &Program, log: &Input) -> Result<(), String> {
    let loaded = || {
        let mut store = store(program).expect("offloads of a verified program");
        log.load(&mut store);
        store
    };
    let mut golden = Golden::new(program.clone(), loaded());
    let expected = replayed(log, &mut golden, |golden| golden.store_mut());
    let run = |effort| -> Result<_, String> {
        let options = Options { effort, ..Options::default() };
        let mut engine = MpsocEngine::new(spec, program, loaded(), options)
            .map_err(|error| error.to_string())?;
        let got: RefCell<Vec<Sent>> = RefCell::default();
        let sink = |output: Output<'_>| keep(&mut got.borrow_mut(), output);
        log.replay(
            &mut engine,
            |engine, packets| engine.offer(packets.to_vec()),
            |engine, change| {
                engine.change(&mut { sink }, |store| change(store)).expect("it runs");
            },
            |engine, time_ns| {
                engine.advance_to(time_ns, &mut { sink }).expect("it runs");
            },
        );
        engine.finish(&mut { sink }).expect("it runs");
        let got = got.into_inner();
        let record = engine.record();
        let platform =
            record.value("platform").map(|record| serde_json::to_string(record).expect("JSON"));
        Ok((got, rows(engine.store()), platform))
    };
    let (got, state, record) = run(Effort::Active)?;
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "against golden\n{}", print(program));
    }
    assert_eq!(got.len(), expected.len(), "number of outputs");
    assert_eq!(state, rows(golden.store()), "state");
    assert_eq!((got, state, record), run(Effort::Naive)?, "the naive kernel");
    Ok(())
}

/// The base machine with more keys, and an input queue that holds all packets.
pub fn own_spec(set: Set, keys: &str) -> Spec {
    let text = format!("extends = \"mpsoc\"\n[io.input]\nqueue_packets = 1000\n{keys}");
    let mut spec =
        Spec::build("own", Description::parse("own", &text).expect("TOML")).expect("a machine");
    spec.processor.instruction_set = set;
    spec
}

/// A count of a record.
pub fn count(record: &Record, path: &str) -> u64 {
    match record.value(path) {
        Some(Value::Count(count)) => *count,
        other => panic!("{path}: {other:?}"),
    }
}
