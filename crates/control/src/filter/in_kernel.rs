//! Filters for programs in the kernel. They keep packets that a filter rejects away from this
//! process.

use wireloom_live::{Comparison, Header, Test};

use super::{Expr, Field, Filter, Operator, Protocol, Value};

impl Filter {
    /// Returns the filter as a test for a program in the kernel. The test does not read all
    /// headers, so it may accept more packets than the filter, but never fewer.
    pub fn in_kernel(&self) -> Test {
        self.0.as_ref().map_or(Test::All, test)
    }
}

fn test(expr: &Expr) -> Test {
    let inner = |expr: &Expr| Box::new(test(expr));
    match expr {
        Expr::Is(protocol) => is(*protocol),
        Expr::Compare(field, operator, value) => compare(*field, *operator, *value),
        Expr::Not(not) => Test::Not(inner(not)),
        Expr::And(left, right) => Test::Both(inner(left), inner(right)),
        Expr::Or(left, right) => Test::Either(inner(left), inner(right)),
    }
}

fn is(protocol: Protocol) -> Test {
    let equal = |header, number| Test::Number(header, Comparison::Equal, number);
    match protocol {
        Protocol::Ip4 => equal(Header::IpVersion, 4),
        Protocol::Ip6 => equal(Header::IpVersion, 6),
        Protocol::Arp => equal(Header::EthType, 0x0806),
        Protocol::Vlan => Test::Has(Header::VlanId),
        Protocol::Mpls => Test::Has(Header::MplsLabel),
        Protocol::Above(number) => equal(Header::IpProto, number.into()),
    }
}

fn compare(field: Field, operator: Operator, value: Value) -> Test {
    let header = match field {
        Field::IpSrc | Field::IpDst => {
            let is_inside = operator == Operator::Equal;
            let Value::Prefix { version, bits, rest } = value else { return never() };
            let is_destination = field == Field::IpDst;
            return Test::Address { is_destination, version, bits, rest, is_inside };
        }
        Field::Port => Header::Port,
        Field::Length => Header::Length,
        Field::EthSrc => Header::EthSrc,
        Field::EthDst => Header::EthDst,
        Field::EthType => Header::EthType,
        Field::VlanId => Header::VlanId,
        Field::MplsLabel => Header::MplsLabel,
        Field::IpProto => Header::IpProto,
        Field::IpTtl => Header::IpTtl,
        Field::L4Src => Header::L4Src,
        Field::L4Dst => Header::L4Dst,
    };
    let comparison = match operator {
        Operator::Equal => Comparison::Equal,
        Operator::NotEqual => Comparison::NotEqual,
        Operator::Less => Comparison::Less,
        Operator::LessOrEqual => Comparison::LessOrEqual,
        Operator::Greater => Comparison::Greater,
        Operator::GreaterOrEqual => Comparison::GreaterOrEqual,
    };
    match value {
        Value::Number(number) => Test::Number(header, comparison, number),
        Value::Prefix { .. } => never(),
    }
}

/// Returns the test of a comparison that holds for no packet.
fn never() -> Test {
    Test::Not(Box::new(Test::All))
}
