//! Steps that run for keys, on a machine that loses packets and draws random numbers.

use std::convert::Infallible;

use crate::support::engine::own_spec;
use crate::support::{Sent, compiled_text, keep};
use wireloom_bits::Bits;
use wireloom_ir::{Execute, Golden, MOST_TICKS, TIMERS, Timers, Times, store};
use wireloom_mpsoc::Options;
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::Set;
use wireloom_net::Packet;

/// Each packet sets a timer for its own number, so that hundreds are due at a tick. Each timer sets
/// itself once more, counts, and sends what it has drawn.
const PROGRAM: &str = "
    header Ask { u16 number; u32 drawn; u32 seen; };
    struct Kept { u32 drawn; };
    engine timed() {
        offload later : timer<u16, size = 4096>;
        offload kept : exact<u16, Kept, size = 4096, age = 3000000, tick = 1000000>;
        offload draws : random;
        offload now : clock;
        Ask ask @ 0;
        step take {
            ask.drawn = draws.next(0);
            ask.seen = (u32)now.now();
            later.set(ask.number, 700000 + (u64)ask.number[3:0] * 400000);
            kept.insert(ask.number, { ask.drawn });
            packet.egress = 1;
            finish;
        }
        step again on later(u16 number) {
            packet.reset(64);
            ask.number = number;
            ask.drawn = draws.next(0);
            ask.seen = (u32)now.now();
            if (kept.keep(number, 2000000)) later.set(number, 500000);
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
fn packets() -> Vec<Packet> {
    let packet = |number: u16| {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let burst = u64::from(number / 100) * 666_000 + 1_000_000_000;
        let back = if number % 7 == 3 { 40_000 } else { 0 };
        Packet { ingress: number % 4, arrival_ns: burst + u64::from(number) - back, bytes }
    };
    (0..1500).map(packet).collect()
}

#[test]
fn timers_fall_between_the_packets_that_are_not_lost() {
    let program = compiled_text("timed.loom", PROGRAM);
    let packets = packets();
    let slow = "[object.any]\nlatency_ns = 3000\ninterval_ns = 2000";
    for (set, keys, queue) in
        [(Set::Armv4, slow, 4), (Set::Rv32im, slow, 2), (Set::Armv4, "", 1000)]
    {
        let mut spec = own_spec(set, keys);
        spec.io.input.queue_packets = queue;
        let mut engine = MpsocEngine::new(
            &spec,
            &program,
            store(&program).expect("offloads"),
            Options::default(),
        )
        .expect("an engine");
        engine.follow(700);
        let (mut got, mut lost): (Vec<Sent>, usize) = (Vec::new(), 0);
        let mut taken = Vec::new();
        for lot in packets.chunks(190) {
            let settled = engine.execute(lot, &mut |output| keep(&mut got, output));
            let settled = settled.expect("it runs");
            taken.extend(settled.taken);
            lost += settled.lost.len();
        }
        let end = packets.last().map_or(0, |packet| packet.arrival_ns) + 20_000_000;
        let settled = engine.advance_to(end, &mut |output| keep(&mut got, output));
        let settled = settled.expect("it runs");
        taken.extend(settled.taken);
        lost += settled.lost.len();
        assert_eq!((taken.len() + lost, lost > 50), (1500, !keys.is_empty()), "{lost} lost");

        // Golden numbers only the packets that were taken.
        let mut golden = Golden::new(program.clone(), store(&program).expect("offloads"));
        let mut expected: Vec<Sent> = Vec::new();
        let accepted: Vec<Packet> = taken.iter().map(|n| packets[*n as usize].clone()).collect();
        golden.execute(&accepted, &mut |output| keep(&mut expected, output));
        golden.advance_to(end, &mut |output| keep(&mut expected, output));
        for sent in &mut expected {
            if sent.0 < TIMERS {
                sent.0 = taken[sent.0 as usize];
            }
        }
        let timers = expected.iter().filter(|sent| sent.0 >= TIMERS).count();
        assert!(timers > 2 * accepted.len(), "{timers} timers of {} packets", accepted.len());
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got, expected, "{set:?} {keys}");
        }
        assert_eq!(got.len(), expected.len());
        assert_eq!(engine.next_timer(), golden.next_timer());
        if keys.is_empty() {
            let followed = engine.followed().expect("packet 700");
            assert!(!followed.left.is_empty(), "{followed:?}");
        }
    }
}

/// A timer that is set again at each tick.
struct Heartbeat(u64);

impl Times for Heartbeat {
    type Error = Infallible;

    fn next(&mut self, _: usize) -> Result<Option<u64>, Infallible> {
        Ok(Some(self.0))
    }

    fn due(
        &mut self,
        offload: usize,
        now_ns: u64,
        visit: &mut dyn FnMut(&Bits),
    ) -> Result<(), Infallible> {
        if offload == 0 {
            visit(&Bits::new(16, 7));
            self.0 = now_ns + 1_000_000;
        }
        Ok(())
    }
}

#[test]
fn ticks_count_until_a_packet_arrives() {
    let program = compiled_text("timed.loom", PROGRAM);
    let mut timers = Timers::of(&program).expect("it has ticks");
    let (mut heartbeat, years) = (Heartbeat(1_000_000), 1 << 60);
    timers.advance(0);
    let mut ticks = 0;
    // The packet that arrived at 0 has left, and the line asks before each tick.
    while timers.due(&mut heartbeat, years, 1 + ticks).expect("it cannot fail").is_some() {
        timers.reach(0);
        ticks += 1;
    }
    assert_eq!(ticks, u64::from(MOST_TICKS) + 1);
}

#[test]
fn packets_come_at_the_end_of_time() {
    let text = "engine late() {
        offload later : timer<u16, size = 16>;
        step take { later.set(7, 1000); finish; }
        step over on later(u16 number) { packet.reset(60); packet.egress = number; finish; }
    }";
    let program = compiled_text("late.loom", text);
    let arrivals = [1_000_000_000, u64::MAX, u64::MAX];
    let packet = |arrival_ns| Packet { ingress: 0, arrival_ns, bytes: vec![0; 64] };
    let packets = arrivals.map(packet);
    let store = || store(&program).expect("offloads");
    let spec = own_spec(Set::Armv4, "");
    let mut engine =
        MpsocEngine::new(&spec, &program, store(), Options::default()).expect("an engine");
    let (mut got, mut expected): (Vec<Sent>, Vec<Sent>) = (Vec::new(), Vec::new());
    engine.execute(&packets, &mut |output| keep(&mut got, output)).expect("it runs");
    engine.finish(&mut |output| keep(&mut got, output)).expect("it runs");
    let mut golden = Golden::new(program.clone(), store());
    golden.execute(&packets, &mut |output| keep(&mut expected, output));
    assert_eq!(got, expected);
    assert!(got.len() > packets.len(), "a timer runs");
}
