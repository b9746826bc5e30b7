//! The control socket: a Unix socket on which other programs send requests.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use wireloom_console::traced::{PacketReport, Subject};
use wireloom_ir::{self as ir, Golden};
use wireloom_machine::{Error, Result};

use crate::capture::{Next, Passed};
use crate::filter::Filter;
use crate::forwarding::{Forwarding, Handle};
use crate::kernel_capture::{InTheKernel, Watching};
use crate::protocol::{
    Capture, Ended, MOST_REQUEST_BYTES, Packet, Reply, Request, Trace, Traced, hex,
};
use crate::reload::Reloader;

/// The most clients at a time.
const MOST_CLIENTS: usize = 16;
/// The longest time for a client to read a reply.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// How often a reader without packets checks whether its client is still connected.
const LOOK: Duration = Duration::from_millis(200);

/// The socket in the file system. Dropping it removes the file.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode number of the file. Another file of the same name is not ours.
    file: (u64, u64),
}

impl ControlSocket {
    /// Creates the socket with these permissions.
    ///
    /// # Errors
    /// If another process listens there, another kind of file has the name, or the folder is not
    /// writable.
    pub fn bind(path: &Path, mode: u32) -> Result<Self> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::new(format!("{}: the control socket cannot be created: {why}", path.display()))
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(failed(&"there is a file that is no socket")
                    .with_help("remove it, or give --control another path"));
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(failed(&"another process listens there")
                    .with_help("stop it, or give --control another path"));
            }
            // A killed process has left the socket.
            Ok(_) => fs::remove_file(path).map_err(|error| failed(&error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&error)),
        }
        // The umask lets nobody connect before the permissions are set.
        let before = rustix::process::umask(Mode::from_raw_mode(0o777));
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound.map_err(|error| failed(&error))?;
        let file = fs::symlink_metadata(path).map_err(|error| failed(&error))?;
        let file = (file.dev(), file.ino());
        let socket = Self { listener, path: path.to_owned(), file };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| failed(&e))?;
        Ok(socket)
    }

    /// Serves clients in threads of their own from now on.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn serve(
        &self,
        handle: Handle,
        reloader: Reloader,
        watching: Option<Arc<Watching>>,
    ) -> Result {
        let failed = |error| Error::new(format!("{}: {error}", self.path.display()));
        let listener = self.listener.try_clone().map_err(failed)?;
        let clients = Arc::new(AtomicUsize::new(0));
        let accept = move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Too many files are open. The loop waits until a client ends.
                    thread::sleep(LOOK);
                    continue;
                };
                let session = Session {
                    handle: handle.clone(),
                    reloader: reloader.clone(),
                    watching: watching.clone(),
                };
                if clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
                    clients.fetch_sub(1, Ordering::Relaxed);
                    let why = Error::new(format!("there are {MOST_CLIENTS} clients already"));
                    let _ = write(&mut BufWriter::new(&stream), &why.into());
                    continue;
                }
                let leaving = Arc::clone(&clients);
                let serve = move || {
                    session.serve(&stream);
                    leaving.fetch_sub(1, Ordering::Relaxed);
                };
                if thread::Builder::new().name("client".into()).spawn(serve).is_err() {
                    clients.fetch_sub(1, Ordering::Relaxed);
                }
            }
        };
        thread::Builder::new().name("control".into()).spawn(accept).map_err(failed)?;
        Ok(())
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let file = fs::symlink_metadata(&self.path).map(|file| (file.dev(), file.ino()));
        if file.is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

pub(crate) struct Session {
    pub(crate) handle: Handle,
    reloader: Reloader,
    /// Captures and traces of an engine in the kernel.
    watching: Option<Arc<Watching>>,
}

fn write(out: &mut BufWriter<&UnixStream>, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reply)?;
    out.write_all(b"\n")?;
    out.flush()
}

impl Session {
    /// Serves the requests of a client one after the other, until it disconnects.
    fn serve(&self, stream: &UnixStream) {
        let _ = stream.set_write_timeout(Some(WRITE_PATIENCE));
        let mut lines = BufReader::new(stream);
        let mut out = BufWriter::new(stream);
        loop {
            let mut line = Vec::new();
            let most = MOST_REQUEST_BYTES as u64;
            let read = (&mut lines).take(most).read_until(b'\n', &mut line);
            if !matches!(read, Ok(length) if length > 0) {
                return;
            }
            if !line.ends_with(b"\n") && line.len() >= MOST_REQUEST_BYTES {
                let why = format!("a request has more than {MOST_REQUEST_BYTES} bytes");
                let _ = write(&mut out, &Error::new(why).into());
                return;
            }
            let answered = match serde_json::from_slice(&line) {
                Ok(request) => self.answer(request, stream, &mut out),
                Err(error) => write(&mut out, &Error::new(format!("no request: {error}")).into()),
            };
            if answered.is_err() {
                return;
            }
        }
    }

