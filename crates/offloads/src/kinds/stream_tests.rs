//! Streams against a plain list of the bytes that have arrived, however they are cut.

use super::*;
use crate::kinds::tests::{Bench, packet};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % limit
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

fn bench(size: u64, bytes: u64, age: u64, patterns: &[&str]) -> Bench {
    bench_of_case(size, bytes, age, patterns, false)
}

fn bench_of_case(size: u64, bytes: u64, age: u64, patterns: &[&str], nocase: bool) -> Bench {
    let params = [("size", size), ("bytes", bytes), ("age", age), ("nocase", nocase.into())];
    let mut bench = Bench::new("stream", Some(&[("", 8)]), Some(&[("", 8)]), &params);
    for (value, pattern) in (1..).zip(patterns) {
        load(&mut bench, pattern, value).expect("a pattern");
    }
    bench
}

fn load(bench: &mut Bench, pattern: &str, value: u128) -> Result<(), Refused> {
    let key = EntryKey::Pattern(pattern.as_bytes().to_vec());
    bench.instance.load(Entry { key, value: Bits::new(8, value) })
}

fn key(number: u64) -> Bits {
    Bits::new(8, number.into())
}

fn word(value: u32) -> Bits {
    Bits::new(32, value.into())
}

fn half(value: usize) -> Bits {
    Bits::new(16, value as u128)
}

/// Splits a reply into fields of these widths.
fn fields<const N: usize>(reply: &Bits, widths: [u32; N]) -> [u64; N] {
    let mut low = reply.width();
    widths.map(|width| {
        low -= width;
        reply.slice(low, width).low_u64()
    })
}

fn open(bench: &mut Bench, number: u64, start: u32) -> [u64; 2] {
    fields(&bench.call("open", &[key(number), word(start)]), [1, 1])
}

/// Puts a segment from the middle of a packet: found, over, differs, fresh, end.
fn put(bench: &mut Bench, number: u64, sequence: u32, segment: &[u8]) -> [u64; 5] {
    bench.packet = Some(packet(&[&[b'#'; 54], segment, b"trailer"].concat()));
    let args = [key(number), word(sequence), half(54), half(segment.len())];
    fields(&bench.call("put", &args), [1, 1, 1, 16, 32])
}

fn yes(bench: &mut Bench, method: &str, number: u64, position: u32) -> bool {
    bench.call(method, &[key(number), word(position)]).bit(0)
}

fn close(bench: &mut Bench, number: u64) -> bool {
    bench.call("close", &[key(number)]).bit(0)
}

/// Found, complete, start, end.
fn range(bench: &mut Bench, number: u64) -> [u64; 4] {
    fields(&bench.call("range", &[key(number)]), [1, 1, 32, 32])
}

/// Found, pending, at, length, value.
fn find(bench: &mut Bench, from: u32) -> [u64; 5] {
    fields(&bench.call("find", &[key(1), word(from)]), [1, 1, 32, 16, 8])
}

/// Found, pending, at, length, next.
fn line(bench: &mut Bench, from: u32) -> [u64; 5] {
    fields(&bench.call("line", &[key(1), word(from)]), [1, 1, 32, 16, 32])
}

/// Found, pending, value, next.
fn decimal(bench: &mut Bench, from: u32) -> [u64; 4] {
    fields(&bench.call("number", &[key(1), word(from)]), [1, 1, 64, 32])
}

/// What arrived of a stream, byte by byte.
struct Model {
    start: u32,
    end: Option<u32>,
    window: Vec<Option<u8>>,
    patterns: Vec<(Vec<u8>, u64)>,
    nocase: bool,
}

impl Model {
    fn new(start: u32, bytes: usize, patterns: &[&str]) -> Self {
        let patterns = patterns.iter().map(|text| text.as_bytes().to_vec()).zip(1..).collect();
        Self { start, end: None, window: vec![None; bytes], patterns, nocase: false }
    }

    /// Whether `text` begins with `start`.
    fn begins(&self, text: &[u8], start: &[u8]) -> bool {
        let Some(text) = text.get(..start.len()) else { return false };
        if self.nocase { text.eq_ignore_ascii_case(start) } else { text == start }
    }

    fn limit(&self) -> usize {
        let end = self.end.map_or(usize::MAX, |end| end.wrapping_sub(self.start) as usize);
        end.min(self.window.len())
    }

