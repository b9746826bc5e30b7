//! Header windows in local memory.

use crate::agreed::{agree_on, agree_with, noise, own_program};
use wireloom_ixp::Spec;
use wireloom_machine::Configured;

#[test]
fn windows_in_local_memory_and_in_frames_hold_what_they_do_on_golden() {
    let program = own_program("windows");
    let packets = noise(61, 600);
    agree_with(&program, &[], &packets);
    // The chip's control stores have room for all steps, so windows are in local memory.
    let spec = Spec::installed("ixp2800").unwrap_or_else(|error| panic!("{error}"));
    let microcode = spec.generate(&program).unwrap_or_else(|error| panic!("{}", error.message));
    assert!(microcode[0].1.contains("#define WINDOW_BASE"));
    agree_on(spec, &program, &[], &packets);
}
