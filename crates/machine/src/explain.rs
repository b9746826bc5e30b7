//! Machine descriptions with an explanation of each key.

use toml::Table;

use crate::Configured;

/// Returns a machine as reports store it: its name, its kind and every key of its description, so
/// that the run can be repeated.
pub fn described(machine: &dyn Configured) -> Table {
    let mut table = machine.settings().unwrap_or_default();
    table.insert("name".to_owned(), machine.name().into());
    table.insert("kind".to_owned(), machine.kind().into());
    table
}

/// Explains a machine's description: its values, and the documentation of its kind's schema for
/// every key. Empty if the machine has no settings.
pub fn explained(machine: &dyn Configured, schema: &str) -> Option<String> {
    let mut values = machine.settings()?;
    let words = schema;
    // The name comes from the file and is not a key.
    values.remove("name");
    let mut text = format!("# {}\n", machine.name());
    let mut section = String::new();
    for line in words.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            text += &unexplained(&mut values, &section);
            name.clone_into(&mut section);
        }
        text += &match line.split_once(" = ") {
            Some((key, rest)) if !key.starts_with('#') => {
                let comment = rest.find(" #").map_or("", |at| &rest[at..]);
                match section_of(&mut values, &section).and_then(|table| table.remove(key)) {
                    Some(value) => format!("{key} = {value}{comment}\n"),
                    None => continue,
                }
            }
            _ => format!("{line}\n"),
        };
    }
    text += &unexplained(&mut values, &section);
    // Sections that only this machine has, such as a section for a single offload.
    drop_empty(&mut values);
    if !values.is_empty() {
        text += &format!("\n{}", toml::to_string(&values).unwrap_or_default());
    }
    Some(text)
}

/// The keys of a section that the explanation does not cover, such as the keys of another kind of
/// network.
fn unexplained(values: &mut Table, section: &str) -> String {
    let Some(table) = section_of(values, section) else { return String::new() };
    let keys: Vec<String> =
        table.iter().filter(|(_, value)| !value.is_table()).map(|(key, _)| key.clone()).collect();
    keys.iter().filter_map(|key| Some(format!("{key} = {}\n", table.remove(key)?))).collect()
}

/// The table of a section, such as `engine` or `offload.array`.
fn section_of<'a>(values: &'a mut Table, section: &str) -> Option<&'a mut Table> {
    section
        .split('.')
        .filter(|name| !name.is_empty())
        .try_fold(values, |table, name| table.get_mut(name).and_then(toml::Value::as_table_mut))
}

fn drop_empty(table: &mut Table) {
    table.retain(|_, value| {
        let Some(inner) = value.as_table_mut() else { return true };
        drop_empty(inner);
        !inner.is_empty()
    });
}
