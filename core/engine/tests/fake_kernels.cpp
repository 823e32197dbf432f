#include "fake_kernels.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

#include "tenora/error.h"
#include "tenora/op.h"

namespace tenora_test {

using namespace tenora;

namespace {

Seen last{};

double load(const DLTensor* t, int64_t at) {
    const char* p = static_cast<const char*>(t->data);
    switch (t->dtype.code << 8 | t->dtype.bits) {
        case 6 << 8 | 8:
            return reinterpret_cast<const uint8_t*>(p)[at];
        case 1 << 8 | 8:
            return reinterpret_cast<const uint8_t*>(p)[at];
        case 1 << 8 | 32:
            return reinterpret_cast<const uint32_t*>(p)[at];
        case 0 << 8 | 32:
            return reinterpret_cast<const int32_t*>(p)[at];
        case 0 << 8 | 64:
            return double(reinterpret_cast<const int64_t*>(p)[at]);
        case 2 << 8 | 32:
            return double(reinterpret_cast<const float*>(p)[at]);
        case 2 << 8 | 64:
            return reinterpret_cast<const double*>(p)[at];
    }
    std::abort();
}

void store(const DLTensor* t, int64_t at, double v) {
    char* p = static_cast<char*>(t->data);
    switch (t->dtype.code << 8 | t->dtype.bits) {
        case 6 << 8 | 8:
            reinterpret_cast<uint8_t*>(p)[at] = v != 0;
            return;
        case 1 << 8 | 8:
            reinterpret_cast<uint8_t*>(p)[at] = uint8_t(v);
            return;
        case 1 << 8 | 32:
            reinterpret_cast<uint32_t*>(p)[at] = uint32_t(v);
            return;
        case 0 << 8 | 32:
            reinterpret_cast<int32_t*>(p)[at] = int32_t(v);
            return;
        case 0 << 8 | 64:
            reinterpret_cast<int64_t*>(p)[at] = int64_t(v);
            return;
        case 2 << 8 | 32:
            reinterpret_cast<float*>(p)[at] = float(v);
            return;
        case 2 << 8 | 64:
            reinterpret_cast<double*>(p)[at] = v;
            return;
    }
    std::abort();
}

using Index = std::vector<int64_t>;

int64_t at(const DLTensor* t, const Index& index) {
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; ++i) offset += index[size_t(i)] * t->strides[i];
    return offset;
}

void each(std::span<const int64_t> shape, const std::function<void(const Index&)>& body) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    Index index(shape.size());
    for (int64_t k = 0; k < n; ++k) {
        body(index);
        for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
    }
}

std::span<const int64_t> shape_of(const DLTensor* t) { return {t->shape, size_t(t->ndim)}; }

int32_t refuse(const tnr_call* c, const char* what) {
    std::snprintf(c->error, c->error_size, "%s", what);
    return TNR_ERROR;
}

struct Kernel {
    const char* name;
    uint32_t flags;
};

bool dense(const DLTensor* t) { return is_dense(shape_of(t), {t->strides, size_t(t->ndim)}); }

// Whether the engine respected the kernel's flags.
const char* broken_promise(const tnr_call* c, uint32_t flags) {
    for (int i = 0; i < c->n_in; ++i) {
        const DLTensor* t = c->in[i];
        if (!t || (c->host_scalar_mask >> i & 1)) continue;
        if (!(flags & TNR_KERNEL_STRIDED) && !dense(t)) return "strided input";
        for (int k = 0; k < t->ndim; ++k)
            if (!(flags & TNR_KERNEL_NEGATIVE_STRIDES) && t->strides[k] < 0 && t->shape[k] > 1)
                return "negative stride";
        if (c->flat && !dense(t)) return "flat is a lie";
    }
    for (int i = 0; i < c->n_out; ++i)
        if (!(flags & TNR_KERNEL_STRIDED_OUT) && !dense(c->out[i])) return "strided output";
    return nullptr;
}

const Kernel& kernel(const tnr_call* c) { return *static_cast<const Kernel*>(c->state); }

#define ENTER(c)                                                                                   \
    const Kernel& self = kernel(c);                                                                \
    last = {self.name, c->flat != 0, c->host_scalar_mask, c->n_in, last.calls + 1, c->accumulate}; \
    if (const char* broken = broken_promise(c, self.flags)) return refuse(c, broken)

