//! The smallest StepNP machines that carry the real router's packets at the rates of the paper, and
//! beyond.

mod page;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use wireloom_mpsoc::Spec;
use wireloom_mpsoc::evaluation::{SEEDS, Spread, shaped};
use wireloom_mpsoc::spec::Set;
use wireloom_net::Packet;
use wireloom_sim::{Time, sweep};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::{spread_text, workers};
use super::mpsoc_rig::{Forwarded, Router, SETS};
use super::np_traffic::Traffic;
use super::store::Cost;
use super::table::PageTable;
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bar, Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-smallest",
    what: "StepNP: the fewest processors that carry 2.5, 10 and 40 Gb/s of 54-byte packets through the real router without loss, with cycles to spare",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom",
        names: &["line_gbps", "threads", "traffic", "set"],
        skip: &["latency_ns", "tried", "seeds"],
        tools: &["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"],
        tables: &[PageTable { name: "processors", write: page::processors }],
    },
};

/// The most processors of a machine.
const MOST: u32 = 64;
/// Packet length in bytes on the line.
const BYTES: u32 = 54;
/// The number of packets that warm caches, and of the packets after them, none of which may be
/// lost.
const WARM: usize = 16_384;
const MEASURED: usize = 65_536;
/// Lines: Gb/s, one-way latency in nanoseconds, and threads per processor.
const LINES: [(f64, u64, u32); 3] = [(2.5, 40, 8), (10.0, 80, 16), (40.0, 80, 16)];
/// Compared numbers of threads.
const THREADS: [u32; 4] = [8, 16, 24, 32];
/// Compared kinds of packets, IPv4 first.
const TRAFFIC: [&str; 5] = ["IPv4", "IPv6", "MPLS_1", "MPLS_4", "all six"];
/// The goals for IPv4 on ARM: Gb/s, the most processors, and their least utilisation.
const GOALS: [(f64, u32, f64); 2] = [(10.0, 16, 0.9), (40.0, 64, 0.0)];

/// The parameters of one search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Question {
    #[serde(rename = "line_gbps")]
    gbps: f64,
    latency_ns: u64,
    threads: u32,
    traffic: &'static str,
    set: &'static str,
}

/// The result of one search: the number of processors needed.
#[derive(Clone, Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    question: Question,
    #[serde(flatten)]
    found: Fewest,
    /// The smallest machine with each seed, if the search has a goal.
    seeds: Vec<Forwarded>,
}

/// The smallest machine of a search.
#[derive(Clone, Debug, Default)]
pub struct Fewest {
    /// The fewest sufficient processors; `None` if 64 are too few.
    pub processors: Option<u32>,
    /// All simulated machines, by the number of processors.
    pub tried: BTreeMap<u32, Forwarded>,
}

impl Serialize for Fewest {
    /// Adds the machines on both sides of the limit as separate fields.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Found<'a> {
            processors: Option<u32>,
            enough: Option<&'a Forwarded>,
            too_few: Option<&'a Forwarded>,
            tried: &'a BTreeMap<u32, Forwarded>,
        }
        let Self { processors, tried } = self;
        let (enough, too_few) = (self.enough(), self.too_few());
        Found { processors: *processors, enough, too_few, tried }.serialize(serializer)
    }
}

/// The highest utilisation at which a machine counts as fast enough. Queues before the threads hold
/// some 290 packets, so a machine that is a little too slow loses none of the measured packets.
const HIGHEST_USE: f64 = 0.99;

impl Forwarded {
    /// Whether the machine is fast enough: it loses nothing, and long queues are not the reason.
    pub fn is_enough(&self) -> bool {
        self.lost == 0 && self.usage <= HIGHEST_USE
    }
}

impl Fewest {
    /// Searches for the smallest sufficient machine. The largest is simulated first: its
    /// utilisation gives a lower bound on the number of processors. The result includes the next
    /// smaller machine, which is insufficient.
    ///
    /// # Errors
    /// If a simulation fails.
    pub fn search(simulate: impl Fn(u32) -> Result<Forwarded>) -> Result<Self> {
        let mut tried: BTreeMap<u32, Forwarded> = BTreeMap::new();
        let mut measure = |processors: u32| -> Result<Forwarded> {
            if let Some(known) = tried.get(&processors) {
                return Ok(*known);
            }
            let measured = simulate(processors)?;
            tried.insert(processors, measured);
            Ok(measured)
        };
        let largest = measure(MOST)?;
        let processors = if largest.is_enough() {
            // Two percent less, because the utilisation is measured.
            let least = (0.98 * largest.usage * f64::from(MOST)).ceil() as u32;
            search(least.max(1), MOST, |processors| Ok(measure(processors)?.is_enough()))?
        } else {
            None
        };
        if let Some(fewer) = processors.map(|fewest| fewest - 1).filter(|fewer| *fewer > 0) {
            measure(fewer)?;
        }
        Ok(Self { processors, tried })
    }

