//! Tables from files: real, hand-made and broken ones.

use crate::common;

use std::fs;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use wireloom_net::tables::{
    Family, Key, Literal, SourceKind, TableError, TableFile, read_prefixes, read_routes,
};

fn file(text: &str) -> Result<TableFile, TableError> {
    TableFile::from_text(Path::new("t.tables"), text)
}

/// Returns entries as text: `table: key fields`.
fn entries(mut file: TableFile) -> Result<Vec<String>, TableError> {
    let mut out = Vec::new();
    file.drain(&mut |entry| {
        let fields: Vec<_> =
            entry.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let key = match entry.key {
            Key::Prefix { value, length } => format!("{value}/{length}"),
            Key::Scalar(value) => value.to_string(),
            Key::Fields(fields) => format!("{fields:?}"),
        };
        out.push(format!("{}:{} {key} {}", entry.table, entry.line, fields.join(" ")));
        Ok(())
    })?;
    Ok(out)
}

/// Returns routes of a file, up to `limit`, as `PREFIX ASN`, and the result of reading.
fn routes(kind: SourceKind, path: &Path, limit: usize) -> (Vec<String>, Result<(), TableError>) {
    let mut out = Vec::new();
    let end = read_routes(kind, path, &mut |route| {
        out.push(format!("{} {}", route.prefix.expect("a prefix"), route.asn));
        if out.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (out, end)
}

#[test]
fn the_internet_of_2015_has_its_prefixes() {
    let path = common::table("ipasn6_20151101.dat.gz");
    let prefixes = read_prefixes(&path).expect("well-formed");
    let v4 = prefixes.iter().filter(|p| p.family() == Family::V4).count();
    assert_eq!((v4, prefixes.len() - v4), (606_138, 27_693));
}

#[test]
fn the_internet_of_2014_has_its_prefixes_and_origins() {
    let path = common::table("ipasn_20140513.dat.gz");
    let (routes, end) = routes(SourceKind::Pyasn, &path, usize::MAX);
    assert_eq!((routes.len(), end), (512_621, Ok(())));
    assert_eq!(routes[0], "1.0.0.0/24 15169");
}

#[test]
fn an_import_gives_its_fields_by_arithmetic() {
    let table = common::table("ipasn6_20151101.dat.gz");
    let text = format!(
        "table routes\nimport pyasn \"{0}\" family=4 limit=2 port=(asn % 16) class=(length * 10 + index)\n\
         table routes6\nimport pyasn \"{0}\" family=6 limit=1 = asn\n",
        table.display()
    );
    assert_eq!(
        entries(file(&text).expect("well-formed")),
        Ok(vec![
            "routes:2 1.0.0.0/24 port=1 class=240".to_owned(),
            "routes:2 1.0.4.0/24 port=11 class=241".to_owned(),
            "routes6:4 2001::/32 =6939".to_owned(),
        ])
    );
}

/// The samples hold the first megabyte of a compressed dump, so their ends are truncated. The
/// expected values come from pyasn's own converter (`mrtx.py`) for the same records, except for two
/// of its choices: it omits the default route, and if the origin is a private AS it takes the AS
/// before it.
#[test]
fn real_dumps_give_the_origins_that_pyasn_finds() {
    for (name, count, first, last, sum) in MRT_SAMPLES {
        let (routes, end) = routes(SourceKind::Mrt, &common::table(name), usize::MAX);
        assert_eq!(routes.len(), *count, "{name}");
        assert_eq!((routes[0].as_str(), routes[count - 1].as_str()), (*first, *last), "{name}");
        let origin =
            |route: &String| route.split(' ').nth(1).and_then(|asn| asn.parse::<u64>().ok());
        assert_eq!(routes.iter().filter_map(origin).sum::<u64>(), *sum, "{name}");
        let error = end.expect_err("the sample is truncated");
        assert!(error.offset.is_some_and(|o| o > 9_000_000), "{error}");
        assert!(error.what.starts_with("the compressed file is truncated"), "{error}");
    }
}

/// Name, number of prefixes, first and last prefix with their origins, and the sum of all origins.
/// First TABLE_DUMP, then twice TABLE_DUMP_V2.
const MRT_SAMPLES: &[(&str, usize, &str, &str, u64)] = &[
    ("rib.20080501.0644_firstMB.bz2", 3507, "0.0.0.0/0 3561", "12.226.44.0/22 6478", 50_407_437),
    ("rib.20140523.0600_firstMB.bz2", 9072, "0.0.0.0/0 16637", "12.167.138.0/24 2386", 292_395_358),
    ("rib6.20151101.0600_firstMB.bz2", 6870, "2001::/32 1101", "2401:be00::/32 55466", 217_692_278),
];

/// Builds a record of `TABLE_DUMP_V2` for an IPv4 prefix, with an entry for each path of one AS.
fn rib_record(prefix: &[u8], bits: u8, origins: &[u8], additional_paths: bool) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1, bits];
    body.extend(prefix);
    body.extend((origins.len() as u16).to_be_bytes());
    for &asn in origins {
        body.extend([0; 6]); // peer, time
        body.extend(vec![0; if additional_paths { 4 } else { 0 }]);
        body.extend([0, 9, 0x40, 2, 6, 2, 1, 0, 0, 0, asn]);
    }
    let mut record = vec![0, 0, 0, 0, 0, 13, 0, if additional_paths { 8 } else { 2 }];
    record.extend((body.len() as u32).to_be_bytes());
    record.extend(body);
    record
}

