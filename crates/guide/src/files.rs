//! The embedded files, by their paths from the root of the repository.

use std::io::Read;

use flate2::read::DeflateDecoder;
use wireloom_install::embedded;

/// Names and compressed contents, sorted by name. Files without contents are in `wireloom-install`.
const FILES: &[(&str, Option<&[u8]>)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Returns the contents of a file, such as `docs/language.md` or `programs/router.loom`. Returns
/// `None` if no file of that name is embedded.
pub fn read(name: &str) -> Option<Vec<u8>> {
    let at = FILES.binary_search_by_key(&name, |(name, _)| name);
    let Some(packed) = at.ok().and_then(|at| FILES[at].1) else {
        return embedded::built_in(name).map(|text| text.as_bytes().to_vec());
    };
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut bytes).expect("it was compressed by the build");
    Some(bytes)
}

/// Returns the text of a file. Returns `None` if no file of that name is embedded, or if it is not
/// text.
pub fn text(name: &str) -> Option<String> {
    String::from_utf8(read(name)?).ok()
}

/// Returns whether a file is embedded.
pub fn is_there(name: &str) -> bool {
    FILES.binary_search_by_key(&name, |(name, _)| name).is_ok()
        || embedded::built_in(name).is_some()
}

/// Returns the names of the files of the documentation and of examples, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Resolves a relative path in a file to a path from the root of the repository. Returns `None` if
/// the path leads outside.
pub(crate) fn resolved(file: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_that_of_the_repository() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert!(names().is_sorted());
        assert!(names().count() > 200, "{} files", names().count());
        for name in names().chain(["programs/router.loom", "machines/np.toml"]) {
            let expected = std::fs::read(root.join(name)).expect("a file of the repository");
            assert!(is_there(name) && read(name) == Some(expected), "{name}");
        }
        assert!(!is_there("docs/none.md") && read("docs/none.md").is_none());
    }
}
