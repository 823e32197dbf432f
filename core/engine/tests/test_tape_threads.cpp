// Size and threads: long tapes without recursion, several backwards at once, re-entrant ones, workers,
// errors, the collector's walk.
#include <algorithm>
#include <string_view>
#include <thread>

#include "autograd_ops.h"
#include "check.h"
#include "tenora/gc_walk.h"
#include "tenora/stream.h"

using namespace tenora;
using namespace autograd_test;
using Doubles = std::vector<double>;

namespace {

TensorRef chain(Tensor* x, int n, double k = 1.0) {
    TensorRef h(x);
    for (int i = 0; i < n; ++i) h = scaled(h.get(), k);
    return h;
}

template <class F>
void in_threads(int n, F f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) threads.emplace_back(f, i);
    for (auto& t : threads) t.join();
}

}  // namespace

TEST(a_million_nodes) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({1}, true);
        TensorRef y = chain(x.get(), 1000000);
        CHECK_EQ(live().nodes - base.before.nodes, 1000000);
        backward(y.get());
        CHECK(grad(x.get()) == (Doubles{1}));
        TensorRef dropped = chain(x.get(), 1000000);  // freed without having run
    }
    CHECK(base.holds());
}

TEST(backward_from_four_threads_on_separate_graphs) {
    set_up();
    Baseline base;
    in_threads(4, [](int i) {
        for (int round = 0; round < 50; ++round) {
            TensorRef x = vec({double(i + 1)}, true);
            TensorRef y = sum(mul(chain(x.get(), 20).get(), exp(x.get()).get()).get());
            backward(y.get());
            double v = i + 1, expected = std::vector<double>(values(exp(x.get()).get()))[0] * (1 + v);
            double got = grad(x.get())[0];
            if (got < expected * (1 - 1e-12) || got > expected * (1 + 1e-12)) std::abort();
        }
    });
    CHECK(base.holds());
}

TEST(backward_from_four_threads_on_one_graph) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({2}, true);
        TensorRef y = sum(power(chain(x.get(), 50).get(), 3).get());
        in_threads(4, [&](int) {
            for (int round = 0; round < 25; ++round) {
                backward(y.get(), true);
                if (values(gradients(y.get(), {x.get()})[0].get())[0] != 12) std::abort();
            }
        });
        CHECK(grad(x.get()) == (Doubles{1200}));
    }
    CHECK(base.holds());
}

TEST(one_of_two_backwards_finds_the_graph_freed) {
    set_up();
    Baseline base;
    for (int round = 0; round < 20; ++round) {
        TensorRef x = vec({2}, true);
        TensorRef y = mul(x.get(), x.get());
        std::atomic<int> done{0}, refused{0};
        in_threads(2, [&](int) {
            try {
                backward(y.get());
                done++;
            } catch (const Error& e) {
                if (e.message.find("second time") != std::string::npos) refused++;
            }
        });
        CHECK_EQ(done.load(), 1);
        CHECK_EQ(refused.load(), 1);
    }
    CHECK(base.holds());
}

TEST(stale_view_read_by_two_threads) {
    set_up();
    for (int round = 0; round < 50; ++round) {
        TensorRef x = vec({1, 2}, true);
        TensorRef y = scaled(x.get(), 1);
        TensorRef v = row(y.get(), 1);
        inplace("mul", y.get(), Operand(Scalar::from_float(3)));
        in_threads(2, [&](int) {
            if (values(gradients(v.get(), {x.get()})[0].get()) != Doubles{0, 3}) std::abort();
        });
    }
}

TEST(re_entrant_backward_from_a_hook) {
    set_up();
    Baseline base;
    static TensorRef inner;
    static Tensor* leaf;
    {
        hooks().run_hooks = [](void*, int, Tensor*, TensorRef& g) {
            TensorRef extra_gradient = std::move(gradients(inner.get(), {leaf})[0]);
            modes().grad = false;
            g = mul(g.get(), extra_gradient.get());
        };
        TensorRef x = vec({2}, true), w = vec({5}, true);
        TensorRef h = mul(x.get(), x.get());
        inner = mul(w.get(), w.get());
        leaf = w.get();
        set_payload(tensor_hooks(h.get()), &leaf);
        backward(mul(h.get(), h.get()).get());
        CHECK(grad(x.get()) == (Doubles{4 * 8 * 10}));
        inner = nullptr;
        CHECK(modes().grad);
    }
    hooks().run_hooks = nullptr;
    CHECK(base.holds());
}

