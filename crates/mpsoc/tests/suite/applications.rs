//! Applications: threads, objects and packets in C, on both instruction sets (the StepNP paper,
//! section 4).

use std::path::PathBuf;

use crate::support::programs;
use wireloom_mpsoc::application::{
    Application, ApplicationError, Ended, Source, compile, interfaces as interfaces_of,
};
use wireloom_mpsoc::services::Services;
use wireloom_mpsoc::spec::{Multithreading, Set};
use wireloom_mpsoc::{Delivered, Options, RunError, Spec, Verdict};
use wireloom_net::Packet;
use wireloom_sim::{Effort, Time};

/// The result of a run.
#[derive(Debug, PartialEq)]
struct Came {
    ended: Ended,
    printed: String,
    races: Vec<String>,
    delivered: Vec<Delivered>,
    record: String,
}

/// Compiles an application from files or from one text, and runs it for up to 10 ms.
fn run(
    sources: &[PathBuf],
    spec: &Spec,
    packets: &[Packet],
    options: Options,
) -> Result<Came, RunError> {
    run_defined(sources, &[], spec, packets, options)
}

/// Like `run`, with preprocessor definitions.
fn run_defined(
    sources: &[PathBuf],
    definitions: &[String],
    spec: &Spec,
    packets: &[Packet],
    options: Options,
) -> Result<Came, RunError> {
    let (interfaces, files): (Vec<PathBuf>, Vec<PathBuf>) = sources
        .iter()
        .cloned()
        .partition(|path| path.extension().is_some_and(|extension| extension == "sidl"));
    let read = |path: &PathBuf| interfaces_of(path).unwrap_or_else(|error| panic!("{error}"));
    let interfaces = interfaces.first().map(read);
    let source = Source { files: &files, interfaces: interfaces.as_ref(), define: definitions };
    let compiled = compile(&source, spec.processor.instruction_set);
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.warnings, "");
    let services = Services::default();
    let mut application =
        Application::new(spec, &compiled.program, services, packets.to_vec(), options)
            .unwrap_or_else(|error| panic!("{error}"));
    let mut printed = Vec::new();
    let ended = application
        .run(Time::nanoseconds(10_000_000), &mut |text| printed.extend_from_slice(text))?;
    Ok(Came {
        ended,
        printed: String::from_utf8(printed).expect("text"),
        races: application.races(),
        delivered: application.delivered(),
        record: serde_json::to_string(&application.record()).expect("a record"),
    })
}

fn example(name: &str) -> PathBuf {
    programs(&format!("mpsoc/{name}"))
}

/// Runs an application from one source text.
fn text(
    c: &str,
    interfaces: Option<&str>,
    spec: &Spec,
    options: Options,
) -> Result<Came, RunError> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = vec![folder.path().join("application.c")];
    std::fs::write(&files[0], c).expect("a file");
    if let Some(text) = interfaces {
        files.push(folder.path().join("objects.sidl"));
        std::fs::write(&files[1], text).expect("a file");
    }
    run(&files, spec, &[], options)
}

fn watched() -> Options {
    Options { races: true, ..Options::default() }
}

/// Four processors of eight threads.
fn spec(set: Set) -> Spec {
    let mut spec = Spec::base();
    spec.processors = 4;
    spec.processor.instruction_set = set;
    spec
}

const SETS: [Set; 2] = [Set::Armv4, Set::Rv32im];

#[test]
fn philosophers_eat_without_races_on_any_processor() {
    let expected: String = (0..5).map(|k| format!("philosopher {k} has eaten 4 times\n")).collect();
    for set in SETS {
        for multithreading in [Multithreading::Barrel, Multithreading::Blocking] {
            let mut spec = spec(set);
            spec.processor.multithreading = multithreading;
            let came = run(&[example("philosophers.c")], &spec, &[], watched())
                .unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(
                (came.ended, came.printed.as_str(), came.races.len()),
                (Ended::Done(0), &*expected, 0)
            );
        }
    }
}

