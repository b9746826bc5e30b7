//! Imports prefixes into a table from other sources.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::error::{Position, TableError};
use super::expr::{Expr, Variables};
use super::literal::Literal;
use super::prefix::{Family, Prefix};
use super::route::{Hop, Route, Visit};
use super::text::BYTE_ORDER_MARK;
use super::{kernel, mrt, pyasn};
use crate::input::{self, Source};

/// A kind of source of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A pyasn IP-to-ASN file.
    Pyasn,
    /// A RIB dump in MRT format (RFC 6396).
    Mrt,
    /// A list with one prefix per line.
    Prefixes,
    /// A routing table of the running kernel.
    Kernel,
}

impl SourceKind {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "pyasn" => Self::Pyasn,
            "mrt" => Self::Mrt,
            "prefixes" => Self::Prefixes,
            "kernel" => Self::Kernel,
            _ => return None,
        })
    }

    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Pyasn | Self::Mrt => &["index", "length", "asn"],
            Self::Prefixes => &["index", "length"],
            Self::Kernel => KERNEL_VARIABLES,
        }
    }
}

const KERNEL_VARIABLES: &[&str] = &[
    "index",
    "length",
    "device",
    "port",
    "gateway",
    "metric",
    "paths",
    "type",
    "unicast",
    "local",
    "broadcast",
    "anycast",
    "multicast",
    "blackhole",
    "unreachable",
    "prohibit",
    "throw",
];

/// The kernel's route types, by name (`RTN_...` of linux/rtnetlink.h).
const ROUTE_TYPES: [(&str, u8); 9] = [
    ("unicast", UNICAST),
    ("local", 2),
    ("broadcast", 3),
    ("anycast", 4),
    ("multicast", 5),
    ("blackhole", 6),
    ("unreachable", 7),
    ("prohibit", 8),
    ("throw", 9),
];
const UNICAST: u8 = 1;

/// The kernel's named tables (`RT_TABLE_...` of linux/rtnetlink.h).
const TABLES: [(&str, u32); 3] = [("main", MAIN), ("default", 253), ("local", 255)];
const MAIN: u32 = 254;

/// An `import` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportLine {
    pub(super) kind: SourceKind,
    /// The path as written. Empty for the kernel.
    pub(super) path: PathBuf,
    pub(super) family: Option<Family>,
    pub(super) limit: Option<u64>,
    /// The number of the kernel's table.
    pub(super) table: u32,
    /// The kernel's devices, by port. If empty, all devices match.
    pub(super) devices: Vec<String>,
    /// The kernel's route types to select. If empty, all are selected.
    pub(super) types: Vec<u8>,
    /// The index of the next hop to use of a kernel route, modulo the number of its next hops.
    pub(super) path_index: u64,
    pub(super) fields: Vec<(String, FieldValue)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldValue {
    Computed(Expr),
    /// A member of an enumeration.
    Member(String),
}

impl FieldValue {
    /// Returns whether the value depends on a variable.
    fn uses(&self, variable: &str) -> bool {
        matches!(self, Self::Computed(expr) if expr.uses(variable))
    }

    pub(super) fn literal(&self, variables: &impl Variables) -> Result<Literal, String> {
        match self {
            Self::Computed(expr) => expr.value(variables).map(Literal::number),
            Self::Member(name) => Ok(Literal::Name(name.clone())),
        }
    }
}

impl ImportLine {
    pub(super) fn new(kind: SourceKind) -> Self {
        Self {
            kind,
            path: PathBuf::new(),
            family: None,
            limit: None,
            table: MAIN,
            devices: Vec::new(),
            types: Vec::new(),
            path_index: 0,
            fields: Vec::new(),
        }
    }