    fn text(&self) -> Vec<u8> {
        self.window.iter().map_while(|byte| *byte).collect()
    }

    fn is_final(&self) -> bool {
        self.text().len() == self.limit()
    }

    fn offset(&self, position: u32) -> Option<usize> {
        let offset = position.wrapping_sub(self.start) as usize;
        (offset <= self.window.len()).then_some(offset)
    }

    fn at(&self, offset: usize) -> u64 {
        u64::from(self.start.wrapping_add(offset as u32))
    }

    fn put(&mut self, sequence: u32, segment: &[u8]) -> [u64; 5] {
        let (mut over, mut differs, mut fresh) = (false, false, 0);
        for (index, byte) in (0..).zip(segment) {
            let offset = sequence.wrapping_add(index).wrapping_sub(self.start) as i32;
            let Ok(offset) = usize::try_from(offset) else { continue };
            if offset >= self.limit() {
                over = true;
            } else if let Some(kept) = self.window[offset] {
                differs |= kept != *byte;
            } else {
                self.window[offset] = Some(*byte);
                fresh += 1;
            }
        }
        [1, over.into(), differs.into(), fresh, self.at(self.text().len())]
    }

    fn skip(&mut self, to: u32) -> bool {
        let Some(count) = self.offset(to).filter(|count| *count <= self.text().len()) else {
            return false;
        };
        self.window.drain(..count);
        self.window.extend(std::iter::repeat_n(None, count));
        self.start = to;
        true
    }

    fn finish(&mut self, end: u32) -> bool {
        let Some(offset) = self.offset(end) else { return false };
        let fits = self.window[offset..].iter().all(Option::is_none)
            && self.end.is_none_or(|known| known == end);
        self.end = if fits { Some(end) } else { self.end };
        fits
    }

    fn find(&self, from: u32) -> [u64; 5] {
        let Some(begin) = self.offset(from) else { return [0; 5] };
        let text = self.text();
        let longest = self.patterns.iter().map(|(bytes, _)| bytes.len()).max().unwrap_or(1);
        let earliest =
            begin.max((text.len() + 1).saturating_sub(longest)).min(begin.max(text.len()));
        let pending = [0, 1, self.at(earliest), 0, 0];
        for place in begin..text.len() {
            let rest = &text[place..];
            for (bytes, value) in &self.patterns {
                if self.begins(rest, bytes) {
                    return [1, 0, self.at(place), bytes.len() as u64, *value];
                }
                if !self.is_final() && self.begins(bytes, rest) {
                    return pending;
                }
            }
        }
        match self.is_final() {
            true if begin > text.len() => [0; 5],
            true => [0, 0, pending[2], 0, 0],
            false => pending,
        }
    }

    fn line(&self, from: u32) -> [u64; 5] {
        let Some(begin) = self.offset(from) else { return [0; 5] };
        let text = self.text();
        let rest = text.get(begin..).unwrap_or_default();
        let Some(count) = rest.iter().position(|byte| *byte == b'\n') else {
            return [0, u64::from(!self.is_final()), 0, 0, 0];
        };
        let mut own: Vec<(usize, u8)> = (begin..).zip(rest[..count].iter().copied()).collect();
        let next = self.at(begin + count + 1);
        if own.last().is_some_and(|(_, byte)| *byte == b'\r') {
            own.pop();
        }
        let after = begin + own.len();
        let blank = |entry: Option<&(usize, u8)>| entry.is_some_and(|(_, b)| b" \t".contains(b));
        while blank(own.last()) {
            own.pop();
        }
        while blank(own.first()) {
            own.remove(0);
        }
        // The text of a line of blanks is at its end.
        let at = own.first().map_or(after, |(place, _)| *place);
        [1, 0, self.at(at), own.len() as u64, next]
    }

    fn number(&self, from: u32) -> [u64; 4] {
        let Some(begin) = self.offset(from) else { return [0; 4] };
        let text = self.text();
        let rest = text.get(begin..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| b" \t".contains(byte)).count();
        let digits: String = rest[blanks..]
            .iter()
            .map(|b| char::from(*b))
            .take_while(char::is_ascii_digit)
            .collect();
        let end = begin + blanks + digits.len();
        let is_whole = end < text.len() || self.end.map(u64::from) == Some(self.at(text.len()));
        match digits.parse::<u64>() {
            Err(_) if !digits.is_empty() => [0; 4],
            Ok(value) if is_whole => [1, 0, value, self.at(end)],
            Err(_) if is_whole => [0; 4],
            _ => [0, u64::from(!self.is_final()), 0, 0],
        }
    }
}