/// A record has no entries if no peer has a route to the prefix (RFC 6396, section 4.3.2).
#[test]
fn a_record_without_entries_is_no_route() {
    for additional_paths in [false, true] {
        let dump = [
            rib_record(&[9], 8, &[], additional_paths),
            rib_record(&[10], 8, &[7, 8], additional_paths),
            rib_record(&[10, 64], 10, &[], additional_paths),
            rib_record(&[11], 8, &[9], additional_paths),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rib");
        fs::write(&path, dump.concat()).expect("writes");
        let (found, end) = routes(SourceKind::Mrt, &path, usize::MAX);
        assert_eq!(
            (found, end.is_ok()),
            (vec!["10.0.0.0/8 7".to_owned(), "11.0.0.0/8 9".to_owned()], true)
        );
        fs::write(&path, &dump[0]).expect("writes");
        let (found, end) = routes(SourceKind::Mrt, &path, usize::MAX);
        assert_eq!((found.len(), end.is_ok()), (0, true));
    }
}

#[test]
fn a_file_without_an_end_that_is_no_dump_is_refused() {
    let (routes, end) = routes(SourceKind::Mrt, Path::new("/dev/zero"), usize::MAX);
    assert_eq!(routes, Vec::<String>::new());
    let error = end.expect_err("zeros are no records");
    assert!(error.what.starts_with("a record has type 0"), "{error}");
}

#[test]
fn a_limit_makes_do_with_the_beginning_of_a_dump() {
    let text = format!(
        "table r\nimport mrt \"{}\" limit=100 port=(asn % 4)\n",
        common::table(MRT_SAMPLES[0].0).display()
    );
    assert_eq!(entries(file(&text).expect("well-formed")).map(|e| e.len()), Ok(100));
}

#[test]
fn imports_are_relative_to_the_table_file_and_errors_name_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.tables");
    fs::write(folder.path().join("good.txt"), "10.0.0.0/8\n\n# comment\n2001:db8::/32 # too\n")
        .expect("writes");
    fs::write(folder.path().join("bad.dat"), "; comment\n10.0.0.0/8\t1\n10.0.0.0/8 x\n")
        .expect("writes");
    fs::write(
        &path,
        "table r\nimport prefixes \"good.txt\" = (index)\nimport pyasn \"bad.dat\" = (asn)\n",
    )
    .expect("writes");
    let mut table = TableFile::open(&path).expect("well-formed itself");
    let mut seen = 0;
    let error = table
        .drain(&mut |_| {
            seen += 1;
            Ok(())
        })
        .expect_err("bad.dat is malformed");
    assert_eq!(seen, 3);
    assert_eq!(
        error.to_string(),
        format!(
            "{}:3: after the prefix there is no AS number (imported at {}:3)",
            folder.path().join("bad.dat").display(),
            path.display()
        )
    );
}

#[test]
fn what_is_in_a_file_that_is_no_list_is_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    for (content, kind) in [
        ("root:x:0:0:root:/root:/bin/bash\n", "prefixes"),
        ("root:x:0:0:root:/root:/bin/bash\n", "pyasn"),
        ("10.0.0.0/8 root\n", "pyasn"),
        ("10.0.0.0/8 root\n", "prefixes"),
        ("10.0.0.0/8 12 root\n", "pyasn"),
    ] {
        std::fs::write(&secret, content).expect("a file");
        let path = folder.path().join("t.tables");
        let text = format!("table a\nimport {kind} \"secret\" port=1\n");
        std::fs::write(&path, text).expect("a file");
        let mut table = TableFile::open(&path).expect("it is there");
        let error = table.drain(&mut |_| Ok(())).expect_err("no list").to_string();
        assert!(error.contains("secret:1:") && !error.contains("root"), "{error}");
    }
}

#[test]
fn what_the_visitor_refuses_is_an_error_at_the_line() {
    let mut table = file("table a\n1 = 1\n2 = 2\n").expect("well-formed");
    let error = table
        .drain(&mut |entry| if entry.line == 3 { Err("no".to_owned()) } else { Ok(()) })
        .expect_err("refused");
    assert_eq!(error.to_string(), "t.tables:3: no");
}

