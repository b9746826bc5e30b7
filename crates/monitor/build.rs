//! Embeds the page of the monitor, if `make page` has built it. A build without npm works too; its
//! monitor then says how to build the page.

use std::path::Path;
use std::{env, fs};

const MISSING: &str = "<!doctype html><title>Wireloom monitor</title><p>This build of Wireloom has \
no monitor page. Run <code>make page</code> (it needs npm), then build again. \
<code>wireloom debug</code> works without it.</p>\n";

fn main() {
    let built = Path::new("page/dist/page.html");
    // The folder changes when the page is built for the first time.
    let watched = if built.exists() { "page/dist/page.html" } else { "page" };
    println!("cargo::rerun-if-changed={watched}");
    let page = fs::read_to_string(built).unwrap_or_else(|_| MISSING.to_owned());
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("page.html"), page).expect("the build folder can be written");
}
