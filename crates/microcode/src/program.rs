//! Reads directives, labels and instructions: turns lines into a program whose names are not
//! resolved.

use std::collections::HashMap;

use wireloom_isa::microengine::Version;
use wireloom_isa::microengine::parts::Parts;
use wireloom_isa::microengine::table::Form;

use crate::Options;
use crate::blocks::{Blocks, Made};
use crate::diagnostic::Diagnostic;
use crate::expression::evaluate;
use crate::line::{Line, is_name};
use crate::names::{Named, Names, Undeclared, is_transfer};
use crate::preprocess::{MAX_ERRORS, label};
use crate::statement::{Item, Reader};

/// A program whose names are not resolved.
pub struct Program {
    pub names: Names,
    pub items: Vec<Item>,
    /// The address of each label, and the line that defines it.
    pub labels: HashMap<String, (u16, usize)>,
    pub imports: Vec<String>,
    pub lines: Vec<Line>,
    /// Whether to fill defer slots.
    pub is_optimised: bool,
}

struct Builder {
    program: Program,
    blocks: Blocks,
    control_store: usize,
    errors: Vec<Diagnostic>,
    is_full: bool,
}

/// Reads a program from its lines.
pub fn read(lines: Vec<Line>, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    let mut version = options.version.unwrap_or(Version::One);
    let mut errors = Vec::new();
    for line in &lines {
        if let Some(rest) = directive(&line.text, "version") {
            match rest {
                "1" => version = Version::One,
                "2" => version = Version::Two,
                _ => errors.push(line.error_here("U0101", "the version is 1 or 2")),
            }
        }
    }
    let largest = version.sizes().control_store;
    let count = lines.len();
    let mut builder = Builder {
        program: Program {
            names: Names::new(version),
            items: Vec::new(),
            labels: HashMap::new(),
            imports: Vec::new(),
            lines,
            is_optimised: options.optimise,
        },
        blocks: Blocks::default(),
        control_store: options.control_store.unwrap_or(largest).min(largest),
        errors,
        is_full: false,
    };
    for number in 0..count {
        if builder.is_full || builder.errors.len() >= MAX_ERRORS {
            break;
        }
        builder.line(number);
    }
    if let Some(block) = builder.blocks.unclosed() {
        let line = &builder.program.lines[block.line];
        builder.errors.push(line.error_here("U0103", "this block is not closed"));
    }
    if builder.program.names.open_scopes() > 0 && builder.errors.is_empty() {
        let line = builder.program.lines.last();
        let error = line.map(|line| line.error_here("U0103", "`.end` is missing before this"));
        builder.errors.extend(error);
    }
    if builder.errors.is_empty() { Ok(builder.program) } else { Err(builder.errors) }
}

/// The operands of the directive `name`, if the line is this directive.
fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.trim().strip_prefix('.')?.strip_prefix(name)?;
    (rest.is_empty() || !rest.starts_with(is_name)).then(|| rest.trim())
}

impl Builder {
    fn error(&mut self, number: usize, code: &'static str, message: impl Into<String>) {
        let error = self.program.lines[number].error_here(code, message);
        self.errors.push(error);
    }

    fn line(&mut self, number: usize) {
        let text = self.program.lines[number].text.clone();
        let mut start = text.len() - text.trim_start().len();
        if let Some(name) = label(&text) {
            self.label(number, name);
            start += name.len();
            let rest = text[start..].trim_start_matches('#').trim_start_matches(':');
            start = text.len() - rest.trim_start().len();
        }
        let rest = &text[start..];
        if rest.trim().is_empty() {
            return;
        }
        match rest.strip_prefix('.') {
            Some(statement) => self.directive(number, statement),
            None => self.instruction(number, start),
        }
    }

    fn label(&mut self, number: usize, name: &str) {
        let address = self.program.items.len() as u16;
        if self.program.labels.insert(name.to_owned(), (address, number)).is_some() {
            self.error(number, "U0206", format!("there is already a label `{name}`"));
        }
    }

