//! The style sheet, and the content security policy of a page.

/// The policy permits no fetches and no scripts; styles are those in the page. The elements are
/// closed, as XML requires and HTML allows, so that a page is well-formed XML too.
pub const META: &str = concat!(
    r#"<meta charset="utf-8"/>"#,
    r#"<meta name="viewport" content="width=device-width, initial-scale=1"/>"#,
    r#"<meta http-equiv="Content-Security-Policy" "#,
    r#"content="default-src 'none'; style-src 'unsafe-inline'"/>"#,
);

/// Light or dark, following the reader's system; black on white on paper. Pictures are drawn on
/// white; in dark mode they are inverted, with their hues kept.
pub const SHEET: &str = "
:root { color-scheme: light dark; --ink: #1f2933; --faint: #52606d; --paper: #ffffff;
  --rule: #cbd2d9; --panel: #f5f7fa; --good: #14692e; --bad: #a51111; --mark: #ffe08a; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --faint: #9aa5b1; --paper: #14181d; --rule: #3e4c59; --panel: #1f262e;
    --good: #7bd88f; --bad: #ff8a8a; --mark: #6b5200; }
  figure svg { filter: invert(0.92) hue-rotate(180deg); }
}
body { font: 15px/1.5 system-ui, 'DejaVu Sans', sans-serif; color: var(--ink);
  background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; border-bottom: 1px solid var(--rule); margin-top: 2rem;
  overflow-wrap: anywhere; }
p.good, p.bad { font-weight: bold; color: var(--good); border-left: 0.3rem solid;
  padding-left: 0.6rem; }
p.bad { color: var(--bad); }
dl div { display: flex; gap: 1rem; padding: 0.1rem 0; }
dt { flex: 0 0 11rem; color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.wide, pre { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th { text-align: left; border-bottom: 2px solid var(--rule); }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; vertical-align: top; }
td { border-bottom: 1px solid var(--rule); overflow-wrap: break-word; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.changed td { background: var(--mark); font-weight: bold; }
pre, .bytes td { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 0.82rem; }
pre { background: var(--panel); padding: 0.6rem; }
.bytes td { white-space: pre; }
mark { background: var(--mark); color: inherit; font-weight: bold; text-decoration: underline; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
@media print { body { max-width: none; margin: 0; font-size: 11px; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; }
  .wide { overflow: visible; } pre { font-size: 5.5px; white-space: pre-wrap;
    overflow-wrap: anywhere; }
  .bytes td { font-size: 8px; }
  * { print-color-adjust: exact; } }
";
