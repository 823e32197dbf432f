// The tape: values of gradients, higher derivatives, what
// is saved, version and leaf rules, accumulation, requests.
#include "autograd_ops.h"
#include "check.h"

using namespace tenora;
using namespace autograd_test;
using Doubles = std::vector<double>;

namespace {
double get(const TensorRef& t) { return values(t.get())[0]; }
}  // namespace

TEST(product_and_sum) {
    set_up();
    Baseline base;
    {
        TensorRef a = vec({2, 3}, true), b = vec({5, 7}, true);
        TensorRef y = sum(add(mul(a.get(), b.get()).get(), a.get()).get());
        CHECK_EQ(get(y), 36.0);
        backward(y.get());
        CHECK(grad(a.get()) == (Doubles{6, 8}));
        CHECK(grad(b.get()) == (Doubles{2, 3}));
    }
    CHECK(base.holds());
}

TEST(broadcast_is_summed_back) {
    set_up();
    Baseline base;
    {
        TensorRef a = tensor({1, 2, 3, 4}, {2, 2}, true), b = vec({10, 20}, true), k = tensor({3}, {}, true);
        TensorRef y = sum(mul(mul(a.get(), b.get()).get(), k.get()).get());
        backward(y.get());
        CHECK(grad(a.get()) == (Doubles{30, 60, 30, 60}));
        CHECK(grad(b.get()) == (Doubles{12, 18}));
        CHECK(grad(k.get()) == (Doubles{160}));
    }
    CHECK(base.holds());
}

TEST(same_operand_twice) {
    set_up();
    TensorRef a = vec({3, 4}, true);
    backward(sum(mul(a.get(), a.get()).get()).get());
    CHECK(grad(a.get()) == (Doubles{6, 8}));
}

TEST(matmul_accumulates_shared_operand) {
    set_up();
    Baseline base;
    {
        TensorRef a = tensor({1, 2, 3, 4}, {2, 2}, true), w = tensor({5, 6, 7, 8}, {2, 2}, true);
        TensorRef y = sum(mm(mm(a.get(), w.get()).get(), w.get()).get());
        backward(y.get());
        // d/dw sum(a w w) = a' 1 w' + (a w)' 1
        CHECK(grad(w.get()) == (Doubles{44 + 62, 60 + 62, 66 + 72, 90 + 72}));
    }
    CHECK(base.holds());
}

TEST(gradient_accumulates_into_grad) {
    set_up();
    TensorRef a = vec({1, 2}, true);
    TensorRef y = sum(scaled(a.get(), 3).get());
    backward(y.get(), true);
    TensorRef held = grad_of(a.get());
    backward(y.get(), true);
    CHECK(grad(a.get()) == (Doubles{6, 6}));
    CHECK(held.get() == grad_of(a.get()).get());  // in place, as PyTorch does
    CHECK_EQ(held->version(), 1u);
}

TEST(user_gradient_is_not_stolen) {
    set_up();
    TensorRef a = vec({1, 2}, true), g = vec({5, 6});
    backward(add(a.get(), a.get()).get(), false, false, g.get());
    backward(a.get(), false, false, g.get());
    CHECK(grad(a.get()) == (Doubles{15, 18}));
    CHECK(values(g.get()) == (Doubles{5, 6}));
}

TEST(higher_derivatives) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({2}, true);
        TensorRef y = sum(power(x.get(), 4).get());
        TensorRef g1 = std::move(gradients(y.get(), {x.get()}, true)[0]);
        CHECK_EQ(get(g1), 32.0);
        TensorRef g2 = std::move(gradients(sum(g1.get()).get(), {x.get()}, true)[0]);
        CHECK_EQ(get(g2), 48.0);
        TensorRef g3 = std::move(gradients(sum(g2.get()).get(), {x.get()}, true)[0]);
        CHECK_EQ(get(g3), 48.0);
        CHECK(!grad_of(x.get()));
    }
    CHECK(base.holds());
}

TEST(saved_result_has_its_history_in_create_graph) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({1.5}, true);
        TensorRef y = exp(x.get());
        TensorRef g1 = std::move(gradients(y.get(), {x.get()}, true)[0]);
        TensorRef g2 = std::move(gradients(g1.get(), {x.get()}, true)[0]);
        CHECK_EQ(get(g2), get(y));
        TensorRef q = exp(exp(x.get()).get());
        TensorRef d1 = std::move(gradients(q.get(), {x.get()}, true)[0]);
        TensorRef d2 = std::move(gradients(d1.get(), {x.get()})[0]);
        double e = get(y), expected = get(q) * e * (1 + e);
        CHECK(get(d2) > expected * (1 - 1e-14) && get(d2) < expected * (1 + 1e-14));
    }
    CHECK(base.holds());
}