template <double (*F)(double, double)>
int32_t binary(const tnr_call* c) {
    ENTER(c);
    for (int i = 0; i < 2; ++i)
        if (!(c->host_scalar_mask >> i & 1) && shape_of(c->in[i]).size() != shape_of(c->out[0]).size())
            return refuse(c, "not expanded");
    if (std::memcmp(&c->in[0]->dtype, &c->in[1]->dtype, sizeof(DLDataType))) return refuse(c, "mixed dtypes");
    each(shape_of(c->out[0]), [&](const Index& i) {
        double a = load(c->in[0], c->in[0]->ndim ? at(c->in[0], i) : 0),
               b = load(c->in[1], c->in[1]->ndim ? at(c->in[1], i) : 0);
        store(c->out[0], at(c->out[0], i), F(a, b));
    });
    return TNR_OK;
}

double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
double divide(double a, double b) { return a / b; }
double equal(double a, double b) { return a == b; }

int32_t floor_divide(const tnr_call* c) {
    ENTER(c);
    bool zero = false;
    each(shape_of(c->out[0]), [&](const Index& i) {
        double b = load(c->in[1], c->in[1]->ndim ? at(c->in[1], i) : 0);
        zero = zero || b == 0;
        store(c->out[0], at(c->out[0], i),
              b == 0 ? 77 : double(int64_t(load(c->in[0], at(c->in[0], i)) / b)));
    });
    if (!zero) return TNR_OK;
    refuse(c, "integer division by zero");
    return TNR_ZERO_DIVISION;
}

int32_t neg(const tnr_call* c) {
    ENTER(c);
    each(shape_of(c->out[0]),
         [&](const Index& i) { store(c->out[0], at(c->out[0], i), -load(c->in[0], at(c->in[0], i))); });
    return TNR_OK;
}

int32_t where(const tnr_call* c) {
    ENTER(c);
    each(shape_of(c->out[0]), [&](const Index& i) {
        auto get = [&](int k) { return load(c->in[k], c->in[k]->ndim ? at(c->in[k], i) : 0); };
        store(c->out[0], at(c->out[0], i), get(0) != 0 ? get(1) : get(2));
    });
    return TNR_OK;
}

int32_t copy(const tnr_call* c) {
    ENTER(c);
    each(shape_of(c->out[0]),
         [&](const Index& i) { store(c->out[0], at(c->out[0], i), load(c->in[0], at(c->in[0], i))); });
    return TNR_OK;
}

int32_t fill_kernel(const tnr_call* c) {
    ENTER(c);
    if (c->n_in != 0 || c->n_attr != 1) return refuse(c, "fill sees something else");
    Scalar s = scalar_of(c->attr[0]);
    double v = s.kind == Scalar::Kind::Float ? s.f : double(s.i);
    each(shape_of(c->out[0]), [&](const Index& i) { store(c->out[0], at(c->out[0], i), v); });
    return TNR_OK;
}

int32_t sum(const tnr_call* c) {
    ENTER(c);
    if (c->out[0]->ndim != c->in[0]->ndim || c->attr[0].kind != TNR_ATTR_SPAN)
        return refuse(c, "not a reduction's layout");
    std::set<int64_t> dims(c->attr[0].value.span, c->attr[0].value.span + c->attr[0].count);
    each(shape_of(c->out[0]), [&](const Index& i) { store(c->out[0], at(c->out[0], i), 0); });
    each(shape_of(c->in[0]), [&](const Index& i) {
        Index to = i;
        for (int64_t d : dims) to[size_t(d)] = 0;
        store(c->out[0], at(c->out[0], to),
              load(c->out[0], at(c->out[0], to)) + load(c->in[0], at(c->in[0], i)));
    });
    return TNR_OK;
}

int32_t argmax(const tnr_call* c) {
    ENTER(c);
    size_t dim = size_t(c->attr[0].value.span[0]);
    each(shape_of(c->out[0]), [&](const Index& i) {
        int64_t best = 0;
        Index k = i, b = i;
        for (int64_t j = 0; j < c->in[0]->shape[dim]; ++j) {
            k[dim] = j, b[dim] = best;
            if (load(c->in[0], at(c->in[0], k)) > load(c->in[0], at(c->in[0], b))) best = j;
        }
        store(c->out[0], at(c->out[0], i), double(best));
    });
    return TNR_OK;
}