// One backward unpacks what another one, here inside it, frees meanwhile.
TEST(a_packed_tensor_stays_while_it_is_unpacked) {
    set_up();
    Baseline base;
    static Tensor* root;
    static int released, released_meanwhile;
    {
        hooks().pack_saved = [](Tensor* t) -> void* { return new TensorRef(t); };
        hooks().release_payload = [](void* p) {
            ++released;
            delete static_cast<TensorRef*>(p);
        };
        hooks().unpack_saved = [](void* p) -> TensorRef {
            if (Tensor* y = std::exchange(root, nullptr)) {
                backward(y);
                released_meanwhile = released;
            }
            return *static_cast<TensorRef*>(p);
        };
        TensorRef x = vec({2}, true);
        modes().saved_hooks = true;
        TensorRef y = mul(x.get(), x.get());
        modes().saved_hooks = false;
        root = y.get();
        backward(y.get(), true);
        CHECK(grad(x.get()) == (Doubles{8}));
        CHECK_EQ(released_meanwhile, 0);
        CHECK_EQ(released, 2);
    }
    hooks().pack_saved = nullptr;
    hooks().release_payload = nullptr;
    hooks().unpack_saved = nullptr;
    CHECK(base.holds());
}

TEST(error_in_a_hook_reaches_the_caller) {
    set_up();
    Baseline base;
    {
        hooks().run_hooks = [](void*, int, Tensor*, TensorRef&) {
            fail(ErrorKind::Value, "test", "", "hook says no");
        };
        TensorRef x = vec({2}, true);
        TensorRef h = mul(x.get(), x.get());
        set_payload(tensor_hooks(h.get()), &base);
        TensorRef y = sum(add(h.get(), x.get()).get());
        CHECK_THROWS(ErrorKind::Value, "hook says no", backward(y.get(), true));
        hooks().run_hooks = nullptr;
        backward(y.get());
        CHECK(grad(x.get())[0] == 5);
    }
    CHECK(base.holds());
}

TEST(nodes_of_an_asynchronous_device_run_in_a_worker) {
    set_up();
    Baseline base;
    static std::thread::id seen;
    {
        hooks().run_hooks = [](void*, int, Tensor*, TensorRef&) { seen = std::this_thread::get_id(); };
        TensorRef x = vec({2, 3}, true, lazy_device());
        TensorRef h = mul(x.get(), x.get());
        set_payload(tensor_hooks(h.get()), &seen);
        TensorRef y = sum(mul(h.get(), x.get()).get());
        CHECK(y->device == lazy_device());
        backward(y.get(), true);
        CHECK(grad(x.get()) == (Doubles{12, 27}));
        CHECK(seen != std::thread::id() && seen != std::this_thread::get_id());
        in_threads(4, [&](int) {
            for (int i = 0; i < 10; ++i) backward(y.get(), true);
        });
        CHECK(grad(x.get()) == (Doubles{12 * 41, 27 * 41}));
    }
    hooks().run_hooks = nullptr;
    CHECK(base.holds());
}

namespace {

bool ran_on(const std::vector<Launched>& log, std::string_view op, const Stream* stream) {
    return std::ranges::any_of(log,
                               [&](const Launched& l) { return l.op == op && l.stream == stream->handle; });
}

}  // namespace

TEST(backward_runs_on_the_forwards_streams_and_adds_up_on_the_callers) {
    set_up();
    Baseline base;
    {
        StreamRef side = new_stream(lazy_device(), 0), caller = new_stream(lazy_device(), 0);
        TensorRef x = vec({2, 3}, true, lazy_device());
        StreamRef before = set_current_stream(lazy_device(), side.get());
        TensorRef h = exp(x.get());
        set_current_stream(lazy_device(), caller.get());
        TensorRef y = sum(mul(h.get(), x.get()).get());
        uint32_t count = caller->count.load();
        backward(y.get(), true);
        take_launched();
        backward(y.get(), true);
        std::vector<Launched> log = take_launched();
        CHECK(ran_on(log, "mul", side.get()));    // of exp, recorded there
        CHECK(ran_on(log, "add", caller.get()));  // into x.grad
        CHECK(!ran_on(log, "add", side.get()));
        CHECK_EQ(caller->count.load(), count);  // workers keep their own count of what is current in them
        CHECK(current_stream(lazy_device()) == caller.get());
        set_current_stream(lazy_device(), before.get());
    }
    CHECK(base.holds());
}

