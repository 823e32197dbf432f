/* Copies and casts, filling, ramps, and random bits. */
#include <string.h>

#include "kernels.h"

static int32_t copy(const tnr_call* call) {
    const DLTensor *in = call->in[call->n_in - 1], *out = call->out[0];
    const tnr_dtype from = dtype_of(in), to = dtype_of(out);
    /* Declared dtypes are those of the input only. */
    if (to == TNR_DTYPE_COUNT) return refuse(call, TNR_NOT_SUPPORTED, "no cast to such a dtype");
    const operand operands[] = {operand_of(in), operand_of(out)};
    walk lines;
    for (bool more = walk_start(&lines, out->ndim, out->shape, out->ndim - 1, 2, operands); more;
         more = walk_next(&lines))
        for (int64_t i = 0; i < lines.length; i++) {
            const char* source = lines.at[0] + i * lines.step[0];
            char* target = lines.at[1] + i * lines.step[1];
            if (from == to) /* bits and all: a NaN stays the one it is */
                memcpy(target, source, (size_t)bytes_of(out));
            else
                store(to, target, load(from, source));
        }
    return TNR_OK;
}
KERNEL(copy, copy, MASK(EACH_TYPE), 0, NULL)

static int32_t fill(const tnr_call* call) {
    const DLTensor* out = call->out[0];
    const number value = number_of(&call->attr[0]);
    const operand to = operand_of(out);
    walk lines;
    for (bool more = walk_start(&lines, out->ndim, out->shape, out->ndim - 1, 1, &to); more;
         more = walk_next(&lines))
        for (int64_t i = 0; i < lines.length; i++)
            store(dtype_of(out), lines.at[0] + i * lines.step[0], value);
    return TNR_OK;
}
KERNEL(fill, fill, MASK(EACH_TYPE), 0, NULL)

/* start + i * step, in whole numbers where both are. */
static number ramp(number start, number step, int64_t i) {
    number value = {WHOLE, {0}};
    if (start.kind == REAL || step.kind == REAL) {
        value.kind = REAL;
        value.is.real = real_of(start) + (double)i * real_of(step);
    } else {
        value.is.whole = (int64_t)((uint64_t)start.is.whole + (uint64_t)i * (uint64_t)step.is.whole);
    }
    return value;
}

static int32_t iota(const tnr_call* call) {
    const DLTensor* out = call->out[0];
    const number start = number_of(&call->attr[0]), step = number_of(&call->attr[1]);
    for (int64_t i = 0; i < out->shape[0]; i++)
        store(dtype_of(out), element_at(out, &i), ramp(start, step, i));
    return TNR_OK;
}
KERNEL(iota, iota, MASK(EACH_TYPE), 0, NULL)

/* Ten rounds of Philox 4x32. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011. */
static void philox(uint64_t counter, uint64_t key, uint32_t word[4]) {
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    word[0] = (uint32_t)counter, word[1] = (uint32_t)(counter >> 32), word[2] = word[3] = 0;
    for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
        const uint64_t a = (uint64_t)word[0] * 0xD2511F53u, b = (uint64_t)word[2] * 0xCD9E8D57u;
        word[0] = (uint32_t)(b >> 32) ^ word[1] ^ key0;
        word[1] = (uint32_t)b;
        word[2] = (uint32_t)(a >> 32) ^ word[3] ^ key1;
        word[3] = (uint32_t)a;
    }
}

/* Element i is word i % 4 of the block with counter offset + i / 4, on every backend. */
static int32_t random_bits(const tnr_call* call) {
    const DLTensor* out = call->out[0];
    const uint64_t seed = (uint64_t)call->attr[0].value.i64, offset = (uint64_t)call->attr[1].value.i64;
    const operand to = operand_of(out);
    uint32_t block[4] = {0};
    uint64_t place = 0;
    walk lines;
    for (bool more = walk_start(&lines, out->ndim, out->shape, out->ndim - 1, 1, &to); more;
         more = walk_next(&lines))
        for (int64_t i = 0; i < lines.length; i++, place++) {
            if (place % 4 == 0) philox(offset + place / 4, seed, block);
            *(uint32_t*)(lines.at[0] + i * lines.step[0]) = block[place % 4];
        }
    return TNR_OK;
}
KERNEL(random_bits, random_bits, TNR_MASK(TNR_U32), 0, NULL)
