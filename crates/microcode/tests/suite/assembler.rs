//! The assembler: its output, its rejections, and that no text makes it panic.

use std::path::Path;

use proptest::prelude::*;
use wireloom_isa::microengine::{Bank, Image, Index, Instruction, Register, Version, decode};
use wireloom_microcode::{
    CODES, Options, Refused, assemble, disassemble, read_object, supply, write_object,
};

fn try_assemble(text: &str) -> Result<Image, Refused> {
    let mut read = |path: &Path| match path.to_str() {
        Some("self.uc") => Ok("#include \"self.uc\"\n".to_owned()),
        Some("secret" | "uc") => panic!("a file that is no source was read"),
        Some("add.uc") => Ok("#macro add(x, y)\nalu[x, x, +, y]\n#endm\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    assemble("test.uc", text, &Options::default(), &mut read)
}

fn assembled(text: &str) -> Image {
    try_assemble(text).unwrap_or_else(|refused| panic!("{}", refused.render(false)))
}

/// The instructions as text, one a line, without labels.
fn instructions(text: &str) -> Vec<String> {
    let text = disassemble(&assembled(text));
    text.lines().filter(|line| line.starts_with(' ')).map(|line| line.trim().to_owned()).collect()
}

/// The code of the first error, and the text that it marks.
fn refused(text: &str) -> (&'static str, String) {
    let refused = try_assemble(text).expect_err("it is refused");
    assert!(!refused.render(false).is_empty());
    let first = &refused.diagnostics[0];
    let marked = &refused.files[first.place.file].text[first.place.bytes.clone()];
    (first.code, marked.to_owned())
}

/// Asserts that the words are the same after disassembly and assembly.
fn round_trip(image: &Image) {
    let text = disassemble(image);
    let again =
        try_assemble(&text).unwrap_or_else(|refused| panic!("{text}\n{}", refused.render(false)));
    assert_eq!(again.words, image.words, "{text}");
}

#[test]
fn registers_get_places_in_different_banks() {
    let text = ".reg x y z\nimmed[x, 1]\nimmed[y, 2]\nalu[z, x, +, y]\nalu[--, z, -, x]\n";
    let error = refused(
        ".reg x y z\nimmed[x, 1]\nimmed[y, 2]\nimmed[z, 2]\n\
                         alu[z, x, +, y]\nalu[--, z, -, x]\nalu[--, y, AND, z]\n",
    );
    assert_eq!(error.0, "U0301", "three registers, each with each");
    let image = assembled(text);
    let bank = |name: &str| {
        let found = image.registers.iter().find(|register| register.name == name);
        match found.expect("the name").register {
            Register::Gpr(bank, _) => bank,
            _ => panic!("a general-purpose register"),
        }
    };
    assert_ne!(bank("x"), bank("y"));
    assert_ne!(bank("x"), bank("z"));
}

#[test]
fn registers_that_are_not_needed_together_share_a_place() {
    let mut text = String::new();
    for number in 0..100 {
        text += &format!(".reg r{number}\nimmed[r{number}, {number}]\nalu[--, --, B, r{number}]\n");
    }
    assert_eq!(assembled(&text).words.len(), 200);
    let mut text: String = (0..40).map(|n| format!(".reg r{n}\nimmed[r{n}, {n}]\n")).collect();
    text += &(0..40).map(|n| format!("alu[--, --, B, r{n}]\n")).collect::<String>();
    assert_eq!(refused(&text).0, "U0305");
}

#[test]
fn names_hold_where_registers_are_needed() {
    let image = assembled(
        ".reg x y\nimmed[x, 1]\nalu[--, --, B, x]\nimmed[y, 2]\nalu[--, --, B, y]\nimmed[x, 3]\n\
         nop\nalu[--, --, B, x]\nimmed[y, 4]\n",
    );
    let ranges = |name: &str| -> Vec<(u16, u16)> {
        let named = image.registers.iter().filter(|register| register.name == name);
        named.map(|register| register.range).collect()
    };
    assert_eq!((ranges("x"), ranges("y")), (vec![(1, 2), (5, 7)], vec![(3, 4)]));
}

#[test]
fn registers_that_contexts_share_take_no_place_of_theirs() {
    let image =
        assembled(".reg @total x\nimmed[@total, 0]\nimmed[x, 1]\nalu[@total, @total, +, x]\n");
    let total = &image.registers.iter().find(|one| one.name == "@total").expect("it").register;
    assert!(matches!(total, Register::Gpr(_, Index::Absolute(15))), "{total:?}");
}

#[test]
fn conditions_become_branches() {
    let lines = instructions(
        ".reg x=a0\nimmed[x, 3]\n.if (x == 3)\nnop\n.elif (bit(x, 4))\nalu[x, x, +, 1]\n.else\n\
         alu[x, x, -, 1]\n.endif\nnop\n",
    );
    assert_eq!(
        lines,
        [
            "immed[a0, 0x3]",
            "alu[--, a0, -, 3]",
            "br!=0[l5]",
            "nop",
            "br[l9]",
            "br_bclr[a0, 4, l8]",
            "alu[a0, a0, +, 1]",
            "br[l9]",
            "alu[a0, a0, -, 1]",
            "nop",
        ]
    );
}

#[test]
fn loops_go_back() {
    let lines = instructions(
        ".reg i=a0\nimmed[i, 9]\n.while (i > 0)\nalu[i, i, -, 1]\n.if (i == 2 || i == 4)\n.break\n\
         .endif\n.endw\n.repeat\nalu[i, i, +, 1]\n.until (i >= 7)\nctx_arb[kill]\n",
    );
    let expected = [
        "immed[a0, 0x9]",
        "alu[--, --, B, a0]",
        "br<=0[l10]",
        "alu[a0, a0, -, 1]",
        "alu[--, a0, -, 2]",
        "br=0[l8]",
        "alu[--, a0, -, 4]",
        "br!=0[l9]",
        "br[l10]",
        "br[l1]",
        "alu[a0, a0, +, 1]",
        "alu[--, a0, -, 7]",
        "br<0[l10]",
        "ctx_arb[kill]",
    ];
    assert_eq!(lines, expected);
    let unsigned = instructions(".reg x=a0\nimmed[x, 1]\n.if_unsigned (x < 5)\nnop\n.endif\nnop\n");
    assert_eq!(unsigned[2], "br=cout[l4]");
}

#[test]
fn macros_have_labels_of_their_own() {
    let image = assembled(
        "#include \"add.uc\"\n#define STEP 2\n.reg x y\n#macro skip(r)\nbr_bset[r, 0, past#]\n\
         add(r, STEP)\n\
         past#:\nnop\n#endm\nimmed[x, 0]\nimmed[y, 0]\nskip(x)\nskip(y)\n#repeat 3\nnop\n#endr\n\
         #ifdef STEP\nnop\n#else\nbad\n#endif\n",
    );
    assert_eq!(image.words.len(), 12);
    assert_eq!(image.lines[2].expect("a line").line, 12, "where the macro is called");
}

#[test]
fn commands_have_tokens() {
    let lines = instructions(
        ".reg $data0 $data1 base=a0 $$packet $$rest\n.sig done\nimmed[base, 4]\n\
         sram[read, $data0, base, 2, 2], sig_done[done], ordered\nctx_arb[done]\n\
         sdram[read, $$packet, base, 0, 1], ctx_swap, defer[1]\nalu[--, --, B, $data1]\n\
         alu[--, --, B, $$packet]\n",
    );
    assert_eq!(lines[1], "sram[read, $0, a0, 2, 2], ordered, sig_done");
    assert_eq!(lines[2], "ctx_arb[sram]");
    assert_eq!(lines[3], "sdram[read, $$0, a0, 0, 1], ctx_swap, defer[1]");
}

#[test]
fn errors_mark_their_place() {
    let cases = [
        ("bad[x]\n", "U0201", "bad"),
        (".foo\n", "U0102", ".foo"),
        (".reg x\nimmed[x, 1]\nalu[x, y, +, x]\n", "U0203", "y"),
        (".reg x\nimmed[x, 1, 2, 3]\n", "U0202", "immed[x, 1, 2, 3"),
        ("br[nowhere]\n", "U0205", "nowhere"),
        ("ctx_arb[done]\n", "U0204", "done"),
        (".sig done\nctx_arb[done]\n", "U0204", "ctx_arb[done]"),
        (".reg x\nimmed[x, 0x12345678]\n", "U0302", "0x12345678"),
        (".reg x x\n", "U0206", ".reg x x"),
        ("a:\nnop\na:\nnop\n", "U0206", "a:"),
        ("nop, ordered\n", "U0207", "ordered"),
        ("csr[read, $0, nothing]\n", "U0208", "nothing"),
        ("l:\nnop\nbr[l], defer[2]\nnop\nnop\n", "U0307", "defer[2]"),
        ("l:\nbr[l], defer[1]\nbr[l]\n", "U0403", "br[l]"),
        ("local_csr_rd[active_ctx]\nnop\n", "U0404", "local_csr_rd[active_ctx]"),
        (".reg x\nalu[--, --, B, x]\n", "U0402", "x"),
        (".reg x\nimmed[x, 1]\nalu[--, x, +, x]\n", "U0301", "alu[--, x, +, x]"),
        (".if (1 == 1\nnop\n.endif\n", "U0101", ".if (1 == 1"),
        (".while (ctx() == 0)\nnop\n", "U0103", ".while (ctx() == 0)"),
        ("#include \"self.uc\"\n", "U0106", "#include \"self.uc\""),
        ("#include \"none.uc\"\n", "U0105", "#include \"none.uc\""),
        ("#include \"secret\"\n", "U0105", "#include \"secret\""),
        ("#include \"uc\"\n", "U0105", "#include \"uc\""),
        ("#macro m(x)\nm(x)\n#endm\nm(1)\n", "U0106", "m(x)"),
        ("#macro m(x)\nnop\n#endm\nm(1, 2)\n", "U0107", "m(1, 2)"),
        ("#repeat 1000000000\nnop\n#endr\n", "U0106", "nop"),
        ("#error stop\n", "U0108", "#error stop"),
        ("#repeat x\n#endr\n", "U0104", "#repeat x"),
        (".control_store 2\nnop\nnop\nctx_arb[kill]\n", "U0304", "ctx_arb[kill]"),
        (".reg $a $b $c $d $e $f $g $h $i\n", "U0305", ".reg $a $b $c $d $e $f $g $h $i"),
        (
            ".version 2\n.sig a b c d e f g h i j k l m n o p\n",
            "U0306",
            ".sig a b c d e f g h i j k l m n o p",
        ),
    ];
    for (text, code, marked) in cases {
        assert_eq!(refused(text), (code, marked.to_owned()), "{text}");
    }
    let far = format!("br=byte[a0, 0, 1, far]\n{}far:\nnop\n", "nop\n".repeat(200));
    assert_eq!(refused(&far), ("U0303", "far".to_owned()));
}

#[test]
fn a_transfer_register_is_read_after_its_signal() {
    let head = ".reg $d x\n.sig s\nimmed[x, 0]\nsram[read, $d, x, 0, 1], sig_done[s]\n";
    let read = "alu[x, --, B, $d]\n";
    assert_eq!(refused(&format!("{head}{read}")), ("U0401", "$d".to_owned()));
    assembled(&format!("{head}ctx_arb[s]\n{read}"));
    // On one of two paths nothing waits.
    let way = format!("{head}br=0[past]\nctx_arb[s]\npast:\n{read}");
    assert_eq!(refused(&way).0, "U0401");
    // A deferred instruction runs before the wait is over.
    assert_eq!(refused(&format!("{head}ctx_arb[s], defer[1]\n{read}")).0, "U0401");
}

#[test]
fn imports_get_their_values_when_loaded() {
    let mut image = assembled(".import_var TABLE\n.reg x=a3\nimmed32[x, TABLE]\nnop\n");
    assert_eq!(supply(&mut image.clone(), &[]), Err("TABLE".to_owned()));
    supply(&mut image, &[("TABLE", 0x0012_3456)]).expect("all are supplied");
    let value =
        |address: u16| match decode(Version::One, image.words[usize::from(address)], address) {
            Some(Instruction::ImmediateWord { value, .. }) => value,
            other => panic!("{other:?}"),
        };
    assert_eq!((value(0), value(1)), (0x3456, 0x0012));
}

#[test]
fn version_2_has_what_version_1_has_not() {
    let lines = instructions(
        ".version 2\n.reg x=a0 $data\n.sig s\ncam_lookup[x, 4]\nlocal_csr_wr[active_lm_addr_0, x]\n\
         alu[*l$index0++, --, B, x]\nscratch[get, $data, x, 0, 1], ctx_swap[s]\n\
         alu[x, --, B, $data]\n\
         alu[*n$index++, --, B, x]\n",
    );
    assert_eq!(lines[3], "scratch[get, $0, a0, 0, 1], ctx_swap[s1]");
    assert_eq!(lines[2], "alu[*l$index0++, --, B, a0]");
}

#[test]
fn every_code_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/microcode.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for (code, title) in CODES {
        assert!(page.contains(&format!("\n### {code} {title}\n")), "{code} {title}");
    }
}

#[test]
fn the_example_of_the_page_assembles() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/microcode.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let lines = page.lines().skip_while(|line| !line.starts_with("    "));
    let example: Vec<&str> =
        lines.take_while(|line| line.is_empty() || line.starts_with("    ")).collect();
    assert_eq!(assembled(&example.join("\n")).words.len(), 9);
}

