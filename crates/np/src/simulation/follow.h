// Follows one packet through the processor and records what happens to it, cycle by cycle. The
// model makes the signals for that readable (follow.rs), and changes nothing else.
//
// Packets keep their order in a pipe, and headers theirs in a cluster. So the packet is found by
// its number there, and inside a cluster by the tag of its place in the order.
//
// The build defines WL_FOLLOW_TOP, the scope of np_top; WL_CLUSTERS of a pipe and WL_ENGINES of a
// cluster; the names of the engine's ports in WL_OFFLOADS; WL_PIPELINED and, for a pipelined
// engine, its steps in WL_STEPS.

enum class Happened : uint32_t {
    TO_CLUSTER,   // number: cluster
    PLACE,        // the packet takes its place in the order
    LOAD,         // number: engine << 16 | thread
    LOADED,
    SLOT,         // number: step
    SLOT_ENDS,    // number: exit << 32 | next step
    SLOT_AGAIN,   // the slot had no effect and will be repeated
    CALL,         // number: offload
    CALL_TAKEN,   // number: offload; the request leaves the engine
    REPLY,        // number: offload
    UNLOADED,     // the last row of an output has left the engine
    STORED,       // the last row of an output is in the reorder queue
    IN_ORDER,     // the first row of an output leaves the reorder queue
    STEP_BEGINS,  // number: place of the step in a pipelined engine
    STEP_ENDS,
    WINDOW,       // the last beat of an output leaves a pipelined engine
};

struct PipelinedStep {
    const char *name;
    unsigned request_stages;
    std::vector<unsigned> calls;   // numbers of offloads
};

const std::vector<std::string> OFFLOAD_NAMES = {WL_OFFLOADS};
#if WL_PIPELINED
const std::vector<PipelinedStep> PIPELINE = {WL_STEPS};
#endif

// A signal of the model.
struct Signal {
    const void *data = nullptr;
    unsigned bytes = 0;

    Signal() = default;
    Signal(VerilatedContext &context, const std::string &scope, const std::string &name) {
        const VerilatedScope *found = context.scopeFind(scope.c_str());
        VerilatedVar *variable = found ? found->varFind(name.c_str()) : nullptr;
        if (!variable) throw Fault("the model has no signal " + scope + "." + name);
        data = variable->datap();
        bytes = unsigned(variable->entSize());
    }
    bool bit(unsigned index) const { return get(data, index, 1); }
    explicit operator bool() const { return bit(0); }
    uint64_t value() const {
        uint64_t value = 0;
        std::memcpy(&value, data, std::min(bytes, 8u));
        return value;
    }
};

struct Engine {
    struct Offload {
        Signal request, ready, request_thread, reply, reply_thread;
        bool replies;
    };
    Signal load, load_ready, load_first, load_tag;
    Signal unload, unload_ready, unload_last, unload_tag;
    Signal load_thread, loaded, slot, slot_thread, step, slot_ends, slot_ends_thread;
    Signal commit, next_step, exit, calls;
    std::vector<Offload> offloads;
};

struct Cluster {
    Signal offered, taken, first, tag;
    Signal finish, finish_ready, finish_last, finish_tag;
    Signal out, out_ready, out_last, out_result;
    std::vector<Engine> engines;
    uint64_t received = 0, placed = 0, left = 0;   // packets so far
    bool inside = false;                           // a packet is leaving
    bool begins = true;                            // the next row in order is an output's first
};

// A step of a pipelined engine; all its packets are in order.
struct Stage {
    Signal begins, ends, reads, issue, take;
    uint64_t begun = 0, ended = 0, read = 0;
    std::vector<uint64_t> issued, replied;         // by call
};

struct Pipe {
    Signal valid, ready, first;
    std::vector<Cluster> clusters;
    std::vector<Stage> stages;
    Signal beat, beat_ready, beat_last;
    uint64_t received = 0, left = 0;
};