#[test]
fn malformed_files_are_refused_at_their_line() {
    for (text, expected) in [
        ("1 = 1\n", "t.tables:1: an entry before the first `table NAME`"),
        ("table a\n\n10.0.0.0/8\n", "t.tables:3: the value is missing"),
        (
            "table a\nimport mrt \"x\" port=(asm)\n",
            "t.tables:2: there is no variable `asm` here; there are index, length, asn",
        ),
    ] {
        let error = file(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("binary.tables");
    fs::write(&path, b"table a\n\xff\xfe\n").expect("writes");
    let error = TableFile::open(&path).expect_err("not text");
    assert_eq!(error.line, Some(2));
}

#[test]
fn prefixes_are_found_in_every_kind_of_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("writes");
        path
    };
    let list = write("list", b"# mine\n10.0.0.0/8\n");
    let pyasn = write("pyasn", b"10.0.0.0/8\t5\n");
    let table =
        write("table", b"# mine\ntable a\n10.0.0.0/8 = 1\n7 = 2\nimport prefixes \"list\" = 3\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"; x\n10.0.0.0/8\t5\n").expect("compresses");
    let gzip = write("gzip", &gzip.finish().expect("compresses"));
    let count = |path: &Path| read_prefixes(path).map(|p| p.len());
    assert_eq!([&list, &pyasn, &gzip].map(|p| count(p)), [Ok(1), Ok(1), Ok(1)]);
    assert_eq!(count(&table), Ok(2));
    assert!(
        count(&common::table(MRT_SAMPLES[0].0)).is_err(),
        "the sample is an MRT dump, and truncated"
    );
    assert!(count(&write("garbage", &[0x80; 100])).is_err());
}

#[test]
fn a_dump_of_updates_is_told_from_one_of_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("updates");
    // Two records of type BGP4MP (RFC 6396 section 4.4), each with four bytes.
    fs::write(&path, [0, 0, 0, 1, 0, 16, 0, 4, 0, 0, 0, 4, 1, 2, 3, 4].repeat(2)).expect("writes");
    let error = read_prefixes(&path).expect_err("no prefixes");
    assert!(error.what.contains("no RIB records, only 2 of other types"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_any_text_file() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text, count) in [
        ("table", "table r\n10.0.0.0/8 = 1\n", 1),
        ("list", "10.0.0.0/8\n10.0.0.0/9\n", 2),
        ("pyasn", "10.0.0.0/8\t1\n", 1),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, format!("\u{feff}{text}")).expect("writes");
        assert_eq!(read_prefixes(&path).map(|prefixes| prefixes.len()), Ok(count), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_running_kernel_has_a_table() {
    let text = "table r\nimport kernel port=(port) via=(gateway) metric=(metric) if=(device)\n";
    let table = file(text).expect("well-formed");
    // The contents depend on the host, but the form is fixed.
    for entry in entries(table).expect("the kernel's table can be read") {
        assert!(entry.starts_with("r:2 ") && entry.contains(" via="), "{entry}");
    }
}

#[test]
fn a_hundred_thousand_lines_of_text_are_read() {
    let mut text = "table r\n".to_owned();
    for i in 0..100_000u32 {
        text += &format!(
            "{}.{}.{}.0/24 port={} class={}\n",
            1 + (i >> 16),
            i >> 8 & 255,
            i & 255,
            i % 16,
            i % 251
        );
    }
    let mut table = file(&text).expect("well-formed");
    let mut sum = 0;
    table
        .drain(&mut |entry| {
            let Literal::Number(port) = &entry.fields[0].1 else {
                return Err("a number".to_owned());
            };
            sum += port.low_u64();
            Ok(())
        })
        .expect("well-formed");
    assert_eq!(sum, 750_000);
}

proptest! {
    #[test]
    fn no_text_panics(lines in prop::collection::vec("(table|import|mrt|kernel|[a-z0-9./:=()\"\\\\#>% -]){0,12}", 0..6)) {
        if let Ok(mut table) = file(&lines.join("\n")) {
            let _ = table.drain(&mut |entry| {
                let _ = entry.key.to_prefix(32);
                for (_, value) in entry.fields {
                    let _ = value.to_bits(16);
                }
                Ok(())
            });
        }
    }
}

/// The first records of a real dump.
static DUMP: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let file = fs::File::open(common::table(MRT_SAMPLES[0].0)).expect("there");
    let mut bytes = vec![0; 20_000];
    bzip2::read::MultiBzDecoder::new(file).read_exact(&mut bytes).expect("there is so much");
    bytes
});

proptest! {

    #[test]
    fn no_damage_to_a_dump_panics(damage in prop::collection::vec((0usize..20_000, any::<u8>()), 1..40), cut in 0usize..20_000) {
        let mut bytes = DUMP.clone();
        for (at, value) in damage {
            bytes[at] = value;
        }
        bytes.truncate(cut);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rib");
        fs::write(&path, bytes).expect("writes");
        let _ = routes(SourceKind::Mrt, &path, usize::MAX);
    }
}
