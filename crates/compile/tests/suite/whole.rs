//! Views of the whole packet: anywhere in a packet they do what views of the header window do in it.

use proptest::prelude::*;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_lang::{Options, check_source, render};
use wireloom_net::Packet;

/// Runs an engine on one packet, before and after optimisation, and returns its verdict and bytes.
fn run(source: &str, packet: &[u8]) -> (Verdict, Vec<u8>) {
    let checked = check_source("whole.loom", source, &Options::default());
    let program = checked.program.unwrap_or_else(|| {
        panic!("{}\n{source}", render(&checked.diagnostics, &checked.sources, false))
    });
    let plain = lower(&program);
    let mut optimised = plain.clone();
    pipeline::optimise(&mut optimised, &PassOptions::default());
    let [first, second] = [plain, optimised].map(|program| {
        wireloom_ir::verify(&program).unwrap_or_else(|problems| panic!("{problems:?}\n{source}"));
        let store = wireloom_ir::store(&program).expect("the offloads can be made");
        let mut out = Vec::new();
        let arriving = Packet { ingress: 3, arrival_ns: 1_000, bytes: packet.to_vec() };
        Golden::new(program, store)
            .execute(&[arriving], &mut |o| out.push((o.verdict, o.bytes.to_vec())));
        out.pop().expect("the packet leaves")
    });
    assert_eq!(first, second, "optimisation changes the meaning\n{source}");
    first
}

/// A field: its width in bits, and the number of elements if it is an array.
type Field = (u32, Option<u32>);

fn field() -> impl Strategy<Value = Field> {
    let width = prop_oneof![1u32..=9, Just(16), Just(24), 30u32..=70, Just(128), 150u32..=300];
    let scalar = width.prop_map(|width| (width, None));
    let array = (prop_oneof![1u32..=9, Just(16)], 2u32..=5).prop_map(|(w, n)| (w, Some(n)));
    prop_oneof![3 => scalar, 1 => array]
}

/// Returns the declaration of a header of whole bytes, and its size in bytes.
fn header(fields: &[Field]) -> (String, u32) {
    let bits: u32 = fields.iter().map(|(width, count)| width * count.unwrap_or(1)).sum();
    let mut text: String = (fields.iter().enumerate())
        .map(|(at, (width, count))| match count {
            Some(count) => format!("u{width} f{at}[{count}]; "),
            None => format!("u{width} f{at}; "),
        })
        .collect();
    if !bits.is_multiple_of(8) {
        text += &format!("u{} pad; ", 8 - bits % 8);
    }
    (format!("header H {{ {text}}};"), bits.div_ceil(8))
}

/// Returns a statement that uses the view `v` and the number `x`.
fn statement((kind, at, number): (u8, usize, u32), fields: &[Field]) -> String {
    let at = at % fields.len();
    let (width, count) = fields[at];
    let place = match count {
        Some(_) if number.is_multiple_of(3) => format!("v.f{at}[x[1:0]]"),
        Some(count) => format!("v.f{at}[{}]", number % count),
        None => format!("v.f{at}"),
    };
    let (high, low) = (width - 1, number % width);
    match kind {
        0 => format!("{place} = (u{width})(x + {number});"),
        1 => format!("x = x * 3 + (u64){place};"),
        2 => format!("{place}[{high}:{low}] = (u{})x;", high - low + 1),
        3 => format!("{place}[x[3:0] +: {}] = (u{})(x >> 4);", width - low, width - low),
        4 => format!(
            "{{ auto w = v; w.f0 = v.f0; x = x ^ (u64)w.f{}{}; v = w; }}",
            at,
            match count {
                Some(_) => "[1]",
                None => "",
            }
        ),
        5 => format!("if (x[0:0] == 1 && {place} != 0) {place} += (u{width})({number});"),
        6 => format!(
            "x = x + (x[1:1] == 1 ? (u64){place} : (u64)v.f0{});",
            match fields[0].1 {
                Some(_) => "[0]",
                None => "",
            }
        ),
        _ => "next second;".to_owned(),
    }
}