TEST(create_graph_into_grad_keeps_history) {
    set_up();
    {
        TensorRef x = vec({3}, true);
        backward(sum(power(x.get(), 3).get()).get(), true, true);
        TensorRef g = grad_of(x.get());
        CHECK(tracked(g.get()));
        CHECK_EQ(get(std::move(gradients(sum(g.get()).get(), {x.get()})[0])), 18.0);
        backward(sum(power(x.get(), 3).get()).get(), true, true);
        CHECK_EQ(grad(x.get())[0], 54.0);
        set_grad(x.get(), nullptr);  // x.grad -> node -> x is a cycle, as in PyTorch
    }
}

TEST(equal_shapes_save_nothing_for_add) {
    set_up();
    TensorRef a = vec({1, 2}, true), b = vec({3, 4}, true);
    TensorRef y = add(a.get(), b.get());
    CHECK_EQ(y->node->n_saved, 0);
    CHECK_EQ(y->node->n_meta, 0);
    TensorRef z = mul(a.get(), b.get());
    CHECK_EQ(z->node->n_saved, 2);
    CHECK_EQ(a->use_count(), 3u);  // ours, and one per edge; saved operands borrow it
    TensorRef c = tensor({1, 2, 3, 4}, {2, 2});
    TensorRef w = add(a.get(), c.get());
    CHECK_EQ(w->node->n_saved, 0);
    CHECK_EQ(w->node->n_meta, 1);
}

TEST(freed_graph_and_retain_graph) {
    set_up();
    TensorRef a = vec({2}, true);
    TensorRef y = sum(mul(a.get(), a.get()).get());
    backward(y.get(), true);
    backward(y.get());
    CHECK(grad(a.get()) == (Doubles{8}));
    CHECK_THROWS(ErrorKind::Runtime, "Trying to backward through the graph a second time", backward(y.get()));
    TensorRef s = sum(add(a.get(), a.get()).get());
    backward(s.get());
    backward(s.get());  // nothing was saved: fine, as in PyTorch
}

TEST(changed_operands_are_refused_only_when_read) {
    set_up();
    TensorRef a = vec({2}, true), c = vec({3});
    TensorRef y = mul(a.get(), c.get());
    inplace("mul", c.get(), Operand(Scalar::from_float(2)));
    CHECK_THROWS(ErrorKind::Runtime, "modified by an inplace operation", backward(y.get()));
    CHECK_THROWS(ErrorKind::Runtime, "[mul]", backward(y.get()));
    TensorRef d = vec({3});
    TensorRef z = add(a.get(), d.get());
    inplace("mul", d.get(), Operand(Scalar::from_float(2)));
    backward(z.get());
    CHECK(grad(a.get()) == (Doubles{1}));
}

TEST(requests_are_checked) {
    set_up();
    TensorRef a = vec({1, 2}, true), c = vec({1, 2}), unused = vec({1}, true);
    TensorRef y = mul(a.get(), c.get());
    CHECK_THROWS(ErrorKind::Runtime, "only for scalar outputs", backward(y.get()));
    CHECK_THROWS(ErrorKind::Runtime, "does not require grad", backward(c.get()));
    TensorRef wrong = vec({1, 2, 3});
    CHECK_THROWS(ErrorKind::Runtime, "Mismatch in shape", backward(y.get(), false, false, wrong.get()));
    TensorRef s = sum(y.get());
    CHECK_THROWS(ErrorKind::Runtime, "not have been used", gradients(s.get(), {unused.get()}));
    CHECK(!gradients(s.get(), {unused.get()}, false, true)[0]);
    CHECK_THROWS(ErrorKind::Runtime, "does not require grad", gradients(s.get(), {c.get()}));
    TensorRef flags = new_tensor(std::vector<int64_t>{2}, DType::I64, {});
    CHECK_THROWS(ErrorKind::Runtime, "floating point and complex", set_requires_grad(flags.get(), true));
    CHECK_THROWS(ErrorKind::Runtime, "leaf variables", set_requires_grad(y.get(), false));
}

TEST(gradients_of_inner_tensors) {
    set_up();
    Baseline base;
    {
        TensorRef a = vec({2, 3}, true), k = vec({7, 7}, true);
        TensorRef h = mul(a.get(), a.get());
        TensorRef y = sum(mul(exp(h.get()).get(), k.get()).get());
        TensorRef z = sum(scaled(h.get(), 5).get());
        auto g = gradients(z.get(), {h.get(), a.get(), h.get()});
        CHECK(values(g[0].get()) == (Doubles{5, 5}));
        CHECK(values(g[1].get()) == (Doubles{20, 30}));
        CHECK(values(g[2].get()) == (Doubles{5, 5}));
        CHECK(values(gradients(z.get(), {z.get()})[0].get()) == (Doubles{1}));
        CHECK(!grad_of(a.get()));
        uint64_t before = trace_count();
        auto only = gradients(y.get(), {k.get()});  // the smaller Program is derived, not traced
        CHECK_EQ(trace_count(), before);
        CHECK(values(only[0].get()) == values(exp(h.get()).get()));
    }
    CHECK(base.holds());
}

