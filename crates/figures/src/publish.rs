//! Publishes measurements: writes docs/figures, the numbers and tables of pages, and images.

use std::path::{Path, PathBuf};

use wireloom_console::output::write_file;
use wireloom_machine::Result;

use super::figure::{Drawn, Figure};
use super::pages::{Store, page, pages};
use super::store::{Class, Cost, Provenance, Stored};
use super::values::Values;
use super::{BENCHMARKS, Measurement, overview};

/// The compiler of native code.
const COMPILER: &str = "cc";

/// Figures whose numbers depend on the computer.
pub const MEASURED: &[&str] = &["native", "live", "live-idle"];

/// The class of a figure: whether its numbers depend on the computer.
pub fn class(figure: &Figure) -> Class {
    if MEASURED.contains(&figure.name) { Class::Host } else { Class::Exact }
}

/// Stores the numbers of a figure in docs/figures of a checkout, and redraws its image if the
/// documentation has one.
///
/// # Errors
/// If a file cannot be written.
pub fn figure(root: &Path, figure: &Figure, drawn: &Drawn) -> Result {
    let class = class(figure);
    let stored = Stored {
        command: format!("wireloom bench {}", figure.name),
        built: figure.kept.built.to_owned(),
        class,
        cost: figure.kept.cost,
        measured: Provenance::now(root, class, figure.kept.tools),
        values: figure.values(drawn)?,
    };
    stored.write(root, figure.name)?;
    image(root, figure.name, &drawn.svg)
}

/// Stores the numbers of a benchmark in docs/figures of a checkout.
///
/// # Errors
/// If a file cannot be written.
pub fn benchmark(root: &Path, measurement: &Measurement) -> Result {
    let stored = Stored {
        command: format!("wireloom bench {}", measurement.name),
        built: measurement.what.to_owned(),
        class: Class::Host,
        cost: Cost::Dear,
        measured: Provenance::now(root, Class::Host, &[COMPILER]),
        values: measurement.values()?,
    };
    stored.write(root, measurement.name)
}

/// Draws the overview of the benchmarks from docs/figures, so that it agrees with the pages,
/// whichever benchmarks were measured last.
///
/// # Errors
/// If a file of docs/figures has no median.
pub fn kept_overview(store: &Store) -> Result<String> {
    let kept =
        BENCHMARKS.iter().filter_map(|benchmark| Some((benchmark, store.of(benchmark.name).ok()?)));
    let kept = kept.map(|(benchmark, Stored { values, .. })| {
        let samples = ["least", "median", "most"].map(|key| values.get(key));
        Ok(benchmark.measurement(samples.into_iter().collect::<Result<_>>()?))
    });
    Ok(overview(&kept.collect::<Result<Vec<Measurement>>>()?))
}

/// Rewrites the numbers and tables of all pages and the overview of the benchmarks, and returns the
/// changed pages.
///
/// # Errors
/// If a page names an unknown number or table, or cannot be read or written.
pub fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let store = Store::read(root)?;
    let mut changed = Vec::new();
    for path in pages(root)? {
        let (text, written) = page(&store, &path)?;
        if written != text {
            write_file(&path, written.as_bytes())?;
            changed.push(path);
        }
    }
    let overview = image_path(root, "bench");
    if overview.exists() {
        write_file(&overview, kept_overview(&store)?.as_bytes())?;
    }
    Ok(changed)
}

/// The path of a figure's image in the documentation.
pub fn image_path(root: &Path, name: &str) -> PathBuf {
    root.join("docs/images").join(format!("{name}.svg"))
}

fn image(root: &Path, name: &str, svg: &str) -> Result {
    let path = image_path(root, name);
    if path.exists() { write_file(&path, svg.as_bytes()) } else { Ok(()) }
}

impl Figure {
    /// The numbers of the figure that docs/figures keeps.
    ///
    /// # Errors
    /// If two have the same key.
    pub fn values(&self, drawn: &Drawn) -> Result<Values> {
        Values::of(&drawn.data, self.kept.names, self.kept.skip)
    }
}

impl Measurement {
    /// The numbers of the benchmark that docs/figures keeps: median, least, greatest, and goal.
    ///
    /// # Errors
    /// None in practice: the keys differ.
    pub fn values(&self) -> Result<Values> {
        let mut values = Values::default();
        values.set("median", self.median)?;
        values.set("least", self.least)?;
        values.set("most", self.greatest)?;
        self.goal.map_or(Ok(()), |goal| values.set("goal", goal))?;
        Ok(values)
    }
}