#[test]
fn threads_for_which_there_is_no_hardware_begin_when_there_is() {
    let mut spec = spec(Set::Armv4);
    (spec.processors, spec.threads) = (1, 3);
    let c = r#"
        #include "wl_print.h"
        #include "wl_threads.h"
        static uint32_t says(uint32_t me) { wl_printf("%u ", me); return me; }
        int main(void) {
            wl_thread all[6];
            wl_thread first = wl_thread_create(says, 9, 0);
            static uint32_t wait;
            for (uint32_t k = 0; k < 6; k++) all[k] = wl_thread_create(says, k, k);
            (void)wait;
            uint32_t sum = wl_thread_join(first);
            for (uint32_t k = 0; k < 6; k++) sum += wl_thread_join(all[k]);
            return (int)sum;
        }"#;
    let came = text(c, None, &spec, watched()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(came.ended, Ended::Done(24));
    let mut said: Vec<&str> = came.printed.split_whitespace().collect();
    assert_eq!(said.remove(0), "9");
    said.sort_unstable();
    assert_eq!(said, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn who_is_more_urgent_gets_a_semaphore_first() {
    let c = r#"
        #include "wl_print.h"
        #include "wl_threads.h"
        static uint32_t ready, go, done;
        static uint32_t waits(uint32_t me) {
            wl_semaphore_release(&ready, 1);
            wl_semaphore_acquire(&go);
            wl_printf("%u", me);
            wl_semaphore_release(&done, 1);
            return 0;
        }
        int main(void) {
            for (uint32_t k = 0; k < 5; k++) {
                wl_thread_create(waits, k, k * 3 % 5);
                wl_semaphore_acquire(&ready);
            }
            // The last one is on its way to the semaphore still.
            for (volatile int k = 0; k < 2000; k++);
            for (uint32_t k = 0; k < 5; k++) { wl_semaphore_release(&go, 1); wl_semaphore_acquire(&done); }
            return 0;
        }"#;
    for set in SETS {
        let came = text(c, None, &spec(set), watched()).unwrap_or_else(|e| panic!("{e}"));
        // The threads have priorities 0, 3, 1, 4, 2.
        assert_eq!((came.printed.as_str(), came.races.len()), ("31420", 0));
    }
}

#[test]
fn a_race_is_told_with_the_variable_and_both_places_and_what_is_guarded_is_none() {
    for set in SETS {
        let came =
            run(&[example("race.c")], &spec(set), &[], watched()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(came.ended, Ended::Done(0));
        assert!(came.printed.starts_with("guarded 200, not guarded "), "{}", came.printed);
        assert!(!came.races.is_empty());
        for race in &came.races {
            let fits = race.starts_with("count (0x3000")
                && race.contains(" by thread ")
                && race.contains("counts");
            assert!(fits, "{race}");
        }
        let unwatched = run(&[example("race.c")], &spec(set), &[], Options::default());
        assert_eq!(unwatched.unwrap_or_else(|e| panic!("{e}")).races, Vec::<String>::new());
    }
}

#[test]
fn calls_go_to_servers_on_another_processor_whichever_way_time_is_simulated() {
    let files = [example("calls.c"), example("calls.sidl")];
    for set in SETS {
        let mut spec = spec(set);
        (spec.processors, spec.threads) = (2, 16);
        let runs = [Effort::Active, Effort::Naive].map(|effort| {
            let options = Options { effort, ..watched() };
            run(&files, &spec, &[], options).unwrap_or_else(|e| panic!("{e}"))
        });
        let [active, naive] = &runs;
        assert_eq!((active.ended, active.races.len()), (Ended::Done(0), 0), "{:?}", active.races);
        assert!(active.printed.starts_with("8000 calls in "), "{}", active.printed);
        assert_eq!(active.printed, naive.printed);
    }
}

#[test]
fn calls_take_their_threads_their_number_and_their_way_from_definitions() {
    let files = [example("calls.c"), example("calls.sidl")];
    for (threads, way) in [(1, None), (1, Some("ONE_WAY")), (4, Some("ONE_WAY"))] {
        let mut spec = spec(Set::Armv4);
        (spec.processors, spec.threads) = (2, threads);
        let numbers = [format!("THREADS={threads}"), "CALLS=20".to_owned()];
        let definitions: Vec<String> = numbers.into_iter().chain(way.map(str::to_owned)).collect();
        let came = run_defined(&files, &definitions, &spec, &[], watched())
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((came.ended, came.races.len()), (Ended::Done(0), 0), "{:?}", came.races);
        assert!(
            came.printed.starts_with(&format!("{} calls in ", 20 * threads)),
            "{}",
            came.printed
        );
    }
}

const OBJECTS: &str = "interface Cell { oneway void set(u32 value); u32 get(); }; service cells : Cell; service nobody : Cell;";

#[test]
fn one_way_calls_and_a_server_that_calls_itself_others() {
    let c = r#"
        #include "objects.h"
        #include "wl_threads.h"
        static uint32_t cell, set;
        void Cell_on_set(void *object, uint32_t value) { (void)object; cell = value; wl_semaphore_release(&set, 1); }
        uint32_t Cell_on_get(void *object) { (void)object; return cell; }
        static uint32_t serves(uint32_t unused) { (void)unused; return wl_serve(SERVICE_cells, Cell_serve, 0); }
        int main(void) {
            wl_thread_create(serves, 0, 0);
            Cell_set(SERVICE_cells, 4711);
            wl_semaphore_acquire(&set);
            uint32_t own = cell;
            return (int)(own + Cell_get(SERVICE_cells));
        }"#;
    for set in SETS {
        let came = text(c, Some(OBJECTS), &spec(set), watched()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((came.ended, came.races), (Ended::Done(9422), vec![]));
    }
}

#[test]
fn a_stack_that_overflows_and_null_pointers_are_told_with_thread_and_function() {
    let program = |fault: &str| {
        format!(
            r#"
            #include "wl_threads.h"
            struct list {{ uint32_t value; struct list *next; }};
            static struct list *volatile none;
            static uint32_t (*volatile nowhere)(uint32_t);
            static uint32_t deepens(uint32_t levels) {{
                volatile uint32_t frame[16];
                frame[levels & 15] = levels;
                return levels ? deepens(levels - 1) + frame[levels & 15] : 0;
            }}
            static uint32_t does(uint32_t levels) {{ (void)levels; (void)deepens; (void)none; (void)nowhere; {fault} }}
            int main(void) {{ return (int)wl_thread_join(wl_thread_create(does, 4, 0)); }}"#
        )
    };
    for set in SETS {
        let failure = |fault: &str| {
            text(&program(fault), None, &spec(set), Options::default())
                .map_err(|error| error.to_string())
        };
        assert_eq!(failure("return deepens(levels);").map(|came| came.ended), Ok(Ended::Done(10)));
        for (fault, place, said) in [
            (
                "return deepens(100);",
                "(deepens+0x",
                "its stack overflows: the stack pointer is 0x1000",
            ),
            (
                "return none->next->value;",
                "(does+0x",
                "a null pointer: load of a word at 0x00000004: nothing",
            ),
            (
                "none->next = none; return 0;",
                "(does+0x",
                "a null pointer: store of a word at 0x00000004: it is",
            ),
            (
                "return nowhere(1) + 1;",
                "(does+0x",
                "it has called a null pointer: there is no function at 0x",
            ),
        ] {
            let failure = failure(fault).expect_err(fault);
            assert!(failure.starts_with("processor 0 thread 1 at "), "{failure}");
            assert!(failure.contains(place) && failure.contains(said), "{failure}");
            assert!(failure.contains(".c:"), "the line of the source: {failure}");
        }
    }
}

#[test]
fn a_call_that_nobody_serves_and_a_deadlock_are_told_with_names() {
    let c = r#"
        #include "objects.h"
        void Cell_on_set(void *object, uint32_t value);
        int main(void) { return (int)Cell_get(SERVICE_nobody); }"#;
    let stuck =
        text(c, Some(OBJECTS), &spec(Set::Armv4), Options::default()).unwrap_err().to_string();
    assert!(stuck.contains("thread 0 waits for service 1: the reply of ticket "), "{stuck}");
    assert!(
        stuck.contains("service 1 waits for a server: 1 calls, and no thread serves it"),
        "{stuck}"
    );
    let c = r#"
        #include "wl_threads.h"
        static uint32_t a, b, ready;
        static uint32_t other(uint32_t unused) {
            (void)unused;
            wl_monitor_enter(&b);
            wl_semaphore_release(&ready, 1);
            wl_monitor_enter(&a);
            return 0;
        }
        int main(void) {
            wl_monitor_enter(&a);
            wl_thread_create(other, 0, 0);
            wl_semaphore_acquire(&ready);
            wl_monitor_enter(&b);
            return 0;
        }"#;
    let stuck = text(c, None, &spec(Set::Rv32im), Options::default()).unwrap_err().to_string();
    assert!(stuck.contains("deadlock, a cycle of 2"), "{stuck}");
    assert!(stuck.contains("thread 0 waits for thread 1: monitor 0x3000"), "{stuck}");
}

#[test]
fn servers_that_call_themselves_are_told_as_a_circle() {
    let program = |first: &str, second: &str, main: &str| {
        format!(
            r#"
            #include "objects.h"
            #include "wl_packets.h"
            #include "wl_threads.h"
            void Cell_on_set(void *object, uint32_t value) {{ (void)object; (void)value; }}
            uint32_t Cell_on_get(void *object) {{ return Cell_get(object ? {first} : {second}); }}
            static uint32_t serves(uint32_t service) {{
                return wl_serve(service, Cell_serve, service == SERVICE_cells ? (void *)WL_LOCAL : 0);
            }}
            static uint32_t calls(uint32_t service) {{ return Cell_get(service); }}
            int main(void) {{
                wl_thread_create(serves, SERVICE_cells, 0);
                wl_thread_create(serves, SERVICE_nobody, 0);
                wl_thread_create(calls, SERVICE_cells, 0);
                {main}
            }}"#
        )
    };
    let joins = "return (int)wl_thread_join(3);";
    for set in SETS {
        let run = |c: &str| text(c, Some(OBJECTS), &spec(set), Options::default());
        let stuck =
            run(&program("SERVICE_cells", "SERVICE_nobody", joins)).unwrap_err().to_string();
        let circle =
            "deadlock, a cycle of 2:\n  thread 1 waits for service 0: the reply of ticket ";
        assert!(stuck.contains(circle), "{stuck}");
        let server = "service 0 waits for thread 1: its server, for 1 calls that wait";
        assert!(stuck.contains(server), "{stuck}");
        // Calls in a ring deadlock even while the first thread waits for packets without limit.
        let ring = program("SERVICE_nobody", "SERVICE_cells", "wl_packet_receive(); return 0;");
        let stuck = run(&ring).unwrap_err().to_string();
        // The server of the second service has its call from the first, which waits at its own
        // service.
        assert!(stuck.contains("deadlock, a cycle of 3:"), "{stuck}");
        assert!(stuck.contains("thread 1 waits for thread 2: the reply of ticket "), "{stuck}");
        assert!(stuck.contains("thread 2 waits for service 0: the reply of ticket "), "{stuck}");
    }
}

#[test]
fn calls_without_a_reply_wait_for_room() {
    let c = r#"
        #include "objects.h"
        #include "wl_print.h"
        #include "wl_threads.h"
        static uint32_t set, sum;
        void Cell_on_set(void *object, uint32_t value) {
            (void)object;
            for (volatile uint32_t k = 0; k < 20; k++);
            sum += value;
            if (++set == 300) wl_semaphore_release(&set, 1);
        }
        uint32_t Cell_on_get(void *object) { (void)object; return sum; }
        static uint32_t serves(uint32_t unused) { (void)unused; return wl_serve(SERVICE_cells, Cell_serve, 0); }
        int main(void) {
            wl_thread_create(serves, 0, 0);
            for (uint32_t k = 0; k < 300; k++) Cell_set(SERVICE_cells, k);
            wl_semaphore_acquire(&set);
            return (int)(Cell_get(SERVICE_cells) != 300 * 299 / 2);
        }"#;
    for set in SETS {
        for multithreading in [Multithreading::Barrel, Multithreading::Blocking] {
            let most = |one_way_calls| {
                let mut spec = spec(set);
                spec.processor.multithreading = multithreading;
                spec.processor.one_way_calls = one_way_calls;
                let came = [Effort::Active, Effort::Naive].map(|effort| {
                    let options = Options { effort, ..Options::default() };
                    text(c, Some(OBJECTS), &spec, options).unwrap_or_else(|error| panic!("{error}"))
                });
                assert_eq!((came[0].ended, came[1].ended), (Ended::Done(0), Ended::Done(0)));
                let record = |came: &Came| -> serde_json::Value {
                    serde_json::from_str(&came.record).expect("a record is JSON")
                };
                let [active, naive] = [&came[0], &came[1]].map(record);
                assert_eq!(active["platform"], naive["platform"]);
                active["platform"]["broker"]["service_0"]["most_waiting"]
                    .as_u64()
                    .expect("a number")
            };
            assert!((1..=16).contains(&most(8)), "{}", most(8));
            assert!(most(4096) > 200, "the server is slower than its client: {}", most(4096));
        }
    }
}

#[test]
fn a_server_that_floods_itself_is_told() {
    let c = r#"
        #include "objects.h"
        #include "wl_threads.h"
        void Cell_on_set(void *object, uint32_t value) { for (;;) Cell_set(SERVICE_cells, value); (void)object; }
        uint32_t Cell_on_get(void *object) { (void)object; return 0; }
        static uint32_t serves(uint32_t unused) { (void)unused; return wl_serve(SERVICE_cells, Cell_serve, 0); }
        int main(void) {
            wl_thread_create(serves, 0, 0);
            Cell_set(SERVICE_cells, 1);
            return (int)wl_thread_join(1);
        }"#;
    let stuck =
        text(c, Some(OBJECTS), &spec(Set::Armv4), Options::default()).unwrap_err().to_string();
    assert!(stuck.contains("deadlock, a cycle of 2"), "{stuck}");
    assert!(
        stuck.contains("thread 1 waits for service 0: room for another call without a reply"),
        "{stuck}"
    );
}

#[test]
fn what_a_thread_may_not_do_ends_the_run_with_its_place() {
    for (body, said) in [
        ("wl_monitor_leave(&cell);", "thread 0 is not in monitor 0x3000"),
        ("wl_thread_join(7);", "there is no thread 7"),
        ("WL_REGISTER(0x20) = 1;", "the device has refused it"),
        ("WL_REGISTER(0x18) = 112;", "the device has refused it"),
        ("(void)wl_next();", "the device has refused it"),
        (
            "wl_offer(0); Cell_set(SERVICE_cells, 0); wl_next(); wl_reply(&(struct wl_request){.wants_reply = true}, 0, 0);",
            "the device has refused it",
        ),
        ("wl_call(0x10, 0, 0, 0);", "nothing answers there"),
        ("wl_call(WL_THREAD_MANAGER, 12, 0, 0);", "nothing answers there"),
        ("wl_call(WL_THREAD_MANAGER, 3, WL_ONE_WAY, 0);", "nothing answers there"),
        ("Cell_get_begin(SERVICE_nobody, 0);", "the device has refused it"),
        ("*(volatile uint32_t *)0x3f000000 = 1;", "nothing answers there"),
        ("*(volatile uint32_t *)0 = 1;", "a null pointer: "),
    ] {
        let c = format!(
            "#include \"objects.h\"\n#include \"wl_threads.h\"\nuint32_t cell;\nvoid Cell_on_set(void *o, uint32_t v); int main(void) {{ cell++; {body} return 0; }}"
        );
        let error =
            text(&c, Some(OBJECTS), &spec(Set::Armv4), Options::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("processor 0 thread 0 at ") && error.contains(said),
            "{body}: {error}"
        );
    }
}

#[test]
fn what_cannot_be_compiled_or_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.c");
    let refused = |c: &str| -> ApplicationError {
        std::fs::write(&file, c).expect("a file");
        let source = Source { files: std::slice::from_ref(&file), interfaces: None, define: &[] };
        match compile(&source, Set::Armv4) {
            Err(error) => error,
            Ok(compiled) => {
                let spec = spec(Set::Armv4);
                Application::new(
                    &spec,
                    &compiled.program,
                    Services::default(),
                    Vec::new(),
                    Options::default(),
                )
                .err()
                .expect("an error")
            }
        }
    };
    let error = refused("int main(void) { return nothing; }").to_string();
    assert!(error.contains("a.c") && error.contains("nothing"), "{error}");
    let error = refused("char big[1 << 21]; int main(void) { return big[5]; }").to_string();
    assert!(
        error.contains("shared memory at 0x30100000") && error.contains("[memory] bytes"),
        "{error}"
    );
    let sidl = folder.path().join("o.sidl");
    std::fs::write(&sidl, "interface").expect("a file");
    assert!(matches!(interfaces_of(&sidl), Err(ApplicationError::Interfaces(_))));
}

/// A packet with an IPv4 header and a correct checksum.
fn packet(destination: u32, ttl: u8) -> Packet {
    let mut bytes = vec![0; 60];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..18].copy_from_slice(&[0x45, 0, 0, 46]);
    (bytes[22], bytes[23]) = (ttl, 17);
    bytes[26..30].copy_from_slice(&[1, 2, 3, 4]);
    bytes[30..34].copy_from_slice(&destination.to_be_bytes());
    let sum = sum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&(!sum).to_be_bytes());
    Packet { ingress: 0, arrival_ns: 0, bytes }
}

fn sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[test]
fn both_models_in_one_program_forward_packets() {
    let ways =
        [(0xc000_0207, 3), (0xac1f_0000, 1), (0x0a00_0001, 2), (0xff00_0000, 1), (0x0100_0000, 0)];
    let packets: Vec<Packet> =
        (0..200).map(|k| packet(ways[k % 5].0, if k % 7 == 0 { 1 } else { 64 })).collect();
    for set in SETS {
        let spec = Spec { processors: 16, ..spec(set) };
        let came =
            run(&[example("forward.c"), example("forward.sidl")], &spec, &packets, watched());
        let came = came.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((came.ended, came.races), (Ended::Idle, vec![]));
        assert_eq!(came.delivered.len(), 200);
        for (k, left) in came.delivered.iter().enumerate() {
            match left.verdict {
                Verdict::Sent { port } => {
                    assert!(k % 7 != 0 && port == ways[k % 5].1, "{k}");
                    assert_eq!((left.bytes[22], sum(&left.bytes[14..34])), (63, 0xffff), "{k}");
                }
                Verdict::Dropped(reason) => assert_eq!((k % 7, reason.number), (0, 2), "{k}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
