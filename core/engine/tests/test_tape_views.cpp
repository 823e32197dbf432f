// In-place writes and views: what is recorded, what is copied,
// what is re-derived, what is refused. Values are PyTorch's.
#include "autograd_ops.h"
#include "check.h"

using namespace tenora;
using namespace autograd_test;
using Doubles = std::vector<double>;

namespace {
Operand number(double v) { return Operand(Scalar::from_float(v)); }
TensorRef zeros(std::initializer_list<int64_t> shape) {
    TensorRef t = new_tensor({shape.begin(), shape.size()}, DType::F64, {});
    fill(t.get(), Scalar::from_int(0));
    return t;
}
}  // namespace

TEST(in_place_is_recorded_on_the_old_value) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({2, 3}, true), w = vec({5, 7}, true);
        TensorRef z = scaled(x.get(), 1.5);
        inplace("mul", z.get(), Operand(w.get()));  // reads old z: a copy
        inplace("pow", z.get(), number(2));
        inplace("add", z.get(), Operand(x.get()));
        CHECK_EQ(z->version(), 3u);
        backward(sum(z.get()).get());
        // (1.5 x w)^2 + x
        CHECK(grad(x.get()) == (Doubles{2 * 1.5 * 1.5 * 2 * 25 + 1, 2 * 1.5 * 1.5 * 3 * 49 + 1}));
        CHECK(grad(w.get()) == (Doubles{2 * 2.25 * 4 * 5, 2 * 2.25 * 9 * 7}));
    }
    CHECK(base.holds());
}

TEST(in_place_result_that_is_saved_takes_the_new_version) {
    set_up();
    TensorRef x = vec({0.5}, true);
    TensorRef z = scaled(x.get(), 1);
    inplace("exp", z.get(), {});
    backward(z.get(), true);
    CHECK(grad(x.get()) == values(z.get()));
    inplace("mul", z.get(), number(2));
    CHECK_THROWS(ErrorKind::Runtime, "its result", backward(z.get()));
}

TEST(write_through_a_view_reaches_the_base) {
    set_up();
    Baseline base;
    {
        TensorRef x = tensor({1, 2, 3, 4}, {2, 2}, true);
        TensorRef y = scaled(x.get(), 1);
        TensorRef r = row(y.get(), 0);
        inplace("mul", r.get(), number(10));
        backward(sum(mul(y.get(), y.get()).get()).get(), true);
        CHECK(grad(x.get()) == (Doubles{200, 400, 6, 8}));
        set_grad(x.get(), nullptr);
        backward(sum(r.get()).get());
        CHECK(grad(x.get()) == (Doubles{10, 10, 0, 0}));
    }
    CHECK(base.holds());
}

TEST(stale_sibling_view_re_derives) {
    set_up();
    Baseline base;
    {
        TensorRef x = tensor({1, 2, 3, 4}, {2, 2}, true);
        TensorRef y = scaled(x.get(), 1);
        TensorRef column = row(transposed(y.get()).get(), 1), r = row(y.get(), 0);
        inplace("mul", r.get(), number(10));
        CHECK(values(column.get()) == (Doubles{20, 4}));
        CHECK(view_is_stale(column.get()));
        backward(sum(mul(column.get(), column.get()).get()).get());
        CHECK(grad(x.get()) == (Doubles{0, 2 * 20 * 10, 0, 8}));
    }
    CHECK(base.holds());
}

TEST(base_written_while_a_view_lives) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({1, 2, 3}, true);
        TensorRef y = scaled(x.get(), 2);
        TensorRef v = row(y.get(), 1);
        inplace("mul", y.get(), Operand(y.get()));
        backward(v.get());
        CHECK(grad(x.get()) == (Doubles{0, 16, 0}));
    }
    CHECK(base.holds());
}

TEST(view_of_view_and_base_without_gradient) {
    set_up();
    Baseline base;
    {
        TensorRef x = vec({3, 4}, true);
        TensorRef b = zeros({2, 2});
        TensorRef early = row(b.get(), 1);
        CHECK(!tracked(early.get()));
        TensorRef v = row(transposed(b.get()).get(), 0);  // first column
        assign(v.get(), Operand(mul(x.get(), x.get()).get()));
        CHECK(values(b.get()) == (Doubles{9, 0, 16, 0}));
        CHECK(tracked(b.get()));
        CHECK(tracked(early.get()));
        backward(sum(mul(early.get(), early.get()).get()).get(), true);
        CHECK(grad(x.get()) == (Doubles{0, 2 * 16 * 8}));
        set_grad(x.get(), nullptr);
        backward(sum(b.get()).get());
        CHECK(grad(x.get()) == (Doubles{6, 8}));
    }
    CHECK(base.holds());
}

