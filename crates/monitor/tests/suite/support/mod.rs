//! A machine with a hand-written program and packets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wireloom_io::Source;
use wireloom_ir::{Reason, ReasonSetId, Verdict};
use wireloom_ixp::energy::Metered;
use wireloom_ixp::{Ixp, Options, Processor, Program, Sources, Spec};
use wireloom_machine::Result;
use wireloom_monitor::Session;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

/// Packets that are returned in one batch.
struct Given {
    packets: Vec<Packet>,
    has_given: bool,
}

impl Source for Given {
    fn next_batch(&mut self) -> Result<Vec<Frame<'_>>> {
        let all =
            if std::mem::replace(&mut self.has_given, true) { &[] } else { &self.packets[..] };
        Ok(all.iter().map(Packet::frame).collect())
    }
}

/// A packet of 60 bytes; the first byte selects its verdict.
fn packet(number: usize) -> Packet {
    let mut bytes: Vec<u8> = (0..60).map(|at| (at * 7 + number) as u8).collect();
    bytes[0] = [0xaa, 0xdd, 0xcc][number % 3];
    Packet { ingress: (number % 4) as u16, arrival_ns: 0, bytes }
}

/// The test forwarder of `ixp` on one engine, with this number of packets.
pub fn session(packets: usize, interrupt: &Arc<AtomicBool>) -> Session {
    let (file, text) = forwarder();
    session_of(file, text, packets, interrupt)
}

fn forwarder() -> (&'static str, String) {
    let file = "forward.uc";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ixp/tests/programs").join(file);
    (file, std::fs::read_to_string(path).expect("a program"))
}

/// A program on one engine, with this number of packets.
pub fn session_of(
    file: &str,
    text: String,
    packets: usize,
    interrupt: &Arc<AtomicBool>,
) -> Session {
    let (spec, programs) = programs_of(file, &text);
    let processor = Processor::new(&spec, programs, &Options::default());
    watched(processor.expect("a machine"), file, text, packets, interrupt)
}

/// The test forwarder on a machine that accounts for its energy.
pub fn metered_session(packets: usize, interrupt: &Arc<AtomicBool>) -> Session {
    let (file, text) = forwarder();
    let (spec, programs) = programs_of(file, &text);
    let meter = wireloom_ixp::energy::meter(&spec, None).expect("a meter");
    let processor = Processor::with_energy(&spec, programs, &Options::default(), meter);
    watched(processor.expect("a machine"), file, text, packets, interrupt)
}

/// A machine with the program on one engine.
fn programs_of(file: &str, text: &str) -> (Spec, Vec<(Program, u8)>) {
    let mut none = |file: &Path| Err(format!("{} is not there", file.display()));
    let image = wireloom_microcode::assemble(file, text, &Default::default(), &mut none);
    let image = image.unwrap_or_else(|refused| panic!("{:?}", refused.diagnostics));
    let mut spec = Spec::base();
    spec.ports.count = 4;
    let program = Program::load(image, spec.engine.control_store).expect("it loads");
    (spec, vec![(program, 0b1111)])
}

fn watched<E: Metered + 'static>(
    processor: Processor<E>,
    file: &str,
    text: String,
    packets: usize,
    interrupt: &Arc<AtomicBool>,
) -> Session {
    let reasons = (0..4).map(|number| Reason::Program(ReasonSetId(0), number)).collect();
    let machine = Ixp::new(processor, Store::default(), reasons);
    let machine = machine
        .with_sources(Sources { microcode: vec![(file.to_owned(), text)], loom: Vec::new() });
    let source = Given { packets: (0..packets).map(packet).collect(), has_given: false };
    let verdict = |verdict| match verdict {
        Verdict::Sent { port } => format!("sent to port {port}"),
        Verdict::ToCpu(_) => "to the cpu".to_owned(),
        Verdict::Dropped(_) => "dropped".to_owned(),
    };
    Session::new(Box::new(machine), Box::new(source), Box::new(verdict), Arc::clone(interrupt))
        .expect("a machine that can be watched")
}
