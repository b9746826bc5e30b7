//! Checks who else could write to a folder. Nothing is loaded from a place that another user could
//! have changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mode bits.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The superuser, who can write everywhere.
const ROOT: u32 = 0;

/// Returns why a folder is not only the user's: another user owns it or can write to it. A folder
/// that can be looked up but not read counts as another user's.
pub(crate) fn fault(folder: &Path) -> Option<String> {
    let about = match fs::metadata(folder) {
        Ok(about) => about,
        Err(error) => return Some(format!("it cannot be examined: {error}")),
    };
    let uid = user();
    if about.uid() != uid {
        return Some(format!("it belongs to user {}, and this is user {uid}", about.uid()));
    }
    let mode = about.mode() & 0o7777;
    let open = about.mode() & OTHERS_WRITE != 0 || group_writes(&about);
    open.then(|| format!("other users can write to it (mode {mode:04o}): run `chmod go-w` on it"))
}

/// Returns why another user could replace a folder: the first folder above it that others can
/// change. In a folder where everybody can write, such as `/tmp`, the sticky bit protects each
/// user's entries.
pub(crate) fn fault_above(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().skip(1).find_map(|above| {
        let about = fs::metadata(above).ok()?;
        let mode = about.mode() & 0o7777;
        let why = if about.uid() != ROOT && about.uid() != user() {
            format!("belongs to user {}", about.uid())
        } else if mode & STICKY == 0 && (mode & OTHERS_WRITE != 0 || group_writes(&about)) {
            format!("can be written by other users (mode {mode:04o}): run `chmod go-w` on it")
        } else {
            return None;
        };
        Some(format!("{} {why}", above.display()))
    })
}

/// Returns the folder or its first parent in which every user can replace the files of others.
pub(crate) fn open_to_all(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let open = |folder: &&Path| {
        let mode = fs::metadata(folder).map_or(0, |about| about.mode());
        mode & OTHERS_WRITE != 0 && mode & STICKY == 0
    };
    let found = folder.ancestors().find(open)?;
    Some(format!("everybody can write to {}", found.display()))
}

/// Returns whether a folder belongs to the user or to root, and no other user can write to it.
pub(crate) fn is_safe(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|about| {
        [ROOT, user()].contains(&about.uid())
            && about.mode() & OTHERS_WRITE == 0
            && !group_writes(&about)
    })
}

/// Returns the effective user of the process.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns whether group members other than the user can write. Many distributions give each user a
/// private group with the user's name and no other member; such a group does not count.
fn group_writes(about: &Metadata) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    about.mode() & GROUP_WRITES != 0
        && about.gid() != ROOT
        && !is_private(about.gid(), user(), &read("/etc/passwd"), &read("/etc/group"))
}

/// Returns whether a group belongs to one user alone, by the lists of users and groups.
fn is_private(gid: u32, uid: u32, users: &str, groups: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let users: Vec<Vec<String>> = users.lines().map(fields).filter(|user| user.len() > 3).collect();
    let groups: Vec<Vec<String>> =
        groups.lines().map(fields).filter(|group| group.len() > 3).collect();
    let Some(user) = users.iter().find(|user| user[2] == uid.to_string()) else { return false };
    let shared = users.iter().any(|other| other[3] == gid.to_string() && other[0] != user[0]);
    let own = groups.iter().find(|group| group[2] == gid.to_string());
    let alone = |group: &Vec<String>| {
        group[0] == user[0]
            && group[3].split(',').all(|member| member.is_empty() || member == user[0])
    };
    !shared && own.is_some_and(alone)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_group_is_private_if_nobody_else_is_in_it() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:ann\nusers:x:100:\n";
        assert!(is_private(1000, 1000, users, groups));
        assert!(!is_private(1001, 1001, users, groups), "ann is in bob's group");
        assert!(!is_private(100, 1000, users, groups), "the group has another name");
        assert!(!is_private(1000, 1002, users, groups), "the user is not listed");
        let shared = users.replace("1001:1001", "1001:1000");
        assert!(!is_private(1000, 1000, &shared, groups), "bob's group is ann's");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_at_fault() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(fault(folder.path()), None);
        assert!(is_safe(folder.path()));
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        assert!(fault(folder.path()).expect("a fault").contains("0777"));
        assert!(!is_safe(folder.path()));
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).expect("a folder");
        assert!(fault_above(&inside).is_some() && open_to_all(&inside).is_some());
        let sticky = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(folder.path(), sticky).expect("it is ours");
        assert!(fault_above(&inside).is_none() && open_to_all(&inside).is_none());
    }
}
