//! Imports prefixes into a table from other sources.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::error::{Position, TableError};
use super::expr::{Expr, Variables};
use super::file::BYTE_ORDER_MARK;
use super::literal::Literal;
use super::prefix::{Family, Prefix};
use super::{kernel, mrt, pyasn};
use crate::input::{self, Source};

/// The sources of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A pyasn IP-to-ASN file.
    Pyasn,
    /// A RIB dump in MRT format (RFC 6396).
    Mrt,
    /// A list with one prefix per line.
    Prefixes,
    /// The running kernel's main routing table.
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
            Self::Kernel => &["index", "length", "device", "port", "gateway", "metric"],
        }
    }
}

/// A prefix and its attributes; attributes that a source does not give are zero or empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Route {
    /// The prefix; `None` only in the default value.
    pub prefix: Option<Prefix>,
    /// Number of the autonomous system that originates the prefix.
    pub asn: u32,
    /// The outgoing interface.
    pub device: String,
    /// Index of that interface in the kernel.
    pub device_index: u32,
    /// The gateway's address, right-aligned bits; 0 if the destination is on the link.
    pub gateway: u128,
    /// The kernel's metric.
    pub metric: u32,
}

/// The result of a visitor of routes: continue, stop, or a sentence about the problem with the
/// route.
pub(super) type Visit<'a> = dyn FnMut(Position, &Route) -> Result<ControlFlow<()>, String> + 'a;

/// An `import` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportLine {
    pub(super) kind: SourceKind,
    /// The path as written; empty for the kernel.
    pub(super) path: PathBuf,
    pub(super) family: Option<Family>,
    pub(super) limit: Option<u64>,
    pub(super) devices: Vec<String>,
    pub(super) fields: Vec<(String, FieldValue)>,
}

/// The value of a field in an `import` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldValue {
    Computed(Expr),
    /// A member of an enumeration.
    Member(String),
}

impl FieldValue {
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
            devices: Vec::new(),
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
            _ if self.kind == SourceKind::Kernel => {
                self.devices =
                    value.split([' ', ',']).filter(|d| !d.is_empty()).map(str::to_owned).collect();
            }
            _ => return Err("`devices` is an option of `import kernel` only".to_owned()),
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

    /// Reads the source and passes on the selected routes, numbered.
    pub(super) fn read(
        &self,
        folder: &Path,
        visit: &mut dyn FnMut(Position, &Route, &RouteVariables<'_>) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let mut index = 0;
        read_routes_of(self.kind, &folder.join(&self.path), &mut |at, route| {
            if self.limit.is_some_and(|limit| index >= limit) {
                return Ok(ControlFlow::Break(()));
            }
            let port = self.devices.iter().position(|d| *d == route.device);
            let other_family =
                self.family.is_some_and(|f| route.prefix.is_some_and(|p| p.family() != f));
            if other_family || (port.is_none() && !self.devices.is_empty()) {
                return Ok(ControlFlow::Continue(()));
            }
            visit(at, route, &RouteVariables { route, index, port: port.unwrap_or(0) })?;
            index += 1;
            // Stop now, not at the next route: the rest need not even be readable.
            let enough = self.limit == Some(index);
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }
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

/// The variables of an import's expressions for one route.
pub(super) struct RouteVariables<'a> {
    route: &'a Route,
    index: u64,
    port: usize,
}

impl Variables for RouteVariables<'_> {
    fn value(&self, name: &str) -> Option<u128> {
        Some(match name {
            "index" => u128::from(self.index),
            "length" => u128::from(self.route.prefix?.length()),
            "asn" => u128::from(self.route.asn),
            "device" => u128::from(self.route.device_index),
            "port" => self.port as u128,
            "gateway" => self.route.gateway,
            "metric" => u128::from(self.route.metric),
            _ => return None,
        })
    }
}

fn read_routes_of(kind: SourceKind, path: &Path, visit: &mut Visit<'_>) -> Result<(), TableError> {
    let open = || input::open(path).map_err(|e| TableError::io(path, Position::Whole, &e));
    match kind {
        SourceKind::Pyasn => pyasn::read(path, open()?, true, visit),
        SourceKind::Prefixes => pyasn::read(path, open()?, false, visit),
        SourceKind::Mrt => mrt::read(path, Source::new(open()?), visit),
        SourceKind::Kernel => kernel::read(visit),
    }
}

/// Streams the routes of a file in its order. For the kernel, `path` is not used.
///
/// # Errors
/// If the file cannot be read or is malformed; the routes before that point have been visited.
pub fn read_routes(
    kind: SourceKind,
    path: &Path,
    visit: &mut dyn FnMut(&Route) -> ControlFlow<()>,
) -> Result<(), TableError> {
    read_routes_of(kind, path, &mut |_, route| Ok(visit(route)))
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
        super::TableFile::open(path)?.for_each(&mut |entry| {
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

/// Recognises the format of a file; `None` means a table file.
fn recognise(path: &Path) -> Result<Option<SourceKind>, TableError> {
    let at_start = |e| TableError::io(path, Position::Whole, &e);
    let mut stream = input::open(path).map_err(at_start)?;
    let start = stream.fill_buf().map_err(at_start)?;
    if start.get(4..6).is_some_and(|kind| matches!(kind, [0, 12 | 13])) {
        return Ok(Some(SourceKind::Mrt));
    }
    // Comments may be longer than any buffer, so read line by line until one decides.
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
