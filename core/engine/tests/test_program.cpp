// Programs: what the builder refuses and merges, compile's
// read sets, attribute instructions, keys, caches, replay.
#include <thread>

#include "attr_code.h"
#include "autograd_ops.h"
#include "check.h"

using namespace tenora;
using namespace autograd_test;

namespace {

TensorArg slot(int i) { return {TensorArg::Kind::Slot, uint32_t(i), {}}; }
OpId id(const char* name) { return find_op(name)->id; }

int call(ProgramBuilder& b, const char* name, std::vector<TensorArg> in, std::vector<AttrArg> attr = {}) {
    return b.call(id(name), in, attr)[0];
}

std::vector<double> replayed(const Program& p, std::vector<Tensor*> in) {
    TensorRef out;
    replay(p, in, {}, false, {&out, 1});
    return values(out.get());
}

Attr eval(AttrCode code, std::vector<Attr> args, const Tensor* t = nullptr) {
    static SpanArena arena;
    return evaluate(code, t, args, arena, "test");
}
std::vector<int64_t> span_of(const Attr& a) { return {a.value.span, a.value.span + a.count}; }

}  // namespace

TEST(equal_instructions_merge_and_dead_ones_go) {
    set_up();
    ProgramBuilder b("test", 2, 0);
    int x = call(b, "mul", {slot(0), slot(1)}), y = call(b, "mul", {slot(0), slot(1)});
    CHECK_EQ(x, y);
    call(b, "exp", {slot(1)});
    int z = call(b, "add", {slot(x), slot(y)});
    int outputs[1] = {z};
    ProgramRef p = b.finish(outputs);
    CHECK_EQ(p->code.size(), 2u);
    TensorRef a = vec({2, 3}), c = vec({5, 7});
    CHECK(replayed(*p, {a.get(), c.get()}) == (std::vector<double>{20, 42}));
    CHECK(p->str().find("mul") != std::string::npos);
}

TEST(builder_names_what_is_wrong) {
    set_up();
    ProgramBuilder b("silly", 1, 0);
    CHECK_THROWS(ErrorKind::Value, "slot 5", call(b, "exp", {slot(5)}));
    CHECK_THROWS(ErrorKind::Value, "[silly]", call(b, "exp", {slot(0), slot(0)}));
    CHECK_THROWS(ErrorKind::Value, "unknown op", b.call(4000, {}, {}));
    int outputs[1] = {9};
    CHECK_THROWS(ErrorKind::Value, "slot 9", b.finish(outputs));
    CHECK_THROWS(ErrorKind::Value, "expected 0 and 2", b.attribute(AttrCode::Add, {}, {}));
}

TEST(read_sets_tell_data_from_shapes) {
    set_up();
    ProgramBuilder b("test", 3, 1);
    int s = call(b, "sum_to", {slot(0), slot(1)});
    int outputs[2] = {s, call(b, "mul", {slot(0), slot(2)})};
    ProgramRef p = b.finish(outputs);
    CHECK(p->reads_data == (std::vector<uint8_t>{1, 0, 1}));
    CHECK(p->reads_meta == (std::vector<uint8_t>{0, 1, 0}));
    CHECK_EQ(p->attr_inputs.size(), 0u);
    const Program* first = p->restricted(1);
    CHECK(first == p->restricted(1));
    CHECK_EQ(first->code.size(), 1u);
    CHECK(first->reads_data == (std::vector<uint8_t>{1, 0, 0}));
    CHECK(p->restricted(3) == p.get());
}

TEST(constants_are_copied) {
    set_up();
    ProgramBuilder b("test", 1, 0);
    std::vector<int64_t> dims{1, 2};
    AttrArg first = b.constant(attr_span(dims));
    AttrArg again = b.constant(attr_span(dims));
    CHECK_EQ(first.constant, again.constant);
    dims[0] = 9;
    CHECK(b.constant(attr_span(dims)).constant != first.constant);
    CHECK(b.constant(attr_string("mean")).constant != b.constant(attr_string("sum")).constant);
}

