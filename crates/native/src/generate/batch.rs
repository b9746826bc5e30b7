//! The machine of an engine that takes packets: the lists on which threads wait, and the loop that executes a batch.

use super::engine::PacketEngine;
use super::writer::Writer;

/// Writes the states and the machine's structure.
pub fn write_machine(engine: &PacketEngine<'_>, out: &mut Writer) {
    let prefix = &engine.prefix;
    let upper = prefix.to_uppercase();
    out.comment("Where a thread waits for the rest of its batch. Steps that are not here are done at once.");
    out.line("enum {");
    out.line(format!("    {},", engine.ended()));
    for step in engine.waiting() {
        out.line(format!("    {},", engine.state(step)));
    }
    out.line(format!("    {upper}_STATES"));
    out.line("};");
    out.blank();
    out.comment(
        "A batch. The threads stand an odd number of cache lines apart, so that the same line of each falls into a set \
         of its own.",
    );
    out.line(format!("struct {prefix}_machine {{"));
    out.line("    struct wl_machine machine;");
    out.line(format!("    uint32_t waiting[{upper}_STATES]; /* threads on each list */"));
    out.line(format!("    uint16_t list[{upper}_STATES][WL_BATCH];"));
    if engine.is_ordered() {
        out.line("    uint16_t at[WL_BATCH]; /* the state of each thread */");
    }
    out.line("    struct {");
    out.line(format!("        struct {prefix}_thread thread;"));
    out.line(format!("        uint8_t apart[64 * (2 - sizeof(struct {prefix}_thread) / 64 % 2)];"));
    out.line("    } seats[WL_BATCH];");
    out.line("};");
    out.blank();
}

/// Writes the loop and all that it needs.
pub fn write_loop(engine: &PacketEngine<'_>, out: &mut Writer) {
    let prefix = &engine.prefix;
    out.comment("Puts a thread on the list of its state.");
    out.line(format!(
        "WL_INLINE void {prefix}_wait(struct {prefix}_machine *m, uint32_t thread, uint32_t state)"
    ));
    out.line("{");
    if engine.is_ordered() {
        out.line("    m->at[thread] = (uint16_t)state;");
    }
    out.line("    m->list[state][m->waiting[state]++] = (uint16_t)thread;");
    out.line("}");
    out.blank();
    if engine.is_ordered() {
        write_in_order(engine, out);
    }
    let unordered: Vec<usize> = engine.waiting().filter(|step| engine.plans[*step].ordered == 0).collect();
    for step in &unordered {
        write_list(engine, *step, out);
    }

    out.comment("Executes a batch.");
    out.line(format!(
        "static void {prefix}_execute(void *state, const struct wl_arrival *packets, uint32_t count,"
    ));
    out.line(format!("{}uint64_t sequence)", " ".repeat(prefix.len() + 21)));
    out.line("{");
    out.line(format!("    struct {prefix}_machine *const m = state;"));
    out.line("    wl_machine_begin(&m->machine);");
    out.line("    memset(m->waiting, 0, sizeof m->waiting);");
    out.line("    for (uint32_t i = 0; i < count; i++) {");
    out.line(format!("        struct {prefix}_thread *const t = &m->seats[i].thread;"));
    out.line("        wl_arrive(&t->hand, &packets[i]);");
    out.line("        t->env = (struct wl_env){ packets[i].arrival_ns, sequence + i };");
    out.line("        t->end = &m->machine.ends[i];");
    out.line("        wl_end_begin(t->end);");
    out.line("        t->backward = 0;");
    if engine.has_context() {
        out.line("        memset(&t->context, 0, sizeof t->context);");
    }
    out.line("    }");
    out.comment_inside(
        "Not in the loop above: the copies are on their way to the cache while the first packets are read.",
    );
    out.line("    for (uint32_t i = 0; i < count; i++)");
    out.line(format!("        {prefix}_wait(m, i, {}(m, &m->seats[i].thread));", engine.enter(0)));
    out.line(format!("    while (m->waiting[{}] < count) {{", engine.ended()));
    for step in &unordered {
        out.line(format!("        {}_list(m);", engine.enter(*step)));
    }
    if engine.is_ordered() {
        out.line(format!("        {prefix}_in_order(m, count);"));
    }
    out.line("    }");
    out.line("}");
    out.blank();
}

