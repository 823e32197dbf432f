// How indexing with tensors is laid out: which dimensions are
// indexed and where their common shape goes in the result.
#pragma once

#include "tenora/op.h"

namespace tenora {

struct IndexPlan {
    int count = 0;       // indexed dimensions
    int dims[kMaxRank];  // ascending
    int index_rank = 0;
    int64_t index_shape[kMaxRank];
    int lead = 0;  // result dimensions before the index shape: adjacent indices stay in place, else first
    int result_rank = 0;
    int64_t result_shape[kMaxRank];
};

// Index operands begin at `first`; absent ones keep their dimension. All present ones are integer tensors.
void plan_index(const Infer& c, size_t first, IndexPlan& plan);

}  // namespace tenora
