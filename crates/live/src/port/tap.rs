//! TAP devices as ports. The other end of the cable is the kernel's side of the device, or the
//! device's bridge.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use wireloom_machine::{Error, Result};
use wireloom_net::Frame;

use super::{Exchange, Port, Receive, Sent, Spread, Transmit};
use crate::shadow_tap::{create_device, set_up};
use crate::system::{failed, interface_index};

/// Frames that are received at once.
const BATCH: usize = 64;
/// Bytes of space for one frame. The kernel completes checksums and segments before it hands frames
/// over.
const STRIDE: usize = (64 << 10) + 64;

/// The memory of a port in bytes: space for a batch of the largest packets.
pub const MEMORY: u64 = (BATCH * STRIDE) as u64;

/// Creates the device and sets it up. It is removed with the port.
///
/// # Errors
/// If the process lacks the rights, or a device of this name exists that cannot be taken.
pub fn open(name: &str, device: &str, spread: Spread) -> Result<Port> {
    // These are the names that the kernel accepts (`dev_valid_name`), except the pattern `%d`.
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || ['%', '/', ':'].contains(&c);
    let is_name = device.len() < libc::IFNAMSIZ && !["", ".", ".."].contains(&device);
    if !is_name || device.contains(is_odd) {
        return Err(Error::new(format!("port {name}: `{device}` is no name of a device"))
            .with_help("take up to 15 bytes, without blanks, `/`, `:` and `%`"));
    }
    if interface_index(device).is_ok() && !is_tap(device) {
        return Err(Error::new(format!("port {name}: there is another interface of this name"))
            .with_help(format!("take another name, or make it a port with --port {device}")));
    }
    let (tap, device) = create_device(device, libc::O_NONBLOCK)?;
    set_up(&device)?;
    let tap = Arc::new(tap);
    let receiver = Receiver {
        name: name.to_owned(),
        number: spread.number,
        descriptors: [tap.as_raw_fd()],
        tap: Arc::clone(&tap),
        space: vec![0; BATCH * STRIDE],
        lengths: Vec::with_capacity(BATCH),
    };
    Ok(Port {
        name: name.to_owned(),
        index: None,
        exchange: Exchange::Tap,
        program: None,
        gate: None,
        // Any thread writes frames, one by one.
        sides: spread
            .one_queue(receiver, || Transmitter { tap: Arc::clone(&tap), sent: Sent::default() }),
    })
}

/// Returns whether an interface is a TAP device. It may have existed before.
fn is_tap(device: &str) -> bool {
    Path::new("/sys/class/net").join(device).join("tun_flags").exists()
}

struct Receiver {
    name: String,
    number: u16,
    tap: Arc<File>,
    descriptors: [RawFd; 1],
    space: Vec<u8>,
    lengths: Vec<usize>,
}

impl Receive for Receiver {
    fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>> {
        self.lengths.clear();
        for space in self.space.chunks_mut(STRIDE) {
            match (&*self.tap).read(space) {
                Ok(length) => self.lengths.push(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The device is down. It works again when it is up.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => break,
                Err(error) if error.raw_os_error() == Some(libc::EBADFD) => {
                    let what = format!("port {}: the device was removed", self.name);
                    return Err(Error::new(what));
                }
                Err(error) => {
                    return Err(failed(&format!("port {}: receiving", self.name), &error));
                }
            }
        }
        let (number, spaces) = (self.number, self.space.chunks(STRIDE));
        let frames = spaces.zip(&self.lengths).map(|(space, length)| Frame {
            ingress: number,
            arrival_ns: now_ns,
            bytes: &space[..*length],
        });
        Ok(frames.collect())
    }

    fn lost(&mut self) -> u64 {
        0
    }
}

struct Transmitter {
    tap: Arc<File>,
    sent: Sent,
}

impl Transmit for Transmitter {
    fn take(&mut self, frame: [&[u8]; 2]) {
        let length = frame[0].len() + frame[1].len();
        match (&*self.tap).write_vectored(&frame.map(IoSlice::new)) {
            // A TAP device takes a frame as a whole.
            Ok(written) if written == length => {
                self.sent.packets += 1;
                self.sent.bytes += length as u64;
            }
            _ => self.sent.lost += 1,
        }
    }

    fn flush(&mut self) {}

    fn sent(&self) -> Sent {
        self.sent
    }
}
