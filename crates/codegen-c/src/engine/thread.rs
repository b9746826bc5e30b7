//! The state of a thread, and its initialisation.

use super::super::ahead;
use super::super::called::{array_fields, variable_field};
use super::super::tree::{Aggregate, Declaration, Expr, Field, Item, Stmt, Type};
use super::super::types::Model;
use super::super::{passing, plan};
use super::{PacketEngine, Split};

/// The most variables that are cleared one by one when a packet arrives. With more, the whole
/// context is cleared.
const MOST_CLEARED_ALONE: usize = 4;

impl PacketEngine<'_> {
    /// Returns whether some step can jump to itself or to an earlier step.
    pub fn jumps_back(&self) -> bool {
        let steps = self.engine.steps.iter().enumerate();
        steps.clone().any(|(from, step)| plan::successors(step).any(|to| to <= from))
    }

    /// Returns the statements that clear the context of a thread `t`, as far as its packet may read
    /// it.
    pub fn clear(&self) -> Vec<Stmt> {
        let context = Expr::name("t").arrow("context");
        let zeros = |object: Expr| {
            let size = Expr::SizeOf(Box::new(object.clone()));
            Stmt::call("memset", [object.address(), Expr::number(0), size])
        };
        let seen = passing::read_first(self.engine);
        let kept: Vec<usize> = seen.into_iter().filter(|index| !self.is_passed[*index]).collect();
        if !self.arrays.is_empty() || self.ahead.is_any() || kept.len() > MOST_CLEARED_ALONE {
            return self.has_context().then(|| zeros(context)).into_iter().collect();
        }
        let clear = |index: usize| {
            let variable = context.clone().member(&self.context[index]);
            match Model::Bits64.class(self.engine.context[index].width).is_wide() {
                true => zeros(variable),
                false => Stmt::Assign(variable, Expr::number(0)),
            }
        };
        kept.into_iter().map(clear).collect()
    }

    /// Writes the structure of a thread.
    pub fn thread(&self) -> Vec<Item> {
        let prefix = &self.prefix;
        let mut fields = vec![
            Field::Plain {
                align: Some(64),
                declaration: Declaration::new(Type::structure("wl_packet"), "hand"),
            },
            Declaration::new(Type::structure("wl_env"), "env").into(),
            Declaration::new(Type::structure("wl_end").pointer(), "end").into(),
            Declaration::new("uint32_t", "backward").into(),
        ];
        if self.is_ordered() {
            let at = Declaration::new("uint32_t", "at");
            fields.push(at.commented("the state in which the thread waits").into());
        }
        let nested = |is_union, tag, fields, name: &str| {
            let aggregate = Aggregate { is_union, tag, fields };
            Field::Nested { aggregate, name: name.to_owned(), sizes: Vec::new() }
        };
        if self.has_context() {
            let tag = format!("{prefix}_context");
            fields.push(nested(false, Some(tag), self.context_fields(false), "context"));
        }
        let keeping = self.splits.iter().enumerate().filter(|(_, split)| split.keeps());
        let kept: Vec<Field> = keeping
            .map(|(index, split)| {
                nested(false, None, self.kept_fields(index, split), &self.step_names[index])
            })
            .collect();
        if !kept.is_empty() {
            let tag = self.ahead.is_any().then(|| format!("{prefix}_kept"));
            fields.push(nested(true, tag, kept, "kept"));
        }
        fields.extend(ahead::fields(self));
        let tag = Some(format!("{prefix}_thread"));
        let comment = format!(
            "A thread of `{}`: the packet in hand, the context, and the values that a step keeps \
             from its requests until its replies.",
            self.engine.name
        );
        vec![
            Item::Comment(comment),
            Item::Struct(Aggregate { is_union: false, tag, fields }),
            Item::Blank,
        ]
    }

    /// Writes the structure of the context that steps pass to each other.
    pub fn passing(&self) -> Vec<Item> {
        if !self.passes() {
            return Vec::new();
        }
        let tag = Some(format!("{}_passing", self.prefix));
        let comment =
            "The context that no thread keeps while it waits. Steps pass it on to each other.";
        vec![
            Item::Comment(comment.into()),
            Item::Struct(Aggregate { is_union: false, tag, fields: self.context_fields(true) }),
            Item::Blank,
        ]
    }

    /// Returns the fields of the variables that steps pass to each other, or of the context that
    /// threads keep.
    fn context_fields(&self, is_passed: bool) -> Vec<Field> {
        let variables = self.engine.context.iter().zip(&self.context).zip(&self.is_passed);
        let mut fields: Vec<Field> = variables
            .filter(|(_, own)| **own == is_passed)
            .map(|((variable, name), _)| variable_field(variable, name))
            .collect();
        if !is_passed {
            fields.extend(array_fields(self.engine, &self.arrays));
        }
        fields
    }

    fn kept_fields(&self, step: usize, split: &Split) -> Vec<Field> {
        let values = split.kept.iter().map(|(value, name)| {
            let width = self.engine.steps[step].values[value.index()].width;
            Declaration::new(Model::Bits64.c_type(width), name).into()
        });
        let walks = split
            .walks
            .iter()
            .map(|(_, search, name)| Declaration::new(search.state(), name).into());
        values.chain(walks).collect()
    }
}
