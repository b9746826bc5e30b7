//! The files that the programs of programs/raw include.

/// The names and texts of the files.
const PARTS: &[(&str, &str)] = &[
    (
        "parts/buffers-columns.rasm",
        include_str!("../../../../programs/raw/parts/buffers-columns.rasm"),
    ),
    ("parts/check.rasm", include_str!("../../../../programs/raw/parts/check.rasm")),
    ("parts/columns.rasm", include_str!("../../../../programs/raw/parts/columns.rasm")),
    ("parts/constants.rasm", include_str!("../../../../programs/raw/parts/constants.rasm")),
    (
        "parts/count-lines-more.rasm",
        include_str!("../../../../programs/raw/parts/count-lines-more.rasm"),
    ),
    ("parts/count-lines.rasm", include_str!("../../../../programs/raw/parts/count-lines.rasm")),
    (
        "parts/count-long-lines-more.rasm",
        include_str!("../../../../programs/raw/parts/count-long-lines-more.rasm"),
    ),
    (
        "parts/count-long-lines.rasm",
        include_str!("../../../../programs/raw/parts/count-long-lines.rasm"),
    ),
    (
        "parts/count-none-more.rasm",
        include_str!("../../../../programs/raw/parts/count-none-more.rasm"),
    ),
    ("parts/count-none.rasm", include_str!("../../../../programs/raw/parts/count-none.rasm")),
    (
        "parts/count-words-more.rasm",
        include_str!("../../../../programs/raw/parts/count-words-more.rasm"),
    ),
    ("parts/count-words.rasm", include_str!("../../../../programs/raw/parts/count-words.rasm")),
    (
        "parts/decision-begin.rasm",
        include_str!("../../../../programs/raw/parts/decision-begin.rasm"),
    ),
    ("parts/decision-kept.rasm", include_str!("../../../../programs/raw/parts/decision-kept.rasm")),
    ("parts/decision.rasm", include_str!("../../../../programs/raw/parts/decision.rasm")),
    ("parts/drain-11.rasm", include_str!("../../../../programs/raw/parts/drain-11.rasm")),
    ("parts/drain-3.rasm", include_str!("../../../../programs/raw/parts/drain-3.rasm")),
    ("parts/drop-kept.rasm", include_str!("../../../../programs/raw/parts/drop-kept.rasm")),
    ("parts/drop-none.rasm", include_str!("../../../../programs/raw/parts/drop-none.rasm")),
    ("parts/forward.rasm", include_str!("../../../../programs/raw/parts/forward.rasm")),
    ("parts/full-discard.rasm", include_str!("../../../../programs/raw/parts/full-discard.rasm")),
    ("parts/full-stall.rasm", include_str!("../../../../programs/raw/parts/full-stall.rasm")),
    ("parts/head-pair.rasm", include_str!("../../../../programs/raw/parts/head-pair.rasm")),
    ("parts/head-rest.rasm", include_str!("../../../../programs/raw/parts/head-rest.rasm")),
    ("parts/head-told.rasm", include_str!("../../../../programs/raw/parts/head-told.rasm")),
    ("parts/head.rasm", include_str!("../../../../programs/raw/parts/head.rasm")),
    ("parts/line-drop.rasm", include_str!("../../../../programs/raw/parts/line-drop.rasm")),
    ("parts/line-keep.rasm", include_str!("../../../../programs/raw/parts/line-keep.rasm")),
    ("parts/load-17.rasm", include_str!("../../../../programs/raw/parts/load-17.rasm")),
    ("parts/lookup.rasm", include_str!("../../../../programs/raw/parts/lookup.rasm")),
    ("parts/queue-give-10.rasm", include_str!("../../../../programs/raw/parts/queue-give-10.rasm")),
    ("parts/queue-give-18.rasm", include_str!("../../../../programs/raw/parts/queue-give-18.rasm")),
    ("parts/queue-take-10.rasm", include_str!("../../../../programs/raw/parts/queue-take-10.rasm")),
    ("parts/queue-take-18.rasm", include_str!("../../../../programs/raw/parts/queue-take-18.rasm")),
    ("parts/queue.rasm", include_str!("../../../../programs/raw/parts/queue.rasm")),
    ("parts/ring.rasm", include_str!("../../../../programs/raw/parts/ring.rasm")),
    ("parts/send-16.rasm", include_str!("../../../../programs/raw/parts/send-16.rasm")),
    ("parts/send-8.rasm", include_str!("../../../../programs/raw/parts/send-8.rasm")),
    ("parts/store-17.rasm", include_str!("../../../../programs/raw/parts/store-17.rasm")),
    ("parts/store-lines.rasm", include_str!("../../../../programs/raw/parts/store-lines.rasm")),
    ("parts/store-stream.rasm", include_str!("../../../../programs/raw/parts/store-stream.rasm")),
    ("parts/streamed.rasm", include_str!("../../../../programs/raw/parts/streamed.rasm")),
    ("parts/take-16.rasm", include_str!("../../../../programs/raw/parts/take-16.rasm")),
    ("parts/take-8.rasm", include_str!("../../../../programs/raw/parts/take-8.rasm")),
];

/// Returns the text of a file that the programs of programs/raw include.
///
/// # Errors
/// If there is no such file.
pub fn part(name: &str) -> Result<String, String> {
    let found = PARTS.iter().find(|part| part.0 == name);
    found.map(|part| part.1.to_owned()).ok_or_else(|| "programs/raw has no such part".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_here() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/raw/parts");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("parts/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        names.sort();
        assert!(names.iter().eq(PARTS.iter().map(|part| part.0)));
    }
}