    pub(super) fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "family" => {
                self.family = Some(match value {
                    "4" => Family::V4,
                    "6" => Family::V6,
                    _ => return Err(format!("`family` must be 4 or 6, not `{value}`")),
                });
            }
            "limit" => {
                let limit = value.replace('_', "").parse();
                self.limit = Some(limit.map_err(|_| format!("`{value}` is not a number"))?);
            }
            _ if self.kind != SourceKind::Kernel => {
                return Err(format!("`{name}` is an option of `import kernel` only"));
            }
            "devices" => self.devices = words(value).map(str::to_owned).collect(),
            "types" => self.types = words(value).map(route_type).collect::<Result<_, _>>()?,
            "path" => {
                self.path_index =
                    value.parse().map_err(|_| format!("`{value}` is not a number"))?;
            }
            _ => {
                let named = TABLES.iter().find(|(name, _)| *name == value);
                let number = named.map_or_else(|| value.parse().ok(), |(_, number)| Some(*number));
                self.table = number.ok_or_else(|| {
                    format!("`{value}` is no table; write `main`, `local`, `default` or a number")
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn field(&mut self, name: String, value: FieldValue) -> Result<(), String> {
        if let FieldValue::Computed(expr) = &value {
            check_variables(expr, self.kind.variables())?;
        }
        self.fields.push((name, value));
        Ok(())
    }

    /// Reads the source and passes the selected routes to `visit`, with numbers.
    pub(super) fn read(
        &self,
        folder: &Path,
        visit: &mut dyn FnMut(Position, &Route, &RouteVariables<'_>) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let mut index = 0;
        let says_type = self.fields.iter().any(|(_, value)| value.uses("type"));
        let path = folder.join(&self.path);
        read_routes_of(self.kind, &path, self.table, &mut |at, route| {
            if self.limit.is_some_and(|limit| index >= limit) {
                return Ok(ControlFlow::Break(()));
            }
            let other_family =
                self.family.is_some_and(|f| route.prefix.is_some_and(|p| p.family() != f));
            let other_type = !self.types.is_empty() && !self.types.contains(&route.kind);
            let Some(chosen) = self.choice(route).filter(|_| !other_family && !other_type) else {
                return Ok(ControlFlow::Continue(()));
            };
            if self.kind == SourceKind::Kernel && route.kind != UNICAST && !says_type {
                return Err(untold(route));
            }
            visit(at, route, &RouteVariables { route, index, chosen })?;
            index += 1;
            // Stop now, not at the next route: the rest may be unreadable.
            let enough = self.limit == Some(index);
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }
}

impl ImportLine {
    /// Returns the next hop to use of a route. Returns `None` if all next hops use other devices or
    /// encapsulate packets.
    fn choice<'a>(&self, route: &'a Route) -> Option<Chosen<'a>> {
        let with_port = |hop: &'a Hop| {
            let port = self.devices.iter().position(|device| **device == *hop.device);
            let is_used = !hop.is_encapsulated && (self.devices.is_empty() || port.is_some());
            is_used.then_some((hop, port.unwrap_or(0)))
        };
        let used: Vec<_> = route.hops.iter().filter_map(with_port).collect();
        match used.len() as u64 {
            0 if route.hops.is_empty() => Some(Chosen { hop: None, port: 0, paths: 0 }),
            0 => None,
            paths => {
                let (hop, port) = used[(self.path_index % paths) as usize];
                Some(Chosen { hop: Some(hop), port, paths })
            }
        }
    }
}

/// Splits the value of an option into words.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ',']).filter(|word| !word.is_empty())
}

fn route_type(name: &str) -> Result<u8, String> {
    let found = ROUTE_TYPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, number)| *number).ok_or_else(|| {
        let names: Vec<_> = ROUTE_TYPES.iter().map(|(name, _)| *name).collect();
        format!("there is no type of route `{name}`; there are {}", names.join(", "))
    })
}

/// Describes why a route that does not forward cannot be imported by a line that ignores its type.
fn untold(route: &Route) -> String {
    let name = ROUTE_TYPES.iter().find(|(_, number)| *number == route.kind);
    let name = name.map_or("unknown", |(name, _)| *name);
    let prefix = route.prefix.map(|prefix| prefix.to_string()).unwrap_or_default();
    format!(
        "the route `{name} {prefix}` does not forward, and no field says what becomes of it: write \
         for example `kind=(type == blackhole ? 6 : 1)`, or leave it out with `types=\"unicast\"`"
    )
}

fn check_variables(expr: &Expr, known: &[&str]) -> Result<(), String> {
    match expr {
        Expr::Number(_) => Ok(()),
        Expr::Variable(name) if known.contains(&name.as_str()) => Ok(()),
        Expr::Variable(name) => {
            Err(format!("there is no variable `{name}` here; there are {}", known.join(", ")))
        }
        Expr::Unary(_, x) => check_variables(x, known),
        Expr::Binary(_, a, b) => check_variables(a, known).and_then(|()| check_variables(b, known)),
        Expr::Conditional(c, a, b) => {
            [c, a, b].into_iter().try_for_each(|expr| check_variables(expr, known))
        }
    }
}

