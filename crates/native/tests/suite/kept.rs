//! Checks that repeated builds of an engine come from a cache.
#![cfg(target_os = "linux")]

use crate::support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use wireloom_install::Cache;
use wireloom_native::{BuildOptions, Library};

/// Returns a compiler that logs its calls.
fn noting(folder: &Path) -> String {
    let (script, log) = (folder.join("cc"), folder.join("log"));
    let cc = BuildOptions::default().cc;
    let text = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {cc} \"$@\"\n", log.display());
    fs::write(&script, text).expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    script.to_str().expect("a path").to_owned()
}

#[test]
fn an_engine_is_compiled_once_for_the_same_code_flags_and_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept");
    let cache = Some(Cache::at(&kept));
    let options =
        BuildOptions { cc: noting(folder.path()), cache, counts: true, ..BuildOptions::default() };
    let compiled = || {
        let log = fs::read_to_string(folder.path().join("log")).expect("calls");
        log.lines().filter(|line| line.contains("-shared")).count()
    };
    let program = support::operators(8);
    let build = |options: &BuildOptions| Library::build(&program, options).expect("it is built");
    build(&options);
    build(&options);
    assert_eq!(compiled(), 1);
    // Other code, other flags, no cache.
    build(&BuildOptions { counts: false, ..options.clone() });
    assert_eq!(compiled(), 2);
    build(&BuildOptions { flags: vec!["-O0".to_owned()], ..options.clone() });
    assert_eq!(compiled(), 3);
    build(&BuildOptions { cache: None, ..options.clone() });
    assert_eq!(compiled(), 4);
    // A damaged object is built again.
    for entry in fs::read_dir(&kept).expect("entries").flatten() {
        let object = entry.path().join("engines.so");
        if object.exists() {
            fs::write(object, "damaged").expect("a file");
        }
    }
    build(&options);
    assert_eq!(compiled(), 5);
    build(&options);
    assert_eq!(compiled(), 5);
    // The cache cannot keep the engine, which is built nevertheless.
    let refusing = folder.path().join("refusing");
    fs::create_dir_all(refusing.join(".lock")).expect("a folder in place of the lock");
    fs::set_permissions(&refusing, fs::Permissions::from_mode(0o700)).expect("its mode");
    build(&BuildOptions { cache: Some(Cache::at(&refusing)), ..options });
}
