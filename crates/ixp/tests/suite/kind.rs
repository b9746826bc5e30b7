//! The machine kind: descriptions, and refused engines.

use std::path::Path;

use wireloom_description::Description;
use wireloom_ixp::{KIND, Spec};
use wireloom_machine::{Configured, Options, Source, load_store};

#[test]
fn engines_are_refused_with_step_and_offload() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/flowcount.loom");
    let program = Source::of(file).compiled().unwrap_or_else(|error| panic!("{error}"));
    let small = "extends = \"ixp1200\"\n[sdram]\nbytes = 67108864";
    let small = Description::parse("small", small).expect("a description");
    let machine = KIND.configure("small", small).expect("a machine");
    let refusals = machine.refusals(&program);
    let refused = refusals.iter().find(|refusal| refusal.offload.as_deref() == Some("flows"));
    let step = refused.and_then(|refusal| refusal.step.as_deref());
    assert_eq!(step, Some("count"), "{refusals:?}");
    let (store, _) = load_store(&program.optimised, &[], &|_| ()).expect("a store");
    let error = machine.start(&program, store, &Options::default(), &|_| ()).err();
    let message = error.expect("it is refused").message;
    assert!(message.contains("does not fit"), "{message}");
    for name in ["ixp1200", "ixp2400", "ixp2800"] {
        let spec = Spec::installed(name).expect("a machine");
        assert_eq!(spec.refusals(&program), [], "{name}");
    }
}

#[test]
fn a_machine_says_settings_that_make_the_same_machine() {
    let description = Description::built_in("ixp1200");
    let machine = KIND.configure("ixp1200", description.clone()).expect("a machine");
    let settings = machine.settings().expect("settings");
    assert_eq!(settings.keys().len(), description.table.keys().len());
    let again = Description { table: settings, own: Vec::new() };
    let again = Spec::build("ixp1200", again).expect("the same machine");
    assert_eq!(again, Spec::base());
}
