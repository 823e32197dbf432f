// where: one of two operands, element by element. true_places: where a mask is true.
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

template <class T, bool kLeft, bool kRight>
void choose(T* out, const uint8_t* condition, const T* a, const T* b, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const T x = a[kLeft ? 0 : i], y = b[kRight ? 0 : i];
        out[i] = condition[i] ? x : y;
    }
}

template <class T>
void choose_row(void* out, const void* condition, const void* a, const void* b, int64_t n, bool left,
                bool right) {
    T* o = static_cast<T*>(out);
    const uint8_t* c = static_cast<const uint8_t*>(condition);
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    if (left && right) {
        const T both[2] = {*x, *y};
        for (int64_t i = 0; i < n; ++i) o[i] = both[c[i] ? 0 : 1];
    } else if (left) {
        choose<T, true, false>(o, c, x, y, n);
    } else if (right) {
        choose<T, false, true>(o, c, x, y, n);
    } else {
        choose<T, false, false>(o, c, x, y, n);
    }
}

using ChooseRow = void (*)(void*, const void*, const void*, const void*, int64_t, bool, bool);

ChooseRow row_of(size_t size) {
    switch (size) {
        case 1:
            return choose_row<uint8_t>;
        case 2:
            return choose_row<uint16_t>;
        case 4:
            return choose_row<uint32_t>;
        case 8:
            return choose_row<uint64_t>;
        default:
            return choose_row<Bytes16>;
    }
}

int32_t run_where(const tnr_call* call) {
    const size_t size = kSizes[dtype_of(*call->out[0])];
    const ChooseRow row = row_of(size);
    if (call->flat && !(call->host_scalar_mask & 1)) {
        row(call->out[0]->data, call->in[0]->data, call->in[1]->data, call->in[2]->data,
            count_of(*call->out[0]), is_host_scalar(call, 1), is_host_scalar(call, 2));
        return TNR_OK;
    }
    const Plan<4> plan = plan_of<4>(*call->out[0], call->in, {size, 1, size, size});
    const int64_t n = plan.row();
    const bool left = plan.row_stride(2) == 0, right = plan.row_stride(3) == 0;
    return plan.walk([&](char* const* at) -> int32_t {
        alignas(64) char condition[kChunk], a[kChunk * 16], b[kChunk * 16], out[kChunk * 16];
        for (int64_t i = 0; i < n; i += kChunk) {
            const int64_t m = n - i < kChunk ? n - i : kChunk;
            pack(condition, at[1] + i * plan.row_stride(1), plan.row_stride(1), m, 1);
            pack(a, at[2] + i * plan.row_stride(2), plan.row_stride(2), left ? 1 : m, size);
            pack(b, at[3] + i * plan.row_stride(3), plan.row_stride(3), right ? 1 : m, size);
            row(out, condition, a, b, m, left, right);
            unpack(at[0] + i * plan.row_stride(0), plan.row_stride(0), out, m, size);
        }
        return TNR_OK;
    });
}

// Every element is written where the next true one belongs; only a true one moves on.
int32_t run_true_places(const tnr_call* call) {
    const DLTensor& mask = *call->in[0];
    const uint8_t* data = static_cast<const uint8_t*>(mask.data);
    int64_t* out = static_cast<int64_t*>(call->out[0]->data);
    const int64_t count = count_of(*call->out[0]), size = count_of(mask);
    int64_t found = 0;
    for (int64_t i = 0; found < count && i < size; ++i) {
        out[found] = i;
        found += data[i] != 0;
    }
    return found == count ? TNR_OK
                          : fail(call, TNR_BAD_VALUE,
                                 "the mask changed while it was read: got fewer true elements, expected as "
                                 "many as were counted. Do not write it meanwhile.");
}

}  // namespace

void add_select(Kernels& kernels) {
    add_kernel(kernels, "true_places", run_true_places, TNR_MASK(TNR_BOOL), 0);
    add_kernel(kernels, "where", run_where, TNR_MASK(TNR_BOOL),
               kAnyLayout | TNR_KERNEL_BROADCAST | TNR_KERNEL_INPLACE);
}

}  // namespace tenora::cpu
