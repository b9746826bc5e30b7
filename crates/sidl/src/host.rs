//! The run-time of generated Rust: requests to services and their replies, on the host.

use std::collections::{BTreeMap, VecDeque};

/// Carries calls to services, by service number and method number.
pub trait Transport {
    /// Makes a two-way call and returns the words of the reply.
    ///
    /// # Errors
    /// If there is no such service, or its server refuses the request.
    fn call(&mut self, service: u32, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError>;

    /// Makes a one-way call. It may return long before the server receives the request.
    ///
    /// # Errors
    /// If there is no such service.
    fn send(&mut self, service: u32, method: u32, words: &[u32]) -> Result<(), CallError>;
}

/// Serves the requests for one object.
pub trait Serve {
    /// Serves a request and returns the words of the reply (none if the method is one-way).
    ///
    /// # Errors
    /// If the interface has no such method, or the request has the wrong length for its method.
    fn serve(&mut self, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError>;
}

/// Passes requests to objects in this process, for tests and for host code that works with a
/// simulated machine. Each service has any number of servers, which take turns.
#[derive(Default)]
pub struct LocalBroker {
    services: BTreeMap<u32, VecDeque<Box<dyn Serve>>>,
}

impl LocalBroker {
    /// Adds a server to a service.
    pub fn add(&mut self, service: u32, server: impl Serve + 'static) {
        self.services.entry(service).or_default().push_back(Box::new(server));
    }
}

impl Transport for LocalBroker {
    fn call(&mut self, service: u32, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError> {
        let servers = self.services.get_mut(&service).ok_or(CallError::NoService(service))?;
        let mut server = servers.pop_front().expect("a service that is known has a server");
        let reply = server.serve(method, words);
        servers.push_back(server);
        reply
    }

    fn send(&mut self, service: u32, method: u32, words: &[u32]) -> Result<(), CallError> {
        self.call(service, method, words).map(|_| ())
    }
}

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No server serves the service.
    #[error("no server serves service {0}")]
    NoService(u32),
    /// The interface has no method of that number.
    #[error("the interface has no method {0}")]
    NoMethod(u32),
    /// A message has the wrong length for its method.
    #[error("the message has {found} words, but its method defines {wanted}")]
    Length {
        /// The number of words that the interface defines.
        wanted: usize,
        /// The number of words of the message.
        found: usize,
    },
}

/// Writes values into the words of a message.
#[derive(Debug, Default)]
pub struct Writer {
    words: Vec<u32>,
}

impl Writer {
    /// Writes a value of `bits` bits, as one word or two.
    pub fn put(&mut self, value: u64, bits: u32) {
        self.words.push(value as u32 & mask(bits));
        if bits > 32 {
            self.words.push((value >> 32) as u32);
        }
    }

    /// Writes elements of 8 or 16 bits, packed.
    pub fn put_packed(&mut self, values: impl IntoIterator<Item = u32>, bits: u32) {
        let mut filled = 32;
        for value in values {
            if filled == 32 {
                self.words.push(0);
                filled = 0;
            }
            let last = self.words.len() - 1;
            self.words[last] |= (value & mask(bits)) << filled;
            filled += bits;
        }
    }

    /// Returns the words of the message.
    pub fn finish(self) -> Vec<u32> {
        self.words
    }
}

/// Reads values from the words of a message.
#[derive(Debug)]
pub struct Reader<'a> {
    words: &'a [u32],
}

impl<'a> Reader<'a> {
    /// Creates a reader of a message that must have `wanted` words.
    ///
    /// # Errors
    /// If the message has more words or fewer.
    pub fn new(words: &'a [u32], wanted: usize) -> Result<Self, CallError> {
        if words.len() == wanted {
            Ok(Self { words })
        } else {
            Err(CallError::Length { wanted, found: words.len() })
        }
    }

    /// Reads a value of `bits` bits.
    ///
    /// # Panics
    /// If the message has no words left.
    pub fn take(&mut self, bits: u32) -> u64 {
        let low = u64::from(self.word() & mask(bits));
        if bits > 32 { low | u64::from(self.word()) << 32 } else { low }
    }

    /// Reads elements of 8 or 16 bits, packed.
    ///
    /// # Panics
    /// If the message has no words left.
    pub fn take_packed<const COUNT: usize>(&mut self, bits: u32) -> [u32; COUNT] {
        let (mut word, mut left) = (0, 0);
        std::array::from_fn(|_| {
            if left == 0 {
                (word, left) = (self.word(), 32);
            }
            let value = word & mask(bits);
            (word, left) = (word >> bits, left - bits);
            value
        })
    }

    fn word(&mut self) -> u32 {
        let (&first, rest) = self.words.split_first().expect("the message was said to have more");
        self.words = rest;
        first
    }
}

fn mask(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were_put() {
        let mut writer = Writer::default();
        writer.put(0xffff_ff85, 8);
        writer.put(0x0123_4567_89ab_cdef, 64);
        writer.put_packed([1, 2, 3, 4, 0x105], 8);
        writer.put_packed([0xaaaa, 0xbbbb, 0xcccc], 16);
        let words = writer.finish();
        assert_eq!(words, [0x85, 0x89ab_cdef, 0x0123_4567, 0x0403_0201, 5, 0xbbbb_aaaa, 0xcccc]);
        let mut reader = Reader::new(&words, 7).expect("seven words");
        assert_eq!(reader.take(8), 0x85);
        assert_eq!(reader.take(64), 0x0123_4567_89ab_cdef);
        assert_eq!(reader.take_packed(8), [1, 2, 3, 4, 5]);
        assert_eq!(reader.take_packed(16), [0xaaaa, 0xbbbb, 0xcccc]);
    }

    #[test]
    fn a_message_of_another_length_is_refused() {
        let error = Reader::new(&[1, 2], 3).expect_err("two words are not three");
        assert_eq!(error.to_string(), "the message has 2 words, but its method defines 3");
    }
}
