//! Draws the step graph.
//!
//! A box is a step. It shows the step's name and source line, the context bits that are live into
//! it, its calls, and a chip for each way in which it ends a thread. Dashed arrows close a loop,
//! solid ones do not. Arrows that first send a copy of the packet are marked `emit`. A dashed box
//! is a part that was split off its step; its tooltip says why.

mod layout;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{EngineExplanation, ExitKind, Explanation, StepExplanation};
use layout::{Rect, layout};

/// Approximate width of a character at 12 px, for DejaVu Sans and DejaVu Sans Mono.
const SANS: f64 = 7.2;
const MONO: f64 = 7.3;
const LINE: f64 = 18.0;
/// Font sizes of the names of engines and of steps.
const TITLE: f64 = 16.0;
const NAME: f64 = 13.5;
const PAD: f64 = 12.0;
const CHIP: f64 = 20.0;
/// Room around everything.
const MARGIN: f64 = 24.0;
/// Distance between the lanes of edges that lead back.
const BACK_LANE: f64 = 16.0;
/// Maximum length of a row of chips, unless the box is wider anyway.
const CHIPS_WIDTH: f64 = 260.0;

const INK: &str = "#1f2933";
const FAINT: &str = "#66727f";
const EDGE: &str = "#52606d";
const BACK: &str = "#8e44ad";
const EMIT: &str = "#0b7285";