int32_t cumsum(const tnr_call* c) {
    ENTER(c);
    size_t dim = size_t(c->attr[0].value.i64);
    each(shape_of(c->out[0]), [&](const Index& i) {
        Index before = i;
        before[dim] -= 1;
        double v = load(c->in[0], at(c->in[0], i)) + (i[dim] ? load(c->out[0], at(c->out[0], before)) : 0);
        store(c->out[0], at(c->out[0], i), v);
    });
    return TNR_OK;
}

int32_t matmul(const tnr_call* c) {
    ENTER(c);
    const DLTensor *a = c->in[0], *b = c->in[1], *o = c->out[0];
    if (a->ndim != o->ndim || b->ndim != o->ndim || o->ndim < 2) return refuse(c, "not stacks of matrices");
    for (int i = 0; i < o->ndim - 2; ++i)
        if (a->shape[i] != o->shape[i] || b->shape[i] != o->shape[i]) return refuse(c, "batches differ");
    size_t r = size_t(o->ndim) - 2;
    if (a->shape[r] != o->shape[r] || b->shape[r + 1] != o->shape[r + 1] || a->shape[r + 1] != b->shape[r])
        return refuse(c, "sizes differ");
    each(shape_of(o), [&](const Index& i) {
        double v = c->accumulate ? load(o, at(o, i)) : 0;
        Index x = i, y = i;
        for (int64_t k = 0; k < a->shape[r + 1]; ++k) {
            x[r + 1] = k, y[r] = k;
            v += load(a, at(a, x)) * load(b, at(b, y));
        }
        store(o, at(o, i), v);
    });
    return TNR_OK;
}

int32_t gather(const tnr_call* c) {
    ENTER(c);
    size_t dim = size_t(c->attr[0].value.i64);
    each(shape_of(c->out[0]), [&](const Index& i) {
        Index from = i;
        from[dim] = int64_t(load(c->in[1], at(c->in[1], i)));
        store(c->out[0], at(c->out[0], i), load(c->in[0], at(c->in[0], from)));
    });
    return TNR_OK;
}

int32_t scatter_add(const tnr_call* c) {
    ENTER(c);
    size_t dim = size_t(c->attr[0].value.i64);
    int32_t status = TNR_OK;
    for (bool check : {true, false})  // before anything is written
        each(shape_of(c->in[1]), [&](const Index& i) {
            Index to = i;
            to[dim] = int64_t(load(c->in[1], at(c->in[1], i)));
            if (to[dim] < 0 || to[dim] >= c->out[0]->shape[dim])
                status = TNR_INDEX_ERROR;
            else if (!check && status == TNR_OK)
                store(c->out[0], at(c->out[0], to),
                      load(c->out[0], at(c->out[0], to)) + load(c->in[2], at(c->in[2], i)));
        });
    if (status != TNR_OK) refuse(c, "index 9 is out of bounds for dimension 0 with size 3");
    return status;
}

// (x, indices...) -> I + rest, or the other way round for index_put (x, values, indices...).
int32_t index_kernel(const tnr_call* c) {
    ENTER(c);
    bool put = !std::strcmp(self.name, "index_put");
    int first = put ? 2 : 1, k = c->n_in - first;
    size_t index_rank = size_t(c->in[first]->ndim);
    const DLTensor* compact = put ? c->in[1] : c->out[0];
    const DLTensor* x = put ? c->out[0] : c->in[0];
    if (compact->ndim != int(index_rank) + x->ndim - k) return refuse(c, "not I + rest");
    bool failed = false;
    each(shape_of(compact), [&](const Index& i) {
        Index from;
        for (int j = 0; j < k; ++j) {
            int64_t v = int64_t(load(c->in[first + j], at(c->in[first + j], i)));
            if (v < 0) v += x->shape[j];
            failed = failed || v < 0 || v >= x->shape[j];
            from.push_back(failed ? 0 : v);
        }
        from.insert(from.end(), i.begin() + long(index_rank), i.end());
        if (failed) return;
        if (!put)
            store(compact, at(compact, i), load(x, at(x, from)));
        else
            store(x, at(x, from),
                  load(compact, at(compact, i)) + (c->attr[0].value.i64 ? load(x, at(x, from)) : 0));
    });
    if (!failed) return TNR_OK;
    refuse(c, "index 9 is out of bounds for dimension 0 with size 3");
    return TNR_INDEX_ERROR;
}