class Follower {
    static constexpr uint64_t NONE = ~uint64_t(0);
    static constexpr uint64_t NEXT = 0;
    std::vector<Pipe> pipes;
    uint64_t number = NONE;              // of the packet, in its pipe
    unsigned pipe_number = 0;
    Cluster *cluster = nullptr;
    uint64_t in_cluster = NONE;          // number of the packet there
    uint64_t tag = NONE;
    Engine *engine = nullptr;
    uint64_t thread = NONE;
    bool is_loading = false, runs = false;
    std::vector<unsigned> pending;       // requests that have not left the engine, by offload
    // Of a pipelined engine: the cycle in which the packet is where a step issues its requests, by
    // step, and the number of its request among those of a step and call.
    std::vector<uint64_t> asks;
    std::vector<std::vector<uint64_t>> due;

  public:
    std::deque<wl_event> events;
    uint64_t followed = NONE;            // number of the packet among those offered

    // Finds the signals of the model.
    void begin(VerilatedContext &context) {
        for (unsigned p = 0; p < LANES; ++p) {
            const std::string scope = WL_FOLLOW_TOP ".gen_pipe[" + std::to_string(p) + "].i_pipe";
            auto signal = [&](const char *name) { return Signal(context, scope, name); };
            Pipe pipe;
            pipe.valid = signal("cluster_valid");
            pipe.ready = signal("cluster_ready");
            pipe.first = signal("cluster_first");
            for (unsigned c = 0; c < WL_CLUSTERS; ++c) {
                const std::string index = std::to_string(c);
                const std::string inner = scope + ".gen_cluster[" + index + "].i_cluster";
#if WL_PIPELINED
                stages_of(context, inner + ".gen_engine[0].i_engine", pipe);
#else
                pipe.clusters.push_back(cluster_of(context, inner));
#endif
            }
            pipes.push_back(std::move(pipe));
        }
        pending.resize(OFFLOAD_NAMES.size());
#if WL_PIPELINED
        asks.resize(PIPELINE.size(), NONE);
        for (const PipelinedStep &step : PIPELINE) due.emplace_back(step.calls.size(), NONE);
#endif
    }

    // The packet that is followed is the n-th that enters on a lane, and so in its pipe.
    void enters(unsigned lane, uint64_t n) {
        pipe_number = lane;
        number = n;
    }

    // Looks at the signals of a cycle.
    void look(uint64_t cycle) {
        for (Pipe &pipe : pipes) {
            const bool is_its = number != NONE && &pipe == &pipes[pipe_number];
#if WL_PIPELINED
            look_at_stages(pipe, is_its, cycle);
#else
            look_at_clusters(pipe, is_its, cycle);
#endif
        }
    }

  private:
    void note(uint64_t cycle, Happened what, uint64_t value = 0) {
        const Cluster *first = pipes[pipe_number].clusters.data();
        const uint32_t index = cluster ? uint32_t(cluster - first) : 0;
        events.push_back({cycle, value, uint32_t(what), pipe_number, index});
    }

#if WL_PIPELINED
    void stages_of(VerilatedContext &context, const std::string &scope, Pipe &pipe) {
        auto signal = [&](const std::string &name) { return Signal(context, scope, name); };
        for (size_t index = 0; index < PIPELINE.size(); ++index) {
            const PipelinedStep &step = PIPELINE[index];
            const std::string name = step.name;
            Stage stage;
            stage.begins = signal("valid_" + std::to_string(index));
            stage.ends = signal("valid_" + std::to_string(index + 1));
            stage.reads = Signal(context, scope + ".i_" + name, "r_valid");
            stage.issue = signal(name + "_issue_valid");
            stage.take = signal(name + "_reply_take");
            stage.issued.resize(step.calls.size());
            stage.replied.resize(step.calls.size());
            pipe.stages.push_back(std::move(stage));
        }
        pipe.beat = signal("beat_valid_o");
        pipe.beat_ready = signal("beat_ready_i");
        pipe.beat_last = signal("beat_last_o");
    }