    /// The measurement of the smallest sufficient machine.
    pub fn enough(&self) -> Option<&Forwarded> {
        self.processors.and_then(|processors| self.tried.get(&processors))
    }

    /// The measurement of the largest insufficient machine.
    pub fn too_few(&self) -> Option<&Forwarded> {
        let fewer = self.processors.map_or(Some(MOST), |processors| processors.checked_sub(1));
        fewer.and_then(|fewer| self.tried.get(&fewer))
    }
}

/// Returns all searches: each number of threads with IPv4; and the other packets, and the other
/// instruction set, with the paper's number of threads.
fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    for (gbps, latency_ns, own) in LINES {
        let arm = SETS[0].1;
        let question = Question { gbps, latency_ns, threads: own, traffic: TRAFFIC[0], set: arm };
        questions.extend(THREADS.map(|threads| Question { threads, ..question }));
        questions.extend(TRAFFIC[1..].iter().map(|traffic| Question { traffic, ..question }));
        questions.push(Question { set: SETS[1].1, ..question });
    }
    questions
}

fn make(settings: &Settings) -> Result<Drawn> {
    let working = Working::on("the routing table");
    let router = Router::new(settings)?;
    let mut streams = BTreeMap::new();
    for name in TRAFFIC {
        let traffic = Traffic::named(name).expect("it is one of them");
        streams.insert(name, router.packets(traffic, BYTES, WARM + MEASURED)?);
    }
    let questions = questions();
    working.now(&format!("{} searches for the smallest machine", questions.len()));
    let ask = |question: &Question| answer(&router, *question, &streams[question.traffic], WARM);
    let answers = sweep(&questions, workers(), ask).map_err(Error::new)?;
    let answers = answers.into_iter().collect::<Result<Vec<Answer>>>()?;
    drop(working);
    let title = "Fewest processors of 500 MHz for 54-byte packets without loss";
    let names = LINES.map(|(gbps, ..)| format!("{gbps} Gb/s"));
    let svg = Bars::new(title, "processors", names, groups(&answers))
        .with_limit("the most that there can be", f64::from(MOST))
        .svg();
    let data = serde_json::to_value(&answers).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&answers), data, svg, faults: faults(&answers) })
}

/// Searches for the smallest machine, and simulates it with every seed if the search has a goal.
fn answer(router: &Router, question: Question, packets: &[Packet], warm: usize) -> Result<Answer> {
    let set =
        SETS.iter().find(|(_, name)| *name == question.set).map_or(Set::Armv4, |(set, _)| *set);
    let simulate = |processors: u32, seed: u64| {
        let latency = Time::nanoseconds(question.latency_ns);
        let mut spec = shaped(&Spec::base(), processors, question.threads, latency, question.gbps);
        spec.processor.instruction_set = set;
        router.forward(&spec, packets, warm, seed)
    };
    let found = Fewest::search(|processors| simulate(processors, *SEEDS.start()))?;
    let goal = found.processors.filter(|_| question.is_papers());
    let seeds = goal.map(|processors| SEEDS.map(|seed| simulate(processors, seed)).collect());
    Ok(Answer { question, found, seeds: seeds.unwrap_or_else(|| Ok(Vec::new()))? })
}

/// Returns the least number from `least` to `most` for which a monotonic condition holds, if any.
/// The search starts near `least`: steps double, then the interval is bisected.
fn search(
    least: u32,
    most: u32,
    mut holds: impl FnMut(u32) -> Result<bool>,
) -> Result<Option<u32>> {
    let (mut fails, mut step) = (least - 1, 1);
    let mut found = loop {
        let next = (fails + step).min(most);
        if holds(next)? {
            break next;
        }
        if next == most {
            return Ok(None);
        }
        (fails, step) = (next, 2 * step);
    };
    while found - fails > 1 {
        let middle = fails.midpoint(found);
        if holds(middle)? { found = middle } else { fails = middle }
    }
    Ok(Some(found))
}

/// Names a search, without its line.
fn name(question: &Question) -> String {
    match (question.set == SETS[0].1, question.traffic == TRAFFIC[0]) {
        (false, _) => format!("{}, {}", question.traffic, question.set),
        (_, false) => question.traffic.to_owned(),
        _ => format!("{}, {} threads", question.traffic, question.threads),
    }
}

