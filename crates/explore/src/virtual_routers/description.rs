//! The list of virtual routers, a TOML file.
//!
//! ```toml
//! like = "np-virtual"              # the base machine: every setting except the shape
//! set = { NEXT_HOPS = 1024 }       # file-level constants of the program, for all routers
//!
//! [[router]]
//! name = "red"
//! protocols = ["ipv4", "mpls"]
//! rate = "10 Gb/s"                 # of frames of 64 bytes; or "15 Mpps"
//! tables = ["red.tables"]          # paths relative to this file
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wireloom_lang::{LIBRARY, Severity};

use wireloom_machine::Source;
use wireloom_machine::{Error, Result};

/// Bits of the frames in which rates in Gb/s are counted. As in the paper these are 64 bytes,
/// without preamble and gap.
const FRAME_BITS: f64 = 512.0;

/// A protocol that a virtual router can speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Ipv4,
    Ipv6,
    /// Label switching.
    Mpls,
}

impl Protocol {
    pub const ALL: [Self; 3] = [Self::Ipv4, Self::Ipv6, Self::Mpls];

    /// Returns the constant of the program that tells whether the protocol is routed.
    pub fn constant(self) -> &'static str {
        match self {
            Self::Ipv4 => "ROUTE_IPV4",
            Self::Ipv6 => "ROUTE_IPV6",
            Self::Mpls => "ROUTE_MPLS",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Mpls => "MPLS",
        }
    }
}

/// A set of protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protocols(pub BTreeSet<Protocol>);

impl Protocols {
    /// Returns the union of the protocols.
    pub fn with(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// Returns whether the two sets have a common protocol.
    pub fn meets(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }
}

impl FromIterator<Protocol> for Protocols {
    fn from_iter<I: IntoIterator<Item = Protocol>>(protocols: I) -> Self {
        Self(protocols.into_iter().collect())
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|protocol| protocol.name()).collect();
        f.write_str(&names.join(", "))
    }
}

/// Packets a second, written `15 Mpps` or, in frames of 64 bytes, `10 Gb/s`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate {
    /// The rate in millions.
    pub mpps: f64,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unit = [("Mpps", 1.0), ("Gb/s", 1000.0 / FRAME_BITS)];
        let number =
            unit.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
        match number.and_then(|(number, factor)| Some(number.trim().parse::<f64>().ok()? * factor))
        {
            Some(mpps) if mpps.is_finite() && mpps > 0.0 => Ok(Self { mpps }),
            _ => Err(format!("'{text}' is no rate: write \"10 Gb/s\" or \"15 Mpps\", above zero")),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.mpps)
    }
}

/// A virtual router.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    pub name: String,
    /// The protocols that it routes.
    pub protocols: Protocols,
    /// The rate that the router must carry.
    pub rate: Rate,
    /// The table files.
    pub tables: Vec<PathBuf>,
}

/// A list of virtual routers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The machine that gives all settings except the shape.
    #[serde(default = "default_like")]
    pub like: String,
    /// File-level constants of the program.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// The routers. The index is the number of the router.
    #[serde(rename = "router")]
    pub routers: Vec<Router>,
}