    fn directive(&mut self, number: usize, statement: &str) {
        let end = statement.find(|c| !is_name(c)).unwrap_or(statement.len());
        let (word, rest) = (&statement[..end], statement[end..].trim());
        let names: Vec<String> = rest
            .split([',', ' ', '\t'])
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        match word {
            // `version` has been read before all other directives; the other two are for people.
            "version" | "entry" | "num_contexts" => {}
            "optimise" => self.program.is_optimised = true,
            "control_store" => match evaluate(rest) {
                Ok(words) if words > 0 => {
                    self.control_store = self.control_store.min(words as usize);
                }
                Ok(_) => self.error(number, "U0104", "a control store has words"),
                Err(why) => self.error(number, "U0104", why),
            },
            "begin" => self.program.names.begin(),
            "end" => {
                if !self.program.names.end() {
                    self.error(number, "U0103", "`.end` closes nothing");
                }
            }
            "reg" => self.registers(number, &names),
            "sig" => {
                for name in &names {
                    let declared = self.program.names.signal(name);
                    self.declared(number, name, declared, "U0306");
                }
            }
            "xfer_order" => self.transfer_order(number, &names),
            "import_var" => {
                for name in &names {
                    let declared = self.program.names.import(name);
                    self.declared(number, name, declared, "U0305");
                    self.program.imports.push(name.clone());
                }
            }
            "word" => match evaluate(rest) {
                Ok(word) => self.word(number, word as u64),
                Err(why) => self.error(number, "U0104", why),
            },
            _ => self.block(number, word, rest),
        }
    }

    fn word(&mut self, number: usize, word: u64) {
        if word >> self.program.names.version().word_bits() != 0 {
            return self.error(number, "U0302", "the word has more bits than an instruction");
        }
        self.push(Item {
            form: Form::Nop,
            parts: Parts::default(),
            nodes: [None; 3],
            following: None,
            label: None,
            import: None,
            completion: None,
            waits: Vec::new(),
            raw: Some(word),
            line: number,
            places: Vec::new(),
        });
    }

    fn declared(
        &mut self,
        number: usize,
        name: &str,
        declared: Result<(), Undeclared>,
        full: &'static str,
    ) {
        let Err(why) = declared else { return };
        match why {
            Undeclared::Twice => {
                self.error(number, "U0206", format!("`{name}` is declared twice in this scope"));
            }
            Undeclared::NoneLeft => {
                let message = format!(
                    "`{name}` does not fit: all registers or signals of its kind are in use"
                );
                let error = self.program.lines[number].error_here(full, message);
                let help = "`.begin` and `.end` limit where names hold; later names use \
                     their registers and signals again";
                self.errors.push(error.help(help));
            }
            Undeclared::Malformed => {
                self.error(number, "U0101", format!("`{name}` cannot be declared: it is no name"));
            }
            Undeclared::TooMany => self.error(number, full, "the program has too many names"),
        }
    }

    fn registers(&mut self, number: usize, names: &[String]) {
        let place = self.program.lines[number].place.clone();
        // Transfer registers of one line are consecutive.
        let mut run: Vec<&str> = Vec::new();
        let kind = |name: &str| name.chars().take_while(|c| !c.is_ascii_alphanumeric()).count();
        for name in names {
            if !is_transfer(name) {
                let declared = self.program.names.gpr(name, place.clone());
                self.declared(number, name, declared, "U0305");
                continue;
            }
            if run.last().is_some_and(|last| kind(last) != kind(name)) {
                let declared = self.program.names.transfer(&run);
                self.declared(number, run[0], declared, "U0305");
                run.clear();
            }
            run.push(name);
        }
        if let Some(first) = run.first() {
            let declared = self.program.names.transfer(&run);
            self.declared(number, first, declared, "U0305");
        }
    }

