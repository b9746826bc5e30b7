//! `siphash`: SipHash-2-4 (Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012), a hash
//! that nobody can predict without the secret.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;
use wireloom_bits::Bits;

use crate::kinds::secrets::{self, Secrets};
use crate::registry::{METHOD, Method, OffloadKind, ReplyType, U32, U64, ValueType};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, RawView, Refused, StateRow};

/// The interface of `siphash`.
pub const KIND: OffloadKind = OffloadKind {
    name: "siphash",
    has_key: true,
    has_value: false,
    params: &[secrets::SIZE],
    methods: &[Method {
        name: "of",
        args: &[("secret", U32), ("data", ValueType::Key)],
        reply: ReplyType::One(U64),
        doc: "SipHash-2-4 of the data's bytes in network order, under the secret with this index. \
              Zero if the index is out of range.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "A keyed hash. The control plane writes its secrets.",
    table: Some(secrets::TABLE),
    make: |config| Ok(Box::new(SipHash::new(config)?)),
};

/// An instance of `siphash`.
#[derive(Clone)]
pub struct SipHash {
    secrets: Secrets,
}

impl SipHash {
    /// Creates an instance as declared, with all secrets zero.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        Ok(Self { secrets: Secrets::new(config)? })
    }
}

/// Returns the SipHash-2-4 of bytes. The most significant byte of the secret is the first.
pub fn siphash(secret: u128, bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&secret.to_be_bytes());
    hasher.write(bytes);
    hasher.finish()
}

impl Instance for SipHash {
    fn call(&mut self, _method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        let secret = self.secrets.get(&args[0]);
        let hash = secret.map_or(0, |secret| siphash(secret, &args[1].to_bytes()));
        Bits::new(64, u128::from(hash))
    }

    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        self.secrets.load(&entry).map(drop)
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        self.secrets.unload(key).map(|(_, was_set)| was_set)
    }

    fn rows(&self) -> Vec<StateRow> {
        self.secrets.rows()
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        self.secrets.look_up(key)
    }

    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        self.secrets.visit_from(from, most, visit)
    }

    /// Every secret exists already.
    fn room(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn raw(&mut self) -> Option<RawView> {
        let elements = self.secrets.size() as u64;
        Some(RawView::Array { data: self.secrets.words_mut().as_mut_ptr(), elements })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    /// The secret of the vectors in the paper's appendix A and in its reference code: 00, 01, ..., 0f.
    const SECRET: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;

    #[test]
    fn the_vectors_of_the_paper_and_its_code() {
        let bytes: Vec<u8> = (0..63).collect();
        for (length, hash) in [
            (0, 0x726f_db47_dd0e_0e31),
            (1, 0x74f8_39c5_93dc_67fd),
            (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
            (63, 0x958a_324c_eb06_4572),
        ] {
            assert_eq!(siphash(SECRET, &bytes[..length]), hash, "{length}");
        }
    }

    #[test]
    fn a_call_uses_the_secret_at_its_index() {
        let mut bench = Bench::new("siphash", Some(&[("", 64)]), None, &[("size", 2)]);
        let entry = Entry { key: EntryKey::Index(1), value: Bits::new(128, SECRET) };
        bench.instance.load(entry).expect("a secret");
        let data = Bits::from_bytes(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let mut of =
            |index: u128| bench.call("of", &[Bits::new(32, index), data.clone()]).low_u64();
        assert_eq!(of(1), 0x93f5_f579_9a93_2462);
        assert_eq!(of(0), siphash(0, &[0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!((of(2), of(u128::from(u32::MAX))), (0, 0));
        assert_eq!(bench.instance.rows().len(), 1);
        assert_eq!(bench.instance.unload(&EntryKey::Index(1)), Ok(true));
        assert_eq!(bench.instance.rows(), []);
        assert!(bench.instance.unload(&EntryKey::Index(2)).is_err());
    }
}
