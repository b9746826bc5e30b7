//! The bytes of one stream: a window of its sequence numbers, and which of its bytes have arrived.
//!
//! The window is a ring. A bit for each place says whether a byte after a gap has arrived. The bytes
//! before the first gap need no bits, so a stream that arrives in order touches none.

use std::ops::Range;

/// The kept bytes of a stream. Positions are sequence numbers of 32 bits that wrap. *Offsets* count
/// from the beginning of the window.
#[derive(Clone, Default)]
pub(super) struct Kept {
    /// The sequence number of the first byte of the window.
    start: u32,
    /// The number of bytes from `start` on that have all arrived.
    contiguous: usize,
    /// The offset after the last byte that has arrived.
    furthest: usize,
    /// The sequence number after the last byte of the stream, once it is known.
    end: Option<u32>,
    /// The place of the first byte of the window.
    head: usize,
    ring: Vec<u8>,
    /// For each place, whether a byte after the first gap has arrived. All other bits are zero.
    arrived: Vec<u64>,
}

/// The effect of [`Kept::put`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Put {
    /// Whether a byte lies after the window, or after the end of the stream.
    pub(super) over: bool,
    /// Whether a byte differs from the kept byte with its sequence number.
    pub(super) differs: bool,
    /// The number of bytes that are kept from now on.
    pub(super) fresh: usize,
}

impl Kept {
    /// Begins a stream whose first byte has this sequence number. At most `bytes` bytes are kept.
    pub(super) fn begin(&mut self, start: u32, bytes: usize) {
        // A slot of the table is used again: its memory is there already.
        self.ring.resize(bytes, 0);
        self.arrived.resize(bytes.div_ceil(64), 0);
        if self.furthest > self.contiguous {
            self.arrived.fill(0);
        }
        (self.start, self.contiguous, self.furthest) = (start, 0, 0);
        (self.end, self.head) = (None, 0);
    }

    /// Returns the sequence number of the first byte of the window.
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// Returns the sequence number of the first byte that has not arrived.
    pub(super) fn next(&self) -> u32 {
        self.position(self.contiguous)
    }

    /// Returns the number of bytes before the first gap.
    pub(super) fn contiguous(&self) -> usize {
        self.contiguous
    }