/// Returns a program whose view is at an offset, such as `at` or `packet[at]`.
fn program(header: &str, offset: &str, at: u32, start: u64, body: &str) -> String {
    format!(
        "{header}
         engine e() {{
             H v @ {offset};
             u16 at; u64 x; bool again;
             step begin {{ at = {at}; x = {start}; next first; }}
             step first {{ {body} next second; }}
             step second {{
                 if (!again) {{ again = true; x = x * 5 + 1; next first; }}
                 packet.egress = (u16)(x ^ (x >> 16) ^ (x >> 32) ^ (x >> 48));
                 finish;
             }}
         }}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_view_of_the_packet_does_what_a_view_of_the_window_does(
        fields in prop::collection::vec(field(), 1..6),
        statements in prop::collection::vec((0u8..8, 0usize..6, 0u32..1000), 1..7),
        (begin, far) in (0u32..20, prop_oneof![Just(0u32), Just(100), Just(1500)]),
        start: u64,
        bytes in prop::collection::vec(any::<u8>(), 128),
    ) {
        let (declaration, size) = header(&fields);
        prop_assume!(begin + size <= 128);
        let body: String =
            statements.iter().map(|written| statement(*written, &fields) + " ").collect();
        let expected = run(&program(&declaration, "at", begin, start, &body), &bytes);
        let filler: Vec<u8> = (0..far).map(|at| at as u8).collect();
        let packet = [&filler[..], &bytes].concat();
        let offset = format!("packet[at + {far}]");
        let (verdict, out) = run(&program(&declaration, &offset, begin, start, &body), &packet);
        prop_assert_eq!(verdict, expected.0);
        prop_assert_eq!(&out[..far as usize], &filler[..]);
        prop_assert_eq!(&out[far as usize..], &expected.1[..]);
    }
}

/// Runs a step on a packet of `length` bytes 1, 2, 3, ... with a view at an offset, and returns the
/// bytes from `from` on.
fn at_the_end(length: usize, offset: u32, step: &str, from: usize) -> Vec<u8> {
    let source = format!(
        "header H {{ u8 a; u16 b; u8 c[3]; u160 long; u16 last; }};
         engine e() {{ H v @ packet[at]; u32 sum; u16 at;
             step begin {{ at = {offset}; next work; }}
             step work {{ {step} finish; }} }}"
    );
    let packet: Vec<u8> = (1..=length).map(|byte| byte as u8).collect();
    run(&source, &packet).1.split_off(from)
}

#[test]
fn bytes_past_the_end_read_zero_and_a_part_is_written_only_if_all_of_it_is_there() {
    assert_eq!(at_the_end(202, 200, "v.a = 7;", 199), [200, 7, 202]);
    assert_eq!(at_the_end(202, 200, "v.b = 0x0708;", 199), [200, 201, 202]);
    assert_eq!(at_the_end(203, 200, "v.b = 0x0708;", 199), [200, 201, 7, 8]);
    assert_eq!(at_the_end(203, 200, "v.b[15:8] = 9; v.b[3:0] = 1;", 199), [200, 201, 9, 0xc1]);
    assert_eq!(at_the_end(202, 200, "v.b[15:8] = 9; v.b[3:0] = 1;", 199), [200, 201, 9]);
    assert_eq!(at_the_end(202, 200, "v.a = (u8)(v.b >> 4);", 199), [200, 0xa0, 202]);
    assert_eq!(at_the_end(205, 200, "v.c[1] = 3; v.c[2] = 4;", 202), [203, 204, 3]);
    let index = "u8 i = v.a - 200; v.c[i] = 3;";
    assert_eq!(at_the_end(205, 200, index, 202), [203, 204, 205], "the array is rewritten");
    assert_eq!(at_the_end(206, 200, index, 202), [203, 204, 3, 206]);
    // Twenty bytes are more than one chunk: all of them are written or none.
    assert_eq!(at_the_end(226, 200, "v.long = 0;", 206)[..20], [0; 20]);
    let none: Vec<u8> = (207..=225).collect();
    assert_eq!(at_the_end(225, 200, "v.long = 0;", 206), none);
    assert_eq!(at_the_end(225, 65_520, "v.long = 0; v.last = 1;", 0)[..3], [1, 2, 3]);
    assert_eq!(at_the_end(30, 65_535, "v.last = 1; v.a = 5; v.b = v.b + 1;", 0)[..3], [1, 2, 3]);
    assert_eq!(
        at_the_end(4, 65_530, "sum = (u32)v.last + v.c[2]; if (sum != 0) done;", 0).len(),
        4
    );
}

#[test]
fn fields_that_share_chunks_are_read_by_few_calls() {
    let source = "header H { u8 a; u16 b; u8 c[3]; u160 long; u16 last; };
         header W { u8 x; };
         engine e() { H v @ packet[150]; W w @ 0;
             step s { w.x = v.a + v.c[1] + (u8)v.b + (u8)v.last + v.c[2] + v.a; finish; } }";
    let checked = check_source("whole.loom", source, &Options::default());
    let mut program = lower(&checked.program.expect("it compiles"));
    pipeline::optimise(&mut program, &PassOptions::default());
    let text = wireloom_ir::print(&program);
    assert_eq!(text.matches("v.read").count(), 2, "one for each chunk of 16 bytes\n{text}");
}
