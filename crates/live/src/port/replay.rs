//! Plays a capture as the input of a port. Packets sent to the port are counted and discarded.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wireloom_machine::{Error, Rate, Result};
use wireloom_net::capture::Reader;
use wireloom_net::{Frame, Packet};

use super::{Exchange, Port, Receive, Sent, Spread, Transmit};
use crate::system::{check, owned};

/// Frames that are received at once.
const BATCH: usize = 64;

/// How often a capture is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    /// From the beginning again after each end, until the command stops.
    Endless,
}

/// Opens the capture of `FILE@RATE`. Without a rate, packets arrive at the capture's times.
///
/// # Errors
/// If the file cannot be read, the rate is malformed, or a capture that is played again has no
/// rate.
pub fn open(name: &str, what: &str, spread: Spread, times: Times) -> Result<Port> {
    let (file, rate) = match what.rsplit_once('@') {
        Some((file, rate)) => {
            let rate = rate.parse();
            (file, rate.map_err(|why: String| Error::new(format!("port {name}: rate: {why}")))?)
        }
        None => (what, Rate::Capture),
    };
    if times == Times::Endless && rate == Rate::Capture {
        return Err(Error::new(format!(
            "port {name}: a capture that is played again and again needs a rate, such as {name}@max"
        )));
    }
    let reader = Reader::open(Path::new(file)).map_err(Error::new)?;
    // SAFETY: plain system call.
    let timer = owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) })
        .map_err(|error| Error::new(format!("port {name}: a timer: {error}")))?;
    let mut receiver = Receiver {
        number: spread.number,
        path: (times == Times::Endless).then(|| file.into()),
        reader,
        rate,
        descriptors: [timer.as_raw_fd()],
        timer,
        begin: None,
        first_ns: 0,
        played: 0,
        next: None,
        batch: Vec::new(),
    };
    receiver.read()?;
    receiver.wake_in(Duration::ZERO)?;
    Ok(Port {
        name: name.to_owned(),
        index: None,
        exchange: Exchange::Capture,
        program: None,
        gate: None,
        sides: spread.one_queue(receiver, Discard::default),
    })
}

struct Receiver {
    number: u16,
    /// The path of the capture, if it is played again after its end.
    path: Option<PathBuf>,
    reader: Reader,
    rate: Rate,
    /// A timer that becomes readable when the next packet is due.
    timer: OwnedFd,
    descriptors: [RawFd; 1],
    /// When the first packet was played.
    begin: Option<Instant>,
    /// The timestamp of the first packet in the capture.
    first_ns: u64,
    played: u64,
    /// The packet that is due next. `None` at the end of the capture.
    next: Option<Packet>,
    batch: Vec<Packet>,
}

impl Receiver {
    fn read(&mut self) -> Result {
        let mut packet = Packet::default();
        let mut is_there = self.reader.read_into(&mut packet).map_err(Error::new)?;
        if let Some(path) = self.path.as_deref().filter(|_| !is_there) {
            self.reader = Reader::open(path).map_err(Error::new)?;
            is_there = self.reader.read_into(&mut packet).map_err(Error::new)?;
        }
        self.next = is_there.then_some(packet);
        Ok(())
    }

    /// Returns how long after the first packet this one is due.
    fn due(&self, packet: &Packet) -> Duration {
        match self.rate {
            Rate::Max => Duration::ZERO,
            Rate::Mpps(mpps) => Duration::from_nanos((self.played as f64 * 1e3 / mpps) as u64),
            Rate::Capture => Duration::from_nanos(packet.arrival_ns.saturating_sub(self.first_ns)),
        }
    }

    /// Makes the descriptor readable after this time.
    fn wake_in(&self, time: Duration) -> Result {
        // SAFETY: all zeros is a valid value.
        let mut set: libc::itimerspec = unsafe { std::mem::zeroed() };
        // Zero would disarm the timer.
        let time = time.max(Duration::from_nanos(1));
        set.it_value.tv_sec = time.as_secs() as libc::time_t;
        set.it_value.tv_nsec = time.subsec_nanos().into();
        // SAFETY: the value outlives the call.
        let armed = unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &raw const set, std::ptr::null_mut())
        };
        check(armed).map_err(|error| Error::new(format!("a timer: {error}")))?;
        Ok(())
    }

    /// Disarms the timer. Setting the timer also makes it unreadable.
    fn sleep(&self) -> Result {
        // SAFETY: as in `wake_in`; all zeros disarms.
        let set: libc::itimerspec = unsafe { std::mem::zeroed() };
        let result = unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &raw const set, std::ptr::null_mut())
        };
        let failed = |error: io::Error| Error::new(format!("a timer: {error}"));
        check(result).map(|_| ()).map_err(failed)
    }
}

impl Receive for Receiver {
    fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>> {
        self.batch.clear();
        while self.batch.len() < BATCH
            && let Some(next) = &self.next
        {
            let begin = *self.begin.get_or_insert_with(|| {
                self.first_ns = next.arrival_ns;
                Instant::now()
            });
            let due = self.due(next);
            if let Some(early) = due.checked_sub(begin.elapsed())
                && !early.is_zero()
            {
                self.wake_in(early)?;
                break;
            }
            self.played += 1;
            self.batch.extend(self.next.take());
            self.read()?;
        }
        if self.next.is_none() {
            self.sleep()?;
        }
        let number = self.number;
        let frame = |packet| Frame { ingress: number, arrival_ns: now_ns, ..Packet::frame(packet) };
        Ok(self.batch.iter().map(frame).collect())
    }

    fn lost(&mut self) -> u64 {
        0
    }
}

#[derive(Default)]
struct Discard(Sent);

impl Transmit for Discard {
    fn take(&mut self, frame: [&[u8]; 2]) {
        self.0.packets += 1;
        self.0.bytes += frame.iter().map(|piece| piece.len() as u64).sum::<u64>();
    }

    fn flush(&mut self) {}

    fn sent(&self) -> Sent {
        self.0
    }
}
