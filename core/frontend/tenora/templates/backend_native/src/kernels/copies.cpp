// Casts and copies, fills, ramps and random bits.
//   - Random bits: word i % 4 of the Philox 4x32-10 block of counter offset + i / 4 and key `seed`. Source:
//     Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#include "kernels.h"

namespace newbackend {
namespace {

int32_t copy(const tnr_call* call) {
    const int last = call->n_in - 1;
    const DLTensor &source = *call->in[last], &target = *call->out[0];
    return visit(source.dtype, [&]<class From>(From) {
        return visit(target.dtype, [&]<class To>(To) {
            walk<2>(shape_of(target), {strides_of(call, last), target.strides}, [&](const auto& at) {
                data_of<To>(target)[at[1]] = convert<To>(data_of<const From>(source)[at[0]]);
            });
        });
    });
}

int32_t fill(const tnr_call* call) {
    const DLTensor& target = *call->out[0];
    return visit(target.dtype, [&]<class T>(T) {
        const T value = number_attr<T>(call->attr[0]);
        walk<1>(shape_of(target), {target.strides},
                [&](const auto& at) { data_of<T>(target)[at[0]] = value; });
    });
}

int32_t iota(const tnr_call* call) {
    const DLTensor& target = *call->out[0];
    const tnr_attr &start = call->attr[0], &step = call->attr[1];
    return visit(target.dtype, [&]<class T>(T) {
        T* out = data_of<T>(target);
        int64_t i = 0;
        walk<1>(shape_of(target), {target.strides}, [&](const auto& at) {
            if (is_fraction(start) || is_fraction(step))
                out[at[0]] = convert<T>(number_attr<double>(start) + double(i++) * number_attr<double>(step));
            else
                out[at[0]] =
                    convert<T>(int64_t(uint64_t(start.value.i64) + uint64_t(i++) * uint64_t(step.value.i64)));
        });
    });
}

std::array<uint32_t, 4> philox(uint64_t counter, uint64_t seed) {
    std::array<uint32_t, 4> x = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
    uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
        const uint64_t a = uint64_t{x[0]} * 0xD2511F53, b = uint64_t{x[2]} * 0xCD9E8D57;
        x = {uint32_t(b >> 32) ^ x[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ key1, uint32_t(a)};
    }
    return x;
}

int32_t random_bits(const tnr_call* call) {
    const uint64_t seed = uint64_t(whole_attr(call, 0)), offset = uint64_t(whole_attr(call, 1));
    auto* out = data_of<uint32_t>(*call->out[0]);
    std::array<uint32_t, 4> block{};
    uint64_t i = 0;
    walk<1>(shape_of(*call->out[0]), {call->out[0]->strides}, [&](const auto& at) {
        if (i % 4 == 0) block = philox(offset + i / 4, seed);
        out[at[0]] = block[i++ % 4];
    });
    return TNR_OK;
}

}  // namespace

void add_copies(Kernels& k) {
    k.insert(k.end(), {{"copy", copy, TNR_MASK_ALL, kAnyLayout},
                       {"fill", fill, TNR_MASK_ALL, kAnyLayout},
                       {"iota", iota, TNR_MASK_ALL, kAnyLayout},
                       {"random_bits", random_bits, TNR_MASK(TNR_U32), kAnyLayout}});
}

}  // namespace newbackend
