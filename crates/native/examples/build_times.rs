//! Prints the time that each part of a native build takes, for programs in files: `cargo run
//! --release -p wireloom-native --example build_times FILE...`. With `--keep DIR` first, DIR keeps
//! the C of the last program.

use std::path::Path;
use std::time::Instant;

use wireloom_compile::{lower, pipeline};
use wireloom_lang::{Options, check_source, render};
use wireloom_native::{BuildOptions, Library};

/// Parts of a build that take longer, in seconds, are listed pass by pass.
const LONG: f64 = 0.5;

fn main() {
    println!("file: check, lower, passes, C, C and compiler (seconds); operations, KB of C");
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let mut options = BuildOptions::default();
    if let [option, dir, ..] = &files[..]
        && option == "--keep"
    {
        options.keep_dir = Some(dir.into());
        files.drain(..2);
    }
    for file in files {
        match times(Path::new(&file), &options) {
            Ok(line) => println!("{file}: {line}"),
            Err(why) => println!("{file}: {}", why.lines().next().unwrap_or_default()),
        }
    }
}

fn times(file: &Path, options: &BuildOptions) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let checked = check_source(&file.display().to_string(), &text, &Options::default());
    let check = start.elapsed().as_secs_f64();
    let program = checked.program.ok_or_else(|| {
        format!("{check:.2}, {}", render(&checked.diagnostics, &checked.sources, false))
    })?;
    let start = Instant::now();
    let mut program = lower(&program);
    let lowered = start.elapsed().as_secs_f64();
    if let Err(size) = wireloom_compile::size::check(&program) {
        return Err(format!("{check:.2}, {lowered:.2}, too large: {size:?}"));
    }
    let start = Instant::now();
    let mut long = String::new();
    pipeline::run(&mut program, pipeline::DEFAULT, &Default::default(), |pass, _, took| {
        if took.as_secs_f64() > LONG {
            long += &format!(" {pass} {:.1}", took.as_secs_f64());
        }
    });
    let passes = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let unit = wireloom_codegen_c::unit(&program, "", false);
    let generated = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let built = Library::build(&program, options);
    let compiled = start.elapsed().as_secs_f64();
    let mut operations = 0;
    for step in program.engines.iter().flat_map(|engine| &engine.steps) {
        step.for_each_op(|_| operations += 1);
    }
    Ok(format!(
        "{check:.2}, {lowered:.2}, {passes:.2}, {generated:.2}, {compiled:.2}; {operations}, {}{long}{}",
        unit.text.len() / 1000,
        built.err().map(|error| format!(" FAILED {error}")).unwrap_or_default(),
    ))
}
