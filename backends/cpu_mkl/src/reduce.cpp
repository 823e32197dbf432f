// Drivers of reductions.
//
//   - The kept and the reduced dimensions of the input are
//     simplified apart; what the innermost dimension of the input
//     is decides the plan: reduced -> fold rows into one
//     accumulator; kept -> merge rows into a tile of accumulators.
//   - Merging halves the reduced range until few rows are
//     left, so sums over leading dimensions are pairwise too.
#include <cstdlib>

#include "indices.h"
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Dimensions with byte strides, simplified. Reduced
// dimensions have one stride, kept ones two (input, output).
struct Dims {
    Dims() {}  // the arrays stay uninitialised: zeroing them would cost more than a small sum
    int rank = 0;
    int64_t shape[kMaxRank], in[kMaxRank], out[kMaxRank];

    void push(int64_t size, int64_t in_stride, int64_t out_stride) {
        if (size == 1) return;
        int at = rank++;
        const auto magnitude = [](int64_t s) { return s < 0 ? -s : s; };
        for (; at > 0 && magnitude(in[at - 1]) < magnitude(in_stride); --at) {
            shape[at] = shape[at - 1];
            in[at] = in[at - 1];
            out[at] = out[at - 1];
        }
        shape[at] = size;
        in[at] = in_stride;
        out[at] = out_stride;
    }
    void merge() {
        int last = 0;
        for (int d = 1; d < rank; ++d) {
            const bool fits = in[last] == in[d] * shape[d] && out[last] == out[d] * shape[d];
            if (!fits) ++last;
            shape[last] = fits ? shape[last] * shape[d] : shape[d];
            in[last] = in[d];
            out[last] = out[d];
        }
        if (rank > 0) rank = last + 1;
    }
    int64_t count() const {
        int64_t n = 1;
        for (int d = 0; d < rank; ++d) n *= shape[d];
        return n;
    }
    // Offsets of the i-th index tuple over the first `rank_used` dimensions.
    void offsets(int64_t i, int rank_used, int64_t& in_offset, int64_t& out_offset) const {
        if (rank_used == 1) {  // no division
            in_offset += i * in[0];
            out_offset += i * out[0];
            return;
        }
        for (int d = rank_used - 1; d >= 0; --d) {
            const int64_t index = i % shape[d];
            i /= shape[d];
            in_offset += index * in[d];
            out_offset += index * out[d];
        }
    }
};

struct Work {
    Work(const ReductionRows& r, size_t input_size, size_t output_size, const DLTensor& input,
         const DLTensor& output)
        : rows(r),
          in_size(input_size),
          out_size(output_size),
          in(static_cast<const char*>(input.data)),
          out(static_cast<char*>(output.data)) {}
    const ReductionRows& rows;
    size_t in_size, out_size;
    Dims kept, reduced;
    const char* in;
    char* out;
};

constexpr int64_t kTileColumns = 128;
constexpr int64_t kFewRows = 16;

void fold_strided(const ReductionRows& rows, void* acc, const char* in, int64_t n, int64_t stride,
                  size_t size, bool first) {
    if (stride == static_cast<int64_t>(size) || n == 1) return rows.fold(acc, in, n, first);
    alignas(64) char chunk[kChunk * 16];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = n - i < kChunk ? n - i : kChunk;
        pack(chunk, in + i * stride, stride, m, size);
        rows.fold(acc, chunk, m, first && i == 0);
    }
}

// The innermost dimension is reduced: one output after the other.
void fold_all(const Work& w) {
    const int outer = w.reduced.rank - 1;
    const int64_t n = w.reduced.shape[outer], stride = w.reduced.in[outer], runs = w.reduced.count() / n;
    const int64_t outputs = w.kept.count();
    for (int64_t o = 0; o < outputs; ++o) {
        int64_t in_at = 0, out_at = 0;
        w.kept.offsets(o, w.kept.rank, in_at, out_at);
        alignas(16) char acc[16];
        for (int64_t r = 0; r < runs; ++r) {
            int64_t at = in_at, unused = 0;
            if (outer > 0) w.reduced.offsets(r, outer, at, unused);
            fold_strided(w.rows, acc, w.in + at, n, stride, w.in_size, r == 0);
        }
        w.rows.finish(w.out + out_at, acc, 1);
    }
}

// Rows begin .. end of the reduced range into `columns` accumulators.
void merge_range(const Work& w, char* acc, const char* in, int64_t stride, int64_t columns, int64_t begin,
                 int64_t end) {
    if (end - begin > kFewRows) {
        const int64_t middle = begin + (end - begin) / 2;
        alignas(64) char other[kTileColumns * 16];
        merge_range(w, acc, in, stride, columns, begin, middle);
        merge_range(w, other, in, stride, columns, middle, end);
        w.rows.join(acc, other, columns);
        return;
    }
    const bool dense = stride == static_cast<int64_t>(w.in_size);
    alignas(64) char chunk[kTileColumns * 16];
    for (int64_t r = begin; r < end; ++r) {
        int64_t at = 0, unused = 0;
        if (w.reduced.rank == 1)
            at = r * w.reduced.in[0];
        else
            w.reduced.offsets(r, w.reduced.rank, at, unused);
        const char* row = in + at;
        if (!dense) {
            pack(chunk, row, stride, columns, w.in_size);
            row = chunk;
        }
        w.rows.merge(acc, row, columns, r == begin);
    }
}

