#include "autograd_ops.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tenora/program.h"

namespace autograd_test {

using namespace tenora;

namespace {

// -------------------------------------------------------------------------------------------------
// Kernels over doubles of any stride
template <class F>
void each(const DLTensor* out, F&& f) {
    int64_t index[64] = {0}, n = 1;
    for (int i = 0; i < out->ndim; ++i) n *= out->shape[i];
    for (int64_t k = 0; k < n; ++k) {
        f(index);
        for (int d = out->ndim; d-- > 0;) {
            if (++index[d] < out->shape[d]) break;
            index[d] = 0;
        }
    }
}

int64_t place(const DLTensor* t, const int64_t* index) {
    int64_t p = 0;
    for (int i = 0; i < t->ndim; ++i) p += index[i] * t->strides[i];
    return p;
}
double& at(const DLTensor* t, const int64_t* index) { return static_cast<double*>(t->data)[place(t, index)]; }
bool is_number(const DLTensor* t) { return t->ndim == 0; }
double read(const DLTensor* t, const int64_t* index) {
    return is_number(t) ? *static_cast<double*>(t->data) : at(t, index);
}

template <double (*F)(double)>
int32_t unary(const tnr_call* c) {
    each(c->out[0], [&](const int64_t* i) { at(c->out[0], i) = F(read(c->in[0], i)); });
    return TNR_OK;
}
template <double (*F)(double, double)>
int32_t binary(const tnr_call* c) {
    each(c->out[0], [&](const int64_t* i) { at(c->out[0], i) = F(read(c->in[0], i), read(c->in[1], i)); });
    return TNR_OK;
}

int32_t differs(const tnr_call* c) {
    each(c->out[0], [&](const int64_t* i) {
        static_cast<uint8_t*>(c->out[0]->data)[place(c->out[0], i)] = read(c->in[0], i) != read(c->in[1], i);
    });
    return TNR_OK;
}

int32_t any_of(const tnr_call* c) {
    uint8_t found = 0;
    each(c->in[0],
         [&](const int64_t* i) { found |= static_cast<uint8_t*>(c->in[0]->data)[place(c->in[0], i)]; });
    *static_cast<uint8_t*>(c->out[0]->data) = found;
    return TNR_OK;
}

int32_t fill_kernel(const tnr_call* c) {
    const tnr_attr& a = c->attr[0];
    double v = a.dtype == TNR_F64 ? a.value.f64 : double(a.value.i64);
    each(c->out[0], [&](const int64_t* i) { at(c->out[0], i) = v; });
    return TNR_OK;
}

int32_t sum_kernel(const tnr_call* c) {
    each(c->out[0], [&](const int64_t* i) { at(c->out[0], i) = 0; });
    const DLTensor* out = c->out[0];
    each(c->in[0], [&](const int64_t* i) {
        int64_t j[64];
        for (int d = 0; d < out->ndim; ++d) j[d] = out->shape[d] == 1 ? 0 : i[d];
        at(out, j) += at(c->in[0], i);
    });
    return TNR_OK;
}

int32_t matmul_kernel(const tnr_call* c) {
    const DLTensor* out = c->out[0];
    int64_t inner = c->in[0]->shape[c->in[0]->ndim - 1];
    each(out, [&](const int64_t* i) {
        int64_t a[64], b[64];
        for (int d = 0; d < out->ndim; ++d) a[d] = b[d] = i[d];
        double s = 0;
        for (int64_t k = 0; k < inner; ++k) {
            a[out->ndim - 1] = b[out->ndim - 2] = k;
            s += at(c->in[0], a) * at(c->in[1], b);
        }
        at(out, i) = c->accumulate ? at(out, i) + s : s;
    });
    return TNR_OK;
}

int32_t two_kernel(const tnr_call* c) {
    each(c->out[0], [&](const int64_t* i) {
        double x = at(c->in[0], i);
        at(c->out[0], i) = 2 * x;
        at(c->out[1], i) = 3 * x;
    });
    return TNR_OK;
}

double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double raised(double a, double b) { return std::pow(a, b); }
double minus(double a) { return -a; }
double exponential(double a) { return std::exp(a); }
double root(double a) { return std::sqrt(a); }
double same_value(double a) { return a; }

// -------------------------------------------------------------------------------------------------
// Gradient Programs
TensorArg slot(int i) { return {TensorArg::Kind::Slot, uint32_t(i), {}}; }
TensorArg number(int i) { return {TensorArg::Kind::AttrScalar, uint32_t(i), {}}; }
TensorArg literal(double v) { return {TensorArg::Kind::Scalar, 0, Scalar::from_float(v)}; }
AttrArg attr_slot(int i) { return {AttrArg::Kind::Slot, uint32_t(i), 0}; }

class Formula {
  public:
    explicit Formula(const TraceRequest& r)
        : r(r),
          n_out(r.op.spec.n_out),
          n_in(int(r.in.size())),
          b(r.op.spec.name, 2 * n_out + n_in, int(r.attr.size() + r.in.size())) {}
    int run(const char* name, std::initializer_list<TensorArg> in, std::initializer_list<AttrArg> attr = {}) {
        return b.call(find_op(name)->id, {in.begin(), in.size()}, {attr.begin(), attr.size()})[0];
    }
    uint8_t kind(int i) const { return operand_kind(r.in[size_t(i)], r.result); }
    TensorArg input(int i) const {
        return kind(i) == kScalar ? number(int(r.attr.size()) + i) : slot(n_out + i);
    }
    TensorArg result(int i = 0) const { return slot(n_out + n_in + i); }
    int to(int g, int i) { return kind(i) == kSame ? g : run("sum_to", {slot(g), slot(n_out + i)}); }
    AttrArg constant(const Attr& a) { return b.constant(a); }
    std::vector<AttrArg> attrs() const {
        std::vector<AttrArg> all;
        for (size_t i = 0; i < r.attr.size(); ++i) all.push_back(attr_slot(int(i)));
        return all;
    }
    int same_attrs(const char* name, std::initializer_list<TensorArg> in) {
        std::vector<AttrArg> all = attrs();
        return b.call(find_op(name)->id, {in.begin(), in.size()}, all)[0];
    }
    ProgramRef done(std::initializer_list<int> outputs) {
        return b.finish({outputs.begin(), outputs.size()});
    }

