//! Finds context that threads never keep while they wait. Steps pass it to each other in a
//! structure on the stack. Compilers keep it in registers where they inline a step into the
//! previous one.

use std::collections::BTreeSet;

use wireloom_codegen::steps::next_step;
use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Holds;
use wireloom_ir::{Engine, Op, OpKind, Step};

use super::exits::is_comparable;

/// Variables, by index.
type Variables = BTreeSet<usize>;

/// Returns for each context variable whether no thread needs it after a wait. `waits` says which
/// steps wait. `late` are the variables that each step reads after its wait.
pub fn of(engine: &Engine, waits: &[bool], late: &[Variables]) -> Vec<bool> {
    let flow = Flow::of(engine);
    let waiting = (0..engine.steps.len()).filter(|step| waits[*step]);
    let kept =
        waiting.fold(Variables::new(), |kept, step| &(&kept | &late[step]) | &flow.after(step));
    (0..engine.context.len()).map(|variable| !kept.contains(&variable)).collect()
}

/// Returns the variables that a packet may read before it writes them. They start at zero. The
/// initial value of other variables is never read.
pub fn read_first(engine: &Engine) -> Variables {
    Flow::of(engine).live.swap_remove(0)
}

/// The data flow of the context.
struct Flow {
    /// The jumps of each step.
    edges: Vec<Vec<Edge>>,
    /// The variables that each step or a later one may read before it writes them.
    live: Vec<Variables>,
}

impl Flow {
    fn of(engine: &Engine) -> Self {
        let edges = engine.steps.iter().map(edges).collect();
        let live = engine.steps.iter().map(|step| reads(step.ops())).collect();
        let mut flow = Self { edges, live };
        // Visit the last step first, since most jumps lead forward.
        let mut is_stable = false;
        while !is_stable {
            is_stable = true;
            for step in (0..flow.edges.len()).rev() {
                let more = flow.after(step);
                if !more.is_subset(&flow.live[step]) {
                    flow.live[step].extend(more);
                    is_stable = false;
                }
            }
        }
        flow
    }

    /// Returns the variables that steps after this one may read before they write them.
    fn after(&self, step: usize) -> Variables {
        let needed = |edge: &Edge| &self.live[edge.to] - &edge.written;
        self.edges[step].iter().map(needed).fold(Variables::new(), |all, one| &all | &one)
    }
}

/// Returns the variables that operations read.
pub fn reads<'a>(ops: impl Iterator<Item = &'a Op>) -> Variables {
    let read = |op: &Op| match &op.kind {
        OpKind::ReadContext(id) => Some(id.index()),
        _ => None,
    };
    ops.filter_map(read).collect()
}

/// A jump to a step.
struct Edge {
    to: usize,
    /// The variables that are always written before the jump is taken.
    written: Variables,
}

fn edges(step: &Step) -> Vec<Edge> {
    let all: Vec<&Op> = step.ops().collect();
    let definitions = Definitions::of(step);
    let is_comparable = is_comparable(step.ops());
    let edge = |(at, jump): (usize, &&Op)| {
        let to = next_step(jump)?;
        let taken = Holds::new(&definitions, jump.guard.map(|guard| (guard, true)));
        let is_implied =
            |guard| Some(guard) == jump.guard || is_comparable && taken.must(guard, true);
        let written = all[..at].iter().filter_map(|op| match &op.kind {
            OpKind::WriteContext(id, _) if op.guard.is_none_or(is_implied) => Some(id.index()),
            _ => None,
        });
        Some(Edge { to, written: written.collect() })
    };
    all.iter().enumerate().filter_map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_what_is_read_after_a_wait_before_it_is_written() {
        let program = wireloom_ir::parse(
            "loom_ir 1
engine example {
  context read_without_a_wait : u8
  context read_after_the_wait : u8
  context read_by_a_later_step : u8
  context read_before_the_wait : u8
  context written_after_the_wait : u8
  context written_where_it_matters : u8
  context written_sometimes : u8
  step first {
    request {
    }
    edit {
      %0:u16 = meta.read length
      %1:u16 = const 34
      %2:u1 = ult %0, %1
      %3:u1 = not %2
      %4:u8 = const 1
      context.write read_without_a_wait, %4
      context.write read_after_the_wait, %4
      context.write read_before_the_wait, %4
    }
    jump {
      next waits when %2
      next third when %3
    }
  }
  step waits {
    request {
      %0:u8 = context.read read_before_the_wait
    }
    edit {
      %1:u8 = context.read read_after_the_wait
      %2:u1 = ult %1, %0
      %3:u1 = not %2
      %4:u1 = ult %0, %1
      %5:u1 = and %2, %4
      context.write written_after_the_wait, %1
      context.write written_where_it_matters, %1 when %2
      context.write written_sometimes, %1 when %5
    }
    jump {
      next last when %2
      finish when %3
    }
  }
  step third {
    request {
    }
    edit {
      %0:u8 = context.read read_without_a_wait
      %1:u16 = extend %0
      meta.write egress, %1
    }
    jump {
      finish
    }
  }
  step last {
    request {
    }
    edit {
      %0:u8 = context.read read_by_a_later_step
      %1:u8 = context.read written_after_the_wait
      %2:u8 = context.read written_where_it_matters
      %3:u8 = context.read written_sometimes
      %4:u32 = concat(%0, %1, %2, %3)
      %5:u16 = slice %4 from 0
      meta.write egress, %5
    }
    jump {
      finish
    }
  }
}
main example
",
        )
        .expect("step IR");
        let engine = &program.engines[program.main.index()];
        let waits = [false, true, false, false];
        let late = [Variables::new(), Variables::from([1]), Variables::new(), Variables::new()];
        let is_passed = of(engine, &waits, &late);
        let kept = engine.context.iter().zip(is_passed).filter(|(_, is_passed)| !is_passed);
        let kept: Vec<&str> = kept.map(|(variable, _)| variable.name.as_str()).collect();
        assert_eq!(kept, ["read_after_the_wait", "read_by_a_later_step", "written_sometimes"]);
        let begin_as_zero = read_first(engine).into_iter();
        let begin_as_zero: Vec<&str> =
            begin_as_zero.map(|index| engine.context[index].name.as_str()).collect();
        assert_eq!(begin_as_zero, ["read_by_a_later_step", "written_sometimes"]);
    }
}
