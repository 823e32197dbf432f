// Walking several tensors of one shape at once.
//
//   - Operand 0 is the output; the others are broadcast to it (missing and size-1 dimensions get stride 0).
//   - Dimensions are sorted by the output's strides and merged where
//     every operand allows it, so a transposed or sliced tensor is walked
//     in the order of memory and a dense one has a single dimension.
//   - Strides are in bytes. The last dimension is the row; `walk` calls back once for each row.
#pragma once

#include "call.h"

namespace tenora::cpu::TENORA_ISA {

template <int N>
struct Plan {
    int rank = 0;
    int64_t shape[kMaxRank];
    int64_t stride[N][kMaxRank];
    char* data[N];
    bool empty = false;

    void operand(int i, const DLTensor& t, size_t size) {
        data[i] = static_cast<char*>(t.data);
        const int missing = rank - t.ndim;
        for (int d = 0; d < rank; ++d) {
            const bool absent = d < missing || (t.shape[d - missing] == 1 && shape[d] != 1);
            stride[i][d] = absent ? 0 : t.strides[d - missing] * static_cast<int64_t>(size);
        }
    }

    // Removes dimensions of size 1, sorts, merges. Call after all operands are in.
    void simplify() {
        int kept = 0;
        for (int d = 0; d < rank; ++d) {
            empty |= shape[d] == 0;
            if (shape[d] != 1) move(d, kept++);
        }
        rank = kept;
        sort();
        merge();
        if (rank == 0) {
            rank = 1;
            shape[0] = 1;
            for (int i = 0; i < N; ++i) stride[i][0] = 0;
        }
    }

    int64_t row() const { return shape[rank - 1]; }
    int64_t row_stride(int i) const { return stride[i][rank - 1]; }

    // f(pointers) -> int32_t status, for every row in the order of memory.
    template <class F>
    int32_t walk(F&& f) const {
        if (empty) return TNR_OK;
        char* at[N];
        for (int i = 0; i < N; ++i) at[i] = data[i];
        if (rank == 1) return f(at);
        int64_t index[kMaxRank];
        for (int d = 0; d < rank - 1; ++d) index[d] = 0;
        while (true) {
            const int32_t status = f(at);
            if (status != TNR_OK) return status;
            int d = rank - 2;
            for (; d >= 0; --d) {
                for (int i = 0; i < N; ++i) at[i] += stride[i][d];
                if (++index[d] < shape[d]) break;
                for (int i = 0; i < N; ++i) at[i] -= stride[i][d] * shape[d];
                index[d] = 0;
            }
            if (d < 0) return TNR_OK;
        }
    }

  private:
    void move(int from, int to) {
        shape[to] = shape[from];
        for (int i = 0; i < N; ++i) stride[i][to] = stride[i][from];
    }
    static int64_t size_of(int64_t s) { return s < 0 ? -s : s; }
    // Whether dimension a is walked outside dimension b:
    // larger output stride first, then larger input strides.
    bool outside(int a, int b) const {
        for (int i = 0; i < N; ++i) {
            const int64_t x = size_of(stride[i][a]), y = size_of(stride[i][b]);
            if (x != y) return x > y;
        }
        return true;
    }
    void sort() {
        for (int d = 1; d < rank; ++d) {
            for (int e = d; e > 0 && !outside(e - 1, e); --e) swap(e - 1, e);
        }
    }
    void swap(int a, int b) {
        const int64_t s = shape[a];
        shape[a] = shape[b];
        shape[b] = s;
        for (int i = 0; i < N; ++i) {
            const int64_t t = stride[i][a];
            stride[i][a] = stride[i][b];
            stride[i][b] = t;
        }
    }
    void merge() {
        int last = 0;
        for (int d = 1; d < rank; ++d) {
            bool fits = true;
            for (int i = 0; i < N; ++i) fits &= stride[i][last] == stride[i][d] * shape[d];
            if (fits) {
                shape[d] *= shape[last];
                move(d, last);
            } else {
                move(d, ++last);
            }
        }
        if (rank > 0) rank = last + 1;
    }
};

// The plan of a call: out[output], then inputs. Sizes are item sizes in bytes.
template <int N>
Plan<N> plan_of(const DLTensor& out, const DLTensor* const* in, const size_t (&sizes)[N]) {
    Plan<N> plan;
    plan.rank = out.ndim;
    for (int d = 0; d < out.ndim; ++d) plan.shape[d] = out.shape[d];
    plan.operand(0, out, sizes[0]);
    for (int i = 1; i < N; ++i) plan.operand(i, *in[i - 1], sizes[i]);
    plan.simplify();
    return plan;
}

// complex128: aligned like its parts
struct Bytes16 {
    uint64_t words[2];
};

template <class T>
void pack_elements(char* out, const char* in, int64_t stride, int64_t n) {
    T* o = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) std::memcpy(o + i, in + i * stride, sizeof(T));
}
template <class T>
void unpack_elements(char* out, int64_t stride, const char* in, int64_t n) {
    const T* x = reinterpret_cast<const T*>(in);
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * stride, x + i, sizeof(T));
}

// Elements `stride` bytes apart into a contiguous run, and back.
inline void pack(char* out, const char* in, int64_t stride, int64_t n, size_t size) {
    if (stride == static_cast<int64_t>(size))
        std::memcpy(out, in, static_cast<size_t>(n) * size);
    else if (size == 4)
        pack_elements<uint32_t>(out, in, stride, n);
    else if (size == 8)
        pack_elements<uint64_t>(out, in, stride, n);
    else if (size == 1)
        pack_elements<uint8_t>(out, in, stride, n);
    else if (size == 2)
        pack_elements<uint16_t>(out, in, stride, n);
    else
        pack_elements<Bytes16>(out, in, stride, n);
}
inline void unpack(char* out, int64_t stride, const char* in, int64_t n, size_t size) {
    if (stride == static_cast<int64_t>(size))
        std::memcpy(out, in, static_cast<size_t>(n) * size);
    else if (size == 4)
        unpack_elements<uint32_t>(out, stride, in, n);
    else if (size == 8)
        unpack_elements<uint64_t>(out, stride, in, n);
    else if (size == 1)
        unpack_elements<uint8_t>(out, stride, in, n);
    else if (size == 2)
        unpack_elements<uint16_t>(out, stride, in, n);
    else
        unpack_elements<Bytes16>(out, stride, in, n);
}

// Stack buffers of strided rows hold this many elements of at most 16 bytes.
inline constexpr int64_t kChunk = 128;

}  // namespace tenora::cpu::TENORA_ISA
