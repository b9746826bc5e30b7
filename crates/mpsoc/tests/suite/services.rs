//! Services of applications in hardware elements: clients get the replies of software servers, with
//! the elements' timing.

use crate::support::compiled_text;
use wireloom_ir::store;
use wireloom_mpsoc::application::{Application, Ended, Source, compile};
use wireloom_mpsoc::element::ElementSpec;
use wireloom_mpsoc::services::{InHardware, Services};
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_offloads::{Content, Entry, EntryKey, Store};
use wireloom_sidl::Interfaces;
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::stats::Record;
use wireloom_sim::{Clock, Effort, Time};

const SIDL: &str = "
struct Point { s16 x; u64 weight; u8 tag[3]; bool seen; };
interface Maker { Point make(u8 what, Point from, out u32 sum); u16 entry(u8 at); };
service makers : Maker;
service others : Maker;
struct Many { u32 word[9]; };
interface Wide { Many all(u32 word); };
service wides : Wide;";

/// An engine `make` of one pipeline step, and an engine `entry` of two, whose table is in the
/// element.
const LOOM: &str = "
struct Point { u16 x; u64 weight; u8 tag[3]; bool seen; };
struct Made { Point made; u32 sum; };
engine make(u8 what, Point from) -> Made {
    step only {
        Point made;
        made.x = from.x + (u16)what;
        made.weight = from.weight * 3;
        made.tag[0] = from.tag[2]; made.tag[1] = from.tag[0]; made.tag[2] = what;
        made.seen = !from.seen;
        Made all;
        all.made = made;
        all.sum = (u32)from.x + from.weight[31:0];
        finish(all);
    }
}
engine entry(u8 at) -> u16 {
    offload values : array<u16, size = 256>;
    u16 value;
    step one { value = values.read(at); next two; }
    step two { finish(value + 1); }
}
engine all(u32 word) -> u288 { step only { finish((u288)word); } }
";

/// Clients on many threads call both methods with several calls in progress, and print a sum of all
/// replies. Each service has `SERVERS` server threads.
const C: &str = r#"
#include "objects.h"
#include "wl_print.h"
#include "wl_threads.h"
#ifndef SERVERS
#define SERVERS 0
#endif
struct Point Maker_on_make(void *o, uint8_t what, struct Point from, uint32_t *sum) {
    (void)o;
    *sum = (uint16_t)from.x + (uint32_t)from.weight;
    return (struct Point){ .x = (int16_t)(from.x + what), .weight = from.weight * 3, .tag = {from.tag[2], from.tag[0], what}, .seen = !from.seen };
}
uint16_t Maker_on_entry(void *o, uint8_t at) { (void)o; return (uint16_t)(at * 257 + 8); }
static uint32_t serves(uint32_t service) { wl_serve(service, Maker_serve, 0); }
static uint32_t asks(uint32_t me) {
    uint32_t service = me & 1 ? SERVICE_makers : SERVICE_others, sum = 0;
    struct Point point = { .x = (int16_t)-me, .weight = (uint64_t)me << 33 | me, .tag = {1, 2, 3}, .seen = me & 2 };
    for (uint32_t k = 0; k < 20; k++) {
        uint32_t more;
        Maker_make_begin(service, 0, (uint8_t)(me + k), point);
        Maker_entry_begin(service, 4, (uint8_t)(me * k));
        Maker_entry_begin(service, 5, (uint8_t)k);
        point = Maker_make_end(0, &more);
        sum = sum * 31 + more + Maker_entry_end(4) + 3u * Maker_entry_end(5);
        sum = sum * 31 + (uint16_t)point.x + (uint32_t)(point.weight >> 7) + point.tag[0] + 5u * point.tag[1] + 7u * point.tag[2] + point.seen;
    }
    return sum;
}
int main(void) {
    wl_thread all[8];
    for (int k = 0; k < SERVERS; k++) { wl_thread_create(serves, SERVICE_makers, 0); wl_thread_create(serves, SERVICE_others, 0); }
    for (uint32_t k = 0; k < 8; k++) all[k] = wl_thread_create(asks, k, 0);
    for (uint32_t k = 0; k < 8; k++) wl_printf("%x ", wl_thread_join(all[k]));
    return 0;
}"#;

fn interfaces() -> Interfaces {
    wireloom_sidl::read("objects.sidl", SIDL).unwrap_or_else(|refused| panic!("{refused}"))
}

