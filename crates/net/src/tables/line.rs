//! Parses one line of a table file.

use wireloom_bits::Bits;

use super::expr::{Expr, NoVariables};
use super::import::{FieldValue, ImportLine, SourceKind};
use super::literal::Literal;

/// The key of an entry, as written in the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// `10.0.0.0/8`, `0x12/8`: a prefix.
    Prefix {
        /// The key. Bits after the length must be zero.
        value: Literal,
        /// Number of significant leading bits.
        length: u32,
    },
    /// `17`, `10.0.0.1`, `"GET"`: an index, a scalar key or a pattern.
    Scalar(Literal),
    /// `src=10.0.0.1 dst=10.0.0.2`: fields of a key.
    Fields(Vec<(String, Literal)>),
}

impl Key {
    /// Returns the prefix as bits of the key's `width`, and its length. A scalar is a prefix of
    /// full length.
    ///
    /// # Errors
    /// A sentence without a full stop, if the key does not fit the width, has bits set after its
    /// length, or is not a prefix.
    pub fn to_prefix(&self, width: u32) -> Result<(Bits, u32), String> {
        let (value, length) = match self {
            Self::Prefix { value, length } => (value, *length),
            Self::Scalar(value) => (value, width),
            Self::Fields(_) => {
                return Err("a prefix is needed here, such as `10.0.0.0/8`".to_owned());
            }
        };
        if let Some((bits, what)) = value.address()
            && bits.width() != width
        {
            return Err(format!(
                "`{value}` is {what} of {} bits; the key has {width}",
                bits.width()
            ));
        }
        let bits = value.to_bits(width)?;
        if length > width {
            return Err(format!(
                "a prefix of {length} bits is longer than the key, which has {width}"
            ));
        }
        if length < width && !bits.slice(0, width - length).is_zero() {
            return Err(format!("`{value}/{length}` has bits set after its length"));
        }
        Ok((bits, length))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Empty,
    Table(String),
    Entry(Key, Vec<(String, Literal)>),
    Import(ImportLine),
}

/// The contents of a line of an update file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UpdateLine {
    /// `at 1000`: the updates that follow happen before this packet.
    At(u64),
    /// `remove KEY`
    Remove(Key),
    /// A line that a table file may contain too.
    Table(Line),
}

/// Returns whether a word can name a table or a field: `a`, `a.mem`, `digest[2]`. `[2]` is an
/// element of a key or value that is an array.
fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic() || "_[".contains(c))
        && word.chars().all(plain)
        && !matches!(word, "true" | "false")
}

/// Returns whether a word can name a member of an enumeration.
fn is_member(word: &str) -> bool {
    is_name(word) && !word.contains(['.', '[', ']'])
}

/// Parses a line. The error is a sentence without a full stop.
pub(super) fn parse(text: &str) -> Result<Line, String> {
    let mut cursor = Cursor { rest: text };
    cursor.space();
    if cursor.at_end() {
        return Ok(Line::Empty);
    }
    let mut ahead = Cursor { rest: cursor.rest };
    match ahead.word() {
        "table" => table(ahead).map(Line::Table),
        "import" => import(ahead).map(Line::Import),
        _ => entry(cursor).map(|(key, fields)| Line::Entry(key, fields)),
    }
}

/// Parses a line of an update file. The error is a sentence without a full stop.
pub(super) fn parse_update(text: &str) -> Result<UpdateLine, String> {
    let mut cursor = Cursor { rest: text.trim_start() };
    let word = cursor.word();
    if cursor.rest.starts_with('=') {
        return parse(text).map(UpdateLine::Table);
    }
    cursor.space();
    match word {
        "at" => {
            let number = cursor.word();
            let packet = number.replace('_', "").parse();
            let packet = packet
                .map_err(|_| format!("`at {number}` does not name a packet; write `at NUMBER`"))?;
            cursor.end()?;
            Ok(UpdateLine::At(packet))
        }
        "remove" => {
            let key = cursor.key()?;
            cursor.end()?;
            Ok(UpdateLine::Remove(key))
        }
        _ => parse(text).map(UpdateLine::Table),
    }
}

/// Parses an entry: a key and the fields of its value, by name (empty for a scalar).
///
/// # Errors
/// A sentence without a full stop, if the text is malformed.
pub fn parse_entry(text: &str) -> Result<(Key, Vec<(String, Literal)>), String> {
    entry(Cursor { rest: text.trim_start() })
}