// The innermost dimension is kept: a tile of outputs at once.
void merge_all(const Work& w) {
    const int outer = w.kept.rank - 1;
    const int64_t n = w.kept.shape[outer], in_stride = w.kept.in[outer], out_stride = w.kept.out[outer];
    const int64_t tiles = w.kept.count() / n, rows = w.reduced.count();
    alignas(64) char acc[kTileColumns * 16], result[kTileColumns * 16];
    for (int64_t t = 0; t < tiles; ++t) {
        int64_t in_at = 0, out_at = 0;
        w.kept.offsets(t, outer, in_at, out_at);
        for (int64_t c = 0; c < n; c += kTileColumns) {
            const int64_t columns = n - c < kTileColumns ? n - c : kTileColumns;
            merge_range(w, acc, w.in + in_at + c * in_stride, in_stride, columns, 0, rows);
            char* target = w.out + out_at + c * out_stride;
            if (out_stride == static_cast<int64_t>(w.out_size)) {
                w.rows.finish(target, acc, columns);
            } else {
                w.rows.finish(result, acc, columns);
                unpack(target, out_stride, result, columns, w.out_size);
            }
        }
    }
}

// What the reduction of nothing gives, into every output.
int32_t fill_empty(const tnr_call* call, const Work& w, Reduction op) {
    if (op == Reduction::amax || op == Reduction::amin) {
        return fail(call, TNR_BAD_VALUE, "the largest or smallest of no elements is not defined");
    }
    alignas(16) char acc[16], result[16];
    w.rows.fold(acc, w.in, 0, true);
    w.rows.finish(result, acc, 1);
    for (int64_t o = 0, n = w.kept.count(); o < n; ++o) {
        int64_t in_at = 0, out_at = 0;
        w.kept.offsets(o, w.kept.rank, in_at, out_at);
        std::memcpy(w.out + out_at, result, w.out_size);
    }
    return TNR_OK;
}

// The output has the input's dimensions, or those that are kept alone.
int32_t reduce_dims(const tnr_call* call, Reduction op, uint64_t reduced) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const tnr_dtype dtype = dtype_of(in);
    const ReductionRows& rows = tables.reduction[static_cast<int>(op)][dtype];
    if (!rows.fold) return unsupported(call);
    Work w(rows, kSizes[dtype], kSizes[dtype_of(out)], in, out);
    bool no_outputs = false;
    int to = 0;
    for (int d = 0; d < in.ndim; ++d) {
        if (out.ndim == in.ndim) to = d;
        const int64_t in_stride = in.strides[d] * static_cast<int64_t>(w.in_size);
        if (reduced >> d & 1) {
            w.reduced.push(in.shape[d], in_stride, 0);
        } else {
            no_outputs |= in.shape[d] == 0;
            w.kept.push(in.shape[d], in_stride, out.strides[to++] * static_cast<int64_t>(w.out_size));
        }
    }
    if (no_outputs) return TNR_OK;
    if (w.reduced.count() == 0) return fill_empty(call, w, op);
    w.kept.merge();
    w.reduced.merge();
    if (w.reduced.rank == 0) {
        w.reduced.rank = 1;
        w.reduced.shape[0] = 1;
        w.reduced.in[0] = w.reduced.out[0] = 0;
    }
    const auto step = [](const Dims& dims) { return std::abs(dims.in[dims.rank - 1]); };
    if (w.kept.rank > 0 && (step(w.kept) < step(w.reduced) || w.reduced.count() == 1))
        merge_all(w);
    else
        fold_all(w);
    return TNR_OK;
}

template <Reduction kOp>
int32_t run_reduce(const tnr_call* call) {
    return reduce_dims(call, kOp, dims_attr(call, 0));
}

// Whether every norm is one that squares in double can tell: neither too small for digits nor too large.
bool within_squares(const DLTensor& out) {
    const double* data = static_cast<const double*>(out.data);
    bool within = true;
    walk_elements<1>(out.ndim, out.shape, {out.strides},
                     [&](const int64_t* at) { within &= data[at[0]] > 1e-140 && data[at[0]] < 1e150; });
    return within;
}

// The composite scales, which few doubles need.
int32_t run_norm(const tnr_call* call) {
    const int32_t status = reduce_dims(call, Reduction::norm, dims_attr(call, 0));
    if (status != TNR_OK || dtype_of(*call->in[0]) != TNR_F64 || within_squares(*call->out[0])) return status;
    return fail(call, TNR_NOT_SUPPORTED, "squares leave the range of double");
}

template <Reduction kOp>
void add(Kernels& kernels, const char* name) {
    uint32_t mask = 0;
    for (int d = 0; d < TNR_DTYPE_COUNT; ++d) {
        if (tables.reduction[static_cast<int>(kOp)][d].fold) mask |= TNR_MASK(d);
    }
    add_kernel(kernels, name, run_reduce<kOp>, mask, kAnyLayout);
}

}  // namespace

void add_reductions(Kernels& kernels) {
    add<Reduction::sum>(kernels, "sum");
    add<Reduction::prod>(kernels, "prod");
    add<Reduction::amax>(kernels, "amax");
    add<Reduction::amin>(kernels, "amin");
    add<Reduction::any>(kernels, "any");
    add<Reduction::all>(kernels, "all");
    add<Reduction::norm>(kernels, "norm_two");
    add_kernel(kernels, "norm_scaled", run_norm, TNR_MASK_REALS, kAnyLayout);
}

}  // namespace tenora::cpu