TEST(attribute_arithmetic) {
    CHECK_EQ(eval(AttrCode::FloorDiv, {attr_int(-7), attr_int(2)}).value.i64, -4);
    CHECK_EQ(eval(AttrCode::Mod, {attr_int(-7), attr_int(2)}).value.i64, 1);
    CHECK_EQ(eval(AttrCode::Pow, {attr_int(3), attr_int(4)}).value.i64, 81);
    CHECK_EQ(eval(AttrCode::Pow, {attr_int(2), attr_int(-1)}).value.f64, 0.5);
    CHECK_EQ(eval(AttrCode::TrueDiv, {attr_int(3), attr_int(2)}).value.f64, 1.5);
    Attr scalar = eval(AttrCode::Sub, {attr_scalar(Scalar::from_int(3)), attr_int(1)});
    CHECK_EQ(int(scalar.kind), int(TNR_ATTR_SCALAR));
    CHECK_EQ(scalar.value.i64, 2);
    CHECK_EQ(eval(AttrCode::AsFloat, {attr_int(2)}).value.f64, 2.0);
    CHECK_EQ(eval(AttrCode::AsInt, {attr_float(2.5)}).value.i64, 2);
    CHECK_THROWS(ErrorKind::Runtime, "division by zero",
                 eval(AttrCode::FloorDiv, {attr_int(1), attr_int(0)}));
    CHECK_EQ(eval(AttrCode::FloorDiv, {attr_int(INT64_MIN), attr_int(-1)}).value.i64, INT64_MIN);
    CHECK_THROWS(ErrorKind::Runtime, "expected numbers", eval(AttrCode::Add, {attr_none(), attr_int(0)}));
}

TEST(attribute_spans_and_metadata) {
    std::vector<int64_t> v{4, 5, 6};
    std::vector<int64_t> permutation{2, 0, 1};
    CHECK(span_of(eval(AttrCode::InversePermutation, {attr_span(permutation)})) ==
          (std::vector<int64_t>{1, 2, 0}));
    CHECK_EQ(eval(AttrCode::Item, {attr_span(v), attr_int(-1)}).value.i64, 6);
    CHECK_THROWS(ErrorKind::Runtime, "out of range", eval(AttrCode::Item, {attr_span(v), attr_int(3)}));
    CHECK(span_of(eval(AttrCode::Slice, {attr_span(v), attr_int(-2), attr_none()})) ==
          (std::vector<int64_t>{5, 6}));
    CHECK(span_of(eval(AttrCode::Slice, {attr_span(v), attr_int(2), attr_int(1)})).empty());
    CHECK_EQ(eval(AttrCode::Product, {attr_span(v)}).value.i64, 120);
    CHECK(span_of(eval(AttrCode::Concat, {attr_span(v), attr_int(7)})) == (std::vector<int64_t>{4, 5, 6, 7}));
    CHECK(span_of(eval(AttrCode::NormalDims, {attr_none(), attr_int(3)})) == (std::vector<int64_t>{0, 1, 2}));
    CHECK(span_of(eval(AttrCode::NormalDims, {attr_int(-1), attr_int(3)})) == (std::vector<int64_t>{2}));
    CHECK(span_of(eval(AttrCode::Take, {attr_span(v), attr_span(permutation)})) ==
          (std::vector<int64_t>{6, 4, 5}));
    CHECK(span_of(eval(AttrCode::Replace, {attr_span(v), attr_int(1), attr_int(9)})) ==
          (std::vector<int64_t>{4, 9, 6}));
    CHECK(span_of(eval(AttrCode::Neg, {attr_span(v)})) == (std::vector<int64_t>{-4, -5, -6}));
    TensorRef t = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
    CHECK_EQ(eval(AttrCode::Size, {attr_int(-1)}, t.get()).value.i64, 3);
    CHECK_EQ(eval(AttrCode::Numel, {}, t.get()).value.i64, 6);
    CHECK(span_of(eval(AttrCode::Shape, {}, t.get())) == (std::vector<int64_t>{2, 3}));
    for (int c = 0; c < int(AttrCode::Count); ++c) CHECK_EQ(find_attr_code(name_of(AttrCode(c))), c);
}

TEST(keys_are_exact) {
    set_up();
    const Op& mul = *find_op("mul");
    TensorRef a = vec({1, 2}), b = vec({1, 2}), c = tensor({1, 2}, {1, 2});
    auto key = [&](std::vector<Operand> in, uint64_t needs, std::vector<Attr> attr = {}) {
        return make_key(mul, needs, in, a.get(), attr);
    };
    CHECK(key({a.get(), b.get()}, 1) == key({b.get(), a.get()}, 1));
    CHECK(!(key({a.get(), b.get()}, 1) == key({a.get(), b.get()}, 2)));
    CHECK(!(key({a.get(), b.get()}, 1) == key({a.get(), c.get()}, 1)));
    CHECK(!(key({a.get(), b.get()}, 1) == key({a.get(), Operand(Scalar::from_int(1))}, 1)));
    CHECK(key({a.get()}, 1, {attr_int(3)}) == key({a.get()}, 1, {attr_float(4)}));
    CHECK(!(key({a.get()}, 1, {attr_bool(true)}) == key({a.get()}, 1, {attr_bool(false)})));
    CHECK(!(key({a.get()}, 1, {attr_string("mean")}) == key({a.get()}, 1, {attr_string("sum")})));
    CHECK(key({a.get()}, 1, {attr_string("mean")}) == key({a.get()}, 1, {attr_string(std::string("mean"))}));
    std::vector<Operand> many(40, Operand(a.get())), more(41, Operand(a.get()));
    CHECK(key(many, 1) == key(many, 1));
    CHECK(!(key(many, 1) == key(more, 1)));
    CHECK(!(key(many, 1) == key(many, 3)));
}

