// Walks of a shape with several tensors, each with its own strides in elements.
//
//   - Dimensions of size 1 are left out and neighbours merged where every tensor allows it; rows are plain
//   loops.
#pragma once

#include "call.h"

namespace tenora::cpu::TENORA_ISA {

template <int N>
class Walk {
  public:
    Walk(int rank, const int64_t* shape, const int64_t* const (&strides)[N]) {
        for (int d = 0; d < rank; ++d) {
            empty_ |= shape[d] == 0;
            if (shape[d] != 1) push(shape[d], d, strides);
        }
        if (rank_ == 0) {
            rank_ = 1;
            shape_[0] = 1;
            for (int i = 0; i < N; ++i) strides_[i][0] = 0;
        }
    }

    // f(offset in each tensor), in row-major order
    template <class F>
    void operator()(F&& f) const {
        if (empty_) return;
        const int last = rank_ - 1;
        int64_t index[kMaxRank], at[N] = {}, step[N];
        for (int d = 0; d < last; ++d) index[d] = 0;
        for (int i = 0; i < N; ++i) step[i] = strides_[i][last];
        while (true) {
            int64_t here[N];
            for (int i = 0; i < N; ++i) here[i] = at[i];
            for (int64_t n = shape_[last]; n > 0; --n) {
                f(static_cast<const int64_t*>(here));
                for (int i = 0; i < N; ++i) here[i] += step[i];
            }
            int d = last - 1;
            for (; d >= 0; --d) {
                for (int i = 0; i < N; ++i) at[i] += strides_[i][d];
                if (++index[d] < shape_[d]) break;
                for (int i = 0; i < N; ++i) at[i] -= strides_[i][d] * shape_[d];
                index[d] = 0;
            }
            if (d < 0) return;
        }
    }

    // The step of tensor i from one element to the next.
    int64_t step(int i) const { return strides_[i][rank_ - 1]; }

  private:
    void push(int64_t size, int d, const int64_t* const (&strides)[N]) {
        bool fits = rank_ > 0;
        for (int i = 0; fits && i < N; ++i) fits = strides_[i][rank_ - 1] == strides[i][d] * size;
        const int to = fits ? rank_ - 1 : rank_++;
        shape_[to] = fits ? shape_[to] * size : size;
        for (int i = 0; i < N; ++i) strides_[i][to] = strides[i][d];
    }

    int rank_ = 0;
    bool empty_ = false;
    int64_t shape_[kMaxRank], strides_[N][kMaxRank];
};

}  // namespace tenora::cpu::TENORA_ISA