/// Draws the step graphs of all engines, with called engines below the main one.
pub fn step_graph(explanation: &Explanation) -> String {
    let main = explanation.engines.iter().filter(|e| e.name == explanation.main);
    let others = explanation.engines.iter().filter(|e| e.name != explanation.main);
    let mut body = String::new();
    let (mut width, mut y) = (0.0f64, MARGIN);
    for engine in main.chain(others) {
        let (drawing, size) = draw_engine(engine);
        let _ = write!(body, r#"<g transform="translate({MARGIN},{y:.1})">{drawing}</g>"#);
        width = width.max(size.0);
        y += size.1 + 2.0 * MARGIN;
    }
    let (width, height) = (width + 2.0 * MARGIN, y);
    let mut markers = String::new();
    for (name, colour) in [("edge", EDGE), ("back", BACK), ("emit", EMIT)] {
        let _ = write!(
            markers,
            r#"<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0,1 L10,5 L0,9 z" fill="{colour}"/></marker>"#
        );
    }
    format!(
        concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0}" height="{h:.0}" viewBox="0 0 {w:.0} {h:.0}" "#,
            r#"font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="{ink}">"#,
            "<title>Step graph of {title}</title><defs>{markers}</defs>",
            r##"<rect width="100%" height="100%" fill="#ffffff"/>{body}</svg>"##,
            "\n"
        ),
        w = width,
        h = height,
        ink = INK,
        title = escape(&explanation.main),
        markers = markers,
        body = body
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A way in which a step ends a thread: the text of its chip, and its kind.
type Chip = (String, ExitKind);

fn chips(step: &StepExplanation) -> Vec<Chip> {
    let mut chips: Vec<Chip> = step
        .exits
        .iter()
        .filter(|e| e.to.is_none())
        .map(|e| {
            let name = e.kind.name().to_owned();
            (e.reason.as_ref().map_or(name.clone(), |reason| format!("{name} {reason}")), e.kind)
        })
        .collect();
    chips.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
    chips.dedup();
    chips
}

/// Fill colour and text colour of a chip.
fn colours(kind: ExitKind) -> (&'static str, &'static str) {
    match kind {
        ExitKind::Finish | ExitKind::Reply => ("#d3f4dd", "#14692e"),
        ExitKind::ToCpu => ("#ffe8cc", "#a04a00"),
        ExitKind::Drop => ("#ffdede", "#a51111"),
        ExitKind::Done | ExitKind::Next | ExitKind::Emit => ("#e4e7eb", "#3e4c59"),
    }
}

/// Returns an upper bound of the width of text in bold type of this size.
fn bold_width(text: &str, size: f64) -> f64 {
    let em = |letter: char| match letter {
        'm' | 'w' | 'M' | 'W' => 1.12,
        'a'..='z' | '_' | ' ' => 0.72,
        _ => 0.86,
    };
    text.chars().map(em).sum::<f64>() * size
}

fn chip_width(text: &str) -> f64 {
    // At 11 px. Capitals are wider.
    let letter = |c: char| if c.is_lowercase() { 6.4 } else { 7.6 };
    text.chars().map(letter).sum::<f64>() + 16.0
}

/// Arranges chips in rows, no longer than `width` if possible. Each chip goes into the first row of
/// its kind that has room.
fn rows(chips: Vec<Chip>, width: f64) -> Vec<Vec<Chip>> {
    let mut rows: Vec<(f64, Vec<Chip>)> = Vec::new();
    for chip in chips {
        let own = chip_width(&chip.0) + 6.0;
        let fits = |(used, row): &&mut (f64, Vec<Chip>)| used + own <= width && row[0].1 == chip.1;
        match rows.iter_mut().find(fits) {
            Some((used, row)) => {
                *used += own;
                row.push(chip);
            }
            None => rows.push((own, vec![chip])),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// A step's box: its text and its size.
struct Card<'a> {
    step: &'a StepExplanation,
    subtitle: String,
    calls: Vec<String>,
    chips: Vec<Vec<Chip>>,
    size: (f64, f64),
}

impl<'a> Card<'a> {
    fn of(step: &'a StepExplanation, is_first: bool) -> Self {
        let line = step
            .place
            .as_ref()
            .and_then(|p| p.rsplit_once(':'))
            .map(|(_, line)| format!("line {line}"));
        let bits = if is_first { None } else { Some(format!("{} bits in", step.context_in.bits)) };
        let subtitle = line.into_iter().chain(bits).collect::<Vec<_>>().join(" · ");
        let calls: Vec<String> = step
            .calls
            .iter()
            .map(|c| format!("{}.{}{}", c.offload, c.method, if c.guarded { " ?" } else { "" }))
            .collect();
        let text = |text: &str, size: f64| text.chars().count() as f64 * size;
        let widest = calls.iter().map(|c| text(c, MONO) + 14.0);
        let inner = widest
            .chain([bold_width(&step.name, NAME), text(&subtitle, SANS * 0.92)])
            .fold(90.0, f64::max);
        let chips = rows(chips(step), inner.max(CHIPS_WIDTH));
        let row_width =
            |row: &Vec<Chip>| row.iter().map(|c| chip_width(&c.0) + 6.0).sum::<f64>() - 6.0;
        let inner = chips.iter().map(row_width).fold(inner, f64::max);
        let calls_height = if calls.is_empty() { 0.0 } else { calls.len() as f64 * LINE + 10.0 };
        let chips_height =
            if chips.is_empty() { 0.0 } else { chips.len() as f64 * (CHIP + 5.0) + 5.0 };
        let height = 46.0 + calls_height + chips_height;
        Self { step, subtitle, calls, chips, size: (inner + 2.0 * PAD, height) }
    }

    fn draw(&self, out: &mut String, at: &Rect) {
        let (x, mut y) = (at.x, at.y);
        let border = if self.step.split.is_some() { r#" stroke-dasharray="5 3""# } else { "" };
        let _ = write!(
            out,
            r##"<g><title>{}</title><rect x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}" rx="7" fill="#f8fafc" stroke="#9aa5b1"{border}/>"##,
            escape(self.step.split.as_deref().unwrap_or(&self.step.name)),
            at.width,
            at.height
        );
        let left = x + PAD;
        let style = format!(r#"font-weight="bold" font-size="{NAME}""#);
        text(out, (left, y + 20.0), &self.step.name, &style);
        text(out, (left, y + 36.0), &self.subtitle, &format!(r#"font-size="11" fill="{FAINT}""#));
        y += 46.0;
        if !self.calls.is_empty() {
            let height = self.calls.len() as f64 * LINE + 4.0;
            let _ = write!(
                out,
                r##"<rect x="{left:.1}" y="{y:.1}" width="{:.1}" height="{height:.1}" rx="4" fill="#e3f0fb"/>"##,
                at.width - 2.0 * PAD
            );
            for (i, call) in self.calls.iter().enumerate() {
                let at = (left + 7.0, y + 14.5 + i as f64 * LINE);
                text(
                    out,
                    at,
                    call,
                    r##"font-family="DejaVu Sans Mono, monospace" fill="#0b4a7a""##,
                );
            }
            y += height + 6.0;
        }
        for row in &self.chips {
            let mut x = left;
            for (label, kind) in row {
                let (fill, ink) = colours(*kind);
                let width = chip_width(label);
                let _ = write!(
                    out,
                    r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{CHIP}" rx="10" fill="{fill}"/>"#
                );
                let style = format!(r#"font-size="11" text-anchor="middle" fill="{ink}""#);
                text(out, (x + width / 2.0, y + 14.0), label, &style);
                x += width + 6.0;
            }
            y += CHIP + 5.0;
        }
        out.push_str("</g>");
    }
}

fn text(out: &mut String, (x, y): (f64, f64), text: &str, style: &str) {
    let _ = write!(out, r#"<text x="{x:.1}" y="{y:.1}" {style}>{}</text>"#, escape(text));
}

/// Draws an engine. Returns the drawing and its size.
fn draw_engine(engine: &EngineExplanation) -> (String, (f64, f64)) {
    let mut out = String::new();
    let title = match engine.reply_bits {
        Some(bits) => format!("engine {} (called, replies {bits} bits)", engine.name),
        None => format!("engine {}", engine.name),
    };
    let style = format!(r#"font-weight="bold" font-size="{TITLE}""#);
    text(&mut out, (0.0, 14.0), &title, &style);
    let facts = format!(
        "{} steps · {} bits of context, at most {} live · {}",
        engine.steps.len(),
        engine.context_bits,
        engine.peak_live_bits,
        if engine.pipelining.legal { "can be pipelined" } else { "multithreaded only" }
    );
    text(&mut out, (0.0, 32.0), &facts, &format!(r#"fill="{FAINT}""#));
    let cards: Vec<Card> =
        engine.steps.iter().enumerate().map(|(i, s)| Card::of(s, i == 0)).collect();
    let sizes: Vec<_> = cards.iter().map(|c| c.size).collect();
    let edges = |backward: bool| -> Vec<(usize, usize, bool)> {
        let mut found = BTreeSet::new();
        for (from, step) in engine.steps.iter().enumerate() {
            for exit in step.exits.iter().filter(|e| e.backward == backward) {
                found.extend(exit.to.map(|to| (from, to, exit.kind == ExitKind::Emit)));
            }
        }
        found.into_iter().collect()
    };
    let forward = edges(false);
    let plan = layout(&sizes, &forward.iter().map(|&(from, to, _)| (from, to)).collect::<Vec<_>>());
    let top = 88.0;
    let _ = write!(out, r#"<g transform="translate(0,{top})">"#);
    if let Some(entry) = plan.boxes.first() {
        let x = entry.middle();
        let _ = write!(
            out,
            r#"<circle cx="{x:.1}" cy="-34" r="6" fill="{INK}"/><path d="M{x:.1},-28 V-1" stroke="{EDGE}" stroke-width="1.4" fill="none" marker-end="url(#edge)"/>"#
        );
        let entry = if engine.reply_bits.is_some() { "request" } else { "packet" };
        text(&mut out, (x + 12.0, -30.0), entry, &format!(r#"font-size="11" fill="{FAINT}""#));
    }
    for (&(from, to, emits), way) in forward.iter().zip(&plan.ways) {
        draw_forward(&mut out, ports(&forward, &plan.boxes, (from, to, emits)), way, emits);
    }
    let mut width = plan.size.0;
    let mut lanes: Vec<(f64, f64, f64)> = Vec::new();
    for (from, to, emits) in edges(true) {
        let (top, bottom) = (plan.boxes[to].y, plan.boxes[from].bottom());
        let beside = plan.boxes.iter().filter(|b| b.y < bottom && top < b.bottom());
        let mut x = beside.map(|b| b.x + b.width).fold(0.0, f64::max) + 20.0;
        while lanes.iter().any(|l| l.0 < bottom && top < l.1 && (l.2 - x).abs() < BACK_LANE) {
            x += BACK_LANE;
        }
        // Arrows into one step arrive at increasing heights.
        let above = lanes.iter().filter(|l| l.0 == top).count() as f64;
        lanes.push((top, bottom, x));
        width = width.max(x + BACK_LANE);
        draw_backward(&mut out, &plan.boxes[from], &plan.boxes[to], (x, above * 9.0), emits);
    }
    for (card, at) in cards.iter().zip(&plan.boxes) {
        card.draw(&mut out, at);
    }
    out.push_str("</g>");
    let heads = bold_width(&title, TITLE).max(facts.chars().count() as f64 * SANS);
    (out, (width.max(heads), plan.size.1 + top))
}

/// Returns the points where an edge leaves its step and enters the next. The edges of a box are
/// spread over its side, in the order of their other ends.
fn ports(
    edges: &[(usize, usize, bool)],
    boxes: &[Rect],
    edge: (usize, usize, bool),
) -> ((f64, f64), (f64, f64)) {
    let spread = |at: &Rect,
                  mut others: Vec<(usize, usize, bool)>,
                  key: fn(&(usize, usize, bool)) -> usize| {
        others.sort_by(|a, b| boxes[key(a)].middle().total_cmp(&boxes[key(b)].middle()));
        let index = others.iter().position(|e| *e == edge).expect("the edge is one of them") as f64;
        at.x + at.width * (index + 1.0) / (others.len() as f64 + 1.0)
    };
    let (from, to) = (&boxes[edge.0], &boxes[edge.1]);
    let leaving: Vec<_> = edges.iter().copied().filter(|e| e.0 == edge.0).collect();
    let entering: Vec<_> = edges.iter().copied().filter(|e| e.1 == edge.1).collect();
    ((spread(from, leaving, |e| e.1), from.bottom()), (spread(to, entering, |e| e.0), to.y - 1.0))
}

fn draw_forward(
    out: &mut String,
    (start, end): ((f64, f64), (f64, f64)),
    way: &[(f64, f64)],
    emits: bool,
) {
    let mut path = format!("M{:.1},{:.1}", start.0, start.1);
    let mut from = start;
    // The edge is a curve between layers and a straight line through a layer.
    for pair in way.chunks(2).map(|p| (p[0], Some(p[p.len() - 1]))).chain([(end, None)]) {
        let (to, out_of) = pair;
        let middle = (from.1 + to.1) / 2.0;
        let _ = write!(
            path,
            " C{:.1},{middle:.1} {:.1},{middle:.1} {:.1},{:.1}",
            from.0, to.0, to.0, to.1
        );
        if let Some(down) = out_of {
            let _ = write!(path, " V{:.1}", down.1);
            from = down;
        }
    }
    let (colour, marker) = if emits { (EMIT, "emit") } else { (EDGE, "edge") };
    let _ = write!(
        out,
        r#"<path d="{path}" stroke="{colour}" stroke-width="1.4" fill="none" marker-end="url(#{marker})"/>"#
    );
    if emits {
        let style = format!(r#"font-size="11" fill="{EMIT}""#);
        text(out, (start.0 + 5.0, start.1 + 14.0), "emit", &style);
    }
}

/// Draws an edge that leads back. It leaves the right side, follows its own lane up (or around),
/// and enters at the right side.
fn draw_backward(out: &mut String, from: &Rect, to: &Rect, (lane, below): (f64, f64), emits: bool) {
    let (start, end) =
        ((from.x + from.width, from.bottom() - 12.0), (to.x + to.width, to.y + 12.0 + below));
    let r = 8.0;
    let path = format!(
        "M{:.1},{:.1} H{:.1} Q{lane:.1},{:.1} {lane:.1},{:.1} V{:.1} Q{lane:.1},{:.1} {:.1},{:.1} H{:.1}",
        start.0,
        start.1,
        lane - r,
        start.1,
        start.1 - r,
        end.1 + r,
        end.1,
        lane - r,
        end.1,
        end.0 + 1.0
    );
    let _ = write!(
        out,
        r#"<path d="{path}" stroke="{BACK}" stroke-width="1.4" stroke-dasharray="6 4" fill="none" marker-end="url(#back)"/>"#
    );
    if emits {
        let style = format!(r#"font-size="11" fill="{EMIT}""#);
        text(out, (start.0 + 5.0, start.1 - 4.0), "emit", &style);
    }
}
