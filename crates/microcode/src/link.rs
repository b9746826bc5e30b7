//! Resolves names: signals, labels and registers. Then encodes the instructions.

use wireloom_isa::microengine::table::{Field, Form, Slot};
use wireloom_isa::microengine::text::field_name;
use wireloom_isa::microengine::{
    Bank, Command, Completion, Image, Import, Index, Instruction, Override, Register, RegisterName,
    Signal, SourceLine, TransferFile, Unencodable, Version, Wait, code, encode,
};

use crate::allocate::{Unallocated, allocate, place};
use crate::defer;
use crate::diagnostic::{Diagnostic, Place, SourceFile};
use crate::flow::{early_read, live_out, reads, successors};
use crate::names::is_transfer;
use crate::program::Program;
use crate::statement::{Item, SignalOf};

type Errors = Vec<Diagnostic>;

/// Links a program to an image.
pub fn link(mut program: Program, files: &[SourceFile]) -> Result<Image, Errors> {
    let version = program.names.version();
    if program.is_optimised {
        let entered = program.labels.values().map(|&(address, _)| address).collect();
        defer::fill(version, &mut program.items, &entered);
    }
    signals(&mut program)?;
    let targets = targets(&mut program)?;
    check(&program)?;
    let entries = entries(&program, &targets);
    let reached = |at: usize| reached(&program, &targets, &entries, at);
    let next = successors(&program.items, &targets, &entries, reached);
    let places = match allocate(version, &program.items, &next, &program.names.nodes) {
        Ok(places) => places,
        Err(why) => return Err(vec![unallocated(&program, why)]),
    };
    for item in &mut program.items {
        place(item, &places);
    }
    let instructions: Vec<Instruction> =
        program.items.iter().map(|item| item.parts.instruction(item.form)).collect();
    let words = encode_all(&program, version, &instructions)?;
    if let Some((at, file, number)) = early_read(&instructions, &next) {
        return Err(vec![read_early(&program, at, file, number)]);
    }
    let begins: Vec<Vec<usize>> = files.iter().map(|file| line_begins(&file.text)).collect();
    let lines = program.items.iter().map(|item| source_line(&begins, &program, item)).collect();
    let end = program.items.len() as u16;
    let needed = needed(&program.items, &next, program.names.nodes.len());
    let nodes = program.names.nodes.iter().zip(&places).zip(needed);
    let everywhere = vec![(0, end)];
    let mut registers: Vec<RegisterName> = nodes
        .map(|((node, &(bank, index)), ranges)| {
            // Another context may need a shared register, so its range is the whole program.
            let is_shared = matches!(index, Index::Absolute(_));
            let ranges = if is_shared { everywhere.clone() } else { ranges };
            (node.name.clone(), Register::Gpr(bank, index), ranges)
        })
        .chain(program.names.transfers.iter().map(|(name, file, number)| {
            let register = Register::Transfer(*file, Index::Relative(*number));
            (name.clone(), register, everywhere.clone())
        }))
        .chain(program.names.signals.iter().filter_map(|signal| {
            let register = Register::Signal(Signal(signal.number?));
            Some((signal.name.clone(), register, everywhere.clone()))
        }))
        .flat_map(|(name, register, ranges)| {
            let named = move |range| RegisterName { name: name.clone(), register, range };
            ranges.into_iter().map(named)
        })
        .collect();
    registers.sort_by(|a, b| (&a.name, a.register, a.range).cmp(&(&b.name, b.register, b.range)));
    let mut labels: Vec<(String, u16)> =
        program.labels.iter().map(|(name, (address, _))| (name.clone(), *address)).collect();
    labels.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    Ok(Image {
        version,
        words,
        entry: 0,
        files: files.iter().map(|file| file.path.clone()).collect(),
        lines,
        registers,
        labels,
        imports: imports(&program),
    })
}

