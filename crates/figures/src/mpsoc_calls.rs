//! Object calls per second from one processor to another (the StepNP paper, section 4.2).

use std::path::PathBuf;

use serde::Serialize;
use wireloom_isa::Program;
use wireloom_mpsoc::application::{
    Application, Ended, Source, compile, interfaces as interfaces_of,
};
use wireloom_mpsoc::evaluation::shaped;
use wireloom_mpsoc::services::Services;
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_sim::{Time, sweep};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_rig::SETS;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::output;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-calls",
    what: "StepNP, section 4.2: object calls a second from one processor to another, by threads and latency of the network",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/mpsoc/calls.c",
        names: &["way", "set", "latency_ns", "threads"],
        skip: &[],
        tools: &["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"],
        tables: &[PageTable { name: "rates", write: table }],
    },
};

/// "About 10 million per second, using 500 MHz RISC processors". The paper gives neither the number
/// of threads nor the distance. We use two-way calls with the threads and the latency of its
/// machine for OC-192.
const GOAL: f64 = 10.0;
const GOALS_THREADS: u32 = 16;
const GOALS_LATENCY_NS: u64 = 80;

/// Threads of each of the two processors.
const THREADS: [u32; 5] = [1, 2, 4, 8, 16];
/// One-way latencies of the network.
const LATENCIES_NS: [u64; 4] = [0, 40, 80, 160];
/// Calls per client.
const CALLS: u32 = 500;
/// The macros with which programs/mpsoc/calls.c is compiled, for calls with and without a reply.
const WAYS: [(Way, Option<&str>); 2] = [(Way::Two, None), (Way::One, Some("ONE_WAY"))];
/// A time limit that no run reaches.
const LIMIT: Time = Time::nanoseconds(100_000_000);

/// Whether calls have replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    /// Calls wait for a reply.
    Two,
    /// Calls have no reply.
    One,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Two => "two-way",
            Self::One => "one-way",
        }
    }
}

/// A point of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    way: Way,
    set: &'static str,
    threads: u32,
    latency_ns: u64,
    /// Million calls per second.
    mcalls: f64,
    /// Instructions of both processors per call.
    instructions: f64,
    /// The share of cycles in which both processors issued instructions.
    usage: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let sources =
        [settings.file("programs/mpsoc/calls.c")?, settings.file("programs/mpsoc/calls.sidl")?];
    let mut runs = Vec::new();
    for (way, definition) in WAYS {
        for set in SETS {
            for threads in THREADS {
                let program = compiled(&sources, definition, set.0, threads, CALLS)?;
                runs.extend(
                    LATENCIES_NS.map(|latency_ns| (way, set, threads, latency_ns, program.clone())),
                );
            }
        }
    }
    let points = {
        let _working = Working::on("two processors, 80 simulations");
        let run = |(way, set, threads, latency_ns, program): &(
            Way,
            (Set, &'static str),
            u32,
            u64,
            Program,
        )| { measure(*way, *set, *threads, *latency_ns, program) };
        sweep(&runs, workers(), run).map_err(Error::new)?
    };
    let points = points.into_iter().collect::<Result<Vec<Point>>>()?;
    let series: Vec<String> = THREADS.iter().map(|threads| format!("{threads} threads")).collect();
    let title = "Object calls between two processors of 500 MHz";
    let svg = Bars::new(title, "million calls a second", series, groups(&points))
        .with_limit("the paper", GOAL)
        .svg();
    let data = serde_json::to_value(&points).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&points), data, svg, faults: faults(&points) })
}

/// Compiles the example for processors with this number of threads and this number of calls per
/// client.
fn compiled(
    [source, interfaces]: &[PathBuf; 2],
    definition: Option<&str>,
    set: Set,
    threads: u32,
    calls: u32,
) -> Result<Program> {
    let numbers = [format!("THREADS={threads}"), format!("CALLS={calls}")];
    let definitions: Vec<String> =
        numbers.into_iter().chain(definition.map(str::to_owned)).collect();
    let interfaces = interfaces_of(interfaces).map_err(Error::new)?;
    let source = Source {
        files: std::slice::from_ref(source),
        interfaces: Some(&interfaces),
        define: &definitions,
    };
    let compiled = compile(&source, set);
    Ok(compiled.map_err(Error::new)?.program)
}

