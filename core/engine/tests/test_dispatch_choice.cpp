// Which kernel runs: registration checks, declining kernels,
// the fallback, sticky loss of a device, streams, explanations.
#include <cstdio>

#include "check.h"
#include "fake_device.h"
#include "fake_kernels.h"
#include "tenora/hooks.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

using namespace tenora;
using namespace tenora_test;
using V = std::vector<double>;

namespace {

struct UseBackend {
    BackendId old = default_backends[0].load();
    explicit UseBackend(BackendId id) { set_default_backend(0, id); }
    ~UseBackend() { set_default_backend(0, old); }
};

int32_t nothing(const tnr_call*) { return TNR_OK; }
int questions = 0;

int32_t only_vectors(const tnr_call* c) {
    ++questions;
    if (c->in[0]->data) return 1;  // would be a broken promise: answered yes, so that the test sees it
    if (c->in[0]->ndim == 1) return 1;
    std::snprintf(c->error, c->error_size, "only vectors, not rank %d", c->in[0]->ndim);
    return 0;
}

KernelEntry entry(tnr_kernel_fn run, uint32_t flags = kAllFlags) {
    KernelEntry e;
    e.run = run;
    e.dtypes = TNR_MASK_ALL;
    e.flags = flags;
    return e;
}

BackendId empty_backend(const char* name) {
    uint8_t host = 0;
    return add_backend(name, "1.0", {&host, 1}).id;
}

int warnings = 0;
void count_warning(const char*, const std::string&) { ++warnings; }

}  // namespace

TEST(registration_errors) {
    BackendId b = empty_backend("strict");
    CHECK_THROWS(ErrorKind::Value, "backend strict: unknown op: got 'ad'",
                 register_kernel(b, "ad", entry(nothing)));
    CHECK_THROWS(ErrorKind::Value, "Nearest: add", register_kernel(b, "ad", entry(nothing)));
    CHECK_THROWS(ErrorKind::Value, "`run`", register_kernel(b, "add", entry(nullptr)));
    CHECK_THROWS(ErrorKind::Value, "`flags`", register_kernel(b, "add", entry(nothing, 1u << 30)));
    KernelEntry no_dtype = entry(nothing);
    no_dtype.dtypes = 0;
    CHECK_THROWS(ErrorKind::Value, "`dtypes`", register_kernel(b, "add", no_dtype));
    CHECK_THROWS(ErrorKind::Value, "view or function op", register_kernel(b, "permute", entry(nothing)));
    CHECK_THROWS(ErrorKind::Value, "expected one for 'matmul'", register_kernel(b, "mm", entry(nothing)));
    register_kernel(b, "add", entry(nothing));
    CHECK_THROWS(ErrorKind::Value, "kernel exists already", register_kernel(b, "add", entry(nothing)));
    CHECK_THROWS(ErrorKind::Value, "name is not free", empty_backend("strict"));
    OpSpec twice;
    twice.name = "add";
    twice.dtype_rule = "promote";
    twice.shape_rule = "broadcast";
    CHECK_THROWS(ErrorKind::Value, "op exists already", register_op(twice));
    twice.name = "other";
    twice.dtype_rule = "promot";
    CHECK_THROWS(ErrorKind::Value, "Nearest: promote", register_op(twice));
    twice.dtype_rule = "";
    CHECK_THROWS(ErrorKind::Value, "[other] missing rule", register_op(twice));
    CHECK(find_op("other") == nullptr);
}

TEST(a_missing_kernel_is_an_error) {
    UseBackend use(empty_backend("bare"));
    TensorRef a = tensor({2}, {1, 2});
    CHECK_THROWS(ErrorKind::NotSupported,
                 "[add] not supported: got float32[2] on cpu, where backend bare has no kernel",
                 call_op("add", {a.get(), a.get()}));
    CHECK_EQ(explain(id("add"), Device{}, DType::F32).implementation, std::string("unsupported"));
    CHECK_EQ(explain(id("t"), Device{}, DType::F32).implementation, std::string("view"));
}

