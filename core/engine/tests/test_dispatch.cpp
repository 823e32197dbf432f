// The dispatcher over fake kernels: rules, promotion, fix-ups, in place, out=, errors.
#include <array>
#include <limits>

#include "check.h"
#include "fake_kernels.h"
#include "tenora/random.h"

using namespace tenora;
using namespace tenora_test;
using V = std::vector<double>;
using S = std::vector<int64_t>;

namespace {

constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();

struct UseBackend {
    BackendId old = default_backends[0].load();
    explicit UseBackend(BackendId id) { set_default_backend(0, id); }
    ~UseBackend() { set_default_backend(0, old); }
};

BackendId plain_backend() {
    static BackendId id = fake_backend("plain", 0);
    return id;
}

}  // namespace

TEST(fast_path) {
    TensorRef a = tensor({4}, {1, 2, 3, 4}), b = tensor({4}, {10, 20, 30, 40});
    CHECK(values(call_op("add", {a.get(), b.get()}).get()) == V({11, 22, 33, 44}));
    CHECK(seen().flat);
    TensorRef c = call_op("mul", {a.get(), Scalar::from_float(2.5)});
    CHECK(values(c.get()) == V({2.5, 5, 7.5, 10}));
    CHECK_EQ(seen().host_scalars, 2u);
    CHECK(values(call_op("sub", {Scalar::from_int(1), a.get()}).get()) == V({0, -1, -2, -3}));
    CHECK_EQ(seen().host_scalars, 1u);
    TensorRef e = call_op("eq", {a.get(), a.get()});
    CHECK(e->dtype == DType::Bool);
}

TEST(promotion) {
    TensorRef i = tensor({2}, {1, 2}, DType::I64), f = tensor({2}, {1, 2}),
              d0 = tensor({}, {0.5}, DType::F64), b = tensor({2}, {1, 0}, DType::Bool);
    TensorRef i0 = tensor({}, {3}, DType::I64), i32 = tensor({2}, {1, 2}, DType::I32);
    CHECK(call_op("add", {i.get(), f.get()})->dtype == DType::F32);
    CHECK(call_op("add", {f.get(), d0.get()})->dtype == DType::F32);
    CHECK(call_op("add", {i.get(), d0.get()})->dtype == DType::F64);
    CHECK(call_op("add", {i32.get(), i0.get()})->dtype == DType::I32);
    CHECK(call_op("add", {i32.get(), Scalar::from_float(1.5)})->dtype == DType::F32);
    CHECK(call_op("add", {b.get(), Scalar::from_int(1)})->dtype == DType::I64);
    CHECK(call_op("add", {b.get(), Scalar::from_bool(true)})->dtype == DType::Bool);
    CHECK(call_op("add", {i0.get(), Scalar::from_float(1)})->dtype == DType::F32);
    CHECK(call_op("div", {i.get(), i.get()})->dtype == DType::F32);
    CHECK_THROWS(ErrorKind::NotImplemented, "[sub] dtype not supported", call_op("sub", {b.get(), b.get()}));
    CHECK(values(call_op("where", {b.get(), Scalar::from_float(1.5), i.get()}).get()) == V({1.5, 2}));
}

TEST(broadcast_and_fixups) {
    TensorRef a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3}, {10, 20, 30});
    for (BackendId backend : {default_backends[0].load(), plain_backend()}) {
        UseBackend use(backend);
        CHECK(values(call_op("add", {a.get(), b.get()}).get()) == V({11, 22, 33, 14, 25, 36}));
        TensorRef t = call_op("transpose", {a.get()}, {attr_int(0), attr_int(-1)});
        CHECK(values(call_op("add", {t.get(), t.get()}).get()) == V({2, 8, 4, 10, 6, 12}));
        TensorRef back = call_op("slice", {a.get()}, {attr_int(1), attr_none(), attr_none(), attr_int(-1)});
        CHECK(values(call_op("neg", {back.get()}).get()) == V({-3, -2, -1, -6, -5, -4}));
        CHECK(values(call_op("sum", {t.get()}, {attr_int(0), attr_bool(false), attr_none()}).get()) ==
              V({6, 15}));
    }
    TensorRef c = tensor({2}, {1, 2});
    CHECK_THROWS(ErrorKind::Runtime, "[add] shapes do not broadcast: got [2] against [2, 3]",
                 call_op("add", {a.get(), c.get()}));
    TensorRef zero = tensor({}, {5});
    CHECK(values(call_op("add", {b.get(), zero.get()}).get()) == V({15, 25, 35}));
    CHECK_EQ(seen().host_scalars, 2u);
    CHECK(seen().flat);
}