/// For each named register, the ranges of instructions before which it has a value that is needed
/// later. A register without such instructions has one empty range.
fn needed(items: &[Item], next: &[Vec<u16>], nodes: usize) -> Vec<Vec<(u16, u16)>> {
    let mut ranges: Vec<Vec<(u16, u16)>> = vec![Vec::new(); nodes];
    for (at, mut set) in live_out(items, next, nodes).into_iter().enumerate() {
        if let Some(written) = items[at].nodes[0] {
            set.remove(written);
        }
        reads(&items[at]).for_each(|read| set.insert(read));
        let at = at as u16;
        for node in set.iter() {
            match ranges[node].last_mut() {
                Some((_, end)) if *end == at => *end = at + 1,
                _ => ranges[node].push((at, at + 1)),
            }
        }
    }
    for ranges in ranges.iter_mut().filter(|ranges| ranges.is_empty()) {
        ranges.push((0, 0));
    }
    ranges
}

/// The place of an operand of an item, or of the whole line.
fn at(program: &Program, item: &Item, slot: Option<Slot>) -> Place {
    let line = &program.lines[item.line];
    let found = item.places.iter().find(|(known, _)| Some(*known) == slot);
    match found {
        Some((_, bytes)) => line.place_of(bytes.clone()),
        None => line.error_here("U0101", "").place,
    }
}

/// The text of an operand of an item.
fn text<'a>(program: &'a Program, item: &Item, slot: Slot) -> Option<&'a str> {
    let (_, bytes) = item.places.iter().find(|(known, _)| *known == slot)?;
    program.lines[item.line].text.get(bytes.clone())
}

fn error(
    program: &Program,
    item: &Item,
    slot: Option<Slot>,
    code: &'static str,
    message: impl Into<String>,
) -> Diagnostic {
    let mut error = program.lines[item.line].error_here(code, message);
    error.place = at(program, item, slot);
    error
}