/// Returns a group for each search, over all lines.
fn groups(answers: &[Answer]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for answer in answers {
        let name = name(&answer.question);
        let line = LINES.iter().position(|(gbps, ..)| *gbps == answer.question.gbps).unwrap_or(0);
        let bar = match answer.found.processors {
            Some(processors) => Bar::new(line, f64::from(processors)),
            None => Bar { label: "none".to_owned(), ..Bar::new(line, 0.0) },
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { name, bars: vec![bar] }),
        }
    }
    groups.iter_mut().for_each(|group| group.bars.sort_by_key(|bar| bar.series));
    groups
}

impl Question {
    /// Whether this is the paper's case: IPv4 on ARM, with the threads of the line.
    fn is_papers(&self) -> bool {
        let line = LINES.iter().find(|line| line.0 == self.gbps);
        line.is_some_and(|line| line.2 == self.threads)
            && (self.traffic, self.set) == (TRAFFIC[0], SETS[0].1)
    }
}

fn faults(answers: &[Answer]) -> Vec<String> {
    let mut faults = Vec::new();
    for (gbps, most, usage) in GOALS {
        let is_goals = |question: &Question| question.gbps == gbps && question.is_papers();
        for answer in answers.iter().filter(|answer| is_goals(&answer.question)) {
            let Some((processors, enough)) = answer.found.processors.zip(answer.found.enough())
            else {
                faults.push(format!(
                    "{gbps} Gb/s: {MOST} processors are too few, and at most {most} is the goal"
                ));
                continue;
            };
            let measured = enough.usage;
            if answer.seeds.iter().any(|seed| !seed.is_enough()) {
                faults.push(format!(
                    "{gbps} Gb/s: {processors} processors are too few with another seed"
                ));
            }
            if processors > most {
                faults.push(format!(
                    "{gbps} Gb/s: {processors} processors, and at most {most} is the goal"
                ));
            }
            if measured < usage {
                faults.push(format!(
                    "{gbps} Gb/s: a use of {:.1} %, and at least {:.0} % is the goal",
                    100.0 * measured,
                    100.0 * usage
                ));
            }
        }
    }
    faults
}

fn text(answers: &[Answer]) -> String {
    let heads = [
        "line, Gb/s",
        "one way, ns",
        "threads",
        "packets",
        "set",
        "processors",
        "use, %",
        "latency, us",
        "99 %",
        "lost, cold",
        "one less: Gb/s",
        "use, %",
        "lost, %",
    ];
    let mut table = output::table(&heads, &[0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12]);
    for Answer { question, found, .. } in answers {
        let first = [
            question.gbps.to_string(),
            question.latency_ns.to_string(),
            question.threads.to_string(),
            question.traffic.to_owned(),
            question.set.to_owned(),
        ];
        let lost = |measured: &Forwarded| {
            number(100.0 * measured.lost as f64 / measured.offered.max(1) as f64)
        };
        let (fewest, smaller) = (found.enough(), found.too_few());
        let of = |text: fn(&Forwarded) -> String| fewest.map_or(String::new(), text);
        let rest = [
            found.processors.map_or(format!("over {MOST}"), |processors| processors.to_string()),
            of(|measured| number(100.0 * measured.usage)),
            of(|measured| number(measured.latency.latency_us)),
            of(|measured| number(measured.latency.latency_99_us)),
            of(|measured| thousands(measured.lost_before)),
            smaller.map_or(String::new(), |measured| number(measured.gbps)),
            smaller.map_or(String::new(), |measured| number(100.0 * measured.usage)),
            smaller.map_or(String::new(), lost),
        ];
        table.add_row(first.into_iter().chain(rest));
    }
    format!(
        "{table}\n\n{}\n\nPackets of 54 bytes, without gaps. A machine is enough if it loses none of {} packets, before which {} others have filled caches and left, and its use is \
         at most {:.0} %; lost, cold: how many of the first were. One less: what a processor fewer carries, its use, and what it loses.\n",
        papers(answers),
        thousands(MEASURED as u64),
        thousands(WARM as u64),
        100.0 * HIGHEST_USE
    )
}

/// The paper's machines: Gb/s, processors, threads of each, and utilisation.
const PAPERS: [(f64, u32, u32, f64); 3] =
    [(2.5, 16, 8, 0.67), (10.0, 40, 24, 0.97), (10.0, 48, 16, 0.86)];
/// Instructions per packet in the paper (section 5.4).
const INSTRUCTIONS: f64 = 860.0;