int32_t iota(const tnr_call* c) {
    ENTER(c);
    auto v = [&](int k) {
        Scalar s = scalar_of(c->attr[k]);
        return s.kind == Scalar::Kind::Float ? s.f : double(s.i);
    };
    each(shape_of(c->out[0]),
         [&](const Index& i) { store(c->out[0], at(c->out[0], i), v(0) + double(i[0]) * v(1)); });
    return TNR_OK;
}

int32_t random_bits(const tnr_call* c) {
    ENTER(c);
    if (c->n_attr != 2) return refuse(c, "seed and offset expected");
    int64_t k = 0;
    each(shape_of(c->out[0]), [&](const Index& i) {
        store(c->out[0], at(c->out[0], i), double(c->attr[0].value.i64 + c->attr[1].value.i64 * 1000 + k++));
    });
    return TNR_OK;
}

struct Row {
    const char* name;
    tnr_kernel_fn run;
};
const Row rows[] = {{"add", binary<add>},
                    {"sub", binary<sub>},
                    {"mul", binary<mul>},
                    {"div", binary<divide>},
                    {"eq", binary<equal>},
                    {"floor_divide", floor_divide},
                    {"neg", neg},
                    {"where", where},
                    {"copy", copy},
                    {"fill", fill_kernel},
                    {"sum", sum},
                    {"argmax", argmax},
                    {"cumsum", cumsum},
                    {"matmul", matmul},
                    {"gather", gather},
                    {"scatter_add", scatter_add},
                    {"index", index_kernel},
                    {"index_put", index_kernel},
                    {"iota", iota},
                    {"random_bits", random_bits}};

OpSpec spec(const char* name, int n_in, int n_attr, const char* dtype, const char* shape,
            const char* prepare = "") {
    OpSpec s;
    s.name = name;
    s.n_in = n_in;
    s.n_attr = n_attr;
    s.dtype_rule = dtype;
    s.shape_rule = shape;
    s.prepare = prepare;
    s.inplace_ok = s.out_ok = true;
    return s;
}

OpSpec with(OpSpec s, Implementation implementation, bool variadic = false, const char* kernel = "") {
    s.implementation = implementation;
    s.variadic = variadic;
    s.kernel = kernel;
    return s;
}

}  // namespace

Seen& seen() { return last; }

BackendId fake_backend(const char* name, uint32_t flags, uint32_t dtypes) {
    uint8_t host = 0;
    Backend& b = add_backend(name, "1.0", {&host, 1});
    for (const Row& row : rows) {
        KernelEntry e;
        // copy is the one kernel that every backend must have for any layout
        bool is_copy = !std::strcmp(row.name, "copy") || !std::strcmp(row.name, "fill");
        e.flags = is_copy
                      ? (flags & TNR_KERNEL_NEGATIVE_STRIDES) | TNR_KERNEL_STRIDED | TNR_KERNEL_STRIDED_OUT
                      : flags;
        e.run = row.run;
        e.dtypes = is_copy ? TNR_MASK_ALL : dtypes;
        e.state = new Kernel{row.name, e.flags};
        register_kernel(b.id, row.name, e);
    }
    return b.id;
}