/// Loads the reply values of the software's `entry`, less one.
fn load(store: &mut Store, service: &str) {
    let Content::Kind { instance, .. } =
        &mut store.find_mut(&format!("{service}_entry.values")).expect("a table").content
    else {
        panic!("{service}")
    };
    for index in 0..256u64 {
        let value = wireloom_bits::Bits::new(16, u128::from(index * 257 + 7));
        instance.load(Entry { key: EntryKey::Index(index), value }).expect("room");
    }
}

fn spec(set: Set, services: &[&str]) -> Spec {
    let mut spec = Spec::base();
    spec.processors = 4;
    spec.processor.instruction_set = set;
    let element = ElementSpec { clock: Clock::hertz(250_000_000), interval: None, places: Some(2) };
    spec.element = services.iter().map(|name| ((*name).to_owned(), element)).collect();
    spec
}

fn services(spec: &Spec, interfaces: &Interfaces, engines: &str) -> Result<Services, String> {
    let hardware = InHardware::of(spec, interfaces)?;
    let program = compiled_text("engines.loom", &format!("{engines}{}", hardware.caller()));
    let mut store = store(&program).expect("offloads of a verified program");
    for name in spec.element.keys().filter(|name| *name != "wides") {
        load(&mut store, name);
    }
    Services::new(spec, &hardware, &program, store)
}

/// Runs the application. Returns its end, its output, and its statistics.
fn run(
    c: &str,
    define: &[&str],
    spec: &Spec,
    services: Services,
    options: Options,
) -> Result<(Ended, String, Record), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("application.c");
    std::fs::write(&file, c).expect("a file");
    let define: Vec<String> = define.iter().map(|text| (*text).to_owned()).collect();
    let interfaces = interfaces();
    let source = Source { files: &[file], interfaces: Some(&interfaces), define: &define };
    let compiled =
        compile(&source, spec.processor.instruction_set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.warnings, "");
    let application = Application::new(spec, &compiled.program, services, Vec::new(), options);
    let mut application = application.unwrap_or_else(|error| panic!("{error}"));
    let mut printed = Vec::new();
    let ended =
        application.run(Time::nanoseconds(10_000_000), &mut |text| printed.extend_from_slice(text));
    let ended = ended.map_err(|error| error.to_string())?;
    assert_eq!(application.races(), Vec::<String>::new());
    Ok((ended, String::from_utf8(printed).expect("text"), application.record()))
}

#[test]
fn clients_see_no_difference_between_hardware_and_software() {
    for set in [Set::Armv4, Set::Rv32im] {
        let watched = || Options { races: true, ..Options::default() };
        let software = spec(set, &[]);
        let (ended, expected, _) =
            run(C, &["SERVERS=4"], &software, Services::default(), watched())
                .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((ended, expected.split_whitespace().count()), (Ended::Done(0), 8));
        // One service in hardware and the other in software; both in hardware; one in both.
        for (elements, define) in [
            (&["makers"][..], "SERVERS=4"),
            (&["makers", "others"], "SERVERS=0"),
            (&["others"], "SERVERS=1"),
        ] {
            let spec = spec(set, elements);
            let own = || services(&spec, &interfaces(), LOOM).unwrap_or_else(|e| panic!("{e}"));
            let (ended, printed, _) =
                run(C, &[define], &spec, own(), watched()).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!((ended, &printed), (Ended::Done(0), &expected), "{elements:?}");
        }
    }
}

#[test]
fn both_kernels_count_the_same_on_any_network() {
    for network in [
        None,
        Some(
            "kind = 'crossbar'\nclock_mhz = 500\nwidth_bytes = 16\nlatency_cycles = 2\nqueue_messages = 4",
        ),
        Some(
            "kind = 'mesh'\nclock_mhz = 500\nwidth_bytes = 16\nrouter_cycles = 1\nlink_cycles = 1\nslots = 2\nqueue_messages = 4\ncolumns = 4\nrows = 4",
        ),
    ] {
        let mut spec = spec(Set::Armv4, &["makers", "others"]);
        if let Some(text) = network {
            spec.network = toml::from_str(text).unwrap_or_else(|e| panic!("{e}"));
        }
        let one = |effort| {
            let services = services(&spec, &interfaces(), LOOM).unwrap_or_else(|e| panic!("{e}"));
            let options = Options { effort, ..Options::default() };
            let (ended, printed, record) =
                run(C, &[], &spec, services, options).unwrap_or_else(|e| panic!("{e}"));
            let platform = serde_json::to_string(record.value("platform").expect("a platform"))
                .expect("a record");
            (ended, printed, platform)
        };
        let active = one(Effort::Active);
        assert!(active.2.contains("\"name\":\"makers_make\",\"calls\":80,"), "{}", active.2);
        assert_eq!(active, one(Effort::Naive), "{network:?}");
    }
}

