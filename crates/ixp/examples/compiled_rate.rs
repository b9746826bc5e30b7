//! How many packets a second a program in Loom C takes on simulated chips, and how much of the time their parts are in
//! use. More packets should come than they take.
//!
//!     cargo run -p wireloom-ixp --example compiled_rate -- PROGRAM CAPTURE TABLES|- MACHINE...

use std::path::{Path, PathBuf};
use std::time::Duration;

use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Options, Source, load_store};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("PROGRAM CAPTURE TABLES|- MACHINE...");
    let (program, capture, tables) = (PathBuf::from(next()), next(), next());
    let program = Source::of(program).compiled().unwrap_or_else(|error| panic!("{error}"));
    let tables: Vec<PathBuf> = if tables == "-" { Vec::new() } else { vec![tables.into()] };
    let reader = Reader::open(Path::new(&capture)).expect("a capture");
    let packets: Vec<Packet> = reader.map(|packet| packet.expect("a packet")).collect();
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    for name in arguments {
        let machine = Spec::installed(&name).unwrap_or_else(|why| panic!("{why}"));
        let (store, _) = load_store(&program.optimised, &tables, &|_| ()).expect("tables");
        let started = machine.start(&program, store, &Options::default(), &|_| ());
        let mut machine = started.unwrap_or_else(|error| panic!("{}", error.message));
        machine.offer(&frames, &mut |_| ()).expect("it takes packets");
        machine.finish(&mut |_| ()).expect("it ends");
        println!("{name}");
        let Some(record) = machine.record(Duration::ZERO) else { continue };
        for line in record.lines {
            println!("  {:14} {}", line.name, line.text);
        }
        for part in record.parts {
            println!("  {:14} {:.1} % of the time", part.kind, 100.0 * part.share);
        }
    }
}
