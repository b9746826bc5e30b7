//! Names of source files in generated text. They must not depend on the folder of the sources.

use wireloom_ir::{Loc, Program};

/// Returns the shortest suffix of a file's path that no other path has. If the path is itself a
/// suffix of another one, returns the path without its leading slash.
pub fn short_name(files: &[String], number: usize) -> &str {
    let Some(file) = files.get(number) else { return "" };
    let has_end = |path: &str, end: &str| {
        path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let mut ends = file.rmatch_indices('/').map(|(at, _)| &file[at + 1..]);
    let is_own = |end: &&str| !files.iter().any(|path| path != file && has_end(path, end));
    ends.find(is_own).unwrap_or(file.trim_start_matches('/'))
}

/// Returns the short names of all files.
pub fn short_names(files: &[String]) -> impl Iterator<Item = &str> {
    (0..files.len()).map(|number| short_name(files, number))
}

/// Returns a source location as `FILE:LINE`, with the file's short name; `None` if the location is
/// unknown.
pub fn short_place(program: &Program, loc: Loc) -> Option<String> {
    let file = short_name(&program.files, loc.file as usize);
    (loc.line > 0 && !file.is_empty()).then(|| format!("{file}:{}", loc.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_depends_on_no_folder_above_the_files() {
        let names = |above: &str| {
            let files = ["a/x.loom", "a/y.loom", "b/y.loom"].map(|file| format!("{above}{file}"));
            short_names(&files).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(names("/home/someone/"), ["x.loom", "a/y.loom", "b/y.loom"]);
        assert_eq!(names("/tmp/"), names("/home/someone/"));
    }

    #[test]
    fn no_short_name_is_an_absolute_path() {
        let names = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            short_names(&files).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(names(&["/a/x", "/b/a/x"]), ["a/x", "b/a/x"]);
        assert_eq!(names(&["/x", "/a/x"]), ["x", "a/x"]);
        assert_eq!(names(&["a/x", "/b/a/x"]), ["a/x", "b/a/x"]);
        assert_eq!(names(&["/a/x", "/a/x"]), ["x", "x"]);
        assert_eq!(names(&["x"]), ["x"]);
    }
}