const REQUEST: &str = "POST /video/cat HTTP/1.1\r\nHost: \t static.example.org \r\n\
                       Content-Length:  18446744073709551615\r\n\r\nvideo";

const PATTERNS: [&str; 5] =
    ["/video/dog", "\r\nHost:", "\r\nContent-Length:", "\r\n\r\n", "/video"];

/// What a program learns from the request: the URL, the host, the length and the body's place.
fn learned(bench: &mut Bench, start: u32) -> Vec<[u64; 5]> {
    let mut all = Vec::new();
    let mut from = start;
    for _ in 0..4 {
        let hit = find(bench, from);
        all.push(hit);
        let [1, _, at, length, _] = hit else { return all };
        from = (at + length) as u32;
        all.push(line(bench, from));
        let [found, pending, value, next] = decimal(bench, from);
        all.push([found, pending, value, next, 0]);
    }
    all
}

#[test]
fn a_request_says_the_same_wherever_it_is_cut() {
    let text = REQUEST.as_bytes();
    // Its sequence numbers wrap in the middle.
    let start = 0u32.wrapping_sub(60);
    let mut whole = bench(1, 200, 0, &PATTERNS);
    open(&mut whole, 1, start);
    put(&mut whole, 1, start, text);
    let expected = learned(&mut whole, start);
    assert_eq!(expected[0], [1, 0, u64::from(start.wrapping_add(5)), 6, 5], "the URL");
    let host = u64::from(start.wrapping_add(34));
    assert_eq!(expected[4], [1, 0, host, 18, host + 21], "without the blanks around it");
    assert_eq!(expected[8][..3], [1, 0, u64::MAX], "the largest number");
    assert_eq!(expected.len(), 12);
    for one in 0..=text.len() {
        for other in one..=text.len() {
            let parts = [(0, &text[..one]), (one, &text[one..other]), (other, &text[other..])];
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                if order != [0, 1, 2] && one % 5 != 0 {
                    continue;
                }
                let mut cut = bench(1, 200, 0, &PATTERNS);
                open(&mut cut, 1, start);
                let mut before = Vec::new();
                for index in order {
                    let (at, part) = parts[index];
                    put(&mut cut, 1, start.wrapping_add(at as u32), part);
                    let now = learned(&mut cut, start);
                    for (old, new) in before.iter().zip(&now) {
                        let [found, pending, ..]: [u64; 5] = *old;
                        assert!(pending == 1 || old == new, "{one} {other}: {old:?} {new:?}");
                        assert!(found + pending <= 1);
                    }
                    before = now;
                }
                assert_eq!(before, expected, "cut at {one} and {other}, {order:?}");
            }
        }
    }
}

/// Compares everything that can be asked of stream 1.
fn compare(bench: &mut Bench, model: &Model, random: &mut Random) {
    let text = model.text();
    let end = model.at(text.len());
    let complete = u64::from(model.end.map(u64::from) == Some(end));
    assert_eq!(range(bench, 1), [1, complete, u64::from(model.start), end]);
    let places = model.window.len() as u64 + 3;
    for _ in 0..3 {
        let from = model.start.wrapping_add(random.below(places) as u32).wrapping_sub(1);
        assert_eq!(
            find(bench, from),
            model.find(from),
            "{:?} {from}",
            text.escape_ascii().to_string()
        );
        assert_eq!(
            line(bench, from),
            model.line(from),
            "{:?} {from}",
            text.escape_ascii().to_string()
        );
        assert_eq!(
            decimal(bench, from),
            model.number(from),
            "{:?} {from}",
            text.escape_ascii().to_string()
        );
        let byte = |index: u32| {
            let offset = from.wrapping_add(index).wrapping_sub(model.start) as usize;
            model.window.get(offset).copied().flatten()
        };
        let expected =
            (0..16).fold(0, |word, index| word << 8 | u128::from(byte(index).unwrap_or(0)));
        assert_eq!(bench.call("read", &[key(1), word(from)]), Bits::new(128, expected));
        let count = random.below(12) as usize;
        let first = from.wrapping_sub(model.start) as usize;
        let bytes = model.window.get(first..first + count);
        let bytes: Option<Vec<u8>> = bytes.and_then(|bytes| bytes.iter().copied().collect());
        // No bytes at a place before the last byte that has arrived are there too.
        let last = model.window.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let bytes = bytes.filter(|_| first <= last);
        bench.packet = Some(packet(b"0123456789"));
        let appended = bench.call("append", &[key(1), word(from), half(count)]).bit(0);
        let expected = bytes.as_ref().map(|bytes| [b"0123456789", &bytes[..]].concat());
        assert_eq!(appended.then(|| bench.bytes().to_vec()), expected);
        bench.packet = Some(packet(b"0123456789"));
        let args = [key(1), word(from), half(3), half(count)];
        let written = bench.call("overwrite", &args).bit(0);
        let bytes = bytes.filter(|bytes| bytes.len() <= 7);
        assert_eq!(written, bytes.is_some());
        let mut expected = b"0123456789".to_vec();
        bytes.iter().for_each(|bytes| expected[3..3 + bytes.len()].copy_from_slice(bytes));
        assert_eq!(bench.bytes(), expected);
    }
}

