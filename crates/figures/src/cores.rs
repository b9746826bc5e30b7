//! The native router on two cores, and on one.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use wireloom_console::load_store;
use wireloom_ir::{Output, Verdict};
use wireloom_machine::{Error, Result, Source};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::{Frame, Packet};

use super::Settings;
use super::processors::{Pinned, allowed};
use super::workload::packets;

/// Passes over the packets in a sample; a sample takes a second or two.
const PASSES: usize = 32;

/// Returns the function that takes one sample: million packets per second for the same packets on
/// two cores and on one.
///
/// # Errors
/// If a file is missing, or the compiler fails.
pub fn sampler(settings: &Settings) -> Result<impl FnMut() -> Result<[f64; 2]>> {
    let mut first = machine(settings, &settings.router()?)?;
    let refused = |refused: wireloom_offloads::Refused| Error::new(refused.0);
    let mut second = first.on_another_core(1).map_err(refused)?;
    let packets = packets(settings, "ipv4")?;
    Ok(move || {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let (front, back) = frames.split_at(frames.len() / 2);
        let both = mpps(frames.len(), vec![(&mut first, front), (&mut second, back)]);
        Ok([both, mpps(frames.len(), vec![(&mut first, &frames)])])
    })
}

/// Starts a native machine with the tables of the demonstration.
///
/// # Errors
/// If a file is missing, or the compiler fails.
pub fn machine(settings: &Settings, source: &Source) -> Result<Native> {
    let program = source.compiled()?;
    let (store, _) = load_store(&program.optimised, &[settings.tables()?])?;
    let options = BuildOptions::default();
    let library = Library::build(&program.optimised, &options).map_err(Error::new)?;
    Ok(Native::new(library, store))
}

/// The outputs of a machine. The peer computes the same sum over each packet's verdict, port and
/// length.
#[derive(Default)]
pub struct OutputSum {
    pub count: usize,
    /// A sum that is not reported; it only makes the loop look at each packet.
    pub sum: u64,
}

impl OutputSum {
    /// Adds a packet whose bytes are in two pieces.
    pub fn add(&mut self, output: Output<'_>, rest: &[u8]) {
        let (verdict, port) = match output.verdict {
            Verdict::Sent { port } => (1, port),
            Verdict::ToCpu(_) => (2, 0),
            Verdict::Dropped(_) => (3, 0),
        };
        self.count += 1;
        self.sum += verdict + u64::from(port) + (output.bytes.len() + rest.len()) as u64;
    }
}

/// Returns the rate, in million packets per second, of machines that together execute `count`
/// packets [`PASSES`] times. Each machine runs in a thread on its own processor. The time is from
/// the first thread's begin to the last one's end.
fn mpps(count: usize, work: Vec<(&mut Native, &[Frame<'_>])>) -> f64 {
    let ready = &Barrier::new(work.len());
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let threads = work.into_iter().enumerate().map(|(number, (machine, frames))| {
            let processor = allowed().get(number).copied();
            scope.spawn(move || {
                let _pinned = processor.and_then(Pinned::to);
                let mut left = OutputSum::default();
                ready.wait();
                let begin = Instant::now();
                for _ in 0..PASSES {
                    machine.offer_to(frames, |output, rest| left.add(output, rest));
                }
                assert!(left.count >= PASSES * frames.len(), "every packet has an outcome");
                (begin, Instant::now())
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let begin = times.iter().map(|(begin, _)| *begin).min().expect("a thread");
    let end = times.iter().map(|(_, end)| *end).max().expect("a thread");
    (PASSES * count) as f64 / end.duration_since(begin).as_secs_f64() / 1e6
}
