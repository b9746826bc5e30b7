//! Renders the explanation as tables.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};

use super::{EngineExplanation, ExitExplanation, ExitKind, Explanation, StepExplanation};

/// Renders the tables of a program, engine by engine. `width` is the width of the terminal in
/// characters, if there is one.
pub fn render(explanation: &Explanation, width: Option<u16>) -> String {
    let mut out = String::new();
    for engine in &explanation.engines {
        if !out.is_empty() {
            out.push('\n');
        }
        head(&mut out, engine, engine.name == explanation.main);
        let _ = writeln!(out, "{}", steps(engine, width));
        notes(&mut out, engine);
        if !engine.paths.is_empty() {
            let _ = writeln!(out, "\n{}", paths(engine, width));
        }
        if !engine.offloads.is_empty() {
            let _ = writeln!(out, "\n{}", offloads(engine, width));
        }
        let _ = writeln!(out, "\n{}", operations(engine, width));
    }
    out
}

fn head(out: &mut String, engine: &EngineExplanation, is_main: bool) {
    let what = match engine.reply_bits {
        Some(bits) => format!("called, replies {bits} bits"),
        None if is_main => "takes packets; this one runs".to_owned(),
        None => "takes packets".to_owned(),
    };
    let _ = writeln!(
        out,
        "engine {} ({what}): {}, {} bits of context, at most {} live at a step boundary, {} stored",
        engine.name,
        count(engine.steps.len(), "step"),
        engine.context_bits,
        engine.peak_live_bits,
        engine.stored_bits,
    );
    if engine.pipelining.legal {
        let _ = writeln!(out, "can be pipelined: only forward jumps, constant delays, order kept");
    } else {
        let _ = writeln!(out, "cannot be pipelined:");
        for reason in &engine.pipelining.reasons {
            let _ = writeln!(out, "  - {reason}");
        }
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn table(header: &[&str], width: Option<u16>) -> Table {
    let mut table = Table::new();
    // Column heads that are one long word would make columns wide.
    let head = |head: &&str| match width {
        Some(_) => head.replace('/', " / "),
        None => (*head).to_owned(),
    };
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header.iter().map(head));
    if let Some(width) = width {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(width);
    }
    table
}

/// Aligns columns of numbers to the right, and keeps all columns at least as wide as their longest
/// words.
fn right(table: &mut Table, columns: &[usize]) {
    let mut longest: Vec<usize> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (column, cell) in row.cell_iter().enumerate() {
            longest.resize(longest.len().max(column + 1), 0);
            let words = cell.content();
            let words = words.split_whitespace().map(|word| word.chars().count());
            longest[column] = longest[column].max(words.max().unwrap_or(0));
        }
    }
    for (column, longest) in table.column_iter_mut().zip(longest) {
        // The space on either side of a cell counts as width.
        let width = Width::Fixed(longest as u16 + 2);
        column.set_constraint(ColumnConstraint::LowerBoundary(width));
    }
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn steps(engine: &EngineExplanation, width: Option<u16>) -> Table {
    let mut table = table(
        &[
            "step",
            "calls",
            "slots",
            "bits in",
            "bits out",
            "runs read/written",
            "depth req/edit/jump",
            "exits",
        ],
        width,
    );
    for step in &engine.steps {
        table.add_row(vec![
            step.name.clone(),
            step.calls.iter().map(call).collect::<Vec<_>>().join("\n"),
            step.slots.to_string(),
            step.context_in.bits.to_string(),
            step.context_out.bits.to_string(),
            format!("{} / {}", step.header_reads, step.header_writes),
            format!("{} / {} / {}", step.depth.request, step.depth.edit, step.depth.jump),
            exits(engine, step),
        ]);
    }
    right(&mut table, &[2, 3, 4, 5, 6]);
    table
}

fn call(call: &super::CallExplanation) -> String {
    let guard = if call.guarded { "? " } else { "" };
    let delay = if call.constant_delay { "" } else { " ~" };
    format!("{guard}{}.{}{delay}", call.offload, call.method)
}

/// Lists the exits in one cell, grouped by kind, with their targets and reasons.
fn exits(engine: &EngineExplanation, step: &StepExplanation) -> String {
    let mut kinds: Vec<ExitKind> = step.exits.iter().map(|e| e.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of_kind = |kind| {
        let mut what: Vec<String> =
            step.exits.iter().filter(|e| e.kind == kind).map(|e| detail(engine, e)).collect();
        what.sort_unstable();
        what.dedup();
        let what = what.join(", ");
        if what.is_empty() { kind.name().to_owned() } else { format!("{} {what}", kind.name()) }
    };
    kinds.into_iter().map(of_kind).collect::<Vec<_>>().join("\n")
}

fn detail(engine: &EngineExplanation, exit: &ExitExplanation) -> String {
    match (exit.to, &exit.reason) {
        (Some(to), _) if exit.backward => format!("{} (back)", engine.steps[to].name),
        (Some(to), _) => engine.steps[to].name.clone(),
        (None, reason) => reason.clone().unwrap_or_default(),
    }
}

fn notes(out: &mut String, engine: &EngineExplanation) {
    if engine.steps.iter().any(|s| s.calls.iter().any(|c| c.guarded || !c.constant_delay)) {
        let _ = writeln!(
            out,
            "? called only under a condition; ~ takes a varying time; depth in LUT6 levels"
        );
    }
    for step in &engine.steps {
        if let Some(reason) = &step.split {
            let _ = writeln!(out, "{} was split off: {reason}", step.name);
        }
    }
}

fn paths(engine: &EngineExplanation, width: Option<u16>) -> Table {
    let mut table = table(&["slots", "path through the steps"], width);
    for path in &engine.paths {
        let names: Vec<&str> = path.steps.iter().map(|s| engine.steps[*s].name.as_str()).collect();
        let what = if path.is_round { "a round of " } else { "" };
        table.add_row(vec![path.slots.to_string(), format!("{what}{}", names.join(" "))]);
    }
    right(&mut table, &[0]);
    table
}

fn offloads(engine: &EngineExplanation, width: Option<u16>) -> Table {
    let mut table = table(&["offload", "kind", "order-sensitive", "called in"], width);
    for offload in &engine.offloads {
        table.add_row(vec![
            offload.name.clone(),
            offload.kind.clone(),
            if offload.order_sensitive { "yes" } else { "no" }.to_owned(),
            offload.called_in.join(", "),
        ]);
    }
    table
}

fn operations(engine: &EngineExplanation, width: Option<u16>) -> Table {
    let mut table = table(&["step", "operations: kind, number x width in bits"], width);
    for step in &engine.steps {
        let kinds = step.operations.iter().map(|(kind, widths)| {
            let widths: Vec<_> = widths.iter().map(|(width, n)| format!("{n}x{width}")).collect();
            format!("{kind} {}", widths.join(" "))
        });
        table.add_row(vec![step.name.clone(), kinds.collect::<Vec<_>>().join(", ")]);
    }
    table
}
