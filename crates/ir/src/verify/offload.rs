//! Checks configurations of offloads against the registry.

use wireloom_bits::MAX_WIDTH;
use wireloom_offloads::{Config, Layout, registry, registry::Members};

use super::{Checker, is_width};

impl Checker<'_> {
    pub(super) fn config(&mut self, offload: &str, config: &Config) {
        let Some(kind) = registry::kind(&config.kind) else {
            self.problem(format!("offload {offload}: there is no offload kind {}", config.kind));
            return;
        };
        for (what, has, layout) in
            [("key", kind.has_key, &config.key), ("value", kind.has_value, &config.value)]
        {
            match layout {
                Some(_) if !has => self.problem(format!("offload {offload}: {} has no {what}", kind.name)),
                None if has => self.problem(format!("offload {offload}: {} needs a {what}", kind.name)),
                Some(layout) if !is_layout(layout) => self.problem(format!(
                    "offload {offload}: the {what} and each of its fields must have 1 to {MAX_WIDTH} bits, enough for each member of an enumeration"
                )),
                _ => {}
            }
        }
        for name in config.params.keys() {
            if !kind.params.iter().any(|p| p.name == name) {
                self.problem(format!("offload {offload}: {} has no parameter {name}", kind.name));
            }
        }
        for param in kind.params {
            let Some(value) = config.params.get(param.name) else {
                self.problem(format!("offload {offload}: parameter {} is missing", param.name));
                continue;
            };
            let width = param.ty.width(config);
            if value.width() != width {
                self.problem(format!(
                    "offload {offload}: parameter {} has {} bits, not {width}",
                    param.name,
                    value.width()
                ));
            } else if let registry::ValueType::Bits(_) = param.ty
                && value.to_u64().is_none_or(|v| v < param.range.0 || v > param.range.1)
            {
                self.problem(format!(
                    "offload {offload}: parameter {} is {value}, outside {} to {}",
                    param.name, param.range.0, param.range.1
                ));
            }
        }
    }
}

fn is_layout(layout: &Layout) -> bool {
    let sum = layout.fields.iter().try_fold(0u32, |sum, (_, w)| sum.checked_add(*w));
    let is_enum = |(name, members): (&String, &Members)| {
        let width = layout.fields.iter().find(|(field, _)| field == name).map(|(_, width)| *width);
        let fits = |value: u64| width.is_some_and(|width| width >= 64 || value >> width == 0);
        members.iter().all(|(_, value)| fits(*value))
    };
    layout.fields.iter().all(|(_, w)| is_width(*w))
        && sum.is_some_and(is_width)
        && layout.enums.iter().all(is_enum)
}