TEST(graph_across_devices) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({2, 3}, true);
        TensorRef far = call1("to", {x.get()},
                              {attr_none(), attr_int(int64_t(lazy_device().space) << 8), attr_bool(false)});
        CHECK(far->device == lazy_device());
        TensorRef back =
            call1("to", {mul(far.get(), far.get()).get()}, {attr_none(), attr_int(0), attr_bool(false)});
        backward(sum(mul(back.get(), x.get()).get()).get());
        CHECK(grad(x.get()) == (Doubles{12, 27}));
    }
    CHECK(base.holds());
}

TEST(worker_error_names_the_forward_op) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({2}, true, lazy_device()), c = vec({3}, false, lazy_device());
        TensorRef y = sum(exp(mul(x.get(), c.get()).get()).get());
        inplace("mul", c.get(), Operand(Scalar::from_float(2)));
        for (int i = 0; i < 5; ++i) CHECK_THROWS(ErrorKind::Runtime, "[mul]", backward(y.get(), true));
    }
    CHECK(base.holds());
}

TEST(re_entrant_backward_inside_a_worker) {
    set_up();
    Baseline base;
    static TensorRef inner;
    static Tensor* leaf;
    {
        hooks().run_hooks = [](void*, int, Tensor*, TensorRef& g) {
            g = call1("mul", {g.get(), gradients(inner.get(), {leaf})[0].get()});
        };
        TensorRef x = vec({2}, true, lazy_device()), w = vec({5}, true, lazy_device());
        TensorRef h = mul(x.get(), x.get());
        inner = mul(w.get(), w.get());
        leaf = w.get();
        set_payload(tensor_hooks(h.get()), &leaf);
        backward(mul(h.get(), h.get()).get());
        CHECK(grad(x.get()) == (Doubles{4 * 8 * 10}));
        inner = nullptr;
    }
    hooks().run_hooks = nullptr;
    CHECK(base.holds());
}

TEST(python_nodes) {
    set_up();
    Baseline base;
    static int freed;
    freed = 0;
    {
        hooks().run_python_node = [](Node*, std::span<Tensor* const> g, bool, std::span<TensorRef> out) {
            out[0] = scaled(g[0], 7);
            out[1] = tensor({1, 2, 3, 4}, {2, 2});  // summed to the input's shape
        };
        hooks().free_python_node = [](Node*) { ++freed; };
        TensorRef x = vec({2, 3}, true), b = vec({1, 1}, true);
        Tensor* in[2] = {x.get(), b.get()};
        int64_t payloads = payload_count();
        NodeRef node = python_node(&freed, in, 1, "Scale");
        CHECK_EQ(payload_count(), payloads + 1);
        TensorRef y = vec({14, 21});
        set_history(y.get(), node.get(), 0);
        node = nullptr;
        CHECK_EQ(std::string(y->node->name()), "Scale");
        backward(sum(y.get()).get());
        CHECK(grad(x.get()) == (Doubles{7, 7}));
        CHECK(grad(b.get()) == (Doubles{4, 6}));
        CHECK_EQ(freed, 1);
        hooks().run_python_node = [](Node*, std::span<Tensor* const>, bool, std::span<TensorRef> out) {
            out[0] = vec({1, 2, 3});
        };
        CHECK_THROWS(ErrorKind::Runtime, "invalid gradient", backward(sum(y.get()).get()));
    }
    hooks().run_python_node = nullptr;
    hooks().free_python_node = nullptr;
    CHECK(base.holds());
}

TEST(collector_walk_enters_only_what_is_owned) {
    set_up();
    struct Count : GcVisitor {
        std::vector<void*> seen;
        int payload(void* p) override {
            seen.push_back(p);
            return 0;
        }
        int wrapper(void* p) override {
            seen.push_back(p);
            return 0;
        }
    };
    int hook = 0, context = 0;
    TensorRef x = vec({1}, true);
    set_payload(leaf_hooks(x.get()), &hook);
    Tensor* in[1] = {x.get()};
    NodeRef node = python_node(&context, in, 1, "F");
    TensorRef far = vec({1});
    set_history(far.get(), node.get(), 0);
    node = nullptr;
    TensorRef y = exp(exp(scaled(far.get(), 2).get()).get());
    far = nullptr;
    Count all;
    walk_owned(y.get(), all);
    CHECK(all.seen == (std::vector<void*>{&context}));  // x is held by us as well
    TensorRef second = y;
    Count none;
    walk_owned(y.get(), none);
    CHECK(none.seen.empty());
    second = nullptr;
    x = nullptr;
    Count both;
    walk_owned(y.get(), both);
    CHECK(both.seen == (std::vector<void*>{&context, &hook}));
    clear_autograd(y.get());
    CHECK(!tracked(y.get()));
    CHECK_EQ(payload_count(), 0);
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
