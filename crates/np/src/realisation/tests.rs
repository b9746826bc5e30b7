use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use wireloom_offloads::registry;

use super::*;
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
        u24 w = walker.call(hop.c, ask.b);
        packet.egress = routes.search(ask.dst);
        ask.a = w[15:0] + f.value.c;
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
    let machine = Machine::find("np-2-2-2").expect("a machine");
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    let plan = &processor.plan;
    assert_eq!(plan.services.len(), 8);
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
    let (mut folders, mut named) = (vec![sources.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path == sources.join("realisation") {
                continue;
            }
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).expect("a source");
                let code = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part");
                let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                let names = |line: &&str| {
                    registry::KINDS.iter().any(|kind| {
                        ['"', '`'].iter().any(|q| line.contains(&format!("{q}{}{q}", kind.name)))
                    })
                };
                named.extend(lines.filter(names).map(|line| (path.clone(), line.to_owned())));
            }
        }
    }
    assert_eq!(named, []);
}
