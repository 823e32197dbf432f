// random_bits: uniform 32-bit words from a counter; element i in row-major order.
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Attributes seed and offset are the bits of unsigned 64-bit numbers.
int32_t run_random_bits(const tnr_call* call) {
    const DLTensor& out = *call->out[0];
    const uint64_t seed = static_cast<uint64_t>(int_attr(call, 0, 0)),
                   offset = static_cast<uint64_t>(int_attr(call, 1, 0));
    const int64_t n = count_of(out), whole = n / 4;
    uint32_t* data = static_cast<uint32_t*>(out.data);
    if (n == 0) return TNR_OK;
    if (!is_dense(out)) return fail(call, TNR_NOT_SUPPORTED, "random_bits writes dense outputs only");
    tables.philox(data, offset, whole, seed);
    if (n % 4 != 0) {
        uint32_t last[4];
        tables.philox(last, offset + static_cast<uint64_t>(whole), 1, seed);
        std::memcpy(data + whole * 4, last, static_cast<size_t>(n % 4) * sizeof(uint32_t));
    }
    return TNR_OK;
}

}  // namespace

void add_random(Kernels& kernels) {
    add_kernel(kernels, "random_bits", run_random_bits, TNR_MASK(TNR_U32), 0);
}

}  // namespace tenora::cpu
