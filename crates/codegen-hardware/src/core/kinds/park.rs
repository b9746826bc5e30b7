//! `park`: network processors do not have it.

use super::kind::KindInHardware;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "park",
    missing: Some("`park` keeps whole packets, for which this machine has no memory"),
    ..KindInHardware::PLAIN
};
