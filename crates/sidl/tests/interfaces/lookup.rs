// Interfaces of lookup.sidl, written by Wireloom (docs/sidl.md).

use wireloom_sidl::host::{CallError, Reader, Serve, Transport, Writer};

/// Service `destinations`: Lookup.
#[allow(non_upper_case_globals)]
pub const SERVICE_destinations: u32 = 0;

/// Service `sources`: Lookup.
#[allow(non_upper_case_globals)]
pub const SERVICE_sources: u32 = 1;

/// Service `output`: Output.
#[allow(non_upper_case_globals)]
pub const SERVICE_output: u32 = 2;

#[allow(missing_docs, non_snake_case, non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub next_hop: u32,
    pub kind: u8,
    pub mac: [u8; 6],
}

#[allow(missing_docs, non_snake_case, non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub low: i16,
    pub high: i16,
}

/// An object of interface `Lookup`.
#[allow(missing_docs, non_snake_case, non_camel_case_types)]
pub trait Lookup {
    fn search(&mut self, address: u32) -> Route;
    fn find(&mut self, key: u64) -> (bool, Route, [u16; 3]);
    fn learn(&mut self, address: u32, length: u8, mac: [u8; 6], ranges: [Range; 2]);
    fn clear(&mut self);
    fn balance(&mut self, a: i8, b: i32, up: bool) -> i64;
}

/// Serves the requests for an object of interface `Lookup`.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct LookupServer<S>(pub S);

impl<S: Lookup> Serve for LookupServer<S> {
    fn serve(&mut self, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError> {
        match method {
            0 => {
                let mut reader = Reader::new(words, 1)?;
                let address = reader.take(32) as u32;
                let result = self.0.search(address);
                let mut writer = Writer::default();
                writer.put(u64::from(result.next_hop), 32);
                writer.put(u64::from(result.kind), 8);
                writer.put_packed(result.mac.iter().map(|&element| element as u32), 8);
                Ok(writer.finish())
            }
            1 => {
                let mut reader = Reader::new(words, 2)?;
                let key = reader.take(64);
                let (result, route, hops) = self.0.find(key);
                let mut writer = Writer::default();
                writer.put(u64::from(result), 1);
                writer.put(u64::from(route.next_hop), 32);
                writer.put(u64::from(route.kind), 8);
                writer.put_packed(route.mac.iter().map(|&element| element as u32), 8);
                writer.put_packed(hops.iter().map(|&element| element as u32), 16);
                Ok(writer.finish())
            }
            2 => {
                let mut reader = Reader::new(words, 8)?;
                let address = reader.take(32) as u32;
                let length = reader.take(8) as u8;
                let mac = reader.take_packed::<6>(8).map(|element| element as u8);
                let ranges = std::array::from_fn(|_| Range { low: reader.take(16) as i16, high: reader.take(16) as i16 });
                self.0.learn(address, length, mac, ranges);
                let writer = Writer::default();
                Ok(writer.finish())
            }
            3 => {
                let _ = Reader::new(words, 0)?;
                self.0.clear();
                let writer = Writer::default();
                Ok(writer.finish())
            }
            4 => {
                let mut reader = Reader::new(words, 3)?;
                let a = reader.take(8) as i8;
                let b = reader.take(32) as i32;
                let up = reader.take(1) != 0;
                let result = self.0.balance(a, b, up);
                let mut writer = Writer::default();
                writer.put(result as u64, 64);
                Ok(writer.finish())
            }
            method => Err(CallError::NoMethod(method)),
        }
    }
}

/// Calls objects of interface `Lookup` through a transport.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct LookupClient<'a, T: ?Sized> {
    /// Carries the calls.
    pub transport: &'a mut T,
    /// The service that is called.
    pub service: u32,
}

#[allow(missing_docs, non_snake_case, clippy::missing_errors_doc)]
impl<T: Transport + ?Sized> LookupClient<'_, T> {
    pub fn search(&mut self, address: u32) -> Result<Route, CallError> {
        let mut writer = Writer::default();
        writer.put(u64::from(address), 32);
        let words = self.transport.call(self.service, 0, &writer.finish())?;
        let mut reader = Reader::new(&words, 4)?;
        let result = Route { next_hop: reader.take(32) as u32, kind: reader.take(8) as u8, mac: reader.take_packed::<6>(8).map(|element| element as u8) };
        Ok(result)
    }

    pub fn find(&mut self, key: u64) -> Result<(bool, Route, [u16; 3]), CallError> {
        let mut writer = Writer::default();
        writer.put(key, 64);
        let words = self.transport.call(self.service, 1, &writer.finish())?;
        let mut reader = Reader::new(&words, 7)?;
        let result = reader.take(1) != 0;
        let route = Route { next_hop: reader.take(32) as u32, kind: reader.take(8) as u8, mac: reader.take_packed::<6>(8).map(|element| element as u8) };
        let hops = reader.take_packed::<3>(16).map(|element| element as u16);
        Ok((result, route, hops))
    }

    pub fn learn(&mut self, address: u32, length: u8, mac: [u8; 6], ranges: [Range; 2]) -> Result<(), CallError> {
        let mut writer = Writer::default();
        writer.put(u64::from(address), 32);
        writer.put(u64::from(length), 8);
        writer.put_packed(mac.iter().map(|&element| element as u32), 8);
        for element in ranges {
            writer.put(element.low as u64, 16);
            writer.put(element.high as u64, 16);
        }
        self.transport.send(self.service, 2, &writer.finish())
    }

    pub fn clear(&mut self) -> Result<(), CallError> {
        let writer = Writer::default();
        let words = self.transport.call(self.service, 3, &writer.finish())?;
        let _ = Reader::new(&words, 0)?;
        Ok(())
    }

    pub fn balance(&mut self, a: i8, b: i32, up: bool) -> Result<i64, CallError> {
        let mut writer = Writer::default();
        writer.put(a as u64, 8);
        writer.put(b as u64, 32);
        writer.put(u64::from(up), 1);
        let words = self.transport.call(self.service, 4, &writer.finish())?;
        let mut reader = Reader::new(&words, 2)?;
        let result = reader.take(64) as i64;
        Ok(result)
    }
}

/// An object of interface `Output`.
#[allow(missing_docs, non_snake_case, non_camel_case_types)]
pub trait Output {
    fn send(&mut self, packet: u32, port: u16, length: u16);
}

/// Serves the requests for an object of interface `Output`.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct OutputServer<S>(pub S);

impl<S: Output> Serve for OutputServer<S> {
    fn serve(&mut self, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError> {
        match method {
            0 => {
                let mut reader = Reader::new(words, 3)?;
                let packet = reader.take(32) as u32;
                let port = reader.take(16) as u16;
                let length = reader.take(16) as u16;
                self.0.send(packet, port, length);
                let writer = Writer::default();
                Ok(writer.finish())
            }
            method => Err(CallError::NoMethod(method)),
        }
    }
}

/// Calls objects of interface `Output` through a transport.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct OutputClient<'a, T: ?Sized> {
    /// Carries the calls.
    pub transport: &'a mut T,
    /// The service that is called.
    pub service: u32,
}

#[allow(missing_docs, non_snake_case, clippy::missing_errors_doc)]
impl<T: Transport + ?Sized> OutputClient<'_, T> {
    pub fn send(&mut self, packet: u32, port: u16, length: u16) -> Result<(), CallError> {
        let mut writer = Writer::default();
        writer.put(u64::from(packet), 32);
        writer.put(u64::from(port), 16);
        writer.put(u64::from(length), 16);
        self.transport.send(self.service, 0, &writer.finish())
    }
}