/// Segments of a random text with random cuts, in any order, and again with other bytes. Windows
/// move; ends come early. The first byte with a sequence number counts.
#[test]
fn random_segments_leave_what_a_list_of_bytes_holds() {
    const TABLES: [&[&str]; 6] = [
        &["ab", "abab", "ba"],
        &["abab", "ab"],
        &["b", "aabb", "abba1"],
        &["bc", "aBcd", "1"],
        &["\r\n\r\n", "\n", "12"],
        &[],
    ];
    let random = &mut Random(7);
    let alphabet = b"aabbAabBcd1290 \t\r\n";
    for round in 0..3_000 {
        let is_long = random.chance(4);
        let bytes = 1 + random.below(if is_long { 200 } else { 24 });
        let patterns = TABLES[random.below(6) as usize];
        let start = (random.below(60) as u32).wrapping_sub(30);
        let nocase = random.chance(2);
        let mut bench = bench_of_case(1, bytes, 0, patterns, nocase);
        assert_eq!(open(&mut bench, 1, start), [1, 0]);
        let mut model = Model::new(start, bytes as usize, patterns);
        model.nocase = nocase;
        for _ in 0..random.below(40) {
            match random.below(12) {
                0 => {
                    let to =
                        model.start.wrapping_add(random.below(bytes + 3) as u32).wrapping_sub(1);
                    assert_eq!(yes(&mut bench, "skip", 1, to), model.skip(to));
                }
                1 if round % 3 == 0 => {
                    let end = model.start.wrapping_add(random.below(bytes + 3) as u32);
                    assert_eq!(yes(&mut bench, "finish", 1, end), model.finish(end));
                }
                2 | 3 => {
                    // As a program that lets the window slide after what was searched.
                    let [found, _, at, ..] = find(&mut bench, model.start);
                    if found == 0 {
                        assert_eq!(yes(&mut bench, "skip", 1, at as u32), model.skip(at as u32));
                    }
                }
                _ => {
                    let near = model.text().len() as u64;
                    let base = if random.chance(3) { random.below(bytes + 4) } else { near };
                    let sequence =
                        model.start.wrapping_add(base as u32).wrapping_sub(random.below(4) as u32);
                    let is_long = random.chance(3);
                    let length = random.below(if is_long { 40 } else { 6 });
                    let byte = |_| alphabet[random.below(alphabet.len() as u64) as usize];
                    let segment: Vec<u8> = (0..length).map(byte).collect();
                    let got = put(&mut bench, 1, sequence, &segment);
                    assert_eq!(got, model.put(sequence, &segment), "{round}");
                }
            }
            compare(&mut bench, &model, random);
            if random.chance(20) {
                // A copy continues as the original.
                bench.instance = bench.instance.duplicate();
            }
        }
    }
}

