//! Helpers that the tests of this crate share.

use std::path::{Path, PathBuf};

const PYASN: &str = "pyasn/usr/lib/python3/dist-packages/data";
const PATHSPIDER: &str = "pathspider/usr/lib/python3/dist-packages/pathspider/tests/data";

fn data(folder: &str, file: &str) -> PathBuf {
    let root = std::env::var_os("WIRELOOM_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/data"),
        PathBuf::from,
    );
    let path = root.join(folder).join(file);
    assert!(
        path.exists(),
        "{} is missing: run `make data` to fetch the real captures and tables",
        path.display()
    );
    path
}

/// Returns the path of a table in the Debian package python3-pyasn.
pub fn table(file: &str) -> PathBuf {
    data(PYASN, file)
}

/// Returns the path of a capture in the Debian package pathspider.
pub fn capture(file: &str) -> PathBuf {
    data(PATHSPIDER, file)
}

/// Returns the paths of all captures of that package.
pub fn captures() -> Vec<PathBuf> {
    let folder = capture("real.pcap").parent().expect("a file has a folder").to_owned();
    let entries = std::fs::read_dir(folder).expect("the folder of captures can be listed");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "pcap"));
    paths.sort();
    paths
}