TEST(backward_with_inputs_accumulates_there_only) {
    set_up();
    TensorRef a = vec({2}, true), b = vec({3}, true);
    TensorRef y = mul(a.get(), b.get());
    Tensor* root = y.get();
    Tensor* input = a.get();
    BackwardRequest r;
    r.roots = {&root, 1};
    r.inputs = {&input, 1};
    run_backward(r);
    CHECK(grad(a.get()) == (Doubles{3}));
    CHECK(!grad_of(b.get()));
}

TEST(several_roots_and_outputs) {
    set_up();
    Baseline base;
    {
        TensorRef a = vec({1, 2}, true);
        TensorRef out[kMaxOutputs];
        Operand in(a.get());
        call(find_op("two")->id, {&in, 1}, {}, out);
        TensorRef only_second = sum(out[1].get());
        backward(only_second.get(), true);  // the first output's gradient is undefined: zeros
        CHECK(grad(a.get()) == (Doubles{3, 3}));
        TensorRef s = sum(out[0].get());
        Tensor* roots[3] = {s.get(), only_second.get(), s.get()};
        BackwardRequest r;
        r.roots = roots;
        run_backward(r);
        CHECK(grad(a.get()) == (Doubles{10, 10}));
    }
    CHECK(base.holds());
}

TEST(loops_trace_once) {
    set_up();
    TensorRef a = vec({1, 2, 3, 4}, true);
    backward(sum(power(row(a.get(), 0).get(), 2).get()).get());
    uint64_t before = trace_count();
    for (int i = 0; i < 4; ++i) backward(sum(power(row(a.get(), i).get(), double(i) + 3).get()).get());
    CHECK_EQ(trace_count(), before);
}

TEST(no_grad_records_nothing) {
    set_up();
    TensorRef a = vec({1}, true);
    modes().grad = false;
    TensorRef y = mul(a.get(), a.get());
    modes().grad = true;
    CHECK(!tracked(y.get()));
    TensorRef d = detach(mul(a.get(), a.get()).get());
    CHECK(!tracked(d.get()));
}

TEST(inference_tensors_cannot_be_saved) {
    set_up();
    TensorRef a = vec({1}, true);
    modes().inference = true;
    TensorRef x = vec({2});
    x->inference = true;
    modes().inference = false;
    CHECK_THROWS(ErrorKind::Runtime, "Inference tensors cannot be saved", mul(a.get(), x.get()));
    backward(add(a.get(), x.get()).get());
    CHECK_THROWS(ErrorKind::Runtime, "outside InferenceMode",
                 inplace("mul", x.get(), Operand(Scalar::from_float(2))));
}

TEST(failing_backward_leaves_no_buffers) {
    set_up();
    Baseline base;
    {
        TensorRef a = vec({2}, true), c = vec({3});
        TensorRef left = mul(a.get(), c.get()), right = exp(a.get());
        TensorRef y = sum(add(left.get(), right.get()).get());
        inplace("mul", c.get(), Operand(Scalar::from_float(2)));
        for (int i = 0; i < 3; ++i)
            CHECK_THROWS(ErrorKind::Runtime, "gradient of mul", backward(y.get(), true));
    }
    CHECK(base.holds());
}

TEST(anomaly_names_op_and_line) {
    set_up();
    Baseline base;
    {
        hooks().capture_trace = []() -> void* { return new std::string("train.py, line 7"); };
        hooks().format_trace = [](void* p) { return *static_cast<std::string*>(p); };
        hooks().release_payload = [](void* p) { delete static_cast<std::string*>(p); };
        modes().anomaly = true;
        TensorRef a = vec({-1}, true);
        TensorRef y = sum(call1("sqrt", {a.get()}).get());
        CHECK_THROWS(ErrorKind::Runtime, "'sqrt' returned nan", backward(y.get(), true));
        CHECK_THROWS(ErrorKind::Runtime, "train.py, line 7", backward(y.get(), true));
        modes().anomaly = false;
    }
    hooks().capture_trace = nullptr;
    hooks().release_payload = nullptr;
    CHECK(base.holds());
}

TEST(backward_runs_where_forward_ran) {
    set_up();
    uint8_t host = 0;
    static int calls = 0;
    int found = find_backend("counting");
    BackendId other = found >= 0 ? BackendId(found) : add_backend("counting", "1", {&host, 1}).id;
    for (const std::string& name : op_names())
        if (const KernelEntry* k = find_op(name)->kernels[current_backend(0)].load(); k && name != "mul")
            register_kernel(other, name, *k);
    KernelEntry counted = *find_op("mul")->kernels[current_backend(0)].load();
    counted.run = [](const tnr_call* c) {
        ++calls;
        return find_op("mul")->kernels[find_backend("plain")].load()->run(c);
    };
    register_kernel(other, "mul", counted);
    TensorRef a = vec({2}, true);
    modes().override_backend[0] = other;
    TensorRef h = mul(a.get(), a.get());
    modes().override_backend[0] = kNoBackend;
    CHECK_EQ(calls, 1);
    backward(sum(mul(h.get(), h.get()).get()).get());
    CHECK_EQ(calls, 3);
    CHECK(grad(a.get()) == (Doubles{32}));
    CHECK_EQ(int(modes().override_backend[0]), int(kNoBackend));
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