/// Compares with the paper's machines, whose packets take more instructions.
fn papers(answers: &[Answer]) -> String {
    let heads = [
        "line, Gb/s",
        "the paper: processors",
        "threads",
        "use, %",
        "with our instructions",
        "here: processors",
        "threads",
        "use, % (ten seeds)",
        "latency, us (ten seeds)",
    ];
    let mut table = output::table(&heads, &(0..heads.len()).collect::<Vec<_>>());
    let mut cycles = None;
    for (gbps, processors, threads, usage) in PAPERS {
        let is_it = |question: &Question| question.gbps == gbps && question.is_papers();
        let Some(answer) = answers.iter().find(|answer| is_it(&answer.question)) else { continue };
        let Some((fewest, enough)) = answer.found.processors.zip(answer.found.enough()) else {
            continue;
        };
        let spread = |number: fn(&Forwarded) -> f64| {
            spread_text(&Spread::of(&answer.seeds.iter().map(number).collect::<Vec<f64>>()))
        };
        cycles = Some(enough.cycles);
        table.add_row([
            gbps.to_string(),
            processors.to_string(),
            threads.to_string(),
            number(100.0 * usage),
            format!("{:.1}", f64::from(processors) * enough.cycles / INSTRUCTIONS),
            fewest.to_string(),
            answer.question.threads.to_string(),
            spread(|seed| 100.0 * seed.usage),
            spread(|seed| seed.latency.latency_us),
        ]);
    }
    let Some(cycles) = cycles else { return String::new() };
    format!(
        "{table}\n\nThe paper's packet takes {INSTRUCTIONS} instructions, ours {}: with our instructions, its processors would be as many as the fifth column says. So the gain is \
         the number of instructions, not the machine.",
        number(cycles)
    )
}

#[cfg(test)]
mod tests {
    use super::super::mpsoc_rig::tests::router;
    use super::*;

    #[test]
    fn the_least_number_is_found_wherever_it_lies_with_few_trials() {
        for most in [1, 2, 64] {
            for least in 1..=most {
                for wanted in least..=most + 1 {
                    let mut trials = 0;
                    let found = search(least, most, |number| {
                        trials += 1;
                        assert!((least..=most).contains(&number));
                        Ok(number >= wanted)
                    });
                    let expected = (wanted <= most).then_some(wanted);
                    assert_eq!(found.expect("no trial fails"), expected, "{least} {most} {wanted}");
                    assert!(trials <= 13, "{trials}");
                }
            }
        }
    }

    #[test]
    fn the_smallest_machine_loses_nothing_and_one_less_does() {
        let (router, _folder) = router();
        let ipv4 = Traffic::named("IPv4").expect("it is there");
        let packets = router.packets(ipv4, BYTES, 2500).expect("packets");
        let question =
            Question { gbps: 2.0, latency_ns: 40, threads: 8, traffic: "IPv4", set: SETS[0].1 };
        let answer = answer(&router, question, &packets, 500).expect("it is found");
        let processors = answer.found.processors.expect("there is one");
        assert!(
            answer.found.tried[&processors].is_enough()
                && !answer.found.tried[&(processors - 1)].is_enough(),
            "{answer:?}"
        );
        assert_eq!(processors, 3, "{answer:?}");
        assert!(text(&[answer]).contains("IPv4"));
    }

    #[test]
    fn goals_are_of_ipv4_on_arm_with_the_papers_threads() {
        assert_eq!(questions().len(), 27);
        let forwarded = |usage, lost| Forwarded {
            mpps: 1.0,
            gbps: 1.0,
            usage,
            cycles: 265.0,
            offered: 100,
            lost,
            lost_before: 0,
            latency: super::super::mpsoc_rig::Latencies {
                latency_us: 3.0,
                latency_99_us: 4.0,
                processing_us: 2.0,
                network_us: 1.0,
                compute_us: 0.5,
                accesses: 9.0,
            },
        };
        let answers = |fewest: Option<u32>, usage: f64| -> Vec<Answer> {
            let tried = BTreeMap::from([(fewest.unwrap_or(MOST), forwarded(usage, 0))]);
            let found = Fewest { processors: fewest, tried };
            let answer = |question| {
                let seeds = found.enough().copied().into_iter().collect();
                Answer { question, found: found.clone(), seeds }
            };
            questions().into_iter().map(answer).collect()
        };
        assert_eq!(faults(&answers(Some(13), 0.95)), Vec::<String>::new());
        assert_eq!(faults(&answers(Some(17), 0.8)).len(), 2);
        // Ten seeds are insufficient on both lines: 0.995 is over the limit.
        assert_eq!(faults(&answers(Some(13), 0.995)).len(), 2);
        // 40 processors at 860 instructions are 12.3 at 265.
        let text = text(&answers(Some(13), 0.95));
        assert!(text.contains("12.3") && text.contains("14.8"), "{text}");
        let none = faults(&answers(None, 1.0));
        assert_eq!(none.len(), 2);
        assert!(none[1].starts_with("40 Gb/s: 64 processors are too few"), "{none:?}");
        let groups = groups(&answers(Some(13), 0.95));
        assert_eq!(groups[0].name, "IPv4, 8 threads");
        assert!(groups.iter().all(|group| group.bars.len() == 3));
    }
}