/// The variables of an import's expressions, for one route.
pub(super) struct RouteVariables<'a> {
    route: &'a Route,
    index: u64,
    chosen: Chosen<'a>,
}

/// The chosen next hop of a route, and the number of candidates.
struct Chosen<'a> {
    hop: Option<&'a Hop>,
    port: usize,
    paths: u64,
}

impl Variables for RouteVariables<'_> {
    fn value(&self, name: &str) -> Option<u128> {
        Some(match name {
            "index" => u128::from(self.index),
            "length" => u128::from(self.route.prefix?.length()),
            "asn" => u128::from(self.route.asn),
            "device" => u128::from(self.chosen.hop.map_or(0, |hop| hop.device_index)),
            "port" => self.chosen.port as u128,
            "gateway" => self.chosen.hop.map_or(0, |hop| hop.gateway),
            "metric" => u128::from(self.route.metric),
            "paths" => u128::from(self.chosen.paths),
            "type" => u128::from(self.route.kind),
            _ => u128::from(route_type(name).ok()?),
        })
    }
}

fn read_routes_of(
    kind: SourceKind,
    path: &Path,
    table: u32,
    visit: &mut Visit<'_>,
) -> Result<(), TableError> {
    let open = || input::open(path).map_err(|e| TableError::io(path, Position::Whole, &e));
    match kind {
        SourceKind::Pyasn => pyasn::read(path, open()?, true, visit),
        SourceKind::Prefixes => pyasn::read(path, open()?, false, visit),
        SourceKind::Mrt => mrt::read(path, Source::new(open()?), visit),
        SourceKind::Kernel => kernel::read(table, visit),
    }
}

/// Streams the routes of a file in its order. For the kernel, `path` is ignored, and the main table
/// is read.
///
/// # Errors
/// If the file cannot be read or is malformed. The routes before that point have been visited.
pub fn read_routes(
    kind: SourceKind,
    path: &Path,
    visit: &mut dyn FnMut(&Route) -> ControlFlow<()>,
) -> Result<(), TableError> {
    read_routes_of(kind, path, MAIN, &mut |_, route| Ok(visit(route)))
}

/// Reads the prefixes of any supported file: a table file (its entries with IPv4 or IPv6 prefixes,
/// including imports), a pyasn file, an MRT dump, or a list. The format is recognised from the
/// content.
///
/// # Errors
/// If the file cannot be read or is malformed.
pub fn read_prefixes(path: &Path) -> Result<Vec<Prefix>, TableError> {
    let mut prefixes = Vec::new();
    let Some(kind) = recognise(path)? else {
        super::TableFile::open(path)?.drain(&mut |entry| {
            prefixes.extend(entry.ip_prefix());
            Ok(())
        })?;
        return Ok(prefixes);
    };
    read_routes(kind, path, &mut |route| {
        prefixes.extend(route.prefix);
        ControlFlow::Continue(())
    })?;
    Ok(prefixes)
}

/// Recognises the format of a file. `None` means a table file.
fn recognise(path: &Path) -> Result<Option<SourceKind>, TableError> {
    let at_start = |e| TableError::io(path, Position::Whole, &e);
    let mut stream = input::open(path).map_err(at_start)?;
    let start = stream.fill_buf().map_err(at_start)?;
    // These are the types of RIB records, and of the updates that a dump may hold instead.
    if start.get(4..6).is_some_and(|kind| matches!(kind, [0, 12 | 13 | 16 | 17])) {
        return Ok(Some(SourceKind::Mrt));
    }
    // Comments may be longer than any buffer, so read line by line until a line decides.
    let mut line = Vec::new();
    loop {
        line.clear();
        let got = pyasn::read_line(&mut stream, &mut line).map_err(at_start)?;
        if got == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line));
        let mut words = text.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some(word), _) if word.starts_with('#') => {}
            (Some(word), _) if word.starts_with(';') => return Ok(Some(SourceKind::Pyasn)),
            (Some(word), None) if word.parse::<Prefix>().is_ok() => {
                return Ok(Some(SourceKind::Prefixes));
            }
            (Some(word), Some(asn))
                if word.parse::<Prefix>().is_ok() && asn.parse::<u32>().is_ok() =>
            {
                return Ok(Some(SourceKind::Pyasn));
            }
            _ => return Ok(None),
        }
    }
}
