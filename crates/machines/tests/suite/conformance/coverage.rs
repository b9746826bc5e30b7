//! Runs each feature that a machine accepts, in a program on that machine. The page of features
//! lists the other features, with the machine's reason for refusing them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use wireloom_fuzz::campaign::case;
use wireloom_fuzz::input::Input;
use wireloom_ir::{OffloadTarget, OpKind, Program as Ir};
use wireloom_machine::{Configured, Program, Refusal};
use wireloom_machines::REGISTRY;
use wireloom_net::Packet;
use wireloom_offloads::registry;

use super::features::{ALONE, Feature, program, refused};
use super::{agrees, empty, examples, extreme_packets, program_for, store};

const PAGE: &str = "docs/machines/features.md";
const WRITE: &str = "WIRELOOM_WRITE_PAGES";
const HEAD: &str = "\
# What programs can use of each machine

Every kind of machine executes what the table says with `yes`: the conformance suite runs it there and
compares packets and state with golden, on np in `make test-all` only, since its model takes long to
build. A number stands for the reason of a refusal, below. `wireloom check --on MACHINE` says which line of
a program it is about. Resources have limits besides, which the pages of the machines state. The columns are
these machines; others of a kind may refuse more (`np-pipeline`).

`make pages` writes this page from the registry of offload kinds and from what the machines say.
";

/// Makes a test for each kind of machines, so that they run in parallel and fail by name.
macro_rules! kinds {
    ($($(#[$how:meta])* $name:ident: $kind:literal,)*) => {
        $(
            mod $name {
                $(#[$how])*
                #[test]
                fn every_feature_that_it_accepts_runs() {
                    super::cover($kind);
                }

                #[test]
                fn packets_of_extreme_lengths_do_what_they_do_on_golden() {
                    super::carry_extreme_packets($kind);
                }
            }
        )*

        #[test]
        fn every_kind_is_tested() {
            let kinds: Vec<&str> = REGISTRY.kinds().map(|kind| kind.name()).collect();
            assert_eq!(kinds, [$($kind),*]);
        }
    };
}

kinds! {
    golden: "golden",
    native: "native",
    kernel: "xdp",
    #[ignore = "builds a large model: make test-all"]
    hardware: "np",
    multiprocessors: "mpsoc",
    microengines: "ixp",
    tiles: "raw",
}

fn examples_of(kind: &'static str) -> impl Iterator<Item = Arc<dyn Configured>> {
    examples().into_iter().filter(move |machine| machine.kind() == kind)
}

/// Runs all features that a kind of machines accepts.
fn cover(kind: &'static str) {
    // The machines with wires run the same code as the first one.
    for machine in examples_of(kind).take(1) {
        let accepts = |(_, program): &&(Feature, Program)| refused(&machine, program).is_none();
        let accepted: Vec<&Feature> =
            ALONE.iter().filter(accepts).map(|(feature, _)| feature).collect();
        assert!(!accepted.is_empty(), "{}", machine.name());
        run_together(&machine, &accepted);
    }
}

fn carry_extreme_packets(kind: &'static str) {
    for machine in examples_of(kind) {
        let program = program_for(&machine);
        let packets: Vec<Packet> = extreme_packets(0).collect();
        agrees(&machine, &program, &store(&program), &packets);
    }
}

/// Runs features in as few programs as fit the machine.
fn run_together(machine: &Arc<dyn Configured>, features: &[&Feature]) {
    let program = program(features);
    if features.len() > 1 && !machine.refusals(&program).is_empty() {
        let (first, second) = features.split_at(features.len() / 2);
        run_together(machine, first);
        run_together(machine, second);
        return;
    }
    let input = Input::random(&program.lowered, 3);
    let mut store = empty(&program);
    input.load(&mut store);
    // Few packets, since some machines are simulated.
    let mut packets = input.packets;
    packets.truncate(24);
    let after = packets.last().map_or(0, |packet| packet.arrival_ns);
    packets.extend(extreme_packets(after));
    agrees(machine, &program, &store, &packets);
}

/// Checks that the features include every part of random programs.
#[test]
fn the_features_are_all_that_programs_are_made_of() {
    let known: BTreeSet<String> =
        ALONE.iter().flat_map(|(_, program)| parts(&program.lowered)).collect();
    let mut missing = BTreeSet::new();
    for seed in 0..40 {
        let (_, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        missing.extend(parts(&compiled.plain).difference(&known).cloned());
    }
    assert_eq!(missing, BTreeSet::new());
}

/// Returns the kinds of operations in a program, and the methods that it calls.
fn parts(program: &Ir) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    for engine in &program.engines {
        let method = |offload: usize, method: usize| match &engine.offloads[offload].target {
            OffloadTarget::Engine(_) => "engine".to_owned(),
            OffloadTarget::Kind(config) => {
                let kind = registry::kind(&config.kind).expect("a kind of the registry");
                format!("{}.{}", kind.name, kind.methods[method].name)
            }
        };
        for step in &engine.steps {
            step.for_each_op(|op| {
                parts.insert(match &op.kind {
                    OpKind::Call { offload, method: number, .. }
                    | OpKind::Evaluate { offload, method: number, .. } => {
                        method(offload.index(), *number)
                    }
                    OpKind::Exit(exit) => variant(exit),
                    OpKind::ReadMeta(meta) => format!("{meta:?}"),
                    kind => variant(kind),
                });
            });
        }
    }
    parts
}

/// Returns the name of a value's variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_of_features_says_what_machines_refuse() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let expected = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &expected).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(page == expected, "{PAGE} is out of date: make pages");
}

/// Returns the table of features and machines, with the reasons of refusals.
fn page() -> String {
    let machines: Vec<Arc<dyn Configured>> =
        REGISTRY.kinds().map(|kind| REGISTRY.find(kind.example()).expect("an example")).collect();
    let mut reasons: Vec<String> = Vec::new();
    let mut page = HEAD.to_owned() + "\n| a program uses |";
    machines.iter().for_each(|machine| page += &format!(" {} |", machine.name()));
    page += &format!("\n|---|{}\n", "---|".repeat(machines.len()));
    for (feature, program) in &*ALONE {
        let _ = write!(page, "| {} |", feature.name);
        for machine in &machines {
            let Some(refusal) = refused(machine, program) else {
                page += " yes |";
                continue;
            };
            let reason = reason(&refusal);
            let number = reasons.iter().position(|known| *known == reason).unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            let _ = write!(page, " {} |", number + 1);
        }
        page.push('\n');
    }
    page.push('\n');
    for (number, reason) in (1..).zip(&reasons) {
        let _ = writeln!(page, "{number}. {reason}");
    }
    page
}

/// Returns the text of a refusal without its place in the feature's program, and with the kind of an
/// offload in place of its name.
fn reason(refusal: &Refusal) -> String {
    if let Some((_, rest)) = refusal.message.split_once(" (kind ")
        && let Some((kind, rest)) = rest.split_once(')')
    {
        return kind.to_owned() + rest;
    }
    let places = ["engine `", "step `", "offload `"];
    let mut rest = refusal.message.as_str();
    while let Some((place, after)) = rest.split_once([',', ':'])
        && places.iter().any(|words| place.trim_start().starts_with(words))
    {
        rest = after;
    }
    rest.trim().to_owned()
}