TEST(cache_grows_and_finds_from_many_threads) {
    set_up();
    static ProgramCache cache;
    constexpr int kKeys = 500;
    auto fill = [] {
        for (int i = 0; i < kKeys; ++i) {
            ProgramKey key{uint64_t(i) * 7919, uint64_t(i)};
            const Program* p = cache.find(key);
            if (!p) p = cache.insert(key, dynamic_program(std::to_string(i), 1, 0, 1));
            if (p->op != std::to_string(i)) std::abort();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(fill);
    for (auto& t : threads) t.join();
    for (int i = 0; i < kKeys; ++i)
        CHECK_EQ(cache.find({uint64_t(i) * 7919, uint64_t(i)})->op, std::to_string(i));
    CHECK(cache.find({1, 99999}) == nullptr);
}

TEST(replay_reuses_memory_at_last_use_only) {
    set_up();
    ProgramBuilder b("test", 1, 0);
    int e = call(b, "exp", {slot(0)}), n = call(b, "neg", {slot(e)}), m = call(b, "add", {slot(n), slot(n)});
    int outputs[2] = {m, e};
    ProgramRef p = b.finish(outputs);
    TensorRef a = vec({0, 0, 0});
    TensorRef out[2];
    Tensor* in = a.get();
    replay(*p, {&in, 1}, {}, false, out);
    CHECK(values(a.get()) == (std::vector<double>{0, 0, 0}));
    CHECK(values(out[1].get()) == (std::vector<double>{1, 1, 1}));
    CHECK(values(out[0].get()) == (std::vector<double>{-2, -2, -2}));
}

TEST(donated_inputs_are_overwritten_when_alone) {
    set_up();
    ProgramBuilder b("test", 1, 0);
    int outputs[1] = {call(b, "neg", {slot(0)})};
    ProgramRef p = b.finish(outputs);
    TensorRef mine = vec({1, 2});
    void* memory = mine->dl.data;
    Tensor* in = mine.get();
    TensorRef out, donated = std::move(mine);
    replay(*p, {&in, 1}, {}, {&out, 1}, ReplayOptions{false, nullptr, &donated});
    CHECK(out->dl.data == memory);
    CHECK(values(out.get()) == (std::vector<double>{-1, -2}));
    TensorRef shared = out, result;
    in = out.get();
    TensorRef given = std::move(out);
    replay(*p, {&in, 1}, {}, {&result, 1}, ReplayOptions{false, nullptr, &given});
    CHECK(values(shared.get()) == (std::vector<double>{-1, -2}));
    CHECK(values(result.get()) == (std::vector<double>{1, 2}));
}

TEST(products_add_into_a_given_buffer) {
    set_up();
    ProgramBuilder b("test", 2, 0);
    int outputs[1] = {call(b, "mm", {slot(0), slot(1)})};
    ProgramRef p = b.finish(outputs);
    CHECK_EQ(p->accumulable.size(), 1u);
    TensorRef x = tensor({1, 2, 3, 4}, {2, 2}), y = tensor({1, 0, 0, 1}, {2, 2}),
              buffer = tensor({10, 10, 10, 10}, {2, 2});
    Tensor* in[2] = {x.get(), y.get()};
    Tensor* target = buffer.get();
    TensorRef out;
    replay(*p, in, {}, false, {&out, 1}, &buffer);
    CHECK(!buffer);
    CHECK(out.get() == target);
    CHECK(values(out.get()) == (std::vector<double>{11, 12, 13, 14}));
}

TEST(factor_one_costs_nothing) {
    set_up();
    ProgramBuilder b("test", 1, 1);
    TensorArg factor{TensorArg::Kind::AttrScalar, 0, {}};
    int outputs[1] = {call(b, "mul", {slot(0), factor})};
    ProgramRef p = b.finish(outputs);
    TensorRef x = vec({3}), out;
    Tensor* in = x.get();
    Attr one = attr_scalar(Scalar::from_int(1)), two = attr_scalar(Scalar::from_int(2));
    replay(*p, {&in, 1}, {&one, 1}, false, {&out, 1});
    CHECK(out.get() == x.get());
    replay(*p, {&in, 1}, {&two, 1}, false, {&out, 1});
    CHECK(values(out.get()) == (std::vector<double>{6}));
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