/// The same text in other segments, with repetitions whose bytes differ: the result is the same.
#[test]
fn the_first_bytes_win_in_every_order_of_the_rest() {
    let random = &mut Random(11);
    for _ in 0..300 {
        let text: Vec<u8> = REQUEST.bytes().collect();
        let start = 0u32.wrapping_sub(random.below(200) as u32);
        let mut cuts = vec![0, text.len()];
        (0..random.below(12)).for_each(|_| cuts.push(random.below(text.len() as u64) as usize));
        cuts.sort_unstable();
        let mut segments: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
        for index in (1..segments.len()).rev() {
            segments.swap(index, random.below(index as u64 + 1) as usize);
        }
        let mut bench = bench(1, 200, 0, &PATTERNS);
        open(&mut bench, 1, start);
        for (count, range) in (0..).zip(&segments) {
            let at = start.wrapping_add(range.start as u32);
            put(&mut bench, 1, at, &text[range.clone()]);
            // A segment that has arrived comes again with other bytes.
            let again = &segments[random.below(count + 1) as usize];
            let other = vec![b'/'; again.len()];
            let got = put(&mut bench, 1, start.wrapping_add(again.start as u32), &other);
            let differs = text[again.clone()].iter().any(|byte| *byte != b'/');
            assert_eq!((got[2], got[3]), (differs.into(), 0));
            learned(&mut bench, start);
        }
        let mut whole = bench_with(&text, start);
        assert_eq!(learned(&mut bench, start), learned(&mut whole, start));
    }
}

fn bench_with(text: &[u8], start: u32) -> Bench {
    let mut bench = bench(1, 200, 0, &PATTERNS);
    open(&mut bench, 1, start);
    put(&mut bench, 1, start, text);
    bench
}

#[test]
fn what_does_not_fit_is_told_and_the_rest_is_kept() {
    let mut bench = bench(2, 8, 0, &["defg", "xyz"]);
    assert_eq!(put(&mut bench, 1, 100, b"abc"), [0; 5], "no stream");
    assert_eq!(open(&mut bench, 1, 100), [1, 0]);
    assert_eq!(open(&mut bench, 2, 500), [1, 0]);
    assert_eq!(open(&mut bench, 3, 500), [0, 0], "two streams are open");
    assert_eq!(open(&mut bench, 1, 777), [1, 1], "it stays");
    assert_eq!(put(&mut bench, 1, 100, b"abcdef"), [1, 0, 0, 6, 106]);
    assert_eq!(find(&mut bench, 100), [0, 1, 103, 0, 0]);
    assert_eq!(put(&mut bench, 1, 106, b"Xhijk"), [1, 1, 0, 2, 108], "the bound");
    assert_eq!(find(&mut bench, 100), [0, 0, 105, 0, 0], "the bound decides");
    assert!(yes(&mut bench, "skip", 1, 103));
    assert_eq!(find(&mut bench, 103), [0, 1, 105, 0, 0], "there is room again");
    assert_eq!(put(&mut bench, 1, 108, b"xyz"), [1, 0, 0, 3, 111]);
    assert_eq!(find(&mut bench, 105), [1, 0, 108, 3, 2]);
    assert_eq!(find(&mut bench, 102), [0; 5], "before the window");
    assert!(close(&mut bench, 2) && !close(&mut bench, 2));
    assert_eq!(open(&mut bench, 3, 9), [1, 0]);
    assert_eq!(range(&mut bench, 3), [1, 0, 9, 9]);
    assert_eq!(range(&mut bench, 2), [0; 4]);
}

#[test]
fn the_end_of_a_stream_decides() {
    let mut bench = bench(1, 64, 0, &["abcd", "ab"]);
    open(&mut bench, 1, 0);
    put(&mut bench, 1, 0, b"ab");
    assert_eq!(find(&mut bench, 0), [0, 1, 0, 0, 0], "`abcd` is first in the table");
    assert!(!yes(&mut bench, "finish", 1, 1), "a byte after it has arrived");
    assert!(!yes(&mut bench, "finish", 1, 65), "outside the window");
    assert!(yes(&mut bench, "finish", 1, 4) && !yes(&mut bench, "finish", 1, 5));
    assert_eq!(put(&mut bench, 1, 2, b"77Z"), [1, 1, 0, 2, 4], "nothing comes after the end");
    assert_eq!(range(&mut bench, 1), [1, 1, 0, 4]);
    assert_eq!(find(&mut bench, 0), [1, 0, 0, 2, 2]);
    assert_eq!(decimal(&mut bench, 2), [1, 0, 77, 4]);
    assert_eq!(line(&mut bench, 2), [0; 5], "the line has no end");
}