    /// Whether the end of the stream is known and all bytes before it have arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.next())
    }

    /// Whether no byte can follow those before the first gap.
    pub(super) fn is_final(&self) -> bool {
        self.contiguous == self.limit()
    }

    /// Returns the sequence number of an offset.
    pub(super) fn position(&self, offset: usize) -> u32 {
        self.start.wrapping_add(offset as u32)
    }

    /// Returns the offset of a sequence number in the window or at its end.
    pub(super) fn offset(&self, position: u32) -> Option<usize> {
        let offset = position.wrapping_sub(self.start) as usize;
        (offset <= self.ring.len()).then_some(offset)
    }

    /// Returns the offset after the last byte that can be kept.
    fn limit(&self) -> usize {
        let end = self.end.map(|end| end.wrapping_sub(self.start) as usize);
        end.map_or(self.ring.len(), |end| end.min(self.ring.len()))
    }

    fn place(&self, offset: usize) -> usize {
        let place = self.head + offset;
        if place < self.ring.len() { place } else { place - self.ring.len() }
    }

    fn has(&self, offset: usize) -> bool {
        let place = self.place(offset);
        offset < self.contiguous
            || offset < self.furthest && self.arrived[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns the bytes of a range of offsets, in two parts.
    pub(super) fn parts(&self, range: Range<usize>) -> [&[u8]; 2] {
        let (from, count) = (self.head + range.start, range.len());
        let length = self.ring.len();
        let from = if from < length { from } else { from - length };
        let first = count.min(length - from);
        [&self.ring[from..from + first], &self.ring[..count - first]]
    }

    /// Returns the bytes before the first gap, from an offset on.
    pub(super) fn bytes_from(&self, offset: usize) -> impl Iterator<Item = u8> + '_ {
        let parts = self.parts(offset..self.contiguous.max(offset));
        parts.into_iter().flatten().copied()
    }

    /// Keeps the bytes of a segment that have not arrived before. Bytes before the window are
    /// ignored.
    pub(super) fn put(&mut self, sequence: u32, segment: &[u8]) -> Put {
        // A segment is shorter than 2^16 bytes, so a difference of 2^31 or more is one before the
        // window.
        let at = i64::from(sequence.wrapping_sub(self.start) as i32);
        let (limit, end) = (self.limit() as i64, at + segment.len() as i64);
        let mut put = Put { over: end > limit && !segment.is_empty(), ..Put::default() };
        let (first, last) = (at.clamp(0, limit), end.clamp(0, limit));
        if first >= last {
            return put;
        }
        let segment = &segment[(first - at) as usize..(last - at) as usize];
        let (first, last) = (first as usize, last as usize);
        let known = last.min(self.contiguous).saturating_sub(first);
        let (old, new) = segment.split_at(known);
        let [one, other] = self.parts(first..first + known);
        put.differs = old[..one.len()] != *one || old[one.len()..] != *other;
        if first + known == self.contiguous && self.furthest == self.contiguous {
            self.copy(first + known, new);
            put.fresh = new.len();
            self.contiguous += new.len();
            self.furthest = self.contiguous;
            return put;
        }
        for (offset, byte) in (first + known..).zip(new) {
            let place = self.place(offset);
            if self.has(offset) {
                put.differs |= self.ring[place] != *byte;
                continue;
            }
            self.ring[place] = *byte;
            self.arrived[place / 64] |= 1 << (place % 64);
            self.furthest = self.furthest.max(offset + 1);
            put.fresh += 1;
        }
        self.close_gap();
        put
    }

    fn copy(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let place = self.place(offset);
        let first = bytes.len().min(self.ring.len() - place);
        let (one, other) = bytes.split_at(first);
        self.ring[place..place + first].copy_from_slice(one);
        self.ring[..other.len()].copy_from_slice(other);
    }

    /// Counts bytes that have arrived after the first gap, if it is closed.
    fn close_gap(&mut self) {
        while self.contiguous < self.furthest {
            let place = self.place(self.contiguous);
            let bit = 1 << (place % 64);
            if self.arrived[place / 64] & bit == 0 {
                break;
            }
            self.arrived[place / 64] &= !bit;
            self.contiguous += 1;
        }
    }

    /// Sets the end of the stream. Returns false, without effect, if it is outside the window, if a
    /// byte has arrived after it, or if another end is known.
    pub(super) fn finish(&mut self, end: u32) -> bool {
        let fits = self.offset(end).is_some_and(|offset| offset >= self.furthest);
        let fits = fits && self.end.is_none_or(|known| known == end);
        if fits {
            self.end = Some(end);
        }
        fits
    }

    /// Moves the beginning of the window. Returns false, without effect, unless the position is
    /// among the bytes before the first gap, or after the last one.
    pub(super) fn skip(&mut self, to: u32) -> bool {
        let Some(count) = self.offset(to).filter(|count| *count <= self.contiguous) else {
            return false;
        };
        self.head = self.place(count);
        self.start = to;
        self.contiguous -= count;
        self.furthest -= count;
        true
    }

    /// Returns bytes from a position on, in two parts; `None` if one of them has not arrived.
    pub(super) fn whole(&self, from: u32, count: usize) -> Option<[&[u8]; 2]> {
        let first = self.offset(from)?;
        let end = first + count;
        let is_there =
            end <= self.furthest && (first.max(self.contiguous)..end).all(|at| self.has(at));
        is_there.then(|| self.parts(first..end))
    }

    /// Returns sixteen bytes from a position on, the first most significant. Bytes that have not
    /// arrived are zero.
    pub(super) fn read(&self, from: u32) -> u128 {
        let at = from.wrapping_sub(self.start) as i32;
        (0..16).fold(0, |word, index| {
            let offset = usize::try_from(i64::from(at) + index).ok();
            let offset = offset.filter(|offset| *offset < self.furthest && self.has(*offset));
            word << 8 | offset.map_or(0, |offset| u128::from(self.ring[self.place(offset)]))
        })
    }

    /// Returns the number of bytes that have arrived, and the CRC-32 of these bytes and their
    /// offsets.
    pub(super) fn summary(&self) -> (usize, u32) {
        let mut hasher = crc32fast::Hasher::new();
        for part in self.parts(0..self.contiguous) {
            hasher.update(part);
        }
        let mut count = self.contiguous;
        for offset in (self.contiguous..self.furthest).filter(|offset| self.has(*offset)) {
            hasher.update(&(offset as u32).to_be_bytes());
            hasher.update(&[self.ring[self.place(offset)]]);
            count += 1;
        }
        (count, hasher.finalize())
    }
}
