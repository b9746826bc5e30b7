use std::collections::BTreeSet;
use std::path::Path;

use wireloom_offloads::sources::named_kinds;

use super::*;
use crate::description::NpSpec;
use crate::processor::{self, services};

/// An engine with offloads for most realisations.
const SOURCE: &str = "
struct Hop { u64 a; u16 c; };
header Ask { u32 dst; u8 hop; u8 label; u16 a; u8 b; };
engine walk(u16 a, u8 b) -> u24 {
    offload cells : array<u16, size = 200>;
    step begin { u16 cell = cells.read(a[7:0]); finish(concat(cell, b)); }
}
engine ask() {
    offload hops : array<Hop, size = 16>;
    offload flows : exact<u32, Hop, size = 64>;
    offload seen : bloom<u32, size = 100>;
    offload meters : meter<size = 8, cir = 1000, cbs = 1500>;
    offload counts : counter<size = 16>;
    offload seeded : siphash<u32, size = 2>;
    offload tokens : aes;
    offload words : match<u8>;
    offload walker : engine walk;
    offload routes : lpm<u32, u16>;
    Ask ask @ 0;
    step look {
        auto m = words.scan(0, packet.length);
        Hop hop = hops.read(ask.hop);
        auto f = flows.lookup(ask.dst);
        seen.add(ask.dst);
        u2 color = meters.color(ask.hop, packet.length);
        counts.count(ask.label, packet.length);
        u64 h = seeded.of(ask.hop, ask.dst);
        u128 t = tokens.encrypt(0, h);
        u24 w = walker.call(hop.c, ask.b);
        packet.egress = routes.search(ask.dst);
        ask.a = w[15:0] + f.value.c + t[15:0];
        ask.b = m.value + color;
        finish;
    }
}
";

#[test]
fn names_are_different() {
    let names: BTreeSet<&str> = ALL.iter().map(|realisation| realisation.name()).collect();
    assert_eq!(names.len(), ALL.len());
    for realisation in ALL {
        assert!(find(realisation.name()).is_some_and(|found| found == *realisation));
    }
    assert!(find("cam").is_none());
}

#[test]
fn the_number_of_targets_is_that_of_their_contents() {
    let checked =
        wireloom_lang::check_source("ask.loom", SOURCE, &wireloom_lang::Options::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let machine = NpSpec::find("np-2-2-2").expect("a machine");
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    let plan = &processor.plan;
    assert_eq!(plan.services.len(), 10);
    for service in &plan.services {
        let realisation = service.rule.realisation;
        let contents = realisation.contents(plan, service);
        assert_eq!(contents.len(), realisation.targets(plan, service), "{}", service.offload);
        let widest = contents.iter().map(|(_, contents)| contents.bits).max().unwrap_or(0) as usize;
        assert!(widest <= plan.control_bits, "{}", service.offload);
        assert_eq!(
            realisation.control_bits(service) > 0,
            !contents.is_empty(),
            "{}",
            service.offload
        );
        assert!(
            services::first_pipe_target(plan, service) < plan.pipe_targets(),
            "{}",
            service.offload
        );
    }
}

#[test]
fn no_code_outside_this_folder_names_a_kind() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = named_kinds(&sources, "realisation").expect("the sources");
    assert_eq!(named, Vec::<String>::new());
}