/// Parses a key without a value.
///
/// # Errors
/// A sentence without a full stop, if the text is malformed.
pub fn parse_key(text: &str) -> Result<Key, String> {
    let mut cursor = Cursor { rest: text.trim_start() };
    let key = cursor.key()?;
    cursor.end()?;
    Ok(key)
}

fn table(mut cursor: Cursor<'_>) -> Result<String, String> {
    cursor.space();
    let name = cursor.word();
    if !is_name(name) {
        return Err(match name {
            "" => "the table's name is missing: `table NAME`".to_owned(),
            _ => format!("`{name}` is not a table name"),
        });
    }
    cursor.end()?;
    Ok(name.to_owned())
}

fn entry(mut cursor: Cursor<'_>) -> Result<(Key, Vec<(String, Literal)>), String> {
    let key = cursor.key()?;
    cursor.space();
    let arrow = cursor.rest.starts_with("->");
    if arrow {
        cursor.rest = &cursor.rest[2..];
    } else if matches!(key, Key::Fields(_)) {
        return Err(
            "`->` is missing between the fields of the key and those of the value".to_owned()
        );
    }
    let fields = cursor.fields(constant)?;
    if fields.is_empty() {
        return Err("the value is missing: `field=value ...`, or `= value` for a scalar".to_owned());
    }
    check_names(fields.iter().map(|(name, _)| name))?;
    cursor.end()?;
    Ok((key, fields))
}

fn scalar_or_prefix(word: &str) -> Result<Key, String> {
    let (value, length) = match word.split_once('/') {
        Some((value, length)) => (value, Some(length)),
        None => (word, None),
    };
    let Some(value) = Literal::parse(value) else {
        return Err(if is_name(word) {
            format!(
                "`{word}` is neither a key nor `table` or `import`; a field of a key is written `{word}=...`"
            )
        } else {
            format!(
                "`{value}` is not a key; write a number, an address, a prefix, a \"pattern\" or `field=value ...`"
            )
        });
    };
    match length {
        None => Ok(Key::Scalar(value)),
        Some(length) => match length.parse() {
            Ok(length) => Ok(Key::Prefix { value, length }),
            Err(_) => Err(format!("`{length}` is not a prefix length")),
        },
    }
}

/// Checks that a value is one scalar, or has only named fields.
fn check_names<'a>(names: impl ExactSizeIterator<Item = &'a String> + Clone) -> Result<(), String> {
    if names.len() > 1 && names.clone().any(String::is_empty) {
        return Err("a name is missing before `=`".to_owned());
    }
    Ok(())
}

/// Parses a value that must not use variables.
fn constant(value: Written<'_>) -> Result<Literal, String> {
    match value {
        Written::Word(word) if is_member(word) => Ok(Literal::Name(word.to_owned())),
        Written::Word(word) => word.parse(),
        Written::Text(text) => Ok(Literal::Text(text)),
        Written::Expr(text) => Ok(Literal::number(Expr::parse(text)?.value(&NoVariables)?)),
    }
}

fn import(mut cursor: Cursor<'_>) -> Result<ImportLine, String> {
    cursor.space();
    let source = cursor.word();
    let kind = SourceKind::from_name(source).ok_or_else(|| {
        format!(
            "`{source}` is not a source for imports; use `pyasn`, `mrt`, `prefixes` or `kernel`"
        )
    })?;
    cursor.space();
    let mut import = ImportLine::new(kind);
    if kind != SourceKind::Kernel {
        if !cursor.rest.starts_with('"') {
            return Err(format!("the file's name is missing: `import {source} \"FILE\" ...`"));
        }
        let path = String::from_utf8(cursor.string()?)
            .map_err(|_| "the file's name is not UTF-8".to_owned())?;
        import.path = path.into();
    }
    let written = cursor.fields(Ok)?;
    cursor.end()?;
    for (name, value) in written {
        match (name.as_str(), value) {
            ("family" | "limit" | "devices", Written::Word(word)) => import.option(&name, word)?,
            ("table" | "types" | "path", Written::Word(word)) if kind == SourceKind::Kernel => {
                import.option(&name, word)?;
            }
            ("devices" | "types", Written::Text(text)) => {
                let text = std::str::from_utf8(&text);
                import.option(&name, text.map_err(|_| format!("`{name}` is not UTF-8"))?)?;
            }
            (_, Written::Word(word)) => {
                // A single variable or member needs no parentheses.
                let value = match Expr::parse(word) {
                    Ok(Expr::Variable(member)) if !kind.variables().contains(&member.as_str()) => {
                        FieldValue::Member(member)
                    }
                    Ok(expr) => FieldValue::Computed(expr),
                    Err(_) => return Err(format!("`{word}` is neither a number nor an address")),
                };
                import.field(name, value)?;
            }
            (_, Written::Expr(text)) => {
                let expr = Expr::parse(text)?;
                import.field(name, FieldValue::Computed(expr))?;
            }
            (_, Written::Text(_)) => {
                return Err(format!("`{name}` cannot be a string in an import"));
            }
        }
    }
    check_names(import.fields.iter().map(|(name, _)| name))?;
    if import.fields.is_empty() {
        return Err(
            "the value is missing: `field=(expression) ...`, or `= (expression)` for a scalar"
                .to_owned(),
        );
    }
    Ok(import)
}

