//! Figure 13 of the Gorilla paper: throughput by number of threads, lookup delay and thread
//! scheduler.

use serde::Serialize;
use wireloom_np::description::{NpSpec, Scheduler};
use wireloom_np::processor::Plan;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::Traffic;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::output;
use wireloom_explore::rig::{Loaded, Rig};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-threads",
    what: "Gorilla, Figure 13: IPv4 on 8 clusters of 2 engines by threads, delay of the lookup and scheduler",
    choice: Choice::Some(|| THREADS.map(shape).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom, COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["delay", "scheduler", "threads"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "rates", write: table }],
    },
};

/// Threads per engine.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];
/// The paper's lookup delays, in cycles.
const DELAYS: [u32; 2] = [32, 128];
const SCHEDULERS: [(Scheduler, &str); 2] =
    [(Scheduler::RoundRobin, "round robin"), (Scheduler::ReadyToExecute, "ready to execute")];
/// The offered rate, in million packets per second.
const OFFERED: f64 = 100.0;

/// A point of the figure.
#[derive(Clone, Debug, Serialize)]
struct Point {
    /// Cycles of the paper's lookup.
    delay: u32,
    /// Cycles of our lookup.
    lookup: u32,
    scheduler: &'static str,
    threads: usize,
    /// Million packets per second at an offered rate of 100.
    mpps: f64,
}

/// Names the machine with this number of threads per engine.
fn shape(threads: usize) -> String {
    format!("np-8-2-{threads}")
}

fn make(settings: &Settings) -> Result<Drawn> {
    let loaded = settings.routing(false)?;
    let ipv4 = Traffic::named("IPv4").expect("it is one of them");
    let stream = settings.streams(&[ipv4])?.remove(0);
    let mut points = Vec::new();
    for delay in DELAYS {
        for (scheduler, name) in SCHEDULERS {
            for threads in THREADS {
                let machine = NpSpec::find(&shape(threads)).map_err(Error::new)?;
                if !settings.wants(&machine.name) {
                    continue;
                }
                let (machine, lookup) = delayed(&machine, delay, &loaded)?;
                let machine = with_scheduler(machine, scheduler, name);
                let _working = Working::on(format!("{}, lookups of {lookup} cycles", machine.name));
                let mpps = Rig::new(&machine, &loaded)?.forwarding(&stream.packets)?.saturated;
                points.push(Point { delay, lookup, scheduler: name, threads, mpps });
            }
        }
    }
    let series = THREADS.iter().map(|threads| format!("{threads} threads"));
    let title = "IPv4, 8 clusters of 2 engines, by cycles of a lookup and scheduler";
    let svg = Bars::new(title, "million packets a second", series, groups(&points))
        .with_limit("offered", OFFERED)
        .svg();
    let data = serde_json::to_value(&points).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&points), data, svg, faults: Vec::new() })
}

/// Returns the machine with memories so slow that an IPv4 lookup takes nearly `delay` cycles, and
/// the lookup's actual cycles.
fn delayed(machine: &NpSpec, delay: u32, loaded: &Loaded) -> Result<(NpSpec, u32)> {
    let plan = loaded.processor(machine)?.plan;
    let (latency, lookup) = (1..=256)
        .map(|latency| (latency, lookup_cycles(&plan, latency)))
        .min_by_key(|(_, cycles)| cycles.abs_diff(delay))
        .expect("the range is not empty");
    let mut machine = machine.clone();
    machine.memory.latency = latency;
    Ok((machine, lookup))
}

/// Returns the cycles of an IPv4 lookup with a memory `latency`, in memory cycles from a command to
/// its data.
fn lookup_cycles(plan: &Plan, latency: usize) -> u32 {
    let ipv4 = plan.lookups.iter().find(|lookup| lookup.shape.key_bits == 32);
    ipv4.expect("the router looks up IPv4")
        .latency(wireloom_np::processor::channel_latency(&plan.machine, latency))
}

fn with_scheduler(mut machine: NpSpec, scheduler: Scheduler, name: &str) -> NpSpec {
    machine.engine.scheduler = scheduler;
    machine.name = format!("{} ({name})", machine.name);
    machine
}

/// Groups the points into rows of one delay and one scheduler, by threads.
fn rows(points: &[Point]) -> Vec<(u32, u32, &'static str, Vec<&Point>)> {
    let mut rows: Vec<(u32, u32, &'static str, Vec<&Point>)> = Vec::new();
    for point in points {
        match rows.iter_mut().find(|row| (row.0, row.2) == (point.delay, point.scheduler)) {
            Some(row) => row.3.push(point),
            None => rows.push((point.delay, point.lookup, point.scheduler, vec![point])),
        }
    }
    rows
}

fn groups(points: &[Point]) -> Vec<Group> {
    let group = |(delay, _, scheduler, points): (u32, u32, &str, Vec<&Point>)| {
        let name = format!("{delay} cycles, {scheduler}");
        Group::new(name, points.iter().map(|point| point.mpps))
    };
    rows(points).into_iter().map(group).collect()
}

fn text(points: &[Point]) -> String {
    let mut heads = vec!["the paper's delay".to_owned(), "ours".to_owned(), "scheduler".to_owned()];
    let mut threads: Vec<usize> = points.iter().map(|point| point.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    heads.extend(threads.iter().map(|threads| format!("{threads} threads")));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let numeric: Vec<usize> = (0..heads.len()).filter(|&column| column != 2).collect();
    let mut table = output::table(&heads, &numeric);
    for (delay, lookup, scheduler, points) in rows(points) {
        let mut row = vec![delay.to_string(), lookup.to_string(), scheduler.to_owned()];
        row.extend(points.iter().map(|point| number(point.mpps)));
        table.add_row(row);
    }
    format!(
        "{table}\n\nMillion packets a second of {OFFERED} that are offered; what is too much is lost. The figure of the paper is a picture, \
         which is not at hand. Its text: with more threads throughput saturates, earlier at the short delay; ready-to-execute does \
         better with many threads; at the long delay it is needed.\n"
    )
}

/// Tabulates the rates for pages.
fn table(values: &Values) -> Result<Table> {
    let threads = THREADS
        .map(|threads| if threads == 1 { "1 thread".to_owned() } else { threads.to_string() });
    let heads = ["the paper's delay", "ours", "scheduler"].map(str::to_owned);
    let mut table = Table::new(heads.into_iter().chain(threads));
    for delay in DELAYS {
        for (_, scheduler) in SCHEDULERS {
            let key = |threads, field| format!("{delay}.{}.{threads}.{field}", slug(scheduler));
            let mut cells = vec![
                format!("{delay} cycles"),
                values.fixed(&key(THREADS[0], "lookup"), 0)?,
                scheduler.to_owned(),
            ];
            for threads in THREADS {
                cells.push(values.short(&key(threads, "mpps"))?);
            }
            table.row(cells);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_delay_and_a_scheduler_are_a_row() {
        let point = |delay, scheduler, threads| Point {
            delay,
            lookup: delay + 1,
            scheduler,
            threads,
            mpps: 1.5,
        };
        let points = [point(32, "a", 1), point(32, "a", 2), point(32, "b", 1), point(128, "a", 1)];
        let sizes: Vec<_> = rows(&points).iter().map(|row| (row.0, row.2, row.3.len())).collect();
        assert_eq!(sizes, [(32, "a", 2), (32, "b", 1), (128, "a", 1)]);
        assert!(text(&points).contains("2 threads"));
        assert_eq!(groups(&points)[0].values().collect::<Vec<_>>(), [1.5, 1.5]);
    }
}
