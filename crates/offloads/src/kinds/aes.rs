//! `aes`: AES-128 (FIPS 197) on single blocks.

use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use wireloom_bits::Bits;

use crate::kinds::secrets::{self, Secrets};
use crate::registry::{METHOD, Method, OffloadKind, ReplyType, U32, ValueType};
use crate::{Config, Cursor, Entry, EntryKey, Env, Instance, Refused, StateRow};

const BLOCK: ValueType = ValueType::Bits(128);

/// The interface of `aes`.
pub const KIND: OffloadKind = OffloadKind {
    name: "aes",
    has_key: false,
    has_value: false,
    params: &[secrets::SIZE],
    methods: &[
        Method {
            name: "encrypt",
            args: &[("secret", U32), ("block", BLOCK)],
            reply: ReplyType::One(BLOCK),
            doc: "The block, encrypted under the secret with this index. Zero if the index is out \
                  of range.",
            ..METHOD
        },
        Method {
            name: "decrypt",
            args: &[("secret", U32), ("block", BLOCK)],
            reply: ReplyType::One(BLOCK),
            doc: "The block that `encrypt` turns into this one.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "The block cipher AES-128. The control plane writes its secrets.",
    table: Some(secrets::TABLE),
    make: |config| Ok(Box::new(Aes::new(config)?)),
};

/// An instance of `aes`.
#[derive(Clone)]
pub struct Aes {
    secrets: Secrets,
    /// For each secret, the keys of its rounds.
    ciphers: Vec<Aes128>,
}

fn cipher(secret: u128) -> Aes128 {
    Aes128::new(&secret.to_be_bytes().into())
}

impl Aes {
    /// Creates an instance as declared, with all secrets zero.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let secrets = Secrets::new(config)?;
        let ciphers = vec![cipher(0); secrets.size()];
        Ok(Self { secrets, ciphers })
    }
}

impl Instance for Aes {
    fn call(&mut self, method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        let cipher = self.ciphers.get(args[0].low_u64() as usize);
        let block = (u128::from(args[1].word(1)) << 64) | u128::from(args[1].word(0));
        let Some(cipher) = cipher else { return Bits::zero(128) };
        let mut block = block.to_be_bytes().into();
        match method {
            0 => cipher.encrypt_block(&mut block),
            _ => cipher.decrypt_block(&mut block),
        }
        Bits::new(128, u128::from_be_bytes(block.into()))
    }

    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let index = self.secrets.load(&entry)?;
        let secret = self.secrets.get(&Bits::new(32, index as u128));
        self.ciphers[index] = cipher(secret.unwrap_or(0));
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let (index, was_set) = self.secrets.unload(key)?;
        self.ciphers[index] = cipher(0);
        Ok(was_set)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    /// The vectors of FIPS 197, appendices B and C.1.
    #[test]
    fn the_vectors_of_the_standard() {
        let mut bench = Bench::new("aes", None, None, &[("size", 3)]);
        let vectors: [(u128, u128, u128); 2] = [
            (
                0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c,
                0x3243_f6a8_885a_308d_3131_98a2_e037_0734,
                0x3925_841d_02dc_09fb_dc11_8597_196a_0b32,
            ),
            (
                0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f,
                0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
                0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a,
            ),
        ];
        for (index, (secret, plain, encrypted)) in (1..).zip(vectors) {
            let entry = Entry { key: EntryKey::Index(index), value: Bits::new(128, secret) };
            bench.instance.load(entry).expect("a secret");
            let at = Bits::new(32, u128::from(index));
            let got = bench.call("encrypt", &[at.clone(), Bits::new(128, plain)]);
            assert_eq!(got, Bits::new(128, encrypted));
            assert_eq!(bench.call("decrypt", &[at, got]), Bits::new(128, plain));
        }
        let outside = [Bits::new(32, 3), Bits::new(128, 5)];
        assert_eq!(bench.call("encrypt", &outside), Bits::zero(128));
        // A secret that is removed is zero.
        assert_eq!(bench.instance.unload(&EntryKey::Index(2)), Ok(true));
        let [removed, never] = [2, 0].map(|index| [Bits::new(32, index), Bits::new(128, 5)]);
        assert_eq!(bench.call("encrypt", &removed), bench.call("encrypt", &never));
    }
}