TEST(dtype_mask_and_fallback) {
    BackendId floats = fake_backend("floats", kAllFlags, TNR_MASK_REALS);
    UseBackend use(floats);
    TensorRef a = tensor({2}, {1, 2}, DType::I64);
    CHECK_THROWS(ErrorKind::NotSupported, "does not take int64", call_op("add", {a.get(), a.get()}));
    backend(BackendId(find_backend("fake"))).reference = true;
    CHECK_THROWS(ErrorKind::NotSupported, "allow fallback", call_op("add", {a.get(), a.get()}));
    modes().fallback = 1;
    hooks().warn = count_warning;
    reset_fallback_counts();
    CHECK(values(call_op("add", {a.get(), a.get()}).get()) == V({2, 4}));
    Operand in[] = {a.get(), Scalar::from_int(5)};
    call_inplace(id("add"), a.get(), in, {});
    CHECK(values(a.get()) == V({6, 7}));
    CHECK_EQ(warnings, 2);
    auto counts = fallback_counts();
    CHECK_EQ(counts.size(), 1u);
    CHECK_EQ(counts[0].calls, 2u);
    CHECK_EQ(counts[0].op, std::string("add"));
    CHECK_EQ(explain(id("add"), Device{}, DType::I64).implementation, std::string("fallback"));
    modes().fallback = 0;
    hooks().warn = nullptr;
    backend(BackendId(find_backend("fake"))).reference = false;
}

TEST(out_of_another_shape_warns) {
    TensorRef a = tensor({2}, {1, 2}), small = tensor({1}, {7}), square = tensor({2, 2}, {1, 2, 3, 4});
    auto out = [&](Tensor* x, Tensor* y, Tensor* target) {
        Operand in[] = {x, y};
        call_out(id("add"), in, {}, {&target, 1});
    };
    warnings = 0;
    hooks().warn = count_warning;
    small->storage->version.store(4);
    out(a.get(), a.get(), small.get());
    CHECK(values(small.get()) == V({2, 4}) && small->version() == 5);
    CHECK_EQ(warnings, 1);
    CHECK_THROWS(ErrorKind::Runtime, "is an operand", out(small.get(), square.get(), small.get()));
    CHECK(values(small.get()) == V({2, 4}));
    hooks().warn = [](const char*, const std::string&) { throw std::runtime_error("an error now"); };
    try {
        out(square.get(), square.get(), small.get());
        CHECK(false);
    } catch (const std::runtime_error&) {
        CHECK(values(small.get()) == V({2, 4}) && small->version() == 5);
    }
    hooks().warn = nullptr;
}

TEST(supports_is_asked_once_per_signature) {
    BackendId b = empty_backend("picky");
    KernelEntry e = *kernel_entry(*find_op("neg"), BackendId(find_backend("fake")));
    e.supports = only_vectors;
    register_kernel(b, "neg", e);
    UseBackend use(b);
    TensorRef vector = tensor({2}, {1, 2}), longer = tensor({3}, {1, 2, 3}), matrix = tensor({1, 2}, {1, 2});
    questions = 0;
    CHECK(values(call_op("neg", {vector.get()}).get()) == V({-1, -2}));
    CHECK(values(call_op("neg", {longer.get()}).get()) == V({-1, -2, -3}));
    CHECK_EQ(questions, 1);
    for (int i = 0; i < 2; ++i)
        CHECK_THROWS(ErrorKind::NotSupported, "only vectors, not rank 2", call_op("neg", {matrix.get()}));
    CHECK_EQ(questions, 2);
}

TEST(no_backend_is_an_error) {
    UseBackend use(kNoBackend);
    TensorRef a = tensor({2}, {1, 2});
    CHECK_THROWS(ErrorKind::NotSupported, "no backend for cpu", call_op("add", {a.get(), a.get()}));
    CHECK(shape(call_op("unsqueeze", {a.get()}, {attr_int(0)}).get()) == std::vector<int64_t>({1, 2}));
}

