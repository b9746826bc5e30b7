//! `array`: lookup pipelines read arrays as memories.

use super::kind::KindInHardware;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "array",
    in_pipeline: |method| method == "read",
    ..KindInHardware::PLAIN
};
