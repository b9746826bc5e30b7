//! Tests that Figure 2 of the Gorilla paper compiles with only declarations added around it.

use std::path::Path;

use wireloom_lang::hir::{EngineKind, OffloadTarget, Stmt, StmtKind};
use wireloom_lang::{Options, check, render};

/// Figure 2 as printed in section 3.2, with the two closing braces at its end.
const FIGURE: &str = "\
IPv4_check() {
  status = IPv4_header_integrity_check(Header);
  if (status == CHKSUM_OK)
    Next_step = IPv4_lookup;
  else
    Next_step = Exception;}
IPv4_lookup() {
  Da_class = lookupx.search(Header.IPv4_dstaddr);
  Sa_class = lookupy.search(Header.IPv4_srcaddr);
  if (Da_class == NOT_FOUND)
    Next_step = Exception;
  else if(Sa_class == NOT_FOUND)
    Next_step = Exception;
  else
    Next_step = IPv4_modify;}
IPv4_modify() {
  if((IP_update_fields(Header) == ZERO_TTL))
    Next_step = Exception;
  else {
    Dport = Da_class.dport;
    Next_step = Emit;
  }}
";

/// Returns the steps that a body assigns to `Next_step`, in order.
fn successors(stmts: &[Stmt], steps: &[wireloom_lang::hir::Step]) -> Vec<String> {
    let mut out = Vec::new();
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::SetNext(step) => out.push(steps[step.index()].name.clone()),
            StmtKind::If(_, then, otherwise) => {
                out.extend(successors(then, steps));
                out.extend(successors(otherwise, steps));
            }
            StmtKind::Block(inner) => out.extend(successors(inner, steps)),
            _ => {}
        }
    }
    out
}

#[test]
fn figure_2_compiles_as_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/figure2.loom");
    let checked = check(&path, &Options::default());
    assert_eq!(render(&checked.diagnostics, &checked.sources, false), "");
    assert!(
        checked.sources.files[0].text.contains(FIGURE),
        "the figure stands in the file letter by letter"
    );

    let program = checked.program.expect("no diagnostics");
    let engine = &program.engines[program.main.index()];
    assert!(matches!(engine.kind, EngineKind::Packet));
    let names: Vec<&str> = engine.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["IPv4_check", "IPv4_lookup", "IPv4_modify", "Exception", "Emit"]);
    let next: Vec<_> = engine.steps.iter().map(|s| successors(&s.body, &engine.steps)).collect();
    assert_eq!(next[0], ["IPv4_lookup", "Exception"]);
    assert_eq!(next[1], ["Exception", "Exception", "IPv4_modify"]);
    assert_eq!(next[2], ["Exception", "Emit"]);
    for offload in &engine.offloads {
        let OffloadTarget::Kind(config) = &offload.target else {
            panic!("{} is a lookup", offload.name)
        };
        assert_eq!(config.kind, "lpm");
        let miss = config.param("miss");
        assert_eq!((miss.width(), miss.low_u64()), (24, 255), "NOT_FOUND, packed");
    }
}