#[test]
fn old_streams_are_forgotten_and_make_room() {
    let mut bench = bench(1, 8, 100, &[]);
    bench.now = 1000;
    open(&mut bench, 1, 0);
    put(&mut bench, 1, 4, b"later");
    bench.now = 1100;
    assert_eq!(range(&mut bench, 1)[0], 1, "exactly `age` old: still there");
    let stream = EntryKey::Exact(key(1));
    let times = bench.instance.lifetime(&stream).expect("times");
    assert_eq!((times.touched_ns, times.ends_ns), (1000, Some(1100)));
    bench.now = 1101;
    assert_eq!(range(&mut bench, 1), [0; 4]);
    assert_eq!(bench.instance.rows().len(), 1, "time has not moved yet");
    assert_eq!(open(&mut bench, 2, 0), [1, 0]);
    assert_eq!(bench.instance.rows().len(), 1);
    assert_eq!(put(&mut bench, 2, 0, b"1234")[4], 4, "no byte of the stream before it is left");
    bench.now = 0;
    assert_eq!(put(&mut bench, 1, 0, b"x"), [0; 5], "time does not run backwards");
}

#[test]
fn patterns_change_while_a_search_waits() {
    let mut bench = bench(1, 64, 0, &["abcd"]);
    open(&mut bench, 1, 0);
    put(&mut bench, 1, 0, b"xxabc");
    assert_eq!(find(&mut bench, 0), [0, 1, 2, 0, 0]);
    load(&mut bench, "xx", 9).unwrap();
    assert_eq!(find(&mut bench, 0), [1, 0, 0, 2, 9]);
    load(&mut bench, "xx", 7).unwrap();
    assert_eq!(find(&mut bench, 0), [1, 0, 0, 2, 7], "replaced in place");
    let pattern = |text: &str| EntryKey::Pattern(text.as_bytes().to_vec());
    assert_eq!(bench.instance.unload(&pattern("xx")), Ok(true));
    assert_eq!(find(&mut bench, 0), [0, 1, 2, 0, 0]);
    assert!(load(&mut bench, "", 1).is_err());
    put(&mut bench, 1, 5, b"d");
    assert_eq!(find(&mut bench, 2), [1, 0, 2, 4, 1], "from where the search waited");
}

#[test]
fn the_control_plane_sees_streams_and_patterns() {
    let mut bench = bench(300, 16, 0, &["ab"]);
    for number in 0..200 {
        open(&mut bench, number, 1 << 20);
    }
    put(&mut bench, 3, 1 << 20, b"kept");
    put(&mut bench, 3, (1 << 20) + 6, b"?");
    let rows = bench.instance.rows();
    assert_eq!(rows.len(), 201);
    assert!(rows[..200].is_sorted_by_key(|row| row.key.clone()));
    let stream = EntryKey::Exact(key(3));
    let row = bench.instance.look_up(&stream).unwrap().expect("a row");
    let values: Vec<u64> = row.fields.iter().map(|(_, value)| value.low_u64()).collect();
    assert_eq!(values[..3], [1 << 20, (1 << 20) + 4, 5]);
    let (mut from, mut seen) = (Cursor::Start, 0);
    loop {
        let mut page = 0;
        let next = bench.instance.visit_from(&from, 7, &mut |_| page += 1);
        assert!(page <= 7);
        seen += page;
        match next {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(seen, 201);
    assert_eq!(bench.instance.unload(&stream), Ok(true));
    assert_eq!(bench.instance.unload(&stream), Ok(false));
    assert_eq!(bench.instance.entries(), Some(199));
    assert!(bench.instance.unload(&EntryKey::Exact(Bits::new(9, 1))).is_err());
    let entry = Entry { key: stream, value: Bits::new(8, 1) };
    assert!(bench.instance.load(entry).is_err(), "only packets open streams");
}

/// Bytes of a stream that comes in order are read once by a search that waits. Without that, this
/// test would take minutes.
#[test]
fn a_search_reads_each_byte_once() {
    let mut bench = bench(1, 65_535, 0, &["needle"]);
    open(&mut bench, 1, 0);
    for at in 0..65_000 {
        put(&mut bench, 1, at, b"e");
        assert_eq!(find(&mut bench, 0)[1], 1);
        assert_eq!(line(&mut bench, 0)[1], 1);
    }
    put(&mut bench, 1, 65_000, b" needle\n");
    assert_eq!(find(&mut bench, 0), [1, 0, 65_001, 6, 1]);
    assert_eq!(line(&mut bench, 0), [1, 0, 0, 65_007, 65_008]);
}
