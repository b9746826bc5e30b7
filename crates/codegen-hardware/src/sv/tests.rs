use super::*;

#[test]
fn a_module_prints_as_a_person_would_write_it() {
    let mut module = Module::new("wl_example", "Counts and chooses.\n\nSecond paragraph.");
    module.parameters.push(Parameter::number("Width", 8, "Bits of the count."));
    module.parameters.push(Parameter::number("Lanes", 2, ""));
    module.ports = vec![
        Port::input("clk_i", Type::Bit, "Clock."),
        Port::input("rst_i", Type::Bit, "Reset."),
        Port::input("kind_i", Type::bits(2), "What to do."),
        Port::output("count_o", Type::vector(Expr::name("Width")), "How often."),
        Port::output("chosen_o", Type::bits(16), ""),
    ];
    let name = Expr::name;
    module.items = vec![
        Item::Refuse {
            label: "gen_no_width".into(),
            condition: name("Width").equal(Expr::int(0)),
            message: "Width is \"0\"".into(),
        },
        Item::constant("Total", name("Width").mul(name("Lanes"))),
        Item::Blank,
        Item::comment("Step `look`, router.loom:14."),
        Item::Net {
            name: "chosen".into(),
            ty: Type::bits(16),
            value: Some(
                name("kind_i")
                    .equal(Expr::number(2, 1))
                    .choose(Expr::number(16, 0x8847), name("chosen_o").not()),
            ),
            comment: Some("router.loom:15".into()),
        },
        Item::reset_registers(
            vec![Statement::assign("count_o", Expr::Zeros)],
            vec![Statement::assign(
                "count_o",
                name("count_o").add(Expr::int(1).cast(name("Width"))),
            )],
        ),
        Item::AlwaysComb {
            body: vec![Statement::Case {
                subject: name("kind_i"),
                arms: vec![(
                    vec![Expr::number(2, 0), Expr::number(2, 1)],
                    "nothing".into(),
                    vec![Statement::assign("chosen_o", name("chosen"))],
                )],
                default: vec![Statement::Assign(name("chosen_o"), Expr::number(16, 999))],
            }],
        },
        Item::For {
            label: "gen_lanes".into(),
            variable: "i".into(),
            count: name("Lanes"),
            items: vec![Item::Instance(
                Instance::new("wl_fifo", "i_fifo")
                    .parameter("Width", name("Width"))
                    .port("clk_i", name("clk_i"))
                    .port("data_i", name("all").part(name("i").mul(name("Width")), name("Width")))
                    .open("full_o"),
            )],
        },
        Item::Under {
            macro_name: "FORMAL".into(),
            defined: true,
            items: vec![Item::AlwaysFf {
                clock: "clk_i".into(),
                reset: None,
                body: vec![Statement::Assert {
                    name: "Small_A".into(),
                    condition: name("count_o").less(Expr::int(7)),
                }],
            }],
        },
    ];
    insta::assert_snapshot!(module.print());
}

#[test]
fn words_with_fields_are_structures() {
    let beat = || Type::Named("beat_t".into());
    let name = Expr::name;
    let mut module = Module::new("wl_word", "Joins the fields of a word.");
    module.ports = vec![
        Port::input("last_i", Type::Bit, ""),
        Port::input("data_i", Type::bits(8), ""),
        Port::output("first_o", Type::Named("wl_pkg::sent_t".into()), ""),
    ];
    module.items = vec![
        Item::structure(
            "beat_t",
            vec![
                Field::new("last", Type::Bit, "The packet ends."),
                Field::new("data", Type::bits(8), ""),
            ],
        ),
        Item::net("beat", beat()),
        Item::net("beats", Type::array("beat_t", Expr::int(2))),
        Item::net("all", Type::array("wl_pkg::sent_t", name("Lanes"))),
        Item::net("words", Type::vectors(name("Lanes"), Expr::int(8))),
        Item::Assign {
            target: name("beat").field("last"),
            value: name("last_i").not(),
            comment: None,
        },
        Item::Assign {
            target: name("beats").index(Expr::int(1)).field("data"),
            value: name("data_i"),
            comment: None,
        },
        Item::assign("first_o", name("all").index(Expr::int(0))),
    ];
    insta::assert_snapshot!(module.print(), @r"
    // Joins the fields of a word.
    module wl_word (
      input  logic          last_i,
      input  logic [7:0]    data_i,
      output wl_pkg::sent_t first_o
    );

      typedef struct packed {
        logic last;  // The packet ends.
        logic [7:0] data;
      } beat_t;
      beat_t beat;
      beat_t [1:0] beats;
      wl_pkg::sent_t [Lanes-1:0] all;
      logic [Lanes-1:0][7:0] words;
      assign beat.last = ~last_i;
      assign beats[1].data = data_i;
      assign first_o = all[0];

    endmodule
    ");
}

#[test]
fn long_expressions_break_at_their_operators() {
    let part = |i: u32| {
        Expr::name(format!("a_rather_long_name_{i}"))
            .and(Expr::name("mask").replicate(Expr::int(16)))
    };
    let mut module = Module::new("wl_long", "Long.");
    let chain = Expr::chain(Binary::Or, (0..5).map(part), Expr::Zeros);
    module.items.push(Item::assign("any", chain.clone()));
    let parts = vec![chain.clone(), Expr::name("low").bits(3, 1), Expr::name("low").bits(4, 9)];
    module.items.push(Item::assign("all", Expr::Concat(parts)));
    module.items.push(Item::assign(
        "chosen",
        Expr::name("which").choose(chain.clone(), chain.xor(part(7))),
    ));
    insta::assert_snapshot!(module.print());
}

#[test]
fn numbers_carry_their_width() {
    let print = |value| {
        let mut module = Module::new("m", "");
        module.items.push(Item::assign("x", value));
        module
            .print()
            .lines()
            .find(|l| l.contains("assign"))
            .expect("an assignment")
            .trim()
            .to_owned()
    };
    assert_eq!(print(Expr::number(1, 1)), "assign x = 1'b1;");
    assert_eq!(print(Expr::number(21, 7)), "assign x = 21'd7;");
    assert_eq!(print(Expr::number(48, 0x1_0203_0405)), "assign x = 48'h1_0203_0405;");
    assert_eq!(print(Expr::Number(wireloom_bits::Bits::zero(200))), "assign x = 200'd0;");
    let a = Expr::name("a");
    assert_eq!(
        print(a.clone().sub(Expr::name("b").sub(Expr::name("c")))),
        "assign x = a - (b - c);"
    );
    assert_eq!(
        print(a.clone().sub(Expr::name("b")).sub(Expr::name("c"))),
        "assign x = (a - b) - c;"
    );
    assert_eq!(print(a.and(Expr::name("b")).and(Expr::name("c").not())), "assign x = a & b & ~c;");
}

#[test]
fn names_of_the_source_become_legal_and_unique() {
    assert_eq!(names::legal("route.port"), "route_port");
    assert_eq!(names::legal("digest[2]"), "digest_2");
    assert_eq!(names::legal("2nd"), "_2nd");
    assert_eq!(names::legal("table"), "table_");
    let mut scope = names::Scope::new();
    scope.reserve("clk_i");
    assert_eq!(scope.unique("clk_i"), "clk_i_2");
    assert_eq!(
        (scope.unique("l.1"), scope.unique("l_1"), scope.unique("l_1")),
        ("l_1".into(), "l_1_2".into(), "l_1_3".into())
    );
}