/// Assigns numbers to signals. On version 1 a name stands for the signal of the unit of its
/// commands.
fn signals(program: &mut Program) -> Result<(), Errors> {
    let version = program.names.version();
    let mut errors = Vec::new();
    if version == Version::One {
        for item in &program.items {
            let (Form::Command(unit, _), Some((SignalOf::Named(signal), _))) =
                (item.form, item.completion)
            else {
                continue;
            };
            let number = code::unit_signal(unit).0;
            let known = &mut program.names.signals[signal];
            match known.number {
                Some(other) if other != number => {
                    let message = format!(
                        "`{}` is already the signal of another unit; version 1 has one for each",
                        known.name
                    );
                    errors.push(program.lines[item.line].error_here("U0204", message));
                }
                _ => known.number = Some(number),
            }
        }
    }
    let mut items = std::mem::take(&mut program.items);
    for item in &mut items {
        let mut number = |signal: SignalOf| match signal {
            SignalOf::Number(number) => number,
            SignalOf::Named(signal) => program.names.signals[signal].number.unwrap_or_else(|| {
                let name = &program.names.signals[signal].name;
                let message = format!("no command gives the signal `{name}`");
                errors.push(program.lines[item.line].error_here("U0204", message));
                1
            }),
        };
        if let Some((signal, swaps)) = item.completion {
            let signal = Signal(number(signal));
            item.parts.completion =
                if swaps { Completion::Swap(signal) } else { Completion::Signal(signal) };
        }
        let waits: Vec<u8> = item.waits.iter().map(|&signal| number(signal)).collect();
        match (item.form, &mut item.parts.wait) {
            (Form::Arbitrate, Wait::Signals { mask, .. }) => {
                *mask = waits.iter().fold(0, |mask, &number| mask | Signal(number).bit());
            }
            (Form::BranchSignal(_), _) => item.parts.number = waits.first().copied().unwrap_or(1),
            _ => {}
        }
    }
    program.items = items;
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Resolves labels to addresses.
fn targets(program: &mut Program) -> Result<Vec<u16>, Errors> {
    let mut errors = Vec::new();
    let mut targets = vec![0; program.items.len()];
    for (number, target) in targets.iter_mut().enumerate() {
        let item = &program.items[number];
        let Some(name) = &item.label else { continue };
        match program.labels.get(name) {
            Some(&(address, _)) if usize::from(address) >= program.items.len() => {
                let message = format!("nothing follows the label `{name}`");
                errors.push(error(program, item, Some(Slot::Label), "U0205", message));
            }
            Some(&(address, _)) => {
                *target = address;
                let item = &mut program.items[number];
                item.parts.target = address;
                if item.form == Form::LoadAddress {
                    item.parts.target = 0;
                    item.parts.value = address.into();
                }
            }
            None => {
                let message = format!("there is no label `{name}`");
                errors.push(error(program, item, Some(Slot::Label), "U0205", message));
            }
        }
    }
    if errors.is_empty() { Ok(targets) } else { Err(errors) }
}

/// The addresses that are reached other than from the previous instruction: labels, and the tables
/// of branches at the label of a `jump`.
fn entries(program: &Program, targets: &[u16]) -> Vec<u16> {
    let mut entries: Vec<u16> = program.labels.values().map(|&(address, _)| address).collect();
    for (at, item) in program.items.iter().enumerate() {
        if item.form == Form::Jump {
            entries.extend(table(program, targets[at]));
        }
    }
    entries.retain(|&address| usize::from(address) < program.items.len());
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// The range of consecutive branches from an address on.
fn table(program: &Program, start: u16) -> std::ops::Range<u16> {
    let is_branch = |item: &&Item| matches!(item.form, Form::Branch(_));
    let count = program.items.iter().skip(start.into()).take_while(is_branch).count();
    start..start + count as u16
}

/// The possible targets of a `jump` or `rtn`. A jump to a table of two or more branches leads into
/// the table. A return leads to the labels whose addresses were loaded into its register. Without
/// such knowledge, all entries are possible.
fn reached(program: &Program, targets: &[u16], entries: &[u16], at: usize) -> Vec<u16> {
    let item = &program.items[at];
    if item.form == Form::Jump {
        let table = table(program, targets[at]);
        return if table.len() < 2 { entries.to_vec() } else { table.collect() };
    }
    let link = item.nodes[1].or(item.nodes[2]);
    let writes: Vec<(usize, &Item)> = program
        .items
        .iter()
        .enumerate()
        .filter(|(_, item)| link.is_some() && item.nodes[0] == link)
        .collect();
    match writes.iter().all(|(_, item)| item.form == Form::LoadAddress) && !writes.is_empty() {
        true => writes.into_iter().map(|(at, _)| targets[at]).collect(),
        false => entries.to_vec(),
    }
}

/// Checks that need no register places.
fn check(program: &Program) -> Result<(), Errors> {
    let mut errors = Vec::new();
    for node in &program.names.nodes {
        if let (true, false, Some(read)) = (node.is_read, node.is_written, &node.read) {
            let message = format!("`{}` is read, and nothing writes it", node.name);
            errors.push(
                Diagnostic::new("U0402", read.clone(), message)
                    .also(node.place.clone(), "declared here"),
            );
        }
    }
    for (at, item) in program.items.iter().enumerate() {
        errors.extend(overrun(program, at));
        let slots = program.items.iter().skip(at + 1).take(item.parts.defer.into());
        if slots.clone().count() < usize::from(item.parts.defer) {
            errors.push(error(
                program,
                item,
                None,
                "U0307",
                "fewer instructions follow than are deferred",
            ));
        }
        for slot in slots {
            let gives_up = matches!(slot.parts.completion, Completion::Swap(_));
            let is_command = matches!(slot.form, Form::Command(..));
            if slot.form.class().is_some() && (!is_command || gives_up) {
                let message = "this branches, or gives up the engine, in the defer slot of another";
                errors.push(
                    error(program, slot, None, "U0403", message)
                        .also(self::at(program, item, None), "it is deferred here"),
                );
            }
        }
        let follower = program.items.get(at + 1).map(|item| item.form);
        if item.form == Form::LocalCsrRead
            && !matches!(follower, Some(Form::Immediate | Form::LoadAddress))
        {
            let message = "`immed` must follow: it takes the value of the CSR";
            errors.push(error(program, item, None, "U0404", message));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// An error if a command moves more words than transfer registers were declared from its first one
/// on. Such a command would access registers that hold other values.
fn overrun(program: &Program, at: usize) -> Option<Diagnostic> {
    let item = &program.items[at];
    let Form::Command(unit, operation) = item.form else { return None };
    let following = item.following?;
    let command = Command { transfer: item.parts.transfer, ..Command::new(unit, operation) };
    let moved = |count| command.words_out(count).max(command.words_in(count));
    let before = at.checked_sub(1).map(|before| &program.items[before]);
    let given = before.filter(|before| item.parts.indirect && before.form == Form::Immediate);
    let given = given.map(|before| Override::from_word(before.parts.value));
    // A register that is given at run time is not one of the registers declared here.
    let given = given.filter(|given| given.transfer.is_none()).and_then(|given| given.count);
    let (words, slot) = match given {
        Some(count) if moved(count) > following => (moved(count), None),
        _ => (moved(item.parts.count), Some(Slot::Count)),
    };
    if words <= following {
        return None;
    }
    let name = text(program, item, Slot::Transfer).unwrap_or_default();
    let registers = if following == 1 { "register is" } else { "registers are" };
    let message = format!(
        "the command moves {words} words, and {following} {registers} declared from `{name}` on"
    );
    let mut error = error(program, item, Some(Slot::Transfer), "U0308", message);
    match (slot, before) {
        (None, Some(before)) => {
            error = error.also(self::at(program, before, None), "the count is given here");
        }
        _ if item.places.iter().any(|(known, _)| Some(*known) == slot) => {
            error = error.also(self::at(program, item, slot), "the count");
        }
        _ => {}
    }
    Some(error.help("declare as many transfer registers by one `.reg`, in their order"))
}

fn unallocated(program: &Program, why: Unallocated) -> Diagnostic {
    match why {
        Unallocated::Bank { item, because } => {
            let item = &program.items[item];
            let name =
                |role: usize| item.nodes[role].map(|node| program.names.nodes[node].name.as_str());
            let (first, second) = match item.form {
                Form::LoadField { .. } => (name(0), name(2)),
                _ => (name(1), name(2)),
            };
            let message = match (first, second) {
                (Some(first), Some(second)) if first == second => {
                    format!("`{first}` cannot be both operands: each bank is read once")
                }
                (Some(first), Some(second)) => {
                    format!("`{first}` and `{second}` would have to be in the same bank")
                }
                _ => "both operands are in the same bank".to_owned(),
            };
            let mut error = error(program, item, None, "U0301", message);
            for because in because {
                let place = at(program, &program.items[because], None);
                error = error.also(place, "these must be in different banks");
            }
            error.help("copy one of them into another register first")
        }
        Unallocated::Full { node, bank } => {
            let node = &program.names.nodes[node];
            let bank = if bank == Bank::A { "A" } else { "B" };
            let message = format!("no register of bank {bank} is left for `{}`", node.name);
            Diagnostic::new("U0305", node.place.clone(), message)
                .help("too many registers of the bank are needed at the same time")
        }
    }
}

fn read_early(program: &Program, number: usize, file: TransferFile, register: u8) -> Diagnostic {
    let item = &program.items[number];
    let marks = if file == TransferFile::Sram { "$" } else { "$$" };
    let known =
        program.names.transfers.iter().find(|(_, at, number)| (*at, *number) == (file, register));
    let name = known.map_or_else(|| format!("{marks}{register}"), |known| known.0.clone());
    let message = format!("`{name}` is read before the signal of its command");
    let slot = [Slot::A, Slot::B]
        .into_iter()
        .find(|slot| text(program, item, *slot).is_some_and(is_transfer));
    error(program, item, slot, "U0401", message)
        .help("wait for it: ctx_arb[signal], or ctx_swap with the command")
}

fn encode_all(
    program: &Program,
    version: Version,
    instructions: &[Instruction],
) -> Result<Vec<u64>, Errors> {
    let mut words = Vec::with_capacity(instructions.len());
    let mut errors = Vec::new();
    for (address, (item, instruction)) in program.items.iter().zip(instructions).enumerate() {
        if let Some(raw) = item.raw {
            words.push(raw);
            continue;
        }
        match encode(version, instruction, address as u16) {
            Ok(word) => words.push(word),
            Err(why) => {
                words.push(0);
                errors.push(unencodable(program, item, why));
            }
        }
    }
    if errors.is_empty() { Ok(words) } else { Err(errors) }
}

fn unencodable(program: &Program, item: &Item, why: Unencodable) -> Diagnostic {
    let (code, slot, message) = match why {
        Unencodable::Unknown => {
            ("U0201", None, "this version does not have the instruction".to_owned())
        }
        Unencodable::Bank(bank) => ("U0301", None, format!("both operands are in bank {bank:?}")),
        Unencodable::File => (
            "U0301",
            None,
            "one instruction reads one register of a file of transfer registers".to_owned(),
        ),
        Unencodable::Partial => {
            let message = "the destination is read too: it must be a general-purpose register, \
                           and the source of the other bank";
            ("U0301", Some(Slot::Destination), message.to_owned())
        }
        Unencodable::Field(field) => {
            let slot = match field {
                Field::Destination => Some(Slot::Destination),
                Field::A | Field::BankedA => Some(Slot::A),
                Field::B | Field::BankedB => Some(Slot::B),
                Field::Operation => Some(Slot::Operation),
                Field::Value => Some(Slot::Value),
                Field::Immediate => Some(Slot::Immediate),
                Field::Count => Some(Slot::Count),
                Field::Transfer => Some(Slot::Transfer),
                _ => None,
            };
            (
                "U0302",
                slot,
                format!("the instruction has no encoding for this {}", field_name(field)),
            )
        }
        Unencodable::Far { distance, reach } => {
            let message =
                format!("the target is {distance} words away, and the branch reaches {reach}");
            ("U0303", Some(Slot::Label), message)
        }
        Unencodable::Defer { most } => {
            ("U0307", None, format!("at most {most} instructions can be deferred here"))
        }
        Unencodable::DeferWithoutSwap => {
            ("U0307", None, "`defer` needs `ctx_swap`: the context goes on by itself".to_owned())
        }
        Unencodable::Signal => ("U0204", None, "the unit does not give this signal".to_owned()),
    };
    error(program, item, slot, code, message)
}

/// The starts of all lines of a text except the first.
fn line_begins(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(at, _)| at + 1).collect()
}

/// The source line of an instruction. `begins` has [`line_begins`] of all files.
fn source_line(begins: &[Vec<usize>], program: &Program, item: &Item) -> Option<SourceLine> {
    // For a line from a macro, this is the outermost call, where a reader looks.
    let line = &program.lines[item.line];
    let mut place = &line.place;
    let mut call = line.calls.as_ref();
    while let Some(outer) = call {
        place = &outer.place;
        call = outer.outer.as_ref();
    }
    let before = begins.get(place.file)?.partition_point(|&begin| begin <= place.bytes.start);
    Some(SourceLine { file: u16::try_from(place.file).ok()?, line: 1 + before as u32 })
}

fn imports(program: &Program) -> Vec<Import> {
    let addresses = |name: &String, form: Form| {
        let items = program.items.iter().enumerate();
        items
            .filter(|(_, item)| item.form == form && item.import.as_ref() == Some(name))
            .map(|(address, _)| address as u16)
            .collect()
    };
    let used = program.imports.iter().map(|name| Import {
        name: name.clone(),
        low: addresses(name, Form::ImmediateWord(0)),
        high: addresses(name, Form::ImmediateWord(1)),
    });
    used.collect()
}