    fn answer(
        &self,
        request: Request,
        stream: &UnixStream,
        out: &mut BufWriter<&UnixStream>,
    ) -> io::Result<()> {
        let reply = match request {
            Request::Status => self.handle.status().map(|status| Reply::Status(Box::new(status))),
            Request::Reload => {
                let reloaded = self.reloader.reload();
                crate::log_reload(&reloaded);
                reloaded.map(Reply::Reloaded)
            }
            Request::Tables => self.tables().map(Reply::Tables),
            Request::Rows(wanted) => {
                match self.send_rows(&wanted, &mut |reply| write(out, &reply)) {
                    Ok(written) => return written,
                    Err(error) => Err(error),
                }
            }
            Request::Change(changes) => self.change(&changes.changes),
            Request::Stop => {
                tracing::info!("stopped through the control socket");
                write(out, &Reply::Stopping {})?;
                let _ = self.handle.ask(Forwarding::stop);
                return Ok(());
            }
            Request::Capture(capture) => match self.start_capture(&capture) {
                Ok(passed) => {
                    let seconds = capture.seconds;
                    return self.pass_on(
                        stream,
                        out,
                        seconds,
                        passed,
                        |c| c.bytes.len(),
                        |caught| {
                            Reply::Packet(Packet {
                                at: caught.point,
                                port: caught.port,
                                arrival_ns: caught.arrival_ns,
                                reason: caught.reason,
                                bytes: hex(&caught.bytes),
                            })
                        },
                    );
                }
                Err(error) => Err(error),
            },
            Request::Trace(trace) => match self.start_trace(&trace) {
                Ok((engine, passed)) => {
                    let mut number = 0;
                    return self.pass_on(
                        stream,
                        out,
                        trace.seconds,
                        passed,
                        |_| 0,
                        |traced| {
                            let program = &engine.program.lowered;
                            let done = traced.machine.map(|machine| {
                                InTheKernel::new(program, &traced.outputs, &machine)
                            });
                            let subject = Subject {
                                program,
                                packet: traced.packet,
                                traced: (traced.trace, traced.outputs),
                                machine: None,
                                is_lost: false,
                                lost_outputs: Vec::new(),
                            };
                            let report = PacketReport::new(
                                engine.file.clone(),
                                number,
                                subject,
                                trace.steps,
                            );
                            number += 1;
                            let mut text = report.text(trace.width.clamp(40, 1000));
                            let mut report = serde_json::to_value(&report).unwrap_or_default();
                            if let Some(done) = done {
                                text += &done.text();
                                report["kernel"] = serde_json::to_value(&done).unwrap_or_default();
                            }
                            Reply::Trace(Traced { text, report })
                        },
                    );
                }
                Err(error) => Err(error),
            },
        };
        write(out, &reply.unwrap_or_else(Reply::from))
    }

    fn start_capture(&self, capture: &Capture) -> Result<Passed<crate::capture::Caught>> {
        let filter = Filter::parse(&capture.filter).map_err(Error::new)?;
        if capture.at.is_empty() {
            return Err(Error::new("a capture has at least one point: in, out, cpu, drop"));
        }
        let (points, packets, bytes) = (capture.at.clone(), capture.packets, capture.bytes);
        if let Some(watching) = &self.watching {
            return watching.capture(points, filter, packets, bytes);
        }
        self.handle.ask(move |forwarding| forwarding.capture(&points, &filter, packets, bytes))?
    }

