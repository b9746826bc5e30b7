//! Requests, read within limits.

use std::io::{self, Read};

use crate::{Limits, Response};

#[derive(Debug, Default)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, without the question mark and the query.
    pub path: String,
    /// The query, after the question mark.
    pub query: String,
    /// The HTTP version of the client.
    pub(crate) version: String,
    /// Header fields; names in lower case.
    fields: Vec<(String, String)>,
    /// The body, with the length that the head gives.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the value of a header field, whose name is given in lower case. Of several fields
    /// the first counts.
    pub fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.as_str())
    }

    /// Reads a request, or returns the response that refuses it.
    ///
    /// # Errors
    /// If the client leaves, or is too slow.
    pub(crate) fn read(
        from: &mut impl Read,
        limits: &Limits,
    ) -> io::Result<Result<Self, Response>> {
        let mut bytes = Vec::new();
        let body_at = loop {
            if let Some(end) = end_of_head(&bytes) {
                break end;
            }
            if bytes.len() > limits.head {
                return Ok(Err(Response::line(431, "the head of the request is too long")));
            }
            read_more(from, &mut bytes)?;
        };
        let Some(mut request) = Self::parse(&bytes[..body_at]) else {
            return Ok(Err(Response::line(400, "HTTP/1.1 is expected")));
        };
        if request.field("transfer-encoding").is_some() {
            return Ok(Err(Response::line(411, "say how long the body is: Content-Length")));
        }
        let length = match request.field("content-length").map(str::parse::<usize>) {
            None => 0,
            Some(Ok(length)) if length <= limits.body => length,
            Some(Ok(_)) => return Ok(Err(Response::line(413, "the body is too long"))),
            Some(Err(_)) => return Ok(Err(Response::line(400, "Content-Length is no number"))),
        };
        while bytes.len() < body_at + length {
            read_more(from, &mut bytes)?;
        }
        request.body = bytes[body_at..body_at + length].to_vec();
        Ok(Ok(request))
    }

    fn parse(head: &[u8]) -> Option<Self> {
        let head = str::from_utf8(head).ok()?;
        let mut lines = head.lines();
        let mut words = lines.next()?.split_whitespace();
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !matches!(version, "HTTP/1.0" | "HTTP/1.1") || words.next().is_some() {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let fields = lines.take_while(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            version: version.to_owned(),
            fields: fields.collect::<Option<_>>()?,
            body: Vec::new(),
        })
    }
}

/// Returns where the head at the start of these bytes ends.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let ends = ["\r\n\r\n", "\n\n"].map(str::as_bytes).into_iter().filter_map(|end| {
        let at = bytes.windows(end.len()).position(|window| window == end)?;
        Some(at + end.len())
    });
    ends.min()
}

/// Reads at least one byte.
fn read_more(from: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut part = [0; 1024];
    let length = from.read(&mut part)?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.extend_from_slice(&part[..length]);
    Ok(())
}