TEST(reductions) {
    TensorRef a = tensor({2, 3}, {1, 5, 3, 9, 5, 6}), i = tensor({2}, {1, 0}, DType::Bool);
    CHECK(values(call_op("sum", {a.get()}, {attr_none(), attr_bool(false), attr_none()}).get()) == V({29}));
    TensorRef k = call_op("sum", {a.get()}, {ints({-1}), attr_bool(true), attr_dtype(DType::F64)});
    CHECK(shape(k.get()) == S({2, 1}) && k->dtype == DType::F64);
    CHECK(call_op("sum", {i.get()}, {attr_none(), attr_bool(false), attr_none()})->dtype == DType::I64);
    CHECK(values(call_op("argmax", {a.get()}, {attr_none(), attr_bool(false)}).get()) == V({3}));
    CHECK(values(call_op("argmax", {a.get()}, {attr_int(-1), attr_bool(false)}).get()) == V({1, 0}));
    CHECK(values(call_op("argmax", {a.get()}, {attr_int(0), attr_bool(true)}).get()) == V({1, 0, 1}));
    CHECK_THROWS(ErrorKind::Index, "[sum] dimension out of range: got 2",
                 call_op("sum", {a.get()}, {attr_int(2), attr_bool(false), attr_none()}));
    CHECK(values(call_op("cumsum", {a.get()}, {attr_int(1), attr_none()}).get()) == V({1, 6, 9, 9, 14, 20}));
    TensorRef scalar = tensor({}, {4});
    CHECK(values(call_op("argmax", {scalar.get()}, {attr_int(-1), attr_bool(false)}).get()) == V({0}));
    CHECK(values(call_op("sum", {scalar.get()}, {attr_int(0), attr_bool(false), attr_none()}).get()) ==
          V({4}));
}

TEST(matmul_family) {
    TensorRef a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {1, 0, 0, 1, 1, 1}),
              v = tensor({3}, {1, 2, 3});
    CHECK(values(call_op("mm", {a.get(), b.get()}).get()) == V({4, 5, 10, 11}));
    CHECK(values(call_op("matmul", {a.get(), v.get()}).get()) == V({14, 32}));
    CHECK(shape(call_op("matmul", {v.get(), v.get()}).get()).empty());
    CHECK(values(call_op("dot", {v.get(), v.get()}).get()) == V({14}));
    TensorRef row = call_op("matmul", {v.get(), b.get()});
    CHECK(values(row.get()) == V({4, 5}));
    TensorRef batch = tensor({2, 1, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(values(call_op("matmul", {batch.get(), b.get()}).get()) == V({4, 5, 10, 11}));
    CHECK(values(call_op("matmul", {batch.get(), v.get()}).get()) == V({14, 32}));
    TensorRef b3 = tensor({3, 3, 2}, V(18, 1));
    TensorRef big = call_op("matmul", {a.get(), b3.get()});
    CHECK(shape(big.get()) == S({3, 2, 2}));
    CHECK(values(big.get()) == V({6, 6, 15, 15, 6, 6, 15, 15, 6, 6, 15, 15}));
    CHECK(shape(call_op("matmul", {v.get(), b3.get()}).get()) == S({3, 2}));
    CHECK_THROWS(ErrorKind::Runtime, "[mm] inner sizes differ", call_op("mm", {a.get(), a.get()}));
    TensorRef d = tensor({3, 2}, V(6, 1), DType::F64);
    CHECK_THROWS(ErrorKind::Runtime, "[mm] operands have different dtypes: got float32 and float64",
                 call_op("mm", {a.get(), d.get()}));
}

TEST(matmul_adjoints) {
    TensorRef a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {1, 0, 0, 1, 1, 1}),
              v = tensor({3}, {1, 2, 3});
    TensorRef g = tensor({2, 2}, {1, 2, 3, 4});
    CHECK(values(call_op("matmul_left", {g.get(), a.get(), b.get()}).get()) == V({1, 2, 3, 3, 4, 7}));
    CHECK(values(call_op("matmul_right", {g.get(), a.get(), b.get()}).get()) == V({13, 18, 17, 24, 21, 30}));
    TensorRef gv = tensor({2}, {1, 10});
    CHECK(values(call_op("matmul_left", {gv.get(), a.get(), v.get()}).get()) == V({1, 2, 3, 10, 20, 30}));
    CHECK(values(call_op("matmul_right", {gv.get(), a.get(), v.get()}).get()) == V({41, 52, 63}));
    CHECK(values(call_op("matmul_left", {gv.get(), v.get(), b.get()}).get()) == V({1, 10, 11}));
    CHECK(values(call_op("matmul_right", {gv.get(), v.get(), b.get()}).get()) == V({1, 10, 2, 20, 3, 30}));
    TensorRef g0 = tensor({}, {2});
    CHECK(values(call_op("matmul_left", {g0.get(), v.get(), v.get()}).get()) == V({2, 4, 6}));
    TensorRef batch = tensor({2, 1, 3}, {1, 2, 3, 4, 5, 6}), gb = tensor({2, 1, 2}, {1, 2, 3, 4});
    CHECK(values(call_op("matmul_right", {gb.get(), batch.get(), b.get()}).get()) ==
          V({13, 18, 17, 24, 21, 30}));
    TensorRef left = call_op("matmul_left", {gb.get(), batch.get(), b.get()});
    CHECK(shape(left.get()) == S({2, 1, 3}));
    TensorRef b3 = tensor({3, 3, 2}, V(18, 1)), g3 = tensor({3, 2, 2}, V(12, 1));
    TensorRef summed = call_op("matmul_left", {g3.get(), a.get(), b3.get()});
    CHECK(shape(summed.get()) == S({2, 3}) && values(summed.get()) == V(6, 6));
}