TEST(many_row_writes_and_double_backward) {
    set_up();
    Baseline base;
    {
        TensorRef x = tensor({1, 2, 3, 4}, {4}, true);
        TensorRef y = scaled(x.get(), 1);
        for (int i = 0; i < 4; ++i) inplace("pow", row(y.get(), i).get(), number(i + 1));
        TensorRef g = std::move(gradients(sum(y.get()).get(), {x.get()}, true)[0]);
        CHECK(values(g.get()) == (Doubles{1, 4, 27, 256}));
        TensorRef h = std::move(gradients(sum(g.get()).get(), {x.get()})[0]);
        CHECK(values(h.get()) == (Doubles{0, 2, 18, 192}));
    }
    CHECK(base.holds());
}

TEST(base_that_is_not_row_major) {
    set_up();
    Baseline base;
    {
        TensorRef x = tensor({1, 2, 3, 4, 5, 6}, {3, 2}, true);
        TensorRef y = detach(transposed(x.get()).get());  // strides (1, 2), no view
        CHECK(!y->contiguous);
        TensorRef k = vec({10, 20, 30}, true);
        TensorRef r = row(y.get(), 1);
        inplace("mul", r.get(), Operand(k.get()));
        CHECK(values(y.get()) == (Doubles{1, 3, 5, 20, 80, 180}));
        TensorRef again = row(y.get(), 1), other = row(y.get(), 0);
        inplace("mul", other.get(), Operand(k.get()));
        backward(sum(y.get()).get(), true);
        CHECK(grad(k.get()) == (Doubles{2 + 1, 4 + 3, 6 + 5}));
        set_grad(k.get(), nullptr);
        backward(sum(again.get()).get());  // stale by the write to row 0
        CHECK(grad(k.get()) == (Doubles{2, 4, 6}));
    }
    CHECK(base.holds());
}

TEST(leaf_rules) {
    set_up();
    TensorRef x = vec({1, 2}, true);
    CHECK_THROWS(ErrorKind::Runtime, "a leaf Variable that requires grad",
                 inplace("mul", x.get(), number(2)));
    TensorRef v = row(x.get(), 0);
    CHECK_THROWS(ErrorKind::Runtime, "a view of a leaf Variable", inplace("mul", v.get(), number(2)));
    CHECK(values(x.get()) == (Doubles{1, 2}));
    modes().grad = false;
    inplace("mul", x.get(), number(2));
    TensorRef b = zeros({2});
    TensorRef made_without = row(b.get(), 0);
    modes().grad = true;
    CHECK(values(x.get()) == (Doubles{2, 4}));
    TensorRef s = sum(x.get());
    CHECK_THROWS(ErrorKind::Runtime, "created in no_grad mode",
                 inplace("mul", made_without.get(), Operand(s.get())));
    CHECK_THROWS(ErrorKind::Runtime, "Can't detach views", detach_inplace(v.get()));
}

TEST(detach_cuts_history_and_shares_memory) {
    set_up();
    TensorRef x = vec({1, 2}, true);
    TensorRef y = mul(x.get(), x.get());
    TensorRef d = detach(y.get());
    CHECK(!tracked(d.get()) && d->dl.data == y->dl.data);
    inplace("mul", d.get(), number(2));
    CHECK_EQ(y->version(), 1u);
    detach_inplace(y.get());
    CHECK(!tracked(y.get()));
    set_requires_grad(y.get(), true);
    CHECK(is_leaf(y.get()));
}