    fn start_trace(
        &self,
        trace: &Trace,
    ) -> Result<(Arc<crate::engine::RunningProgram>, Passed<crate::capture::Traced>)> {
        let filter = Filter::parse(&trace.filter).map_err(Error::new)?;
        let (count, steps) = (trace.count, if trace.steps == 0 { u64::MAX } else { trace.steps });
        if let Some(watching) = &self.watching {
            return watching.trace(filter, count, steps);
        }
        let ask =
            |forwarding: &mut Forwarding| (Arc::clone(forwarding.engine()), forwarding.cores());
        let (engine, cores) = self.handle.ask(ask)?;
        let lowered = &engine.program.lowered;
        let golden = || ir::store(lowered).map(|store| Golden::new(lowered.clone(), store));
        let golden: Vec<Golden> = (0..cores)
            .map(|_| golden())
            .collect::<Result<_, _>>()
            .map_err(|refused| Error::new(refused.0))?;
        let traced = Arc::clone(&engine);
        let passed = self
            .handle
            .ask(move |forwarding| forwarding.trace(&traced, golden, &filter, count, steps))?;
        let refused = || Error::new("another trace is under way, or the program was just replaced");
        Ok((engine, passed.ok_or_else(refused)?))
    }

    /// Passes all items on to the client, then reports the end.
    fn pass_on<T>(
        &self,
        stream: &UnixStream,
        out: &mut BufWriter<&UnixStream>,
        seconds: u64,
        passed: Passed<T>,
        length: impl Fn(&T) -> usize,
        reply: impl FnMut(T) -> Reply,
    ) -> io::Result<()> {
        let ended = pass_on(stream, out, seconds, &passed, length, reply);
        drop(passed);
        // Ended before the client hears of it, so that the client can start another one.
        match &self.watching {
            Some(watching) => watching.end_unwanted(),
            None => {
                let _ = self.handle.ask(|forwarding| forwarding.end_unwanted());
            }
        }
        write(out, &Reply::Ended(ended?))
    }
}

/// Passes items on until the end, the deadline, or until the client leaves.
fn pass_on<T>(
    stream: &UnixStream,
    out: &mut BufWriter<&UnixStream>,
    seconds: u64,
    passed: &Passed<T>,
    length: impl Fn(&T) -> usize,
    mut reply: impl FnMut(T) -> Reply,
) -> io::Result<Ended> {
    let deadline = Instant::now().checked_add(Duration::from_secs(seconds));
    let left = || match deadline {
        Some(deadline) => deadline.saturating_duration_since(Instant::now()),
        None => LOOK,
    };
    let (mut packets, mut timed_out) = (0, None);
    loop {
        // The deadline ends it even while packets arrive. Packets that already wait are still
        // passed on.
        if timed_out.is_none() && left().is_zero() {
            timed_out = Some(passed.end());
        }
        match passed.next(left().min(LOOK), &length) {
            Next::Item(item) => {
                write(out, &reply(item))?;
                packets += 1;
            }
            Next::End => break,
            Next::Nothing if has_left(stream) => {
                return Err(ErrorKind::BrokenPipe.into());
            }
            Next::Nothing => {}
        }
    }
    let lost = passed.lost();
    Ok(Ended { packets, lost, timed_out: timed_out == Some(true) })
}

/// Whether a client has closed its end.
fn has_left(stream: &UnixStream) -> bool {
    let mut fds = [rustix::event::PollFd::new(stream, rustix::event::PollFlags::empty())];
    // Poll reports a closed end without being asked for it.
    let polled = rustix::event::poll(&mut fds, Some(&rustix::event::Timespec::default()));
    polled.is_ok() && fds[0].revents().contains(rustix::event::PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use crate::capture::passing;

    use super::*;

    #[test]
    fn a_socket_that_took_the_place_of_another_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("control");
        let first = ControlSocket::bind(&path, 0o600).expect("a socket");
        fs::remove_file(&path).expect("it is there");
        let second = ControlSocket::bind(&path, 0o600).expect("a socket");
        drop(first);
        assert!(path.exists(), "it is the second one's");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn packets_that_go_on_coming_do_not_keep_a_capture_from_its_end() {
        const MANY: u64 = 1_000_000;
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let (passing, passed) = passing(16, u64::MAX, u64::MAX);
        let ended = thread::scope(|scope| {
            scope.spawn(|| io::copy(&mut &theirs, &mut io::sink()).expect("read"));
            scope.spawn(move || {
                (0..MANY).take_while(|_| passing.is_wanted()).for_each(|_| passing.pass(0, || ()));
            });
            let mut out = BufWriter::new(&ours);
            let ended = pass_on(&ours, &mut out, 0, &passed, |()| 0, |()| Reply::Stopping {});
            ours.shutdown(std::net::Shutdown::Both).expect("shut down");
            ended.expect("an end")
        });
        assert!(ended.timed_out && ended.packets + ended.lost < MANY, "{ended:?}");
    }
}
