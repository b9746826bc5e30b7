//! Page tables of the fewest processors: the paper's machines, the goals, and ours.

use wireloom_machine::Result;

use super::{GOALS, INSTRUCTIONS, LINES, MOST, PAPERS, Question, questions};
use crate::number;
use crate::table::Table;
use crate::values::{Values, slug};

/// Tabulates the processors and their utilisation, by line.
pub fn processors(values: &Values) -> Result<Table> {
    let lines = LINES.map(|(gbps, latency, _)| format!("{gbps} Gb/s, {latency} ns"));
    let mut table = Table::new(["processors (their use)".to_owned()].into_iter().chain(lines));
    table.row(row("the paper", |gbps| Ok(papers(gbps, machine)))?);
    let name = format!(
        "the paper's, if its packets took our {} cycles and not {INSTRUCTIONS}",
        number(cycles(values, LINES[1].0)?)
    );
    let scaled = |gbps: f64| {
        let cycles = cycles(values, gbps)?;
        Ok(papers(gbps, |(_, processors, ..)| {
            format!("{:.1}", f64::from(processors) * cycles / INSTRUCTIONS)
        }))
    };
    table.row(row(&name, scaled)?);
    table.row(row("goal", |gbps| Ok(goal(gbps)))?);
    for searches in searches(&questions()) {
        let cells = searches.iter().map(|question| found(values, question));
        let cells = cells.collect::<Result<Vec<String>>>()?;
        table.row([title(&searches)].into_iter().chain(cells));
    }
    Ok(table)
}

/// A row with a cell for each line.
fn row(name: &str, cell: impl Fn(f64) -> Result<String>) -> Result<Vec<String>> {
    let cells = LINES.iter().map(|(gbps, ..)| cell(*gbps));
    [Ok(name.to_owned())].into_iter().chain(cells).collect()
}

/// Describes the paper's machines for a line.
fn papers(gbps: f64, words: impl Fn((f64, u32, u32, f64)) -> String) -> String {
    let machines = PAPERS.into_iter().filter(|machine| machine.0 == gbps);
    machines.map(words).collect::<Vec<String>>().join(", ")
}

fn machine((_, processors, threads, usage): (f64, u32, u32, f64)) -> String {
    format!("{processors} of {threads} threads ({:.0} %)", 100.0 * usage)
}

/// Returns the processor cycles per packet on our smallest machine for a line.
fn cycles(values: &Values, gbps: f64) -> Result<f64> {
    let all = questions();
    let own = all.iter().find(|question| question.gbps == gbps && question.is_papers());
    own.map_or(Ok(0.0), |question| values.get(&key(question, "enough.cycles")))
}

fn goal(gbps: f64) -> String {
    let goals = GOALS.into_iter().filter(|goal| goal.0 == gbps);
    let words = goals.map(|(_, most, usage)| match usage {
        0.0 => format!("at most {most}"),
        _ => format!("at most {most}, at {:.0} % or more", 100.0 * usage),
    });
    words.collect()
}

/// The key of a number of a search.
fn key(question: &Question, field: &str) -> String {
    let Question { gbps, threads, traffic, set, .. } = question;
    format!("{gbps}.{threads}.{}.{}.{field}", slug(traffic), slug(set))
}

/// Groups the searches into rows: a row has the same packets and set on each line.
fn searches(questions: &[Question]) -> Vec<[Question; 3]> {
    let of_line = |gbps: f64| questions.iter().filter(move |question| question.gbps == gbps);
    let [first, second, third] = LINES.map(|(gbps, ..)| of_line(gbps));
    first.zip(second).zip(third).map(|((one, two), three)| [*one, *two, *three]).collect()
}

fn title(searches: &[Question; 3]) -> String {
    let mut threads = searches.map(|question| question.threads.to_string()).to_vec();
    if threads.iter().all(|number| *number == threads[0]) {
        threads.truncate(1);
    }
    format!("{}, {}, {} threads", searches[0].traffic, searches[0].set, threads.join(", "))
}

fn found(values: &Values, question: &Question) -> Result<String> {
    let processors = key(question, "processors");
    if !values.has(&processors) {
        return Ok(format!("over {MOST}"));
    }
    let usage = values.percent(&key(question, "enough.usage"), 1)?;
    Ok(format!("{} ({usage})", values.fixed(&processors, 0)?))
}
