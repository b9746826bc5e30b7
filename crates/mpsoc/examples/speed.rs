//! The simulation speed of the mpsoc machine on this computer: `cargo run --release -p
//! wireloom-mpsoc --example speed`.
//!
//! The paper's machine for OC-192 (48 processors of 16 threads, 80 ns) runs on one core, with the
//! real router and with the paper's synthetic load, at several line rates. Each runs with the
//! active kernel, which skips idle parts, and with the naive one, which polls everything in every
//! cycle. Then the 25 points of the paper's Figure 3 run on one and on two threads of the host.
//! `speed router`, `speed synthetic` and `speed sweep` measure one of these; `speed profile`
//! simulates the router at full rate once, for a profiler.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use wireloom_compile::lower;
use wireloom_description::Description;
use wireloom_ir::{Program, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::evaluation::{PACKET_BYTES, figure_3};
use wireloom_mpsoc::synthetic::PAPER;
use wireloom_mpsoc::{Multiprocessor, NoObjects, Options, Spec};
use wireloom_net::Packet;
use wireloom_net::tables::{Prefix, TableFile};
use wireloom_net::traffic::{Generator, PrefixPool, Spec as Traffic};
use wireloom_offloads::load_tables;
use wireloom_sim::{Effort, Time};

/// The number of measurements of each kind; kinds alternate, so that other load on the computer
/// affects all of them.
const SAMPLES: usize = 5;
/// The routes and ports of the router, in the folder `programs`.
const TABLES: &str = "tests/router.tables";

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "all".to_owned());
    let all = argument == "all";
    let is_known = ["all", "router", "synthetic", "sweep", "profile"].contains(&argument.as_str());
    if !is_known {
        eprintln!("speed: '{argument}' is none of router, synthetic, sweep and profile");
        return ExitCode::from(2);
    }
    match measure(all, &argument) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("speed: {message}");
            ExitCode::from(2)
        }
    }
}

fn measure(all: bool, argument: &str) -> Result<(), String> {
    if all || argument == "router" {
        heading("the router, IPv4 of 60 bytes");
        let router = Router::compile()?;
        for (gbps, packets) in
            [(40.0, 80_000), (10.0, 40_000), (5.0, 20_000), (2.5, 10_000), (0.5, 2_000)]
        {
            compare(gbps, |effort| router.run(gbps, packets, effort))?;
        }
    }
    if all || argument == "synthetic" {
        heading("synthetic load (860 instructions, 108 accesses)");
        for gbps in [10.0, 0.5] {
            compare(gbps, |effort| synthetic(gbps, effort))?;
        }
    }
    if all || argument == "sweep" {
        sweep()?;
    }
    if argument == "profile" {
        let run = Router::compile()?.run(10.0, 60_000, Effort::Active)?;
        println!("{:.1} million instructions a second", run.rate());
    }
    Ok(())
}

/// The cost of a simulation.
#[derive(Clone, Copy)]
struct Run {
    instructions: u64,
    seconds: f64,
}

impl Run {
    /// The speed in millions of instructions per second.
    fn rate(&self) -> f64 {
        self.instructions as f64 / self.seconds / 1e6
    }
}

/// The CPU time of this thread, independent of other load on the computer. The kernel updates the
/// number at its ticks and when the thread yields the core, as it does here.
fn core_seconds() -> Result<f64, String> {
    const FILE: &str = "/proc/thread-self/schedstat";
    std::thread::yield_now();
    let text = std::fs::read_to_string(FILE).map_err(|e| format!("{FILE}: {e}"))?;
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<u64>().ok());
    Ok(nanoseconds.ok_or_else(|| format!("{FILE} does not begin with a number"))? as f64 / 1e9)
}

fn heading(what: &str) {
    println!("\n{what}");
    println!(
        "{:>10}  {:>8}  {:>12}  {:>30}  {:>26}  {:>14}",
        "line",
        "kernel",
        "instructions",
        "million instructions a second",
        "seconds",
        "times active"
    );
}

/// Measures both kernels alternately and prints a line for each.
fn compare(gbps: f64, run: impl Fn(Effort) -> Result<Run, String>) -> Result<(), String> {
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        for (effort, runs) in [Effort::Active, Effort::Naive].into_iter().zip(&mut runs) {
            runs.push(run(effort)?);
        }
    }
    // Equal packets must take equal numbers of instructions.
    let instructions = runs[0][0].instructions;
    if runs.iter().flatten().any(|run| run.instructions != instructions) {
        return Err(
            "two runs of one machine have executed different numbers of instructions".to_owned()
        );
    }
    let seconds = runs.each_ref().map(|runs| Spread::of(runs.iter().map(|run| run.seconds)));
    for ((name, runs), spread) in ["active", "naive"].iter().zip(&runs).zip(&seconds) {
        println!(
            "{:>10}  {name:>8}  {instructions:>12}  {:>30}  {:>26}  {:>14.2}",
            format!("{gbps} Gb/s"),
            Spread::of(runs.iter().map(Run::rate)).text(1),
            spread.text(3),
            spread.median / seconds[0].median,
        );
    }
    Ok(())
}