TEST(hooks_on_tensors_and_retained_gradients) {
    set_up();
    Baseline base;
    static int calls;
    calls = 0;
    {
        hooks().run_hooks = [](void* payload, int kind, Tensor*, TensorRef& g) {
            calls += kind == int(HookKind::PostAccumulate) ? 100 : 1;
            if (kind == int(HookKind::Tensor) && payload == &calls) g = scaled(g.get(), 10);
        };
        TensorRef x = vec({1, 2}, true);
        TensorRef y = scaled(x.get(), 2);
        retain_grad(y.get());
        set_payload(tensor_hooks(y.get()), &calls);
        set_payload(tensor_hooks(x.get()), &calls);
        set_payload(post_accumulate_hooks(x.get()), &base);
        TensorRef z = sum(add(y.get(), y.get()).get());
        backward(z.get(), true);
        CHECK(grad(y.get()) == (Doubles{20, 20}));
        CHECK(grad(x.get()) == (Doubles{400, 400}));  // the leaf's hook sees the whole gradient once
        CHECK_EQ(calls, 102);
        inplace("mul", y.get(), number(3));  // y's gradient is now that of the new y
        set_grad(y.get(), nullptr);
        backward(sum(y.get()).get());
        CHECK(grad(y.get()) == (Doubles{1, 1}));
    }
    hooks().run_hooks = nullptr;
    CHECK(base.holds());
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }

// ---- written in place after a node saved it: no count may be left over

TEST(saved_operand_written_with_what_came_of_it_is_freed) {
    set_up();
    Baseline base;
    {
        TensorRef w = vec({5, 7}, true), x = vec({2, 3});
        TensorRef y = mul(x.get(), w.get());  // saves x
        inplace("add", x.get(), Operand(y.get()));
        CHECK_THROWS(ErrorKind::Runtime, "[mul] one of the variables", backward(sum(x.get()).get()));
    }
    CHECK(base.holds());
    {
        TensorRef w = vec({5, 7}, true), h = scaled(w.get(), 2);
        for (int i = 0; i < 50; ++i) inplace("add", h.get(), Operand(mul(h.get(), exp(h.get()).get()).get()));
    }
    CHECK(base.holds());
}

TEST(saved_base_written_through_a_view_is_freed) {
    set_up();
    Baseline base;
    {
        TensorRef w = tensor({5, 7, 1, 2}, {2, 2}, true), x = zeros({2, 2});
        TensorRef y = mul(x.get(), w.get()), r = row(x.get(), 0);
        inplace("add", r.get(), Operand(row(y.get(), 1).get()));
        CHECK_THROWS(ErrorKind::Runtime, "[mul] one of the variables", backward(sum(x.get()).get()));
    }
    CHECK(base.holds());
}

TEST(saved_view_of_a_written_base_is_freed) {
    set_up();
    Baseline base;
    {
        TensorRef w = vec({5, 7}, true), x = zeros({2, 2}), r = row(x.get(), 0);
        TensorRef y = mul(r.get(), w.get());  // saves the view
        inplace("add", x.get(), Operand(y.get()));
        CHECK_THROWS(ErrorKind::Runtime, "[mul] one of the variables", backward(sum(r.get()).get()));
    }
    CHECK(base.holds());
    {
        TensorRef x = tensor({1, 2, 3, 4}, {2, 2}, true), z = scaled(x.get(), 2),
                  r = row(transposed(z.get()).get(), 0);
        inplace("mul", z.get(), Operand(r.get()));  // the write's own node saves a view of its target
    }
    CHECK(base.holds());
}

TEST(cycle_over_two_saved_tensors_is_freed) {
    set_up();
    Baseline base;
    for (bool first : {true, false}) {
        TensorRef w = vec({5, 7}, true), x = vec({2, 3}), z = vec({1, 4});
        TensorRef y = mul(x.get(), w.get()), q = mul(z.get(), w.get());
        inplace("add", first ? z.get() : x.get(), Operand(first ? y.get() : q.get()));
        inplace("add", first ? x.get() : z.get(), Operand(first ? q.get() : y.get()));
    }
    CHECK(base.holds());
}

TEST(writes_that_close_no_cycle_leave_saved_tensors_alone) {
    set_up();
    Baseline base;
    {
        TensorRef w = vec({5, 7}, true), x = vec({2, 3}), z = vec({1, 1}), v = vec({0, 0});
        TensorRef y = mul(x.get(), w.get());
        inplace("add", z.get(), Operand(y.get()));
        inplace("add", v.get(), Operand(mul(z.get(), w.get()).get()));
        backward(sum(v.get()).get());
        CHECK(grad(w.get()) == (Doubles{2 * 2 * 5 + 1, 2 * 3 * 7 + 1}));
    }
    CHECK(base.holds());
}
