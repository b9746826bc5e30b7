//! Packets that vector code executes, sixteen at a time: it does what golden does.

mod support;

use support::ways::{packets, program};
use wireloom_ir::{Golden, Program, print, store};
use wireloom_native::{BuildOptions, Library, Native};

/// For this processor, so that its vector instructions are used.
fn options() -> BuildOptions {
    let mut options = support::options();
    options.flags.push("-march=native".into());
    options
}

/// Whether it has the instructions that lanes need.
fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// How many packets of each program were in lanes.
fn in_lanes(programs: &[Program], packets: &[wireloom_net::Packet]) -> Vec<u64> {
    let libraries = Library::build_many(programs, &options()).unwrap_or_else(|e| panic!("{e}"));
    let run = |(program, library): (&Program, Library)| {
        let stores = [(), ()].map(|()| {
            let mut store = store(program).expect("offloads of a verified program");
            support::fill_tables(&mut store);
            store
        });
        let [for_golden, for_native] = stores;
        let mut golden = Golden::new(program.clone(), for_golden);
        let mut native = Native::new(library, for_native);
        let expected = support::outputs(&mut golden, packets);
        let got = support::outputs(&mut native, packets);
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(got, expected, "native (left) against golden:\n{}", print(program));
        }
        assert_eq!(got.len(), expected.len(), "number of outputs:\n{}", print(program));
        let states = [native.store(), golden.store()].map(support::rows);
        assert_eq!(states[0], states[1], "state:\n{}", print(program));
        native.in_lanes()
    };
    programs.iter().zip(libraries).map(run).collect()
}

/// `WIRELOOM_NATIVE_WAYS=FIRST..END` tries other seeds than those of every run.
#[test]
fn random_ways_agree() {
    let range = std::env::var("WIRELOOM_NATIVE_WAYS").unwrap_or_else(|_| "0..40".into());
    let (first, end) = range.split_once("..").expect("FIRST..END");
    let seeds: Vec<u64> =
        (first.parse().expect("a number")..end.parse().expect("a number")).collect();
    let packets = packets(1, 700);
    let mut followed = 0;
    for chunk in seeds.chunks(60) {
        let programs: Vec<Program> = chunk.iter().map(|seed| program(*seed)).collect();
        for program in &programs {
            if let Err(problems) = wireloom_ir::verify(program) {
                panic!("{}\n{}", problems[0], print(program));
            }
        }
        followed += in_lanes(&programs, &packets).into_iter().filter(|count| *count > 100).count();
    }
    assert!(!has_vectors() || 2 * followed > seeds.len(), "{followed} of {}", seeds.len());
}