    fn transfer_order(&mut self, number: usize, names: &[String]) {
        let mut numbers = Vec::new();
        for name in names {
            match self.program.names.find(name) {
                Some(Named::Transfer(file, register)) => numbers.push((file, register)),
                _ => {
                    let message = format!("there is no transfer register `{name}`");
                    return self.error(number, "U0203", message);
                }
            }
        }
        let follows = |pair: &[_]| matches!(pair, [(a, x), (b, y)] if a == b && *y == *x + 1_u8);
        if !numbers.windows(2).all(follows) {
            let error = self.program.lines[number]
                .error_here("U0305", "these transfer registers do not follow each other")
                .help("declare them in this order by one `.reg`");
            return self.errors.push(error);
        }
        if let (Some(&(file, first)), Some(&(_, last))) = (numbers.first(), numbers.last()) {
            self.program.names.join(file, first, last);
        }
    }

    fn block(&mut self, number: usize, word: &str, rest: &str) {
        match self.blocks.statement(word, rest, number) {
            None => self.error(number, "U0102", format!("`.{word}` is unknown")),
            Some(Err(why)) => {
                let code = if why.contains("open") || why.contains("closes") || why.contains("loop")
                {
                    "U0103"
                } else {
                    "U0101"
                };
                self.error(number, code, why);
                self.blocks.made.clear();
            }
            Some(Ok(())) => {
                for made in std::mem::take(&mut self.blocks.made) {
                    match made {
                        Made::Label(name) => self.label(number, &name),
                        Made::Instruction(text) => self.made(number, text),
                    }
                }
            }
        }
    }

    /// Reads an instruction that is generated for a statement of line `number`.
    fn made(&mut self, number: usize, text: String) {
        let line = Line { text, is_exact: false, ..self.program.lines[number].clone() };
        self.program.lines.push(line);
        self.instruction(self.program.lines.len() - 1, 0);
    }

    fn instruction(&mut self, number: usize, start: usize) {
        let text = self.program.lines[number].text[start..].trim().to_owned();
        let open = text.find('[').unwrap_or(text.len());
        let operands = text[open..].strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let pair = operands.and_then(|rest| rest.split_once(','));
        match (text[..open].trim(), pair) {
            ("move", Some((to, from))) => {
                return self.made(number, format!("alu[{}, --, B, {}]", to.trim(), from.trim()));
            }
            ("immed32", Some((to, value))) => {
                return self.immediate(number, to.trim(), value.trim());
            }
            _ => {}
        }
        let line = self.program.lines[number].clone();
        let mut reader = Reader { names: &mut self.program.names, line: &line, number };
        match reader.instruction(start) {
            Ok(item) => self.push(item),
            Err(error) => self.errors.push(*error),
        }
    }

    /// Expands `immed32[register, value]` to one or two instructions.
    fn immediate(&mut self, number: usize, to: &str, value: &str) {
        if self.program.names.find(value) == Some(Named::Import) {
            self.made(number, format!("immed_w0[{to}, {value}]"));
            return self.made(number, format!("immed_w1[{to}, {value}]"));
        }
        let value = match evaluate(&self.program.names.numbered(value)) {
            Ok(value) if (-(1_i64 << 31)..1_i64 << 32).contains(&value) => value as u32,
            Ok(_) => return self.error(number, "U0302", "the constant has more than 32 bits"),
            Err(why) => return self.error(number, "U0104", why),
        };
        let is_short = (0..3)
            .any(|bytes| [value, !value].iter().any(|bits| bits.rotate_right(8 * bytes) <= 0xffff));
        if is_short {
            self.made(number, format!("immed[{to}, {value:#x}]"));
        } else {
            self.made(number, format!("immed[{to}, {:#x}]", value & 0xffff));
            self.made(number, format!("immed_w1[{to}, {:#x}]", value >> 16));
        }
    }

    fn push(&mut self, item: Item) {
        if self.program.items.len() >= self.control_store {
            if !self.is_full {
                self.is_full = true;
                let message = format!(
                    "the control store has {} words, and this is one more",
                    self.control_store
                );
                self.error(item.line, "U0304", message);
            }
            return;
        }
        self.program.items.push(item);
    }
}
