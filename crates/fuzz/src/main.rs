//! `wireloom-fuzz`: differential fuzzing, with an optional limit on programs or minutes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use wireloom_fuzz::campaign::{self, Campaign, case};

/// Runs random engines on the golden model, before and after optimisation, and as native code, and
/// compares outputs and the final state of offloads. A failure is shrunk and kept as files. Exit
/// status: 0 no failure, 1 a failure.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Stop after this number of programs.
    #[arg(long, default_value_t = u64::MAX)]
    programs: u64,
    /// Use this seed for the first program; the next programs use the seeds after it.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Stop after this number of minutes.
    #[arg(long)]
    minutes: Option<f64>,
    /// The folder for failing cases.
    #[arg(long, default_value = "tests/regressions")]
    keep: PathBuf,
    /// Print the program of the seed and stop.
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.print {
        print!("{}", case(arguments.seed).0.program.text());
        return ExitCode::SUCCESS;
    }
    let bar = match arguments.programs {
        u64::MAX => ProgressBar::new_spinner(),
        programs => ProgressBar::new(programs),
    };
    let style = ProgressStyle::with_template(
        "{elapsed_precise} {wide_bar} {human_pos} programs ({per_sec})",
    )
    .expect("the template is well-formed");
    bar.set_style(style);
    let start = Instant::now();
    // Panics of the parts under test are reported as failures, so their messages are suppressed.
    std::panic::set_hook(Box::new(|_| {}));
    let (done, found) = campaign::run(&Campaign {
        seed: arguments.seed,
        programs: arguments.programs,
        until: arguments.minutes.map(|m| start + Duration::from_secs_f64(60.0 * m)),
        keep: &arguments.keep,
        progress: &|done| bar.set_position(done),
    });
    bar.finish_and_clear();
    let Some(found) = found else {
        println!("{done} programs in {:.0} s: no difference", start.elapsed().as_secs_f64());
        return ExitCode::SUCCESS;
    };
    eprintln!(
        "seed {}: {:?}\n{}\nkept as {}",
        found.seed,
        found.failure.kind,
        found.failure.details,
        arguments.keep.join(found.name + ".loom").display()
    );
    ExitCode::FAILURE
}