/// Measures one call alone, in cycles of 2 ns, and many at once.
const TIMED: &str = r#"
#include "objects.h"
#include "wl_print.h"
#include "wl_threads.h"
struct Point Maker_on_make(void *o, uint8_t what, struct Point from, uint32_t *sum);
uint16_t Maker_on_entry(void *o, uint8_t at);
int main(void) {
    uint32_t one, many;
    // Once for the caches.
    for (unsigned round = 0; round < 2; round++) {
        uint32_t begin = wl_cycles();
        Maker_entry(SERVICE_makers, 2);
        one = wl_cycles() - begin;
        begin = wl_cycles();
        for (unsigned k = 0; k < 15; k++) Maker_entry_begin(SERVICE_makers, k, (uint8_t)k);
        for (unsigned k = 0; k < 15; k++) Maker_entry_end(k);
        many = wl_cycles() - begin;
    }
    wl_printf("%u %u", one, many);
    return 0;
}"#;

#[test]
fn a_call_takes_the_way_and_the_pipeline_and_places_bound_how_many_are_under_way() {
    let timed = |places: u32| {
        let mut spec = spec(Set::Armv4, &["makers"]);
        if let InterconnectSpec::Channel(channel) = &mut spec.network {
            (channel.latency, channel.jitter) = (Time::nanoseconds(160), 0.0);
        }
        spec.element.get_mut("makers").expect("it is one").places = Some(places);
        let services = services(&spec, &interfaces(), LOOM).unwrap_or_else(|e| panic!("{e}"));
        let (_, printed, _) =
            run(TIMED, &[], &spec, services, Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let numbers: Vec<u32> =
            printed.split(' ').map(|number| number.parse().expect("a number")).collect();
        (numbers[0], numbers[1])
    };
    // Three one-way latencies of 160 ns are 240 cycles. The pipeline's entrance, its two steps and
    // the table take 4 ns each. The rest is the client's time.
    let ((one, many), (same, few)) = (timed(15), timed(1));
    assert_eq!(one, same);
    assert!((240 + 6..240 + 60).contains(&one), "{one}");
    // With one place, the next call arrives two one-way latencies after the previous one: 160
    // cycles, plus the cycles of the broker and the pipeline. With fifteen places the client calls
    // at full speed.
    assert!((14 * 160..14 * 170 + one).contains(&few), "{few}");
    assert!(many < one + 15 * 60, "{many}");
}

#[test]
fn what_a_hardware_server_has_not_ends_the_run_or_is_refused() {
    let spec = spec(Set::Armv4, &["makers", "wides"]);
    let interfaces = interfaces();
    for (body, said) in [
        (
            "wl_launch(SERVICE_makers, 2, 0, 1, 7); wl_wait(0);",
            "it calls method 2 of service 0 with 1 words",
        ),
        (
            "wl_launch(SERVICE_makers, 1, 0, 0, 7); wl_wait(0);",
            "it calls method 1 of service 0 with 0 words",
        ),
        (
            "Wide_all_begin(SERVICE_wides, 15, 1); Wide_all_end(15);",
            "which has no room for a reply of 9 words",
        ),
    ] {
        let c = format!(
            "#include \"objects.h\"\nstruct Point Maker_on_make(void *o, uint8_t w, struct Point f, uint32_t *s); uint16_t Maker_on_entry(void *o, uint8_t at);\nint main(void) {{ {body} return 0; }}"
        );
        let services = services(&spec, &interfaces, LOOM).unwrap_or_else(|e| panic!("{e}"));
        match run(&c, &[], &spec, services, Options::default()) {
            Err(error) => assert!(error.contains(said), "{body}: {error}"),
            Ok(came) => panic!("{body}: {came:?}"),
        }
    }
    for (from, to, said) in [
        (
            "make(u8 what, Point from)",
            "make(u8 what, Point from, bool more)",
            "method `make` of service `makers`: it takes u8, u105, structures and arrays packed, and engine `make` u8, u16, u64, u8, u8, u8, u1, u1",
        ),
        (
            "-> u16 {",
            "-> u17 {",
            "method `entry` of service `makers`: it answers u16, packed, and engine `entry` u17",
        ),
        (
            "next two; }\n    step two {",
            "next two; }\n    step two { if (value == 9) next one;",
            "step `two` of `entry`: it jumps back",
        ),
    ] {
        let error =
            services(&spec, &interfaces, &LOOM.replacen(from, to, 1)).err().expect("it is refused");
        assert!(error.contains(said), "{error}");
    }
}