    const TraceRequest& r;
    int n_out, n_in;
    ProgramBuilder b;
};

constexpr int kG = 0;  // the gradient's slot of an op with one result

ProgramRef trace_mul(Formula& f) {
    int a = f.kind(0) == kScalar ? -1 : f.to(f.run("mul", {slot(kG), f.input(1)}), 0);
    int b = f.kind(1) == kScalar ? -1 : f.to(f.run("mul", {slot(kG), f.input(0)}), 1);
    return f.done({a, b});
}

ProgramRef trace_pow(Formula& f) {  // exponent is a number: n * x ** (n - 1)
    AttrArg one = f.constant(attr_int(1)), n = attr_slot(int(f.r.attr.size()) + 1);
    AttrArg args[2] = {n, one};
    int less = f.b.attribute(AttrCode::Sub, {}, args);
    int p = f.run("pow", {f.input(0), number(less)});
    return f.done({f.run("mul", {slot(kG), slot(f.run("mul", {slot(p), f.input(1)}))}), -1});
}

ProgramRef trace_sum(Formula& f) {
    return f.done({f.run("unreduce", {slot(kG), f.input(0)}, {attr_slot(0), attr_slot(1)})});
}

int window(Formula& f) { return f.same_attrs("window", {slot(kG)}); }

ProgramRef trace_scatter(Formula& f) {
    std::vector<AttrArg> all = f.attrs();
    int zero = f.run("zeros_like", {f.input(1)}, {f.constant(attr_none()), f.constant(attr_none())});
    TensorArg in[2] = {slot(kG), slot(zero)};
    int base = f.b.call(find_op("write_window")->id, in, all)[0];
    return f.done({base, window(f)});
}

ProgramRef trace_two(Formula& f) {
    int a = f.run("mul", {slot(0), literal(2)}), b = f.run("mul", {slot(1), literal(3)});
    return f.done({f.run("add", {slot(a), slot(b)})});
}

using Rule = ProgramRef (*)(Formula&);
const std::map<std::string, Rule>& formulas() {
    static const std::map<std::string, Rule> table{
        {"add",
         [](Formula& f) {
             return f.done(
                 {f.kind(0) == kScalar ? -1 : f.to(kG, 0), f.kind(1) == kScalar ? -1 : f.to(kG, 1)});
         }},
        {"mul", trace_mul},
        {"pow", trace_pow},
        {"sum", trace_sum},
        {"write_window", trace_scatter},
        {"two", trace_two},
        {"neg", [](Formula& f) { return f.done({f.run("neg", {slot(kG)})}); }},
        {"exp", [](Formula& f) { return f.done({f.run("mul", {slot(kG), f.result()})}); }},
        {"sqrt",
         [](Formula& f) {
             int half = f.run("mul", {slot(kG), literal(0.5)});
             return f.done({f.run("mul", {slot(half), slot(f.run("pow", {f.result(), literal(-1)}))})});
         }},
        {"clone", [](Formula& f) { return f.done({kG}); }},
        {"contiguous", [](Formula& f) { return f.done({kG}); }},
        {"copy", [](Formula& f) { return f.done({-1, f.to(kG, 1)}); }},
        {"fill", [](Formula& f) { return f.done({-1}); }},
        {"to",
         [](Formula& f) {
             TensorArg t[1] = {f.input(0)};
             AttrArg device = attr_slot(f.b.attribute(AttrCode::DeviceOf, t, {}));
             return f.done(
                 {f.run("to", {slot(kG)}, {f.constant(attr_none()), device, f.constant(attr_bool(false))})});
         }},
        {"unreduce",
         [](Formula& f) {
             return f.done(
                 {f.run("sum", {slot(kG)}, {attr_slot(0), attr_slot(1), f.constant(attr_none())}), -1});
         }},
        {"sum_to", [](Formula& f) { return f.done({f.run("expand_as", {slot(kG), f.input(0)}), -1}); }},
        {"expand_as", [](Formula& f) { return f.done({f.run("sum_to", {slot(kG), f.input(0)}), -1}); }},
        {"select", [](Formula& f) { return f.done({f.same_attrs("embed_select", {slot(kG), f.input(0)})}); }},
        {"embed_select", [](Formula& f) { return f.done({f.same_attrs("select", {slot(kG)}), -1}); }},
        {"as_strided",
         [](Formula& f) { return f.done({f.same_attrs("embed_strided", {slot(kG), f.input(0)})}); }},
        {"embed_strided", [](Formula& f) { return f.done({window(f), -1}); }},
        {"t", [](Formula& f) { return f.done({f.run("t", {slot(kG)})}); }},
        {"mm",
         [](Formula& f) {
             int bt = f.run("t", {f.input(1)}), at = f.run("t", {f.input(0)});
             return f.done({f.run("mm", {slot(kG), slot(bt)}), f.run("mm", {slot(at), slot(kG)})});
         }},
    };
    return table;
}

ProgramRef trace(const TraceRequest& r) {
    Formula f(r);
    return formulas().at(r.op.spec.name)(f);
}

// -------------------------------------------------------------------------------------------------
// Ops
struct OpRow {
    const char* name;
    int n_in, n_attr;
    const char *dtype, *shape, *prepare;
    Implementation implementation = Implementation::Kernel;
    uint64_t shape_only = 0;
    int n_out = 1;
};
constexpr auto kView = Implementation::View, kPlan = Implementation::Structural;

void register_ops() {
    static const OpRow rows[] = {
        {"copy", 2, 0, "same", "same", "copy", Implementation::Kernel, 1},
        {"fill", 1, 1, "same", "same", "fill", Implementation::Kernel, 1},
        {"add", 2, 0, "promote", "broadcast", "pointwise"},
        {"mul", 2, 0, "promote", "broadcast", "pointwise"},
        {"pow", 2, 0, "promote", "broadcast", "pointwise"},
        {"neg", 1, 0, "promote", "same", "pointwise"},
        {"exp", 1, 0, "promote_float", "same", "pointwise"},
        {"sqrt", 1, 0, "promote_float", "same", "pointwise"},
        {"ne", 2, 0, "promote_bool", "broadcast", "pointwise"},
        {"any", 1, 2, "bool", "reduce", "reduce"},
        {"sum", 1, 3, "sum", "reduce", "reduce"},
        {"mm", 2, 0, "same_all", "mm", "matmul"},
        {"matmul", 2, 0, "same_all", "matmul", "matmul"},
        {"two", 1, 0, "same", "same", "plain", Implementation::Kernel, 0, 2},
        {"select", 1, 2, "same", "select", "", kView},
        {"as_strided", 1, 3, "same", "as_strided", "", kView},
        {"t", 1, 0, "same", "t", "", kView},
        {"unreduce", 2, 2, "same", "unreduce", "", kView, 2},
        {"expand_as", 2, 0, "same", "expand_as", "", kView, 2},
        {"clone", 1, 0, "", "", "", kPlan},
        {"contiguous", 1, 0, "", "", "", kPlan},
        {"to", 1, 3, "", "", "", kPlan},
        {"zeros_like", 1, 2, "", "", "", kPlan, 1},
        {"sum_to", 2, 0, "", "", "", kPlan, 2},
        {"embed_select", 2, 2, "", "", "", kPlan, 2},
        {"embed_strided", 2, 3, "", "", "", kPlan, 2},
        {"window", 1, 3, "", "", "", kPlan},
        {"write_window", 2, 3, "", "", "", kPlan},
    };
    for (const OpRow& row : rows) {
        OpSpec spec;
        spec.name = row.name;
        spec.n_in = row.n_in;
        spec.n_attr = row.n_attr;
        spec.n_out = row.n_out;
        spec.dtype_rule = row.dtype;
        spec.shape_rule = row.shape;
        spec.prepare = row.prepare;
        spec.implementation = row.implementation;
        spec.structural = row.implementation == kPlan ? row.name : "";
        spec.shape_only = row.shape_only;
        spec.kernel = spec.name == "mm" ? "matmul" : "";
        spec.differentiable = formulas().count(row.name) != 0;
        spec.inplace_ok = true;
        register_op(spec);
    }
}

struct Row {
    const char* op;
    tnr_kernel_fn run;
    uint32_t flags;
};

std::mutex launched_mutex;
std::vector<Launched> launched;  // launched_mutex

int32_t noted(const tnr_call* call) {
    auto* row = static_cast<const Row*>(call->state);
    if (call->stream) {
        std::lock_guard lock(launched_mutex);
        launched.push_back({row->op, call->stream});
    }
    return row->run(call);
}

void register_kernels(BackendId backend) {
    constexpr uint32_t kStrided = TNR_KERNEL_STRIDED | TNR_KERNEL_STRIDED_OUT | TNR_KERNEL_NEGATIVE_STRIDES;
    constexpr uint32_t kPoint = kStrided | TNR_KERNEL_INPLACE;
    static const Row rows[] = {
        {"copy", unary<same_value>, kStrided},
        {"fill", fill_kernel, kStrided},
        {"add", binary<plus>, kPoint},
        {"mul", binary<times>, kPoint},
        {"pow", binary<raised>, kPoint},
        {"neg", unary<minus>, kPoint},
        {"exp", unary<exponential>, kPoint},
        {"sqrt", unary<root>, kPoint},
        {"ne", differs, kStrided},
        {"any", any_of, kStrided},
        {"sum", sum_kernel, kStrided},
        {"matmul", matmul_kernel, kStrided | TNR_KERNEL_ACCUMULATE},
        {"two", two_kernel, kStrided},
    };
    for (const Row& row : rows) {
        KernelEntry entry;
        entry.run = noted;
        entry.state = const_cast<Row*>(&row);
        entry.flags = row.flags;
        entry.dtypes = TNR_MASK(TNR_F64) | TNR_MASK(TNR_BOOL);
        register_kernel(backend, row.op, entry);
    }
}

// -------------------------------------------------------------------------------------------------
// The device whose work is claimed to be asynchronous
int32_t count(void*) { return 1; }
int32_t take(void*, int32_t, size_t bytes, void** out, char*, size_t) {
    *out = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    return *out ? TNR_OK : TNR_OUT_OF_MEMORY;
}
int32_t give(void*, int32_t, void* data, size_t) {
    std::free(data);
    return TNR_OK;
}
int32_t copy_bytes(void*, void* dst, int32_t, const void* src, int32_t, size_t n, int32_t, void*, char*,
                   size_t) {
    std::memcpy(dst, src, n);
    return TNR_OK;
}
int32_t make_handle(void*, int32_t, int32_t, void** out) {
    *out = std::malloc(1);
    return TNR_OK;
}
int32_t drop_handle(void*, int32_t, void* handle) {
    std::free(handle);
    return TNR_OK;
}
int32_t wait_stream(void*, int32_t, void*, char*, size_t) { return TNR_OK; }
int32_t idle(void*, int32_t, void*) { return 1; }
int32_t pair_ok(void*, int32_t, void*, void*) { return TNR_OK; }
int32_t wait_device(void*, int32_t, char*, size_t) { return TNR_OK; }

tnr_space lazy_functions() {
    tnr_space s{};
    s.struct_size = sizeof s;
    s.device_type = "lazy";
    s.dlpack_type = 12;
    s.host_accessible = 1;
    s.granule = s.alignment = 512;
    s.device_count = count;
    s.alloc = take;
    s.release = give;
    s.copy_bytes = copy_bytes;
    s.stream_create = make_handle;
    s.stream_destroy = drop_handle;
    s.stream_synchronize = wait_stream;
    s.stream_query = idle;
    s.stream_wait_event = pair_ok;
    s.event_create = make_handle;
    s.event_destroy = drop_handle;
    s.event_record = pair_ok;
    s.event_query = idle;
    s.event_synchronize = wait_stream;
    s.synchronize = wait_device;
    return s;
}

uint8_t lazy_space = 0;

}  // namespace

void set_up() {
    static std::once_flag once;
    std::call_once(once, [] {
        register_ops();
        hooks().trace = trace;
        uint8_t host = 0;
        BackendId plain = add_backend("plain", "1", {&host, 1}).id;
        register_kernels(plain);
        set_default_backend(0, plain);
        lazy_space = add_space(lazy_functions(), "lazy").id;
        BackendId lazy = add_backend("lazy", "1", {&lazy_space, 1}).id;
        register_kernels(lazy);
        set_default_backend(lazy_space, lazy);
    });
}

std::vector<Launched> take_launched() {
    std::lock_guard lock(launched_mutex);
    return std::exchange(launched, {});
}

Device lazy_device() { return {lazy_space, 0}; }

TensorRef tensor(std::initializer_list<double> values, std::initializer_list<int64_t> shape,
                 bool requires_grad, Device device) {
    TensorRef t = new_tensor({shape.begin(), shape.size()}, DType::F64, device);
    std::copy(values.begin(), values.end(), static_cast<double*>(t->dl.data));
    t->requires_grad = requires_grad;
    return t;
}
TensorRef vec(std::initializer_list<double> values, bool requires_grad, Device device) {
    return tensor(values, {int64_t(values.size())}, requires_grad, device);
}

std::vector<double> values(Tensor* t) {
    std::vector<double> all;
    each(&t->dl, [&](const int64_t* i) { all.push_back(at(&t->dl, i)); });
    return all;
}
std::vector<double> grad(Tensor* t) {
    TensorRef g = grad_of(t);
    return g ? values(g.get()) : std::vector<double>{};
}

TensorRef call1(const char* name, std::initializer_list<Operand> in, std::initializer_list<Attr> attr) {
    TensorRef out[kMaxOutputs];
    call(find_op(name)->id, {in.begin(), in.size()}, {attr.begin(), attr.size()}, out);
    return std::move(out[0]);
}
TensorRef power(Tensor* a, double exponent) {
    return call1("pow", {a, Operand(Scalar::from_float(exponent))});
}
TensorRef sum(Tensor* a) { return call1("sum", {a}, {attr_none(), attr_bool(false), attr_none()}); }
TensorRef row(Tensor* a, int64_t index) { return call1("select", {a}, {attr_int(0), attr_int(index)}); }
TensorRef mm(Tensor* a, Tensor* b) { return call1("mm", {a, b}); }
TensorRef transposed(Tensor* a) { return call1("t", {a}); }
void inplace(const char* name, Tensor* self, Operand other) {
    Operand in[2] = {Operand(self), other};
    call_inplace(find_op(name)->id, self, {in, size_t(find_op(name)->spec.n_in)}, {});
}

void backward(Tensor* root, bool retain_graph, bool create_graph, Tensor* gradient) {
    BackwardRequest r;
    r.roots = {&root, 1};
    if (gradient) r.grads = {&gradient, 1};
    r.retain_graph = retain_graph;
    r.create_graph = create_graph;
    run_backward(r);
}

std::vector<TensorRef> gradients(Tensor* root, std::vector<Tensor*> inputs, bool create_graph,
                                 bool allow_unused, bool retain_graph) {
    BackwardRequest r;
    r.roots = {&root, 1};
    r.inputs = inputs;
    r.accumulate = false;
    r.retain_graph = retain_graph;
    r.create_graph = create_graph;
    r.allow_unused = allow_unused;
    return run_backward(r);
}

bool Baseline::holds() const {
    Live now = live();
    return now.tensors == before.tensors && now.storages == before.storages && now.nodes == before.nodes &&
           now.extras == before.extras;
}

}  // namespace autograd_test