namespace {
void* stream_seen = nullptr;
int32_t see_stream(const tnr_call* c) {
    stream_seen = c->stream;
    return TNR_OK;
}
int32_t lose(const tnr_call*) { return TNR_DEVICE_LOST; }
}  // namespace

TEST(streams_and_lost_devices) {
    FakeDevice& device = FakeDevice::get();
    uint8_t space_id = device.device().space;
    BackendId b = add_backend("asynchronous", "1.0", {&space_id, 1}).id;
    register_kernel(b, "add", entry(see_stream));
    register_kernel(b, "neg", entry(lose));
    set_default_backend(space_id, b);
    TensorRef on_device = new_tensor(std::vector<int64_t>{4}, DType::F32, device.device());
    TensorRef other = new_tensor(std::vector<int64_t>{4}, DType::F32, device.device());
    TensorRef host = tensor({4}, {1, 2, 3, 4}), number = tensor({}, {2});
    CHECK_THROWS(ErrorKind::Runtime, "operands on different devices: got fake:0 and cpu",
                 call_op("add", {on_device.get(), host.get()}));
    StreamRef stream = new_stream(device.device(), 0);
    {
        OnStream on(stream.get());
        call_op("add", {on_device.get(), other.get()});
        CHECK(stream_seen == stream->handle);
        CHECK(on_device->storage->streams.load() != 0);
        call_op("add", {on_device.get(), number.get()});  // a 0-d tensor of the host travels by value
    }
    device.drain();
    TensorRef second = new_tensor(std::vector<int64_t>{4}, DType::F32, device.device(1));
    CHECK_THROWS(ErrorKind::Runtime, "got fake:0 and fake:1",
                 call_op("add", {on_device.get(), second.get()}));
    CHECK_THROWS(ErrorKind::DeviceLost, "[neg] device lost", call_op("neg", {second.get()}));
    CHECK(device_lost(device.device(1)));
    CHECK(!device_lost(device.device(0)));
    CHECK_THROWS(ErrorKind::DeviceLost, "device lost", call_op("add", {second.get(), second.get()}));
    call_op("add", {on_device.get(), other.get()});
}

TEST(hidden_copies_are_refused) {
    BackendId dense = fake_backend("dense_only", 0);
    UseBackend use(dense);
    TensorRef a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
    TensorRef t = call_op("t", {a.get()});
    bool old = set_no_hidden_copies(true);
    CHECK_THROWS(ErrorKind::HiddenCopy, "", call_op("neg", {t.get()}));
    CHECK(values(call_op("neg", {a.get()}).get())[0] == -1);
    TensorRef i = tensor({3}, {1, 2, 3}, DType::I64);
    CHECK_THROWS(ErrorKind::HiddenCopy, "", call_op("add", {a.get(), i.get()}));
    CHECK(values(call_op("clone", {t.get()}).get()) == V({1, 4, 2, 5, 3, 6}));  // asked for
    set_no_hidden_copies(old);
    CHECK(values(call_op("neg", {t.get()}).get()) == V({-1, -4, -2, -5, -3, -6}));
}

TEST(fused_steps) {
    OpSpec s;
    s.name = "step";
    s.structural = "clone";
    s.implementation = Implementation::Structural;
    register_op(s);
    TensorRef p = tensor({2}, {1, 2}), g = tensor({2}, {3, 4});
    Tensor *written[] = {p.get()}, *read[] = {g.get()};
    CHECK(!call_step(id("step"), written, read, {}));
    BackendId b = empty_backend("stepper");
    register_kernel(b, "step", entry([](const tnr_call* c) -> int32_t {
                        return c->n_in == 2 && c->n_out == 1 && c->out[0]->data == c->in[0]->data ? TNR_OK
                                                                                                  : TNR_ERROR;
                    }));
    UseBackend use(b);
    CHECK(call_step(id("step"), written, read, {}));
    CHECK_EQ(p->version(), 1u);
    CHECK_EQ(g->version(), 0u);
}

int main(int argc, char** argv) {
    register_fake_ops();
    return tenora_test::run(argc, argv);
}
