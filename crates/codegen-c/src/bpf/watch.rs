//! The packets that a watched program passes on: the points, and a filter in C over the headers
//! that runtime/c/bpf/filter.h reads.

use wireloom_bits::Bits;

use super::super::tree::{Binary, Declaration, Expr, Item, Signature, Stmt, Type};
use super::MODEL;

/// Selects the packets to pass on.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The points at which packets are passed on: a bit for each `WL_POINT_...` of
    /// runtime/c/bpf/watch.h.
    pub points: u32,
    /// The packets to pass on.
    pub filter: Test,
}

/// A test of a packet's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// Every packet.
    All,
    /// Packets that have a field.
    Has(Header),
    /// Packets with a field that compares this way with a number.
    Number(Header, Comparison, u64),
    /// Packets of an IP version with an address inside a prefix, or outside it.
    Address {
        /// Whether to test the destination. Otherwise the source is tested.
        is_destination: bool,
        /// 4 or 6.
        version: u8,
        /// The address, right-aligned.
        bits: u128,
        /// The number of bits at the end of the address that do not count.
        rest: u32,
        /// Whether the address must be inside the prefix.
        is_inside: bool,
    },
    /// Packets that the other test rejects.
    Not(Box<Test>),
    /// Packets that pass both tests.
    Both(Box<Test>, Box<Test>),
    /// Packets that pass at least one of the tests.
    Either(Box<Test>, Box<Test>),
}

/// A field of `struct wl_headers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in filters")]
pub enum Header {
    Port,
    Length,
    EthSrc,
    EthDst,
    EthType,
    VlanId,
    MplsLabel,
    IpVersion,
    IpProto,
    IpTtl,
    L4Src,
    L4Dst,
}

/// A comparison of a field with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Header {
    /// Returns the member, and the bit that says whether a packet has the field.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Port => ("port", "WL_HAS_PORT"),
            Self::Length => ("length", "WL_HAS_LENGTH"),
            Self::EthSrc => ("eth_src", "WL_HAS_ETH_SRC"),
            Self::EthDst => ("eth_dst", "WL_HAS_ETH_DST"),
            Self::EthType => ("eth_type", "WL_HAS_ETH_TYPE"),
            Self::VlanId => ("vlan_id", "WL_HAS_VLAN_ID"),
            Self::MplsLabel => ("mpls_label", "WL_HAS_MPLS_LABEL"),
            Self::IpVersion => ("version", "WL_HAS_IP"),
            Self::IpProto => ("ip_proto", "WL_HAS_IP_PROTO"),
            Self::IpTtl => ("ip_ttl", "WL_HAS_IP_TTL"),
            Self::L4Src => ("l4_src", "WL_HAS_L4_SRC"),
            Self::L4Dst => ("l4_dst", "WL_HAS_L4_DST"),
        }
    }
}

fn headers() -> Expr {
    Expr::name("h")
}

fn has(bit: &str) -> Expr {
    headers().member("has").binary(Binary::And, Expr::name(bit)).nonzero()
}

fn number(value: u64) -> Expr {
    MODEL.literal(&Bits::new(64, value.into()))
}

impl Test {
    fn expr(&self) -> Expr {
        match self {
            Self::All => Expr::name("true"),
            Self::Has(header) => has(header.names().1),
            Self::Number(header, comparison, value) => {
                let (member, bit) = header.names();
                let (own, other) = (headers().member(member), number(*value));
                let holds = match comparison {
                    Comparison::Equal => own.binary(Binary::Equal, other),
                    Comparison::NotEqual => own.binary(Binary::NotEqual, other),
                    Comparison::Less => own.binary(Binary::Less, other),
                    Comparison::LessOrEqual => own.binary(Binary::LessEqual, other),
                    Comparison::Greater => other.binary(Binary::Less, own),
                    Comparison::GreaterOrEqual => other.binary(Binary::LessEqual, own),
                };
                has(bit).binary(Binary::Both, holds)
            }
            Self::Address { is_destination, version, bits, rest, is_inside } => {
                let member = if *is_destination { "ip_dst" } else { "ip_src" };
                let mask = u128::MAX.checked_shl(*rest).unwrap_or(0);
                // IPv4 addresses have 32 bits.
                let mask = if *version == 4 { mask & u128::from(u32::MAX) } else { mask };
                let words = |value: u128| [number((value >> 64) as u64), number(value as u64)];
                let arguments = [headers().member(member)];
                let arguments = arguments.into_iter().chain(words(bits & mask)).chain(words(mask));
                let inside = Expr::call("WL_INSIDE", arguments);
                let holds = if *is_inside { inside } else { inside.not() };
                let same =
                    headers().member("version").binary(Binary::Equal, number(u64::from(*version)));
                has("WL_HAS_IP").binary(Binary::Both, same).binary(Binary::Both, holds)
            }
            Self::Not(inner) => inner.expr().not(),
            Self::Both(left, right) => left.expr().binary(Binary::Both, right.expr()),
            Self::Either(left, right) => left.expr().binary(Binary::Either, right.expr()),
        }
    }
}

impl Watch {
    /// Returns the definitions that the runtime needs.
    pub(super) fn items(&self) -> Vec<Item> {
        let packet = || Expr::name("p");
        let yes = || Stmt::Return(Expr::number(1));
        let mut body = Vec::new();
        if self.filter == Test::All {
            body.push(yes());
        } else {
            body.push(Stmt::If(packet().not(), vec![Stmt::Return(Expr::number(0))]));
            let read =
                Expr::call("wl_read_headers", [packet(), Expr::name("port"), headers().address()]);
            body.extend([
                Stmt::call("WL_OPAQUE", [packet()]),
                Declaration::new(Type::structure("wl_headers"), "h")
                    .with(Expr::List(vec![Expr::number(0)]))
                    .into(),
                // If the headers cannot be read, the process decides.
                Stmt::If(read.not(), vec![yes()]),
                Stmt::Return(self.filter.expr().nonzero()),
            ]);
        }
        let signature = Signature {
            storage: "WL_ALONE",
            returns: Type::named("uint64_t"),
            name: "wl_wants".into(),
            parameters: vec![
                (Type::structure("wl_packet").pointer(), "p".to_owned()),
                (Type::named("uint32_t"), "port".to_owned()),
            ],
        };
        vec![
            Item::Comment("Whether somebody watches this packet.".into()),
            Item::Directive(format!("define WL_POINTS 0x{:x}", self.points)),
            Item::Directive("include \"filter.h\"".into()),
            Item::Function(signature, body),
            Item::Blank,
        ]
    }
}