fn default_like() -> String {
    "np-virtual".to_owned()
}

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is not such a list.
    pub fn open(path: &Path) -> Result<Self> {
        let text =
            wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES).map_err(|error| {
                Error::new(format!("{}: cannot be read: {error}", path.display())).with_help(
                    "the argument is a list of virtual routers (`wireloom docs virtual`)",
                )
            })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder)
            .map_err(|message| Error::new(format!("{}: {message}", path.display())))
    }

    /// Parses a text whose paths are relative to `folder`.
    ///
    /// # Errors
    /// If the description is invalid.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let mut description: Self =
            toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
        let mut names = BTreeSet::new();
        for router in &mut description.routers {
            let name = &router.name;
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
                return Err(format!(
                    "router name '{name}': modules and files are called after it: write a-z, 0-9 and _, a letter first"
                ));
            }
            if !names.insert(name.clone()) {
                return Err(format!("two routers are called '{name}'"));
            }
            if router.protocols.0.is_empty() {
                return Err(format!(
                    "router '{name}' has no protocols: name some of \"ipv4\", \"ipv6\", \"mpls\""
                ));
            }
            router.tables.iter_mut().for_each(|table| *table = folder.join(&table));
        }
        if description.routers.is_empty() || description.routers.len() > 256 {
            return Err(format!(
                "there are {} routers; there can be 1 to 256",
                description.routers.len()
            ));
        }
        for (name, value) in &description.set {
            if Protocol::ALL.iter().any(|protocol| protocol.constant() == name) {
                return Err(format!(
                    "`{name}` follows from the routers' protocols and cannot be set"
                ));
            }
            if matches!(value, toml::Value::Array(_) | toml::Value::Table(_)) {
                return Err(format!("`set.{name}` is not a number, bool or text"));
            }
        }
        Ok(description)
    }

    /// Checks the constants that the list, read from `path`, sets against the program.
    ///
    /// # Errors
    /// If the program has no such constant, or it cannot have such a value.
    pub fn check_constants(&self, path: &Path) -> Result {
        for (name, value) in &self.set {
            let (what, help) = match program(vec![(name.clone(), text(value))]).check() {
                Ok(checked) => {
                    let mut found = checked.diagnostics.into_iter();
                    let error = found.find(|found| found.severity == Severity::Error);
                    let Some(error) = error else { continue };
                    (error.message, error.help)
                }
                Err(error) => {
                    let what = error.message.strip_prefix(&format!("--set {name}: "));
                    (what.unwrap_or(&error.message).to_owned(), error.help)
                }
            };
            let failure = Error::new(format!("{}: `set.{name}`: {what}", path.display()));
            return Err(help.into_iter().fold(failure, Error::with_help));
        }
        Ok(())
    }

    /// Returns the number of the router with this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn router(&self, name: &str) -> Result<usize> {
        self.routers.iter().position(|router| router.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.routers.iter().map(|router| router.name.as_str()).collect();
            Error::new(format!("there is no virtual router '{name}'"))
                .with_help(format!("the list has {}", names.join(", ")))
        })
    }

    /// Returns the constants of the program for these protocols, as `--set` takes them.
    pub fn constants(&self, protocols: &Protocols) -> Vec<(String, String)> {
        let own = self.set.iter().map(|(name, value)| (name.clone(), text(value)));
        let routed = Protocol::ALL.map(|protocol| {
            (protocol.constant().to_owned(), protocols.0.contains(&protocol).to_string())
        });
        own.chain(routed).collect()
    }
}

/// Formats a value as `--set` takes it.
fn text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the program of virtual routers with these constants.
pub fn program(set: Vec<(String, String)>) -> Source {
    let file = format!("{LIBRARY}programs/virtual.loom").into();
    Source { file, include: Vec::new(), set, engine: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        set = { NEXT_HOPS = 16, COUNT_FLOWS = false }
        [[router]]
        name = "red"
        protocols = ["mpls", "ipv4"]
        rate = "10 Gb/s"
        tables = ["red.tables"]
        [[router]]
        name = "blue"
        protocols = ["mpls"]
        rate = "5 Mpps"
        tables = []
    "#;

    #[test]
    fn a_list_is_read() {
        let list = Description::parse(LIST, Path::new("somewhere")).expect("it is well-formed");
        let [red, blue] = list.routers.as_slice() else { panic!("two routers") };
        assert_eq!(red.protocols.to_string(), "IPv4, MPLS");
        assert_eq!((red.rate.mpps, blue.rate.mpps), (19.53125, 5.0));
        assert_eq!(red.tables, [Path::new("somewhere/red.tables")]);
        assert!(red.protocols.meets(&blue.protocols));
        let set = list.constants(&blue.protocols);
        let of = |name: &str| set.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        assert_eq!(
            [of("NEXT_HOPS"), of("ROUTE_IPV4"), of("ROUTE_MPLS")],
            [Some("16"), Some("false"), Some("true")]
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("\"10 Gb/s\"", "\"10 Gbps\"", "is no rate"),
            ("\"10 Gb/s\"", "\"-1 Mpps\"", "is no rate"),
            ("\"blue\"", "\"red\"", "two routers are called 'red'"),
            ("\"blue\"", "\"9-lives\"", "a letter first"),
            ("[\"mpls\"]", "[]", "has no protocols"),
            ("[\"mpls\"]", "[\"ipx\"]", "ipx"),
            ("NEXT_HOPS = 16", "ROUTE_IPV4 = true", "follows from the routers' protocols"),
            ("NEXT_HOPS = 16", "NEXT_HOPS = [1]", "not a number"),
            ("tables = []", "table = []", "table"),
        ];
        for (from, to, said) in cases {
            let error = Description::parse(&LIST.replace(from, to), Path::new("")).expect_err(to);
            assert!(error.contains(said), "{to}: {error}");
        }
        assert!(Description::parse("router = []", Path::new("")).is_err());
    }
}
