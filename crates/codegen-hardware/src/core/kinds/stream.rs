//! `stream`: network processors do not have it.

use super::kind::KindInHardware;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "stream",
    missing: Some("`stream` keeps the bytes of many packets, for which this machine has no memory"),
    ..KindInHardware::PLAIN
};