    void look_at_stages(Pipe &pipe, bool is_its, uint64_t cycle) {
        if (pipe.valid && pipe.ready && pipe.first && pipe.received++ == number && is_its)
            note(cycle, Happened::TO_CLUSTER, 0);
        for (unsigned s = 0; s < PIPELINE.size(); ++s) {
            Stage &stage = pipe.stages[s];
            const PipelinedStep &step = PIPELINE[s];
            if (stage.begins && stage.begun++ == number && is_its)
                note(cycle, Happened::STEP_BEGINS, s);
            if (stage.reads && stage.read++ == number && is_its)
                asks[s] = cycle + step.request_stages;
            for (unsigned c = 0; c < step.calls.size(); ++c) {
                if (stage.issue.bit(c)) {
                    if (is_its && asks[s] == cycle) {
                        note(cycle, Happened::CALL, step.calls[c]);
                        due[s][c] = stage.issued[c];
                    }
                    ++stage.issued[c];
                }
                if (stage.take.bit(c) && stage.replied[c]++ == due[s][c] && is_its)
                    note(cycle, Happened::REPLY, step.calls[c]);
            }
            if (stage.ends && stage.ended++ == number && is_its)
                note(cycle, Happened::STEP_ENDS, s);
        }
        if (pipe.beat && pipe.beat_ready && pipe.beat_last && pipe.left++ == number && is_its)
            note(cycle, Happened::WINDOW);
    }
#else
    static Cluster cluster_of(VerilatedContext &context, const std::string &scope) {
        auto signal = [&](const char *name) { return Signal(context, scope, name); };
        Cluster cluster;
        cluster.offered = signal("offered");
        cluster.taken = signal("taken");
        cluster.first = signal("row_first");
        cluster.tag = signal("tag");
        cluster.finish = signal("finish_valid");
        cluster.finish_ready = signal("finish_ready");
        cluster.finish_last = signal("finish_last");
        cluster.finish_tag = signal("finish_tag");
        cluster.out = signal("out_valid");
        cluster.out_ready = signal("out_ready");
        cluster.out_last = signal("out_last");
        cluster.out_result = signal("out_result");
        for (unsigned e = 0; e < WL_ENGINES; ++e)
            cluster.engines.push_back(
                engine_of(context, scope + ".gen_engine[" + std::to_string(e) + "].i_engine"));
        return cluster;
    }

    static Engine engine_of(VerilatedContext &context, const std::string &scope) {
        auto signal = [&](const std::string &name) { return Signal(context, scope, name); };
        auto shell = [&](const char *name) { return Signal(context, scope + ".i_shell", name); };
        Engine engine;
        engine.load = signal("load_valid_i");
        engine.load_ready = signal("load_ready_o");
        engine.load_first = signal("load_first_i");
        engine.load_tag = signal("load_tag_i");
        engine.unload = signal("unload_valid_o");
        engine.unload_ready = signal("unload_ready_i");
        engine.unload_last = signal("unload_last_o");
        engine.unload_tag = signal("unload_tag_o");
        engine.load_thread = shell("load_thread");
        engine.loaded = shell("loaded");
        engine.slot = shell("slot_valid_o");
        // The thread of a slot that begins, of a shell with one thread that of a slot that ends.
        engine.slot_ends_thread = shell("end_thread");
        engine.slot_thread = WL_ONE_THREAD ? engine.slot_ends_thread : shell("a_thread");
        engine.step = shell("address_step_o");
        engine.slot_ends = shell("end_slot");
        engine.commit = shell("commit");
        engine.next_step = shell("core_step_i");
        engine.exit = shell("core_exit_i");
        engine.calls = shell("request_valid_o");
        const bool replies[] = {WL_REPLIES false};
        for (unsigned o = 0; o < OFFLOAD_NAMES.size(); ++o) {
            const std::string &name = OFFLOAD_NAMES[o];
            Engine::Offload offload;
            offload.request = signal(name + "_request_valid_o");
            offload.ready = signal(name + "_request_ready_i");
            offload.request_thread = signal(name + "_request_thread_o");
            offload.replies = replies[o];
            if (offload.replies) {
                offload.reply = signal(name + "_reply_valid_i");
                offload.reply_thread = signal(name + "_reply_thread_i");
            }
            engine.offloads.push_back(offload);
        }
        return engine;
    }

