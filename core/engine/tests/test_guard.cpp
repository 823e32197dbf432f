// Guarded kernels: the table while a guard is on and after it, findings, memory by the space's own functions.
#include "check.h"
#include "fake_kernels.h"

using namespace tenora;
using namespace tenora_test;
using V = std::vector<double>;

namespace {

// Doubles a float vector, badly where `state` says so: 1 = one element too far, 2 = the last left out,
// 3 = into its input.
int32_t twice(const tnr_call* c) {
    int64_t fault = *static_cast<const int64_t*>(c->state), count = c->out[0]->shape[0];
    auto *in = static_cast<float*>(c->in[0]->data), *out = static_cast<float*>(c->out[0]->data);
    for (int64_t i = 0; i < count + (fault == 1) - (fault == 2); ++i) out[i] = 2 * in[i];
    if (fault == 3) in[0] = 0;
    return TNR_OK;
}

BackendId with_fault(const char* name, int64_t* fault) {
    uint8_t host = 0;
    BackendId b = add_backend(name, "1.0", {&host, 1}).id;
    KernelEntry entry;
    entry.run = twice;
    entry.dtypes = TNR_MASK(TNR_F32);
    entry.state = fault;
    register_kernel(b, "neg", entry);
    return b;
}

struct Guard {
    BackendId id;
    explicit Guard(BackendId b) : id(b) { guard_backend(b, true); }
    ~Guard() { guard_backend(id, false); }
};

const KernelEntry* cell(BackendId b) { return kernel_entry(op(id("neg")), b); }

}  // namespace

// What a call reads is the cell of the table: off, it holds the very entry that was registered.
TEST(the_table_is_as_before) {
    static int64_t fault = 0;
    BackendId b = with_fault("guarded_table", &fault);
    const KernelEntry* plain = cell(b);
    CHECK(plain->run == twice && plain->state == &fault);
    const KernelEntry* guarded = nullptr;
    {
        Guard outer(b);
        guarded = cell(b);
        CHECK(guarded != plain && guarded->run != twice);
        CHECK(guarded->flags == plain->flags && guarded->dtypes == plain->dtypes && !guarded->supports);
        {
            Guard inner(b);
            CHECK(cell(b) == guarded);
        }
        CHECK(cell(b) == guarded);
    }
    CHECK(cell(b) == plain);
    Guard again(b);
    CHECK(cell(b) == guarded);  // entries are immortal: as many as kernels, however often a guard comes
}

TEST(a_guard_of_another_backend_changes_nothing) {
    static int64_t fault = 0;
    BackendId b = with_fault("unguarded", &fault), other = with_fault("guarded_other", &fault);
    const KernelEntry* plain = cell(b);
    Guard on(other);
    CHECK(cell(b) == plain);
}

TEST(kernels_registered_meanwhile_are_guarded) {
    uint8_t host = 0;
    static int64_t fault = 2;
    BackendId b = add_backend("guarded_late", "1.0", {&host, 1}).id;
    Guard on(b);
    KernelEntry entry;
    entry.run = twice;
    entry.dtypes = TNR_MASK(TNR_F32);
    entry.state = &fault;
    register_kernel(b, "neg", entry);
    CHECK(cell(b)->run != twice);
}

TEST(findings_name_backend_operand_and_byte) {
    static int64_t fault = 0;
    BackendId b = with_fault("guarded_faults", &fault);
    TensorRef x = tensor({3}, {1, 2, 3}), y = tensor({3}, {0, 0, 0});
    Operand in[] = {x.get()};
    Tensor* out[] = {y.get()};
    Guard on(b);
    auto run = [&] { run_kernel(op(id("neg")), b, in, {}, out); };
    run();
    CHECK(values(y.get()) == V({2, 4, 6}));
    fault = 1;
    CHECK_THROWS(ErrorKind::Runtime, "guarded_faults' writes outside of output 0: got byte 12 of 12", run());
    fault = 2;
    CHECK_THROWS(ErrorKind::Runtime, "leaves an element of output 0 unwritten: got poison at byte 8 of 12",
                 run());
    fault = 3;
    CHECK_THROWS(ErrorKind::Runtime, "changes input 0: got byte 2 of 12 set to 0", run());
    CHECK(values(x.get()) == V({1, 2, 3}));
    CHECK(values(y.get()) == V({2, 4, 6}));  // a faulty result is not handed over
}

int main(int argc, char** argv) {
    register_fake_ops();
    return tenora_test::run(argc, argv);
}
