//! The files of the repository that are embedded in the command: machine descriptions, programs and
//! the scripts that install the tools.
//!
//! Names are paths from the root of the repository, such as `machines/np.toml`. The environment
//! variable `WIRELOOM_HOME` can name a folder with the layout of the repository. A file there
//! replaces the embedded file of the same name, and further machine descriptions there are listed
//! with the others.

use std::path::PathBuf;

/// Names and texts, sorted by name.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns the text of a file, or the reason why the user's file of that name cannot be read.
/// Returns `None` if neither file exists.
pub fn find(name: &str) -> Option<Result<String, String>> {
    if let Some(path) = home().map(|home| home.join(name)).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&path);
        return Some(text.map_err(|error| format!("{}: {error}", path.display())));
    }
    built_in(name).map(|text| Ok(text.to_owned()))
}

/// Returns the embedded text of a file, even if the user's folder replaces it.
pub fn built_in(name: &str) -> Option<&'static str> {
    let at = FILES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(FILES[at].1)
}

/// Returns the names, without folder and extension, of the files directly in a folder:
/// `names("machines", "toml")`. The names are sorted and unique.
pub fn names(folder: &str, ending: &str) -> Vec<String> {
    let stem = |file: &str| -> Option<String> {
        let stem = file.strip_suffix(ending)?.strip_suffix('.')?;
        (!stem.is_empty()).then(|| stem.to_owned())
    };
    let embedded = FILES.iter().filter_map(|(name, _)| {
        let file = name.strip_prefix(folder)?.strip_prefix('/')?;
        stem(file).filter(|stem| !stem.contains('/'))
    });
    let entries = home().and_then(|home| std::fs::read_dir(home.join(folder)).ok());
    let own = entries.into_iter().flatten().flatten();
    let own = own.filter(|entry| entry.path().is_file());
    let own = own.filter_map(|entry| stem(entry.file_name().to_str()?));
    let mut names: Vec<String> = embedded.chain(own).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the folder of the user that takes precedence.
fn home() -> Option<PathBuf> {
    std::env::var_os("WIRELOOM_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_so_that_each_is_found() {
        assert!(FILES.is_sorted_by_key(|(name, _)| *name));
        for (name, text) in FILES {
            assert_eq!(built_in(name), Some(*text), "{name}");
        }
        assert_eq!(built_in("machines/none.toml"), None);
    }

    #[test]
    fn what_the_command_needs_is_embedded() {
        for name in [
            "machines/np.toml",
            "programs/accelerators/parts/ipv6_tail.loom",
            "programs/include/forwarding.loom",
            "programs/virtual.loom",
            "hardware/requirements.txt",
            "scripts/hardware-tools.sh",
        ] {
            assert!(built_in(name).is_some(), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_one_folder() {
        let machines = names("machines", "toml");
        assert!(machines.iter().any(|name| name == "mpsoc-oc48"), "{machines:?}");
        let programs = names("programs", "loom");
        assert!(programs.iter().any(|name| name == "router"), "{programs:?}");
        assert!(!programs.iter().any(|name| name.contains("ethernet")), "{programs:?}");
    }
}