/// A value as written after a `=`.
enum Written<'a> {
    Word(&'a str),
    Text(Vec<u8>),
    /// The text between the parentheses.
    Expr(&'a str),
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Returns whether the rest of the line is empty or a comment.
    fn at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    fn end(&mut self) -> Result<(), String> {
        self.space();
        if self.at_end() { Ok(()) } else { Err(format!("unexpected `{}`", self.rest.trim_end())) }
    }

    fn word(&mut self) -> &'a str {
        let stop = |c: char| c.is_whitespace() || "=()\"#".contains(c);
        let (word, rest) = self.rest.split_at(self.rest.find(stop).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn key(&mut self) -> Result<Key, String> {
        if self.rest.starts_with('"') {
            return self.string().map(|text| Key::Scalar(Literal::Text(text)));
        }
        let mut ahead = Cursor { rest: self.rest };
        let word = ahead.word();
        if is_name(word) && ahead.rest.starts_with('=') {
            return self.fields(constant).map(Key::Fields);
        }
        *self = ahead;
        scalar_or_prefix(word)
    }

    /// Parses all `name=value` at this point, or one `= value`, whose name is empty.
    fn fields<T>(
        &mut self,
        read: impl Fn(Written<'a>) -> Result<T, String>,
    ) -> Result<Vec<(String, T)>, String> {
        let mut fields: Vec<(String, T)> = Vec::new();
        loop {
            self.space();
            if self.at_end() || self.rest.starts_with("->") {
                return Ok(fields);
            }
            let name = self.word();
            if !self.rest.starts_with('=') {
                let found = if name.is_empty() { self.rest } else { name };
                return Err(format!(
                    "unexpected `{}`; a field is written `name=value`, a scalar `= value`",
                    found.trim_end()
                ));
            }
            if !name.is_empty() && !is_name(name) {
                return Err(format!("`{name}` is not a field name"));
            }
            if fields.iter().any(|(n, _)| n == name) {
                return Err(format!("`{name}` is given twice"));
            }
            self.rest = &self.rest[1..];
            if name.is_empty() {
                self.space();
            }
            let value = self.value(name)?;
            fields.push((name.to_owned(), read(value)?));
            if !self.at_end() && !self.rest.starts_with(char::is_whitespace) {
                return Err(format!("unexpected `{}`", self.rest.trim_end()));
            }
        }
    }

    fn value(&mut self, name: &str) -> Result<Written<'a>, String> {
        if self.rest.starts_with('"') {
            return self.string().map(Written::Text);
        }
        if self.rest.starts_with('(') {
            let mut depth = 0;
            for (i, c) in self.rest.char_indices() {
                match c {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    let inside = &self.rest[1..i];
                    self.rest = &self.rest[i + 1..];
                    return Ok(Written::Expr(inside));
                }
            }
            return Err("`)` is missing".to_owned());
        }
        match self.word() {
            "" if name.is_empty() => Err("a value is missing after `=`".to_owned()),
            "" => Err(format!("a value is missing after `{name}=`")),
            word => Ok(Written::Word(word)),
        }
    }

    /// Parses a string in quotes.
    fn string(&mut self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut chars = self.rest.char_indices();
        chars.next();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[i + 1..];
                    return Ok(bytes);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => bytes.push(b'\n'),
                    Some('r') => bytes.push(b'\r'),
                    Some('t') => bytes.push(b'\t'),
                    Some('0') => bytes.push(0),
                    Some(c @ ('\\' | '"')) => bytes.push(c as u8),
                    Some('x') => {
                        let mut digit = || chars.next().and_then(|(_, c)| c.to_digit(16));
                        let (high, low) = (digit(), digit());
                        match (high, low) {
                            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                            _ => return Err("`\\x` takes two hexadecimal digits".to_owned()),
                        }
                    }
                    Some(c) => {
                        return Err(format!(
                            "`\\{c}` is not an escape; use \\n \\r \\t \\0 \\\\ \\\" \\xHH"
                        ));
                    }
                    None => break,
                },
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        Err("the closing `\"` is missing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(text: &str) -> (Key, Vec<(String, Literal)>) {
        match parse(text) {
            Ok(Line::Entry(key, fields)) => (key, fields),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_kind_of_entry_is_read() {
        let (key, fields) = entry_of("10.0.0.0/8 port=3 class=(2 + 5) # comment");
        assert_eq!(key.to_prefix(32), Ok((Bits::new(32, 0x0a00_0000), 8)));
        assert_eq!(
            fields,
            [("port".to_owned(), Literal::number(3)), ("class".to_owned(), Literal::number(7))]
        );

        let (key, fields) = entry_of("0x12/8 = 5");
        assert_eq!(key.to_prefix(8), Ok((Bits::new(8, 0x12), 8)));
        assert_eq!(fields, [(String::new(), Literal::number(5))]);

        let (key, fields) = entry_of("src=10.0.0.1 dst=::1 -> next.port=1 x[0]=true");
        assert!(matches!(key, Key::Fields(f) if f.len() == 2 && f[0].0 == "src"));
        assert_eq!((fields[0].0.as_str(), fields[1].0.as_str()), ("next.port", "x[0]"));

        let (key, fields) = entry_of("[0]=1 [1]=2 -> action=DENY");
        assert!(matches!(key, Key::Fields(f) if f.len() == 2 && f[1].0 == "[1]"));
        assert_eq!(fields, [("action".to_owned(), Literal::Name("DENY".to_owned()))]);

        let (key, _) = entry_of("02:00:00:00:00:01 -> = 7");
        assert_eq!(key, Key::Scalar(Literal::Mac([2, 0, 0, 0, 0, 1])));

        let (key, _) = entry_of(r##""GET \"#x\x41\r\n" port=2"##);
        assert_eq!(key, Key::Scalar(Literal::Text(b"GET \"#xA\r\n".to_vec())));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("table", "the table's name is missing"),
            ("table 5", "`5` is not a table name"),
            ("table a b", "unexpected `b`"),
            ("10.0.0.0/8", "the value is missing"),
            ("10.0.0.0/x port=1", "`x` is not a prefix length"),
            ("10.0.0 port=1", "`10.0.0` is not a key"),
            ("tabel routes", "`tabel` is neither a key nor `table`"),
            ("src=1 dst=2", "`->` is missing"),
            ("5 port=", "a value is missing after `port=`"),
            ("5 port=1 port=2", "`port` is given twice"),
            ("5 port=1=2", "unexpected `=2`"),
            ("5 port=(1", "`)` is missing"),
            ("5 port=asn.x", "`asn.x` is not a number"),
            ("5 1=1", "`1` is not a field name"),
            ("a=1 -> 2", "unexpected `2`; a field is written `name=value`, a scalar `= value`"),
            ("5 a=1 = 2", "a name is missing before `=`"),
            ("\"GET port=1", "the closing `\"` is missing"),
            (r#""\q" port=1"#, "`\\q` is not an escape"),
            ("import pyasm \"x\" port=1", "`pyasm` is not a source for imports"),
            ("import pyasn x port=1", "the file's name is missing"),
            ("import pyasn \"x\"", "the value is missing"),
            ("import pyasn \"x\" family=5 = 1", "`family` must be 4 or 6"),
            ("import pyasn \"x\" limit=many = 1", "`many` is not a number"),
            ("import pyasn \"x\" port=(as)", "there is no variable `as`"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn prefixes_are_checked_against_the_key() {
        let refused = |text: &str, width| entry_of(text).0.to_prefix(width).expect_err(text);
        assert_eq!(refused("10.0.0.1/8 = 1", 32), "`10.0.0.1/8` has bits set after its length");
        assert_eq!(
            refused("10.0.0.0/8 = 1", 128),
            "`10.0.0.0` is an IPv4 address of 32 bits; the key has 128"
        );
        assert_eq!(refused("0/9 = 1", 8), "a prefix of 9 bits is longer than the key, which has 8");
        assert_eq!(entry_of("10.0.0.1 = 1").0.to_prefix(32), Ok((Bits::new(32, 0x0a00_0001), 32)));
    }
}
