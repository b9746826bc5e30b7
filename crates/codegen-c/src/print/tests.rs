use super::super::tree::{Binary, Type};
use super::*;

fn name(name: &str) -> Expr {
    Expr::name(name)
}

fn printed(expression: &Expr) -> String {
    let mut flat = Flat::default();
    flat.expression(expression);
    flat.text
}

#[test]
fn parentheses_stand_where_they_are_needed_or_wanted() {
    use Binary as B;
    let of = |operator: Binary, a: Expr, b: Expr| a.binary(operator, b);
    let both = |outer, inner| {
        [
            printed(&of(outer, of(inner, name("a"), name("b")), name("c"))),
            printed(&of(outer, name("a"), of(inner, name("b"), name("c")))),
        ]
    };
    for (outer, inner, left, right) in [
        (B::Add, B::Add, "a + b + c", "a + (b + c)"),
        (B::Sub, B::Add, "a + b - c", "a - (b + c)"),
        (B::Mul, B::Add, "(a + b) * c", "a * (b + c)"),
        (B::Add, B::Mul, "a * b + c", "a + b * c"),
        (B::Shl, B::Add, "(a + b) << c", "a << (b + c)"),
        (B::Shl, B::Shr, "(a >> b) << c", "a << (b >> c)"),
        (B::Or, B::Or, "a | b | c", "a | (b | c)"),
        (B::Or, B::Shl, "a << b | c", "a | b << c"),
        (B::Or, B::And, "(a & b) | c", "a | (b & c)"),
        (B::And, B::Equal, "(a == b) & c", "a & (b == c)"),
        (B::Equal, B::And, "(a & b) == c", "a == (b & c)"),
        (B::Equal, B::Less, "(a < b) == c", "a == (b < c)"),
        (B::Less, B::Add, "a + b < c", "a < b + c"),
        (B::Both, B::Equal, "a == b && c", "a && b == c"),
        (B::Either, B::Both, "(a && b) || c", "a || (b && c)"),
    ] {
        assert_eq!(both(outer, inner), [left, right]);
    }
    let not = |a: Expr| a.not();
    assert_eq!(printed(&of(B::Equal, not(name("a")), not(name("b")))), "(!a) == !b");
    assert_eq!(printed(&not(of(B::Less, name("a"), name("b")))), "!(a < b)");
    let sum = of(B::Add, name("a"), name("b"));
    assert_eq!(printed(&sum.clone().cast("uint8_t")), "(uint8_t)(a + b)");
    assert_eq!(printed(&name("a").cast("uint8_t").member("w")), "((uint8_t)a).w");
    assert_eq!(printed(&name("a").at(0).address().target().at(1)), "(*&a[0])[1]");
    let choice = sum.clone().choose(name("c"), name("d").choose(name("e"), name("f")));
    assert_eq!(printed(&choice), "(a + b) ? c : (d ? e : f)");
    assert_eq!(printed(&Expr::call("f", [choice, sum])), "f((a + b) ? c : (d ? e : f), a + b)");
}

#[test]
fn long_lines_break_as_far_out_as_they_can() {
    let long = |n: usize| name(&"x".repeat(n));
    let inner = Expr::call("inner", [long(30), long(30)]);
    let items = [
        Item::Function(
            Signature {
                storage: "static",
                returns: Type::named("void"),
                name: "f".into(),
                parameters: vec![],
            },
            vec![Stmt::call("outer", [long(15), inner.clone(), inner]), Stmt::Return(long(120))],
        ),
        Item::Comment("word */ ".repeat(40)),
    ];
    let text = file(&items);
    let x = |n: usize| "x".repeat(n);
    let expected = [
        "static void f(void)".to_owned(),
        "{".into(),
        format!("    outer({}, inner({}, {}),", x(15), x(30), x(30)),
        format!("        inner({}, {}));", x(30), x(30)),
        format!("    return {};", x(120)),
        "}".into(),
    ];
    assert_eq!(text.lines().take(6).collect::<Vec<_>>(), expected);
    let comment: Vec<&str> = text.lines().skip(6).collect();
    assert!(comment.len() > 2 && comment.iter().all(|line| line.len() <= COLUMNS));
    assert_eq!(text.matches("*/").count(), 1);
}

#[test]
fn labels_stand_in_front_of_statements() {
    let body = vec![
        Stmt::Label("a".into()),
        Declaration::new(Type::structure("s").pointer(), "p").commented("of u8").into(),
        Stmt::Label("b".into()),
        Stmt::Comment("here".into()),
        Stmt::Break,
        Stmt::Label("c".into()),
    ];
    let mut out = Writer::default();
    out.body(&body);
    assert_eq!(
        out.text,
        "    a:;\n    struct s *p; /* of u8 */\n    b:\n    /* here */\n    break;\n    c:;\n"
    );
}

#[test]
fn lines_have_the_source_lines_of_their_statements() {
    let loc = |line| Loc { file: 0, line };
    let value = |loc| Declaration::new("uint32_t", "v").with(Expr::number(1)).at(loc);
    let body = vec![
        Stmt::Located("first".into(), loc(3)),
        Stmt::If(Expr::name("a"), vec![value(loc(7)).into(), Stmt::Break]),
        Stmt::Located("second".into(), loc(4)),
        value(Loc::default()).into(),
    ];
    let signature = Signature {
        storage: "static",
        returns: Type::named("void"),
        name: "f".into(),
        parameters: Vec::new(),
    };
    let items = [Item::Function(signature, body), Item::Comment("end".into())];
    let Located { text, lines } = located(&items);
    let lines: Vec<(&str, u32)> = text.lines().zip(lines.iter().map(|loc| loc.line)).collect();
    let wanted = [
        ("static void f(void)", 0),
        ("{", 0),
        ("    /* first */", 3),
        ("    if (a) {", 3),
        ("        uint32_t v = 1;", 7),
        ("        break;", 3),
        ("    }", 3),
        ("    /* second */", 4),
        ("    uint32_t v = 1;", 4),
        ("}", 0),
        ("/* end */", 0),
    ];
    assert_eq!(lines, wanted);
}
