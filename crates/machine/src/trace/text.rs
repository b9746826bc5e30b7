//! A trace as text.

use super::{Call, Change, Event, Line, Named, Step, Trace};

/// The minimum width of the text. A narrower terminal cuts the lines.
const NARROWEST: usize = 40;
/// The column at which line numbers of the source end.
const NUMBERS: usize = 6;

impl Trace {
    /// Formats the steps for users, in lines of about `width` characters. Lines of the source stay
    /// whole.
    pub fn text(&self, width: usize) -> String {
        let mut writer = Writer { out: String::new(), width: width.max(NARROWEST) };
        writer.steps(&self.steps, 0);
        if self.omitted_steps > 0 {
            let count = crate::thousands(self.omitted_steps);
            writer.paragraph(0, &[format!("{count} more steps are not shown (--steps)")], ", ");
        }
        writer.out
    }
}

struct Writer {
    out: String,
    width: usize,
}

impl Writer {
    fn steps(&mut self, steps: &[Step], indent: usize) {
        for step in steps {
            let title = format!("step {} ({}:{})", step.step, step.file, step.line);
            self.paragraph(indent, &[title], "");
            for line in &step.lines {
                self.line(step, line, indent);
            }
            if !step.context.is_empty() {
                let mut items: Vec<String> = step.context.iter().map(change).collect();
                items[0].insert_str(0, "context: ");
                self.paragraph(indent + 2, &items, ", ");
            }
            // An exit without its own line, such as the end of a step with `Next_step`.
            let told = |line: &Line| line.events.iter().any(|event| matches!(event, Event::End(_)));
            match &step.end {
                Some(end) if !step.lines.last().is_some_and(told) => {
                    self.paragraph(indent + 2, std::slice::from_ref(end), "");
                }
                _ => {}
            }
            if indent == 0 {
                self.out.push('\n');
            }
        }
    }

    fn line(&mut self, step: &Step, line: &Line, indent: usize) {
        let indent = indent + 2;
        let at = if line.file == step.file {
            format!("{:NUMBERS$}", line.line)
        } else {
            format!("{}:{}", line.file, line.line)
        };
        self.paragraph(indent, &[format!("{at}  {}", line.text)], "");
        let indent = indent + NUMBERS + 4;
        let mut values: Vec<String> = Vec::new();
        for event in &line.events {
            match event {
                Event::Value(value) => values.push(named(value)),
                Event::Condition { held, because } => {
                    values.extend(because.iter().map(named));
                    values.push(if *held { "yes" } else { "no" }.to_owned());
                    self.paragraph(indent, &std::mem::take(&mut values), ", ");
                }
                other => {
                    self.paragraph(indent, &std::mem::take(&mut values), ", ");
                    self.event(indent, other);
                }
            }
        }
        self.paragraph(indent, &values, ", ");
    }

    fn event(&mut self, indent: usize, event: &Event) {
        match event {
            Event::Call(call) => self.call(indent, call),
            Event::Edit { change: edit, outside: false } => {
                self.paragraph(indent, &[change(edit)], "");
            }
            Event::Edit { change: edit, outside: true } => {
                let text = format!("{} lies outside the header window: not written", edit.name);
                self.paragraph(indent, &[text], "");
            }
            Event::Resize { what, from, to } => {
                let length = if from == to {
                    format!("{to} bytes as before")
                } else {
                    format!("{from} -> {to} bytes")
                };
                self.paragraph(indent, &[format!("packet: {what}"), length], ": ");
            }
            Event::End(end) => self.paragraph(indent, &[format!("=> {end}")], ""),
            Event::Value(_) | Event::Condition { .. } => {}
        }
    }

    fn call(&mut self, indent: usize, call: &Call) {
        let mut items: Vec<String> = call.arguments.iter().map(named).collect();
        if items.is_empty() {
            items.push(String::new());
        }
        let last = items.len() - 1;
        items[0].insert_str(0, &format!("{}.{}(", call.offload, call.method));
        items[last].push(')');
        self.paragraph(indent, &items, ", ");
        self.steps(&call.steps, indent + 2);
        let mut reply: Vec<String> = call.found.iter().cloned().collect();
        reply.extend(call.reply.iter().map(named));
        if let Some(first) = reply.first_mut() {
            first.insert_str(0, "-> ");
        }
        self.paragraph(indent + 2, &reply, ", ");
    }

    /// Writes items separated by `between`. Text beyond the width continues on the next line,
    /// indented further.
    fn paragraph(&mut self, indent: usize, items: &[String], between: &str) {
        let Some((first, rest)) = items.split_first() else { return };
        let mut line = format!("{:indent$}{first}", "");
        for item in rest {
            line += between;
            if line.len() + item.len() > self.width {
                self.out += line.trim_end();
                self.out.push('\n');
                line = format!("{:1$}", "", indent + 4);
            }
            line += item;
        }
        self.out += &line;
        self.out.push('\n');
    }
}

fn named(named: &Named) -> String {
    let Named { name, value } = named;
    if name.is_empty() { value.clone() } else { format!("{name} = {value}") }
}

fn change(change: &Change) -> String {
    let Change { name, from, to } = change;
    if from == to { format!("{name} {to} as before") } else { format!("{name} {from} -> {to}") }
}
