//! The list of all figures.

use super::figure::Figure;
use super::{
    ixp, live, mpsoc, mpsoc_ablation, mpsoc_calls, mpsoc_million, mpsoc_order, mpsoc_partition,
    mpsoc_policies, mpsoc_power, mpsoc_programs, mpsoc_router, mpsoc_smallest, native,
    native_profile, np_arbitration, np_area, np_channels, np_million, np_mixes, np_modules,
    np_pins, np_rig, np_routed, np_search, np_shells, np_sizes, np_storage, np_threads,
    np_throughput, np_units, np_virtual, raw, steps,
};

/// All figures, in the order in which they are shown.
pub const FIGURES: &[Figure] = &[
    steps::FIGURE,
    np_storage::FIGURE,
    np_channels::FIGURE,
    np_throughput::FIGURE_9,
    np_throughput::FIGURE_10,
    np_routed::ENGINES,
    np_routed::CLUSTERS,
    np_shells::FIGURE,
    np_sizes::FIGURE,
    np_mixes::FIGURE,
    np_area::FIGURE_11,
    np_area::FIGURE_12,
    np_modules::FIGURE,
    np_pins::FIGURE,
    np_units::FIGURE,
    np_units::LINE_RATE,
    np_threads::FIGURE,
    np_arbitration::FIGURE,
    np_search::FIGURE,
    np_million::FIGURE,
    np_rig::FIGURE,
    np_virtual::FIGURE,
    mpsoc::FIGURE_3,
    mpsoc::TABLE_1,
    mpsoc_router::FIGURE,
    mpsoc_smallest::FIGURE,
    mpsoc_ablation::FIGURE,
    mpsoc_million::FIGURE,
    mpsoc_calls::FIGURE,
    mpsoc_policies::FIGURE,
    mpsoc_programs::FIGURE,
    mpsoc_partition::FIGURE,
    mpsoc_order::FIGURE,
    mpsoc_power::FIGURE,
    ixp::throughput::FIGURE,
    ixp::ipv4::FIGURE,
    ixp::networks::FIGURE,
    ixp::compiled::FIGURE,
    ixp::idle::FIGURE,
    ixp::power::FIGURE,
    ixp::efficiency::FIGURE,
    ixp::dvs::FIGURE,
    ixp::busy::FIGURE,
    ixp::gating::FIGURE,
    raw::null::FIGURE,
    raw::stages::FIGURE,
    raw::tasks::FIGURE,
    raw::ipv4::FIGURE,
    raw::waits::FIGURE,
    raw::layouts::FIGURE,
    raw::ablations::FIGURE,
    raw::causes::FIGURE,
    raw::cold::FIGURE,
    raw::load::OVERLOAD,
    raw::load::LATENCY,
    raw::queues::FIGURE,
    raw::traffic::FIGURE,
    raw::power::FIGURE,
    raw::sizes::FIGURE,
    raw::engines::FIGURE,
    native::FIGURE,
    native_profile::FIGURE,
    live::FIGURE,
    live::idle::FIGURE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_a_figure_does_not_have_are_refused_with_those_that_it_has() {
        let refused = |name: &str, only: &[&str]| {
            let figure = FIGURES.iter().find(|figure| figure.name == name).expect("a figure");
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            figure.choice.check(name, &only).is_err()
        };
        for (name, only) in [
            ("np-threads", "np-2-2-4"),
            ("np-area", "np-1-1-1"),
            ("np-area-ipv4", "np-16-6-4"),
            ("np-rig", "np-2-2-4"),
            ("np-virtual", "np-2-2-4"),
            ("np-search", "np-2-2-4"),
            ("np-storage", "np-2-2-4"),
            ("np-channels", "np-2-2-4"),
            ("np-units", "np-1-1-1"),
            ("steps", "np-2-2-4"),
            ("np-million", "native"),
            ("live", "native"),
            ("np-throughput-50g", "np-8-4"),
            ("mpsoc-threads", "np-2-2-4"),
            ("mpsoc-router", "np-2-2-4"),
            ("mpsoc-smallest", "mpsoc-oc48"),
            ("mpsoc-ablation", "mpsoc-oc48"),
            ("mpsoc-million", "mpsoc-oc48"),
            ("mpsoc-calls", "mpsoc-oc48"),
            ("mpsoc-partition", "mpsoc-oc48"),
            ("mpsoc-order", "mpsoc-oc48"),
            ("mpsoc-power", "mpsoc-oc48"),
            ("mpsoc-policies", "mpsoc-oc48"),
            ("ixp-throughput", "ixp1200"),
            ("ixp-power", "ixp1200"),
            ("ixp-dvs", "ixp1200"),
            ("ixp-gating", "ixp1200"),
            ("raw-power", "raw-3"),
        ] {
            assert!(refused(name, &[only]), "{name} {only}");
            assert!(!refused(name, &[]), "{name}");
        }
        for (name, only) in [
            ("np-threads", "np-8-2-16"),
            ("np-area", "np-16-6-4"),
            ("np-area-ipv4", "np-8-4-1"),
            ("np-rig", "np-rig-small"),
            ("np-virtual", "8.1.1"),
            ("np-million", "np-2-2-4"),
            ("np-throughput-50g", "np-200mpps"),
            ("np-arbitration", "np-2-2-4"),
            ("mpsoc-router", "mpsoc-oc48"),
        ] {
            assert!(!refused(name, &[only]), "{name} {only}");
        }
        assert!(refused("np-arbitration", &["np-2-2-4", "np-1-1-1"]));
    }
}