/// The distribution of several samples.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(samples: impl Iterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.collect();
        samples.sort_by(f64::total_cmp);
        Self {
            median: samples[samples.len() / 2],
            least: samples[0],
            most: samples[samples.len() - 1],
        }
    }

    /// Formats the spread with `digits` decimal places.
    fn text(&self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$} to {:.digits$})", self.median, self.least, self.most)
    }
}

/// The paper's machine with a line rate in Gb/s.
fn machine(gbps: f64) -> Result<Spec, String> {
    let found = Description::find("mpsoc-oc192").map_err(|e| e.to_string())?;
    let (name, description) = found.ok_or("there is no description of mpsoc-oc192")?;
    let mut spec = Spec::build(&name, description)?;
    spec.io.input.rate = (gbps * 1e9) as u64;
    spec.io.output.rate = spec.io.input.rate;
    Ok(spec)
}

/// Simulates 250 us at a line rate in Gb/s (125,000 cycles), after a warm-up of 100 us in which the
/// machine fills.
fn synthetic(gbps: f64, effort: Effort) -> Result<Run, String> {
    let options = Options { effort, ..Options::default() };
    let mut machine = Multiprocessor::new(&machine(gbps)?, PAPER, NoObjects, options)
        .map_err(|e| e.to_string())?;
    machine.offer_plain(PACKET_BYTES, u64::MAX);
    machine.run(Time::nanoseconds(100_000)).map_err(|e| e.to_string())?;
    let (begin, before) = (core_seconds()?, machine.totals());
    machine.run(Time::nanoseconds(350_000)).map_err(|e| e.to_string())?;
    let seconds = core_seconds()? - begin;
    Ok(Run { instructions: machine.totals().instructions - before.instructions, seconds })
}

/// `programs/router.loom`, compiled for ARM.
struct Router {
    program: Program,
    tables: PathBuf,
}

impl Router {
    fn compile() -> Result<Self, String> {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        let checked =
            wireloom_lang::check(&programs.join("router.loom"), &wireloom_lang::Options::default());
        let messages = || wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        let lowered = lower(checked.program.as_ref().ok_or_else(messages)?);
        let program = wireloom_mpsoc::for_threads(lowered);
        Ok(Self { program, tables: programs.join(TABLES) })
    }

    /// Packets that the router forwards to either of two neighbours, without tags and labels.
    fn packets(count: u64) -> Result<Vec<Packet>, String> {
        let pool = |prefixes: &[&str]| -> Result<PrefixPool, String> {
            prefixes
                .iter()
                .map(|text| text.parse::<Prefix>().map_err(|e| format!("{text}: {e}")))
                .collect()
        };
        let traffic = Traffic {
            seed: 6,
            dst_mac: [2, 0, 0, 0, 0, 0],
            count: Some(count),
            mix: Traffic::parse_mix("ipv4=1").map_err(|e| e.to_string())?,
            ..Traffic::default()
        };
        let (destinations, sources) =
            (pool(&["10.0.0.0/16", "10.4.0.0/16"])?, pool(&["10.0.0.0/8"])?);
        let generator = Generator::with_prefixes(&traffic, destinations, sources);
        Ok(generator.map_err(|e| e.to_string())?.collect())
    }

    /// Simulates all packets until the last one leaves.
    fn run(&self, gbps: f64, packets: u64, effort: Effort) -> Result<Run, String> {
        let mut store = store(&self.program).map_err(|refused| refused.0)?;
        let tables = TableFile::open(&self.tables).map_err(|e| e.to_string())?;
        load_tables(&mut store, tables).map_err(|e| e.to_string())?;
        let options = Options { effort, ..Options::default() };
        let mut engine = MpsocEngine::new(&machine(gbps)?, &self.program, store, options)
            .map_err(|e| e.to_string())?;
        engine.offer(Self::packets(packets)?);
        let begin = core_seconds()?;
        engine.finish(&mut |_| {}).map_err(|e| e.to_string())?;
        let seconds = core_seconds()? - begin;
        Ok(Run { instructions: engine.totals().instructions, seconds })
    }
}

fn sweep() -> Result<(), String> {
    println!("\nthe 25 points of Figure 3");
    println!("{:>12}  {:>26}  {:>20}", "host threads", "seconds", "one / so many");
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        for (workers, samples) in [1, 2].into_iter().zip(&mut samples) {
            let begin = Instant::now();
            figure_3(&Spec::base(), 1..=1, workers)?;
            samples.push(begin.elapsed().as_secs_f64());
        }
    }
    let spreads = samples.map(|samples| Spread::of(samples.into_iter()));
    for (workers, spread) in [1, 2].iter().zip(&spreads) {
        println!(
            "{workers:>12}  {:>26}  {:>20.2}",
            spread.text(2),
            spreads[0].median / spread.median
        );
    }
    Ok(())
}