/// One list: each access of all its searches is under way before the first search needs it.
fn write_list(engine: &PacketEngine<'_>, step: usize, out: &mut Writer) {
    let prefix = &engine.prefix;
    let state = engine.state(step);
    out.comment(&format!("All threads that wait at `{}`.", engine.engine.steps[step].name));
    out.line(format!("WL_FUNCTION void {}_list(struct {prefix}_machine *m)", engine.enter(step)));
    out.line("{");
    out.line(format!("    const uint32_t count = m->waiting[{state}];"));
    for function in engine.advances(step) {
        out.line("    for (uint32_t i = 0; i < count; i++)");
        out.line(format!("        {function}(m, &m->seats[m->list[{state}][i]].thread);"));
    }
    out.comment_inside("A thread that comes back to this list takes a place that is already done with.");
    out.line(format!("    m->waiting[{state}] = 0;"));
    out.line("    for (uint32_t i = 0; i < count; i++) {");
    out.line(format!("        const uint32_t thread = m->list[{state}][i];"));
    out.line(format!(
        "        {prefix}_wait(m, thread, {}(m, &m->seats[thread].thread));",
        engine.resume(step)
    ));
    out.line("    }");
    out.line("}");
    out.blank();
}

/// Steps with calls of order-sensitive offloads: see `plan`.
fn write_in_order(engine: &PacketEngine<'_>, out: &mut Writer) {
    let prefix = &engine.prefix;
    let upper = prefix.to_uppercase();
    let ordered: Vec<usize> = engine.waiting().filter(|step| engine.plans[*step].ordered != 0).collect();
    out.comment("The order-sensitive offloads, a bit each, that a step calls, and that a thread in a state may yet call.");
    for (name, of) in [("calls", true), ("reach", false)] {
        out.line(format!("static const uint64_t {prefix}_{name}[{upper}_STATES] = {{"));
        for step in engine.waiting() {
            let plan = &engine.plans[step];
            let mask = if of { plan.ordered } else { plan.reach };
            out.line(format!("    [{}] = UINT64_C({mask:#x}),", engine.state(step)));
        }
        out.line("};");
        out.blank();
    }
    out.comment(
        "Lets threads go on, in the order of their packets, through steps that call order-sensitive offloads, as far as \
         no earlier thread may still call the same ones.",
    );
    out.line(format!("WL_FUNCTION void {prefix}_in_order(struct {prefix}_machine *m, uint32_t count)"));
    out.line("{");
    out.line("    uint64_t before = 0;");
    for step in &ordered {
        out.line(format!("    m->waiting[{}] = 0;", engine.state(*step)));
    }
    out.line("    for (uint32_t i = 0; i < count; i++) {");
    out.line("        uint32_t state = m->at[i];");
    out.line(format!("        if ({prefix}_calls[state]) {{"));
    out.line(format!("            while ({prefix}_calls[state] && !({prefix}_calls[state] & before)) {{"));
    out.line("                switch (state) {");
    for (index, step) in ordered.iter().enumerate() {
        let label = if index + 1 == ordered.len() {
            "default".into()
        } else {
            format!("case {}", engine.state(*step))
        };
        out.line(format!("                {label}:"));
        out.line(format!("                    state = {}(m, &m->seats[i].thread);", engine.resume(*step)));
        out.line("                    break;");
    }
    out.line("                }");
    out.line("            }");
    out.line(format!("            {prefix}_wait(m, i, state);"));
    out.line("        }");
    out.line(format!("        before |= {prefix}_reach[state];"));
    out.line("    }");
    out.line("}");
    out.blank();
}

/// Writes what the host looks for.
pub fn write_export(engine: &PacketEngine<'_>, symbol: &str, slots: usize, out: &mut Writer) {
    let prefix = &engine.prefix;
    out.comment("Gives back what a machine's state has beside itself.");
    out.line(format!("static void {prefix}_close(void *state)"));
    out.line("{");
    out.line(format!("    wl_machine_close(&((struct {prefix}_machine *)state)->machine);"));
    out.line("}");
    out.blank();
    out.line(format!("extern const struct wl_engine {symbol};"));
    out.line(format!("const struct wl_engine {symbol} = {{"));
    for (field, value) in [
        ("abi", "WL_ABI".to_owned()),
        ("batch", "WL_BATCH".to_owned()),
        ("slots", slots.to_string()),
        ("state_size", format!("sizeof(struct {prefix}_machine)")),
        ("execute", format!("{prefix}_execute")),
        ("close", format!("{prefix}_close")),
        ("show", "wl_show".into()),
        ("replace", "wl_replace".into()),
    ] {
        out.line(format!("    .{field} = {value},"));
    }
    out.line("};");
}
