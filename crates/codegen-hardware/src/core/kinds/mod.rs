//! The offload kinds that hardware treats in a way of their own, one file each. A call of any other
//! kind is a request to a service, whose data are the method and its arguments ([`OffloadPort`]).
//!
//! To treat a kind differently, write its file here and add it to [`KINDS`].
//!
//! [`OffloadPort`]: super::OffloadPort

mod array;
mod checksum;
mod clock;
mod crc;
mod hash;
mod kind;
mod matching;
mod park_in_parts;
mod payload;
mod stream;

pub(super) use self::kind::{Appended, Call, InBody, KindInHardware};

/// All kinds that are treated in a way of their own.
const KINDS: &[&KindInHardware] = &[
    &array::KIND,
    &checksum::KIND,
    &clock::KIND,
    &crc::KIND,
    &hash::KIND,
    &matching::KIND,
    &park_in_parts::KIND,
    &payload::KIND,
    &stream::KIND,
];

/// Returns the treatment of a kind in hardware; `None` if its calls are plain requests to a
/// service.
pub(super) fn find(name: &str) -> Option<&'static KindInHardware> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// Returns how the service of a kind accesses the bodies of packets; `None` if it does not.
pub(super) fn body(name: &str) -> Option<&'static InBody> {
    find(name)?.body
}

/// Returns whether the core computes a method of a kind itself.
pub fn is_inside(kind: &str, method: &str) -> bool {
    find(kind).is_some_and(|kind| (kind.inside)(method).is_some())
}

/// Returns the reason why no hardware can provide a kind, or `None` if some can. The description of
/// a machine says whether that machine does.
pub fn missing(kind: &str) -> Option<&'static str> {
    find(kind)?.missing
}

/// Returns whether a lookup pipeline can call a method of a kind.
pub fn in_pipeline(kind: &str, method: &str) -> bool {
    find(kind).is_some_and(|kind| (kind.in_pipeline)(method))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use wireloom_offloads::sources::named_kinds;
    use wireloom_offloads::{OffloadKind, registry};

    use super::*;

    #[test]
    fn each_kind_is_in_the_registry_and_stands_here_once() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        assert!(names.iter().all(|name| registry::kind(name).is_some()), "{names:?}");
    }

    #[test]
    fn no_code_outside_this_folder_names_a_kind() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let named = named_kinds(&sources, "core/kinds").expect("the sources");
        assert_eq!(named, Vec::<String>::new());
    }

    #[test]
    fn whatever_looks_at_the_packet_has_hardware_that_does_or_is_missing() {
        let in_parts = registry::IN_PARTS;
        let whole = |kind: &&&OffloadKind| !in_parts.iter().any(|(name, _)| *name == kind.name);
        let kinds = registry::KINDS.iter().collect::<Vec<_>>();
        for kind in kinds.iter().filter(whole).copied().chain(in_parts.iter().map(|(_, kind)| kind))
        {
            for method in kind.methods.iter().filter(|m| m.reads_packet || m.writes_packet) {
                let special = find(kind.name).is_some_and(|special| {
                    special.missing.is_some()
                        || special.body.is_some()
                        || (special.inside)(method.name).is_some()
                });
                assert!(special, "{}.{}", kind.name, method.name);
            }
        }
    }
}
