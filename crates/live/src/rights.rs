//! Gives up rights that forwarding no longer needs.

pub use caps::Capability;
use caps::{CapSet, CapsHashSet};
use wireloom_machine::{Error, Result};

use crate::port::{self, Io};

/// Rights for following the kernel: telling it which neighbours are in use.
pub const MIRROR_RIGHTS: [Capability; 1] = [Capability::CAP_NET_ADMIN];

/// Rights for replacing the program, besides [`MIRROR_RIGHTS`]: its files may be in folders of
/// other users.
pub const RELOAD_RIGHTS: [Capability; 1] = [Capability::CAP_DAC_READ_SEARCH];

/// Rights for changing the tables of an engine in the kernel: creating maps.
pub const TABLE_RIGHTS: [Capability; 1] = [Capability::CAP_BPF];

/// Rights for loading an engine into the kernel, besides [`TABLE_RIGHTS`].
pub const KERNEL_RIGHTS: [Capability; 2] = [Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Rights for taking an interface.
const INTERFACE_RIGHTS: [Capability; 3] =
    [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN, Capability::CAP_BPF];

/// Fails if this process lacks rights that its ports need.
///
/// # Errors
/// The error lists all missing rights.
pub fn unless_lacking(ports: &[String], io: Io) -> Result {
    let mut needed = Vec::new();
    for port in ports {
        match (port::kind(port), io) {
            (port::LivePortKind::Interface, Io::Kernel) => {
                needed.extend(TABLE_RIGHTS.into_iter().chain(KERNEL_RIGHTS));
            }
            (port::LivePortKind::Interface, _) => needed.extend(INTERFACE_RIGHTS),
            (port::LivePortKind::Tap, _) => needed.push(Capability::CAP_NET_ADMIN),
            (port::LivePortKind::Capture, _) => {}
        }
    }
    needed.sort_by_key(|right| *right as u8);
    needed.dedup();
    let owned = caps::read(None, CapSet::Effective)
        .map_err(|error| Error::new(format!("the capabilities cannot be read: {error}")))?;
    // CAP_SYS_ADMIN includes the capabilities that were once part of it (capabilities(7)).
    let of_admin = [Capability::CAP_BPF, Capability::CAP_PERFMON];
    let is_owned = |right: &Capability| {
        owned.contains(right)
            || of_admin.contains(right) && owned.contains(&Capability::CAP_SYS_ADMIN)
    };
    let names = |rights: &mut dyn Iterator<Item = &Capability>| {
        rights.map(ToString::to_string).collect::<Vec<_>>()
    };
    let lacking = names(&mut needed.iter().filter(|right| !is_owned(right)));
    if lacking.is_empty() {
        return Ok(());
    }
    let all = names(&mut needed.iter()).join(",").to_lowercase();
    let what = format!("Operation not permitted: the process lacks {}", lacking.join(", "));
    Err(Error::new(what).with_help(format!(
        "run it as root outside user namespaces, or give these to a copy of the command with \
         `setcap {all}+ep`"
    )))
}

/// Gives up every capability of this thread except `kept`, and the ability to gain others by
/// running programs. Capabilities in `kept` that the thread lacks are ignored. Threads that it
/// starts later have no more. Open sockets, devices and BPF links keep working.
///
/// # Errors
/// If the kernel refuses.
pub fn give_up_all_but(kept: &[Capability]) -> Result {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Error::new(format!("giving up capabilities: {what}: {error}"))
    };
    let problem = |error: caps::errors::CapsError| failed("the kernel refuses", &error);
    // SAFETY: plain system call.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(failed("no_new_privs", &std::io::Error::last_os_error()));
    }
    let permitted = caps::read(None, CapSet::Permitted).map_err(problem)?;
    // Dropping capabilities from the bounding set needs a capability too. Without it the set does
    // no harm: no executed program gains anything.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::read(None, CapSet::Bounding).map_err(problem)? {
            if !kept.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability).map_err(problem)?;
            }
        }
    }
    let kept: CapsHashSet =
        kept.iter().copied().filter(|capability| permitted.contains(capability)).collect();
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new()).map_err(problem)?;
    caps::set(None, CapSet::Effective, &kept).map_err(problem)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(problem)
}