fn measure(
    way: Way,
    (set, name): (Set, &'static str),
    threads: u32,
    latency_ns: u64,
    program: &Program,
) -> Result<Point> {
    let mut spec = shaped(&Spec::base(), 2, threads, Time::nanoseconds(latency_ns), 1.0);
    spec.processor.instruction_set = set;
    let application =
        Application::new(&spec, program, Services::default(), Vec::new(), Options::default());
    let mut application = application.map_err(Error::new)?;
    let mut printed = Vec::new();
    let ended =
        application.run(LIMIT, &mut |text| printed.extend_from_slice(text)).map_err(Error::new)?;
    let printed = String::from_utf8_lossy(&printed);
    if ended != Ended::Done(0) {
        return Err(Error::new(format!(
            "programs/mpsoc/calls.c has ended as {ended:?}: {printed}"
        )));
    }
    let (calls, cycles) = told(&printed)?;
    let clock_mhz = 1.0 / (spec.processor.clock.cycles(1).as_seconds() * 1e6);
    Ok(Point {
        way,
        set: name,
        threads,
        latency_ns,
        mcalls: calls * clock_mhz / cycles,
        instructions: application.totals().instructions as f64 / calls,
        usage: application.usage(),
    })
}

/// Parses the number of calls and the number of cycles that the example prints.
fn told(printed: &str) -> Result<(f64, f64)> {
    let words: Vec<&str> = printed.split_whitespace().collect();
    match &words[..] {
        [calls, "calls", "in", cycles, "cycles:", ..] => {
            calls.parse().ok().zip(cycles.parse().ok())
        }
        _ => None,
    }
    .ok_or_else(|| {
        Error::new(format!("programs/mpsoc/calls.c tells no calls and cycles: {printed}"))
    })
}

/// Groups points by way, set and latency; a row holds the points by threads.
fn rows(points: &[Point]) -> Vec<(Way, &'static str, u64, Vec<&Point>)> {
    let mut rows: Vec<(Way, &'static str, u64, Vec<&Point>)> = Vec::new();
    for point in points {
        let key = (point.way, point.set, point.latency_ns);
        match rows.iter_mut().find(|(way, set, latency_ns, _)| (*way, *set, *latency_ns) == key) {
            Some((.., row)) => row.push(point),
            None => rows.push((point.way, point.set, point.latency_ns, vec![point])),
        }
    }
    rows
}

fn groups(points: &[Point]) -> Vec<Group> {
    let group = |(way, set, latency_ns, points): (Way, &str, u64, Vec<&Point>)| {
        let name = format!("{}, {set}, {latency_ns} ns", way.name());
        Group::new(name, points.iter().map(|point| point.mcalls))
    };
    rows(points).into_iter().map(group).collect()
}

fn faults(points: &[Point]) -> Vec<String> {
    let goals = points.iter().filter(|point| {
        (point.way, point.threads, point.latency_ns) == (Way::Two, GOALS_THREADS, GOALS_LATENCY_NS)
    });
    let missed = goals.filter(|point| point.mcalls < GOAL).map(|point| {
        format!(
            "{}: {} million two-way calls a second with {GOALS_THREADS} threads at {GOALS_LATENCY_NS} ns, and at least {GOAL} million is the goal",
            point.set,
            number(point.mcalls)
        )
    });
    missed.collect()
}

fn text(points: &[Point]) -> String {
    let mut heads = vec!["calls".to_owned(), "set".to_owned(), "one way, ns".to_owned()];
    heads.extend(THREADS.iter().map(|threads| format!("{threads} threads")));
    heads.push("instructions".to_owned());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = output::table(&heads, &(2..heads.len()).collect::<Vec<_>>());
    for (way, set, latency_ns, points) in rows(points) {
        let first = [way.name().to_owned(), set.to_owned(), latency_ns.to_string()];
        let rates = points
            .iter()
            .map(|point| format!("{} ({:.0} %)", number(point.mcalls), 100.0 * point.usage));
        let instructions = points.last().map(|point| number(point.instructions));
        table.add_row(first.into_iter().chain(rates).chain(instructions));
    }
    format!(
        "{table}\n\nMillion calls a second from all threads of one processor of 500 MHz to those of another, by programs/mpsoc/calls.c, and the use of both; two arguments of a word and a reply of one if it is \
         two-way, of which a client has two under way; one argument if it is one-way. Instructions: of both processors for a call, with {GOALS_THREADS} threads, beginning and end of the program included. \
         The paper: \"about 10 million per second, using 500 MHz RISC processors\", without threads and latency.\n"
    )
}

/// Tabulates calls by threads, for pages.
fn table(values: &Values) -> Result<Table> {
    let threads = THREADS
        .map(|threads| if threads == 1 { "1 thread".to_owned() } else { threads.to_string() });
    let heads = ["calls, ns one way".to_owned()].into_iter().chain(threads);
    let mut table = Table::new(heads.chain(["instructions of both, a call".to_owned()]));
    for (way, _) in WAYS {
        for (_, set) in SETS {
            for latency in LATENCIES_NS {
                let first = way.name().split('-').next().unwrap_or_default();
                let key = |threads: u32, field| {
                    format!("{first}.{}.{latency}.{threads}.{field}", slug(set))
                };
                let mut cells = vec![format!("{}, {set}, {latency}", way.name())];
                for threads in THREADS {
                    cells.push(values.short(&key(threads, "mcalls"))?);
                }
                cells.push(values.short(&key(GOALS_THREADS, "instructions"))?);
                table.row(cells);
            }
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn calls_are_counted_and_more_threads_make_more_of_them() {
        let file = |name: &str| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/mpsoc").join(name)
        };
        let sources = [file("calls.c"), file("calls.sidl")];
        for (way, definition) in WAYS {
            let rate = |threads| {
                let program = compiled(&sources, definition, Set::Armv4, threads, 40)
                    .expect("it is compiled");
                measure(way, SETS[0], threads, 80, &program).expect("it runs")
            };
            let (one, four) = (rate(1), rate(4));
            assert!(four.mcalls > 2.0 * one.mcalls, "{one:?} {four:?}");
            // A client with two calls in flight cannot make more than two in the time of two
            // messages.
            assert!(way == Way::One || one.mcalls < 2.0 / 0.160, "{one:?}");
        }
    }

    #[test]
    fn what_is_printed_is_read_and_too_few_calls_are_a_fault() {
        assert_eq!(
            told("8000 calls in 200000 cycles: 25.0 cycles a call\n").expect("told"),
            (8000.0, 200_000.0)
        );
        assert!(told("8000 calls").is_err());
        let point = |way, latency_ns, mcalls| Point {
            way,
            set: SETS[0].1,
            threads: 16,
            latency_ns,
            mcalls,
            instructions: 80.0,
            usage: 0.9,
        };
        let points =
            [point(Way::Two, 80, 9.0), point(Way::Two, 160, 8.0), point(Way::One, 80, 7.0)];
        assert_eq!(faults(&points).len(), 1, "only what the goal is for");
        assert_eq!(groups(&points).len(), 3);
        assert!(text(&points).contains("one-way"));
    }
}