static void register_views_and_plans() {
    auto view = [](const char* name, int n_attr, int n_in = 1) {
        register_op(with(spec(name, n_in, n_attr, "same", name), Implementation::View));
    };
    for (auto [name, n] : std::initializer_list<std::pair<const char*, int>>{{"view", 1},
                                                                             {"permute", 1},
                                                                             {"transpose", 2},
                                                                             {"t", 0},
                                                                             {"expand", 1},
                                                                             {"squeeze", 1},
                                                                             {"unsqueeze", 1},
                                                                             {"select", 2},
                                                                             {"slice", 4},
                                                                             {"narrow", 3},
                                                                             {"diagonal", 3},
                                                                             {"as_strided", 3},
                                                                             {"alias", 0},
                                                                             {"basic_index", 1}})
        view(name, n);
    view("unreduce", 2, 2);
    view("expand_as", 0, 2);
    auto plan = [](const char* name, int n_in, int n_attr, bool variadic = false) {
        register_op(with(spec(name, n_in, n_attr, "", ""), Implementation::Structural, variadic));
    };
    for (auto [name, n_in, n_attr] :
         std::initializer_list<std::tuple<const char*, int, int>>{{"pad", 1, 3},
                                                                  {"clone", 1, 0},
                                                                  {"contiguous", 1, 0},
                                                                  {"to", 1, 3},
                                                                  {"reshape", 1, 1},
                                                                  {"flatten", 1, 2},
                                                                  {"full", 0, 4},
                                                                  {"zeros", 0, 3},
                                                                  {"zeros_like", 1, 2},
                                                                  {"full_like", 1, 3},
                                                                  {"arange", 0, 5},
                                                                  {"embed_select", 2, 2},
                                                                  {"embed_slice", 2, 4},
                                                                  {"embed_strided", 2, 3},
                                                                  {"write_window", 2, 3},
                                                                  {"sum_to", 2, 0},
                                                                  {"matmul_left", 3, 0},
                                                                  {"matmul_right", 3, 0}})
        plan(name, n_in, n_attr);
    plan("cat", 0, 1, true);
    plan("stack", 0, 1, true);
}

void register_fake_ops() {
    if (find_op("add")) return;
    register_op(spec("copy", 2, 0, "same", "same", "copy"));
    register_op(spec("fill", 1, 1, "same", "same", "fill"));
    for (const char* name : {"add", "mul"}) register_op(spec(name, 2, 0, "promote", "broadcast"));
    register_op(spec("sub", 2, 0, "promote_no_bool", "broadcast"));
    register_op(spec("div", 2, 0, "promote_float", "broadcast"));
    register_op(spec("eq", 2, 0, "promote_bool", "broadcast"));
    OpSpec floor_div = spec("floor_divide", 2, 0, "promote_real", "broadcast");
    floor_div.checks_data = true;
    register_op(floor_div);
    register_op(spec("neg", 1, 0, "promote_no_bool", "same"));
    register_op(spec("where", 3, 0, "where", "broadcast"));
    register_op(spec("sum", 1, 3, "sum", "reduce"));
    register_op(spec("argmax", 1, 2, "index", "argreduce"));
    register_op(spec("cumsum", 1, 2, "sum", "scan", "scan"));
    register_op(with(spec("mm", 2, 0, "same_all", "mm"), Implementation::Kernel, false, "matmul"));
    register_op(spec("matmul", 2, 0, "same_all", "matmul", "matmul"));
    register_op(with(spec("dot", 2, 0, "same_all", "dot"), Implementation::Kernel, false, "matmul"));
    register_op(spec("gather", 2, 1, "gather", "gather"));
    register_op(spec("scatter_add", 3, 1, "scatter", "scatter"));
    register_op(with(spec("index", 1, 0, "indexing", "index"), Implementation::Kernel, true));
    register_op(with(spec("index_put", 2, 1, "index_put", "index_put"), Implementation::Kernel, true));
    register_op(
        with(spec("index_select", 2, 1, "indexing", "index_select"), Implementation::Kernel, false, "index"));
    register_op(spec("iota", 0, 5, "creation", "iota"));
    OpSpec bits = spec("random_bits", 0, 3, "uint32", "full", "random");
    bits.random = true;
    register_op(bits);
    register_views_and_plans();
    set_default_backend(0, fake_backend("fake", kAllFlags));
}

TensorRef tensor(std::initializer_list<int64_t> shape, std::vector<double> values, DType dtype) {
    TensorRef t = new_tensor({shape.begin(), shape.size()}, dtype, Device{});
    for (size_t i = 0; i < values.size(); ++i) store(&t->dl, int64_t(i), values[i]);
    return t;
}

std::vector<double> values(const Tensor* t) {
    std::vector<double> v;
    each(t->shape(), [&](const Index& i) { v.push_back(load(&t->dl, at(&t->dl, i))); });
    return v;
}

std::vector<int64_t> shape(const Tensor* t) { return {t->shape().begin(), t->shape().end()}; }
OpId id(const char* name) { return find_op(name)->id; }

TensorRef call_op(const char* name, std::vector<Operand> in, std::vector<Attr> attr) {
    TensorRef out[kMaxOutputs];
    call(id(name), in, attr, out);
    return out[0];
}

}  // namespace tenora_test