    void look_at_clusters(Pipe &pipe, bool is_its, uint64_t cycle) {
        for (unsigned c = 0; c < WL_CLUSTERS; ++c) {
            if (!pipe.first || !pipe.valid.bit(c) || !pipe.ready.bit(c)) continue;
            Cluster &target = pipe.clusters[c];
            if (pipe.received++ == number && is_its) {
                cluster = &target;
                in_cluster = target.received;
                note(cycle, Happened::TO_CLUSTER, c);
            }
            ++target.received;
        }
        for (Cluster &own : pipe.clusters) {
            const bool is_this = &own == cluster;
            if (own.offered && own.taken && own.first && own.placed++ == in_cluster && is_this) {
                tag = own.tag.value();
                note(cycle, Happened::PLACE);
            }
            if (is_this && tag != NONE) follow(own, cycle);
            look_at_exit(own, is_this, cycle);
        }
    }

    // The end of a cluster: outputs in order. Only a packet's last output ends it.
    void look_at_exit(Cluster &own, bool is_this, uint64_t cycle) {
        if (!own.out || !own.out_ready) return;
        const bool is_its = is_this && own.left == in_cluster;
        if (own.begins && is_its) note(cycle, Happened::IN_ORDER);
        own.begins = static_cast<bool>(own.out_last);
        if (!own.out_last || own.out_result.bit(0)) return;   // wl_pkg::result_t::more
        ++own.left;
        if (is_its) tag = NONE;
    }

    void follow(Cluster &own, uint64_t cycle) {
        if (!engine)
            for (unsigned e = 0; e < WL_ENGINES; ++e) find(own.engines[e], e, cycle);
        if (!engine) return;
        if (is_loading && engine->loaded && engine->load_thread.value() == thread) {
            is_loading = false;
            note(cycle, Happened::LOADED);
        }
        if (runs && engine->slot_ends && engine->slot_ends_thread.value() == thread)
            end_slot(cycle);
        if (runs && engine->slot && engine->slot_thread.value() == thread)
            note(cycle, Happened::SLOT, engine->step.value());
        for (unsigned o = 0; o < engine->offloads.size(); ++o) {
            const Engine::Offload &offload = engine->offloads[o];
            const bool leaves = offload.request && offload.ready;
            if (pending[o] && leaves && offload.request_thread.value() == thread) {
                --pending[o];
                note(cycle, Happened::CALL_TAKEN, o);
            }
            if (runs && offload.replies && offload.reply && offload.reply_thread.value() == thread)
                note(cycle, Happened::REPLY, o);
        }
        const bool unloads = engine->unload && engine->unload_ready && engine->unload_last;
        if (unloads && engine->unload_tag.value() == tag) note(cycle, Happened::UNLOADED);
        const bool finishes = own.finish && own.finish_ready && own.finish_last;
        if (finishes && own.finish_tag.value() == tag) note(cycle, Happened::STORED);
    }

    void find(Engine &candidate, unsigned index, uint64_t cycle) {
        const bool begins = candidate.load && candidate.load_ready && candidate.load_first;
        if (!begins || candidate.load_tag.value() != tag) return;
        engine = &candidate;
        thread = candidate.load_thread.value();
        is_loading = runs = true;
        note(cycle, Happened::LOAD, uint64_t(index) << 16 | thread);
    }

    void end_slot(uint64_t cycle) {
        bool calls = false;
        for (unsigned o = 0; o < engine->offloads.size(); ++o) {
            if (!engine->calls.bit(o)) continue;
            calls = true;
            ++pending[o];
            note(cycle, Happened::CALL, o);
        }
        if (engine->commit) {
            const uint64_t exit = engine->exit.value();
            runs = exit == NEXT || is_copy(exit);
            note(cycle, Happened::SLOT_ENDS, exit << 32 | engine->next_step.value());
        } else if (!calls) {
            note(cycle, Happened::SLOT_AGAIN);
        }
    }
#endif
};
