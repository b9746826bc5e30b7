//! Steps that run for keys, and entries that end at ticks, on chips of both versions against
//! golden.

use std::sync::Arc;

use crate::written::written;
use wireloom_ir::{Output, TIMERS};
use wireloom_ixp::Spec;
use wireloom_machine::{Contender, Options, Program, Rate};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

/// The chips, with room for the longest packets.
fn chips() -> impl Iterator<Item = Spec> {
    ["ixp1200", "ixp2400"].into_iter().map(|name| {
        let mut spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.receive_mpkts = 256;
        spec
    })
}

fn contender(spec: &Spec, program: &Program, store: &Store, options: &Options) -> Contender {
    let spec = Arc::new(spec.clone());
    let contender = Contender::new(spec, program, store, options, &|_| ());
    contender.unwrap_or_else(|error| panic!("{}", error.message))
}

fn frames(packets: &[Packet]) -> Vec<Frame<'_>> {
    packets.iter().map(Packet::frame).collect()
}

/// Each packet sets a timer for its own number, so that hundreds are due at a tick. Each timer sets
/// itself once more, counts, and sends what it has drawn.
const PROGRAM: &str = "
    header Ask { u16 number; u32 drawn; u32 seen; u64 left; u1 found; u7 rest; };
    struct Kept { u32 drawn; };
    engine timed() {
        offload later : timer<u16, size = 4096>;
        offload kept : exact<u16, Kept, size = 4096, age = 3000000, tick = 1000000>;
        offload known : exact<u16, Kept, size = 400, age = 1200000, tick = 300000>;
        offload draws : random;
        offload now : clock;
        Ask ask @ 0;
        step take {
            ask.drawn = draws.next(0);
            ask.seen = (u32)now.now();
            later.set(ask.number, 700000 + (u64)ask.number[3:0] * 400000);
            kept.insert(ask.number, { ask.drawn });
            auto known_now = known.accumulate((u16)ask.number[7:0] * 3, { ask.drawn });
            auto left = later.left(ask.number - 150);
            ask.found = (u1)left.found ^ (u1)known_now.existed ^ (u1)known_now.ok;
            ask.left = left.nanoseconds;
            packet.egress = 1;
            finish;
        }
        step again on later(u16 number) {
            packet.reset(64);
            ask.number = number;
            ask.drawn = draws.next(0);
            ask.seen = (u32)now.now();
            if (kept.keep(number, 2000000)) later.set(number, 500000);
            if (known.lookup(number).found) known.keep(number, 100);
            packet.egress = 2;
            finish;
        }
        step gone on kept(u16 number, Kept was) {
            packet.reset(64);
            ask.number = number;
            ask.drawn = was.drawn;
            packet.egress = 3;
            finish;
        }
    }";

/// Bursts of 100 packets, two thirds of a millisecond apart. Some packets have an earlier time than
/// those before them.
fn packets(count: u16) -> Vec<Packet> {
    let packet = |number: u16| {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let burst = u64::from(number / 100) * 666_000 + 1_000_000_000;
        let back = if number % 7 == 3 { 40_000 } else { 0 };
        Packet { ingress: number % 4, arrival_ns: burst + u64::from(number) - back, bytes }
    };
    (0..count).map(packet).collect()
}

#[test]
fn timers_fall_between_the_packets_that_are_not_lost() {
    let program = written(PROGRAM);
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    for spec in chips() {
        for (rate, buffer) in [(None, None), (Some(Rate::Mpps(8.0)), Some(2))] {
            let options = Options { rate, buffer, ..Options::default() };
            let mut contender = contender(&spec, &program, &store, &options);
            let mut timers = 0;
            let mut count = |output: Output<'_>| timers += u64::from(output.sequence >= TIMERS);
            let packets = packets(700);
            let optimised = &program.optimised;
            for lot in packets.chunks(190) {
                contender.offer(optimised, &frames(lot), &mut count).expect("it works");
            }
            contender.finish(optimised, &mut count).expect("it works");
            let end = packets.last().map_or(0, |packet| packet.arrival_ns) + 2_700_000;
            contender.advance_to(optimised, end, &mut count).expect("it works");
            contender.finish(optimised, &mut count).expect("it works");
            contender.compare_state(&|_| ()).expect("it works");
            let name = &spec.name;
            assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
            let is_lossy = buffer.is_some();
            assert_eq!(contender.compared < 650, is_lossy, "{name}: {}", contender.compared);
            assert!(timers > contender.compared, "{name}: {timers} timers");
            let next = contender.machine.machine.next_timer();
            // Golden says a time before which none is due.
            assert!(contender.golden.machine.next_timer() <= next, "{name}");
        }
    }
}

/// A time stamp at the end of time, and ticks without end between two packets.
#[test]
fn times_at_the_end_of_time_do_not_hang() {
    let text = "engine timed() {
        offload once : timer<u8, size = 4>;
        step begin { once.set(packet.ingress[7:0], 5); once.set(9, ~0); finish; }
        step over on once(u8 key) { packet.reset(60); packet.egress = (u16)key; finish; }
    }";
    let program = written(text);
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let packet = |arrival_ns| Packet { ingress: 3, arrival_ns, bytes: vec![0; 60] };
    let packets = [packet(0), packet(u64::MAX - 5), packet(u64::MAX)];
    for spec in chips() {
        let mut contender = contender(&spec, &program, &store, &Options::default());
        contender.offer(&program.optimised, &frames(&packets), &mut |_| ()).expect("it works");
        contender.finish(&program.optimised, &mut |_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{}: {:?}", spec.name, contender.difference);
        assert_eq!((contender.compared, contender.outputs), (3, 4), "{}", spec.name);
    }
}