#[test]
fn objects_survive_their_file() {
    let image = assembled(
        ".import_var T\n.reg x y $d\n.sig s\nstart:\nimmed32[x, T]\n\
         sram[read, $d, x, 0, 1], ctx_swap[s]\n\
         alu[y, x, +, $d]\nbr[start]\n",
    );
    assert_eq!(read_object(&write_object(&image)), Ok(image.clone()));
    round_trip(&image);
    assert_eq!(
        image
            .registers
            .iter()
            .filter(|one| one.register == Register::Gpr(Bank::A, Index::Relative(0)))
            .count(),
        1
    );
}

#[test]
fn defer_slots_are_filled_where_nothing_depends_on_it() {
    let lines = instructions(
        ".optimise\n.reg x=a0 y=b0 $d\nimmed[x, 1]\nimmed[y, 2]\nalu[--, x, -, y]\nimmed[y, 3]\n\
         br=0[past]\nalu[x, x, +, 1]\nalu[y, y, +, 1]\nbr_bset[x, 3, past]\nimmed[y, 4]\n\
         sram[read, $d, x, y, 1], ctx_swap\nimmed[y, 5]\npast:\nalu[--, x, -, y]\nbr[past]\n",
    );
    let expected = [
        "immed[a0, 0x1]",
        "immed[b0, 0x2]",
        "alu[--, a0, -, b0]",
        "br=0[l11], defer[1]",
        "immed[b0, 0x3]",
        "alu[a0, a0, +, 1]",
        "br_bset[a0, 3, l11], defer[1]",
        "alu[b0, b0, +, 1]",
        "immed[b0, 0x4]",
        "sram[read, $0, a0, b0, 1], ctx_swap",
        "immed[b0, 0x5]",
        "alu[--, a0, -, b0]",
        "br[l11]",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn texts_that_ask_for_much_work_are_refused_soon() {
    let registers: String = (0..4000).map(|n| format!(".reg r{n}\n")).collect();
    let branches: String = (0..2700)
        .map(|n| format!("l{n}:\nalu[r{n}, --, B, r{}]\nbr=0[l{}]\n", n + 1, n * 7919 % 2700))
        .collect();
    let called = "#macro m(a)\n".to_owned() + &"nop\n".repeat(20_000) + "#endm\n";
    let texts = [
        format!(".version 2\n{registers}{branches}immed[r2700, 0]\n"),
        "#if 1\n".repeat(50_000),
        "#repeat 3\n".repeat(60) + &"nop\n".repeat(90_000) + &"#endr\n".repeat(60),
        called + &"m(x)\n".repeat(20_000),
        ".if (1)\n".repeat(40_000),
        "#repeat 9000\n#if 0\n".to_owned() + &"x\n".repeat(90_000) + "#endif\n#endr\n",
        "#define a b b\n#define b a a\na\n".to_owned(),
    ];
    let start = std::time::Instant::now();
    for text in texts {
        assert!(try_assemble(&text).is_err());
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// Random words of random rows of the instruction set.
fn random_words(version: Version) -> impl Strategy<Value = Vec<u64>> {
    let bits = (1_u64 << version.word_bits()) - 1;
    let word = (0..version.rows().len(), any::<u64>()).prop_map(move |(row, random)| {
        let row = &version.rows()[row];
        row.fixed | random & bits & !row.mask
    });
    proptest::collection::vec(word, 1..60)
}

fn image_of(version: Version, words: Vec<u64>) -> Image {
    let lines = vec![None; words.len()];
    Image {
        version,
        words,
        entry: 0,
        files: Vec::new(),
        lines,
        registers: Vec::new(),
        labels: Vec::new(),
        imports: Vec::new(),
    }
}

/// Whether the text is rejected only for the behaviour of its words, not for its form.
fn is_about_behaviour(refused: &Refused) -> bool {
    let codes = ["U0401", "U0403", "U0307"];
    refused.diagnostics.iter().all(|one| codes.contains(&one.code))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_words_survive_disassembly(
        one in random_words(Version::One),
        two in random_words(Version::Two),
    ) {
        for (version, words) in [(Version::One, one), (Version::Two, two)] {
            let image = image_of(version, words);
            let text = disassemble(&image);
            match try_assemble(&text) {
                Ok(again) => prop_assert_eq!(&again.words, &image.words, "{}", text),
                Err(refused) => {
                    prop_assert!(is_about_behaviour(&refused), "{}", refused.render(false));
                }
            }
            // Each word alone is rejected only for its behaviour.
            for (address, &word) in image.words.iter().enumerate() {
                let Some(instruction) = decode(version, word, 0) else { continue };
                let needs_more = matches!(instruction, Instruction::LocalCsrRead { .. });
                if instruction.defer() > 0 || needs_more {
                    continue;
                }
                let single = image_of(version, vec![word]);
                let again = assembled(&disassemble(&single));
                prop_assert_eq!(&again.words, &single.words, "{}", address);
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n){0,300}") {
        let _ = try_assemble(&text).map_err(|refused| refused.render(true));
    }

    #[test]
    fn no_mixture_of_its_words_makes_it_panic(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..120),
    ) {
        let text = words.concat();
        if let Ok(image) = try_assemble(&text).map_err(|refused| refused.render(false)) {
            round_trip(&image);
        }
    }

    #[test]
    fn no_object_makes_the_reader_panic(
        lines in proptest::collection::vec(OBJECT_LINE, 0..30),
    ) {
        let text = format!("wireloom microcode 1\n{}\n", lines.join("\n"));
        if let Ok(image) = read_object(&text) {
            let _ = disassemble(&image);
        }
    }
}

/// A line that resembles a line of an object file.
const OBJECT_LINE: &str =
    "(version|entry|label|word|import|register|file)( [a-z0-9:,$@-]{0,9}){0,4}";

/// Words of the language, for texts that get further than random ones.
const WORDS: &[&str] = &[
    "\n",
    "\n",
    "\n",
    " ",
    ", ",
    "[",
    "]",
    "(",
    ")",
    "x",
    "y",
    "$d",
    "$$p",
    "@g",
    "--",
    "0",
    "1",
    "0x1ffff",
    ".reg x y\n",
    ".reg $d $$p @g\n",
    ".sig s\n",
    ".begin\n",
    ".end\n",
    "immed[x, 1]\n",
    "immed[y, 2]\n",
    "alu[x, x, +, y]\n",
    "alu[y, --, B, $d]\n",
    "ld_field[x, 0011, y, >>8]\n",
    "br[l]\n",
    "l:\n",
    "l#:\n",
    "sram[read, $d, x, 0, 1], ctx_swap\n",
    "sram[read, $d, x, 0, 1], sig_done[s]\n",
    "ctx_arb[s]\n",
    "ctx_arb[kill]\n",
    ".if (x == 1)\n",
    ".if (x < 3 && bit(y, 2))\n",
    ".elif (x)\n",
    ".else\n",
    ".endif\n",
    ".while (x != 0)\n",
    ".endw\n",
    ".repeat\n",
    ".until (x > 1)\n",
    ".break\n",
    "#macro m(a)\n",
    "#endm\n",
    "m(x)\n",
    "#define x y\n",
    "#undef x\n",
    "#if 1\n",
    "#ifdef x\n",
    "#else\n",
    "#endif\n",
    "#repeat 3\n",
    "#endr\n",
    "#include \"self.uc\"\n",
    "#include \"add.uc\"\n",
    "br=0[l], defer[2]\n",
    "nop\n",
    "; text\n",
    "immed32[x, 0x12345678]\n",
    "move[x, y]\n",
    "jump[x, l]\n",
    "rtn[x]\n",
    "load_addr[x, l]\n",
    ".version 2\n",
    "local_csr_rd[active_ctx]\n",
    "alu[*l$index0++, --, B, x]\n",
    "defer[1]",
];