TEST(indexing) {
    TensorRef x = tensor({3, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
    TensorRef rows = tensor({2}, {2, 0}, DType::I64), columns = tensor({2}, {1, -1}, DType::I64);
    CHECK(values(call_op("index", {x.get(), rows.get()}).get()) == V({20, 21, 22, 23, 0, 1, 2, 3}));
    CHECK(values(call_op("index", {x.get(), rows.get(), columns.get()}).get()) == V({21, 3}));
    TensorRef r = call_op("index", {x.get(), Operand(), columns.get()});
    CHECK(shape(r.get()) == S({3, 2}) && values(r.get()) == V({1, 3, 11, 13, 21, 23}));
    TensorRef cube = tensor({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
              zero = tensor({1, 2}, {0, 1}, DType::I64), one = tensor({1, 1}, {1}, DType::I64);
    TensorRef apart = call_op("index", {cube.get(), zero.get(), Operand(), one.get()});
    CHECK(shape(apart.get()) == S({1, 2, 3}) && values(apart.get()) == V({1, 3, 5, 7, 9, 11}));
    TensorRef far = tensor({1}, {9}, DType::I64);
    CHECK_THROWS(ErrorKind::Index, "[index] index 9 is out of bounds",
                 call_op("index", {x.get(), far.get()}));
    CHECK(values(call_op("index_select", {x.get(), columns.get()}, {attr_int(1)}).get()) ==
          V({1, 3, 11, 13, 21, 23}));
    TensorRef put =
        call_op("index_put", {x.get(), Scalar::from_float(7), rows.get(), columns.get()}, {attr_bool(false)});
    CHECK(values(put.get()) == V({0, 1, 2, 7, 10, 11, 12, 13, 20, 7, 22, 23}));
    TensorRef more = tensor({4}, {1, 2, 3, 4});
    Operand in[] = {x.get(), more.get(), rows.get()};
    Attr accumulate[] = {attr_bool(true)};
    call_inplace(id("index_put"), x.get(), in, accumulate);
    CHECK(values(x.get()) == V({1, 3, 5, 7, 10, 11, 12, 13, 21, 23, 25, 27}));
    CHECK_EQ(x->version(), 1u);
    TensorRef g = tensor({1, 2}, {2, 0}, DType::I64), t = tensor({3, 2}, {0, 1, 2, 3, 4, 5});
    CHECK(values(call_op("gather", {t.get(), g.get()}, {attr_int(0)}).get()) == V({4, 1}));
    TensorRef base = tensor({3}, {0, 0, 0}), where = tensor({4}, {0, 2, 2, 0}, DType::I64),
              src = tensor({4}, {1, 2, 3, 4});
    CHECK(values(call_op("scatter_add", {base.get(), where.get(), src.get()}, {attr_int(0)}).get()) ==
          V({5, 0, 5}));
    TensorRef bad = tensor({4}, {0, 2, 9, 0}, DType::I64);
    Operand failing[] = {base.get(), bad.get(), src.get()};
    Attr dim[] = {attr_int(0)};
    CHECK_THROWS(ErrorKind::Index, "out of bounds",
                 call_inplace(id("scatter_add"), base.get(), failing, dim));
    CHECK(values(base.get()) == V({0, 0, 0}));
}

TEST(views) {
    TensorRef a = tensor({2, 3}, {0, 1, 2, 3, 4, 5});
    CHECK(values(call_op("select", {a.get()}, {attr_int(1), attr_int(-1)}).get()) == V({2, 5}));
    CHECK(values(call_op("diagonal", {a.get()}, {attr_int(1), attr_int(0), attr_int(1)}).get()) == V({1, 5}));
    CHECK(values(call_op("diagonal", {a.get()}, {attr_int(-1), attr_int(0), attr_int(1)}).get()) == V({3}));
    CHECK(values(call_op("permute", {a.get()}, {ints({1, 0})}).get()) == V({0, 3, 1, 4, 2, 5}));
    CHECK(shape(call_op("view", {a.get()}, {ints({3, -1, 1})}).get()) == S({3, 2, 1}));
    TensorRef t = call_op("t", {a.get()});
    CHECK_THROWS(ErrorKind::Runtime, "[view] size is not compatible",
                 call_op("view", {t.get()}, {ints({6})}));
    CHECK(values(call_op("reshape", {t.get()}, {ints({6})}).get()) == V({0, 3, 1, 4, 2, 5}));
    CHECK(call_op("reshape", {a.get()}, {ints({6})})->storage == a->storage);
    CHECK(shape(call_op("expand", {a.get()}, {ints({4, -1, 3})}).get()) == S({4, 2, 3}));
    CHECK_THROWS(ErrorKind::Runtime, "[expand] cannot expand", call_op("expand", {a.get()}, {ints({2, 4})}));
    TensorRef x = call_op("basic_index", {a.get()}, {ints({2, -1, 1, 3, kAbsent, kAbsent, -2})});
    CHECK(shape(x.get()) == S({1, 2}) && values(x.get()) == V({5, 3}));
    TensorRef e = call_op("basic_index", {a.get()}, {ints({0, 2, 1})});
    CHECK(values(e.get()) == V({1, 4}));
    CHECK(shape(call_op("basic_index", {a.get()}, {ints({3, 5, 9, kAbsent})}).get()) == S({0, 3}));
    CHECK_THROWS(ErrorKind::Index, "index out of range: got 2",
                 call_op("basic_index", {a.get()}, {ints({2, 2})}));
    CHECK_THROWS(ErrorKind::Index, "too many indices",
                 call_op("basic_index", {a.get()}, {ints({2, 0, 2, 0, 2, 0})}));
    CHECK_THROWS(ErrorKind::Runtime, "window leaves the storage",
                 call_op("as_strided", {a.get()}, {ints({4}), ints({2}), attr_none()}));
    CHECK(shape(call_op("squeeze", {call_op("unsqueeze", {a.get()}, {attr_int(-1)}).get()}, {attr_none()})
                    .get()) == S({2, 3}));
    CHECK(shape(call_op("flatten", {a.get()}, {attr_int(0), attr_int(-1)}).get()) == S({6}));
    CHECK_THROWS(ErrorKind::Runtime, "overflow",
                 call_op("full", {}, {ints({1ll << 40, 1ll << 40}), num(0), attr_none(), attr_none()}));
    CHECK_THROWS(ErrorKind::Runtime, "", call_op("zeros", {}, {ints({-1}), attr_none(), attr_none()}));
    CHECK_THROWS(ErrorKind::Runtime, "", call_op("zeros", {}, {ints(S(65, 1)), attr_none(), attr_none()}));
}

TEST(plans) {
    TensorRef a = tensor({2, 2}, {1, 2, 3, 4}), b = tensor({1, 2}, {5, 6}, DType::F64);
    TensorRef c = call_op("cat", {a.get(), b.get()}, {attr_int(0)});
    CHECK(c->dtype == DType::F64 && values(c.get()) == V({1, 2, 3, 4, 5, 6}));
    CHECK(values(call_op("stack", {a.get(), a.get()}, {attr_int(-1)}).get()) == V({1, 1, 2, 2, 3, 3, 4, 4}));
    CHECK_THROWS(ErrorKind::Runtime, "[cat] sizes differ", call_op("cat", {a.get(), b.get()}, {attr_int(1)}));
    CHECK(values(call_op("pad", {a.get()}, {ints({1, 0}), attr_none(), num(9)}).get()) ==
          V({9, 1, 2, 9, 3, 4}));
    CHECK(values(call_op("pad", {a.get()}, {ints({-1, 0, 0, 1}), attr_none(), num(9)}).get()) ==
          V({2, 4, 9}));
    CHECK(values(call_op("arange", {}, {num(0), num(1), num(0.25), attr_none(), attr_none()}).get()) ==
          V({0, 0.25, 0.5, 0.75}));
    TensorRef r = call_op("arange", {}, {inum(5), inum(-1), inum(-2), attr_none(), attr_none()});
    CHECK(r->dtype == DType::I64 && values(r.get()) == V({5, 3, 1}));
    TensorRef f = call_op("full", {}, {ints({2}), inum(3), attr_none(), attr_none()});
    CHECK(f->dtype == DType::I64 && values(f.get()) == V({3, 3}));
    TensorRef like = tensor({1, 2}, {0, 0});
    CHECK(values(call_op("sum_to", {a.get(), like.get()}).get()) == V({4, 6}));
    TensorRef one = tensor({}, {0}, DType::F64);
    TensorRef total = call_op("sum_to", {a.get(), one.get()});
    CHECK(total->dtype == DType::F64 && values(total.get()) == V({10}));
    TensorRef same = call_op("sum_to", {a.get(), a.get()});
    CHECK(same.get() != a.get());
    TensorRef g = tensor({2}, {7, 8});
    CHECK(values(call_op("embed_select", {g.get(), a.get()}, {attr_int(1), attr_int(-1)}).get()) ==
          V({0, 7, 0, 8}));
    TensorRef wide = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
    CHECK(values(call_op("embed_strided", {wide.get(), a.get()}, {ints({3, 2}), ints({0, 1}), attr_int(1)})
                     .get()) == V({0, 9, 12, 0}));
    CHECK(values(call_op("embed_strided", {wide.get(), a.get()}, {ints({3, 2}), ints({1, 1}), attr_int(0)})
                     .get()) == V({1, 5, 9, 6}));
    CHECK(values(call_op("write_window", {a.get(), g.get()}, {ints({2}), ints({3}), attr_int(0)}).get()) ==
          V({7, 2, 3, 8}));
    TensorRef buffer = tensor({2, 2}, {1, 1, 1, 1});
    Operand in[] = {g.get(), a.get()};
    Attr attr[] = {attr_int(0), attr_int(1)};
    CHECK(call_accumulate(id("embed_select"), in, attr, buffer.get()));
    CHECK(values(buffer.get()) == V({1, 1, 8, 9}));
    TensorRef u = call_op("unreduce", {g.get(), a.get()}, {attr_int(1), attr_bool(false)});
    CHECK(values(u.get()) == V({7, 7, 8, 8}));
}

TEST(in_place) {
    TensorRef a = tensor({2, 2}, {1, 2, 3, 4}), b = tensor({2}, {10, 20});
    auto inplace = [](const char* name, Tensor* self, Operand other) {
        Operand in[] = {self, other};
        call_inplace(id(name), self, in, {});
    };
    inplace("add", a.get(), b.get());
    CHECK(values(a.get()) == V({11, 22, 13, 24}));
    inplace("mul", a.get(), Scalar::from_int(2));
    inplace("sub", a.get(), a.get());
    CHECK(values(a.get()) == V({0, 0, 0, 0}));
    CHECK_EQ(a->version(), 3u);
    CHECK_THROWS(ErrorKind::Runtime, "result does not have the shape of the target",
                 inplace("add", b.get(), a.get()));
    TensorRef i = tensor({2}, {5, 7}, DType::I64);
    CHECK_THROWS(ErrorKind::Runtime, "result type cannot be cast", inplace("add", i.get(), b.get()));
    CHECK_THROWS(ErrorKind::Runtime, "result type cannot be cast",
                 inplace("add", i.get(), Scalar::from_float(1)));
    TensorRef wide = call_op("expand", {tensor({1}, {1}).get()}, {ints({3})});
    CHECK_THROWS(ErrorKind::Runtime, "more than one element of the written-to tensor",
                 inplace("add", wide.get(), Scalar::from_int(1)));
    TensorRef line = tensor({4}, {1, 2, 3, 4});
    TensorRef tail = call_op("slice", {line.get()}, {attr_int(0), attr_int(1), attr_none(), attr_int(1)});
    TensorRef head = call_op("slice", {line.get()}, {attr_int(0), attr_none(), attr_int(3), attr_int(1)});
    CHECK_THROWS(ErrorKind::Runtime, "share some of their memory", inplace("add", tail.get(), head.get()));
    CHECK(values(line.get()) == V({1, 2, 3, 4}));
    TensorRef zero = tensor({2}, {1, 0}, DType::I64);
    CHECK_THROWS(ErrorKind::Runtime, "integer division by zero",
                 inplace("floor_divide", i.get(), zero.get()));
    CHECK(values(i.get()) == V({5, 7}));
    assign(tail.get(), head.get());
    CHECK(values(line.get()) == V({1, 1, 2, 3}));
    assign(tail.get(), Scalar::from_int(6));
    CHECK(values(line.get()) == V({1, 6, 6, 6}));
    TensorRef odd = call_op("slice", {line.get()}, {attr_int(0), attr_none(), attr_none(), attr_int(-2)});
    for (BackendId backend : {default_backends[0].load(), plain_backend()}) {
        UseBackend use(backend);
        inplace("add", odd.get(), b.get());
    }
    CHECK(values(line.get()) == V({1, 46, 6, 26}));
    TensorRef d = tensor({2}, {0.5, 0.5}, DType::F64);
    inplace("add", b.get(), d.get());
    CHECK(b->dtype == DType::F32 && values(b.get()) == V({10.5, 20.5}));
}

TEST(out) {
    TensorRef a = tensor({2}, {1, 2}), o = tensor({0}, {}), wrong = tensor({3}, {0, 0, 0}),
              i = tensor({2}, {0, 0}, DType::I64);
    auto out = [&](Tensor* t) {
        Operand in[] = {a.get(), a.get()};
        Tensor* targets[] = {t};
        call_out(id("add"), in, {}, targets);
    };
    out(o.get());
    CHECK(values(o.get()) == V({2, 4}));
    Storage* memory = wrong->storage;
    out(wrong.get());
    CHECK(values(wrong.get()) == V({2, 4}) && wrong->storage == memory);
    CHECK_THROWS(ErrorKind::Runtime, "result type cannot be cast", out(i.get()));
    TensorRef d = tensor({2}, {0, 0}, DType::F64);
    out(d.get());
    CHECK(values(d.get()) == V({2, 4}));
    out(a.get());
    CHECK(values(a.get()) == V({2, 4}));
}

TEST(random_and_generator) {
    manual_seed(5);
    const S five{5};
    Attr attr[] = {ints(five), attr_none(), attr_none()};
    TensorRef one, two;
    call(id("random_bits"), {}, attr, &one);
    call(id("random_bits"), {}, attr, &two);
    CHECK(values(one.get()) == V({5, 6, 7, 8, 9}));
    CHECK(values(two.get()) == V({2005, 2006, 2007, 2008, 2009}));
    Generator own(Device{}, 9);
    attr[1] = attr_int(int64_t(reinterpret_cast<intptr_t>(&own)));
    call(id("random_bits"), {}, attr, &one);
    CHECK(values(one.get())[0] == 9 && own.get_state().offset == 2);
}

TEST(read_only) {
    static double memory[2] = {1, 2};
    StorageRef s = adopt(memory, sizeof memory, Device{}, true, nullptr, nullptr);
    int64_t size = 2, stride = 1;
    TensorRef t = new_window(s.get(), {&size, 1}, {&stride, 1}, 0, DType::F64, Device{});
    Operand in[] = {t.get(), Scalar::from_int(1)};
    CHECK_THROWS(ErrorKind::Runtime, "target is read-only", call_inplace(id("add"), t.get(), in, {}));
    CHECK_THROWS(ErrorKind::Runtime, "target is read-only", assign(t.get(), Scalar::from_int(1)));
}

int main(int argc, char** argv) {
    register_fake_ops();
    return tenora_test::run(argc, argv);
}
