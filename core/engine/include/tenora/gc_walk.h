// What Python's cycle collector must know of the engine.
//   - walk_owned() enters a node or tensor only once all of its counts were met
//     on the path: nobody outside holds it. Whatever a running backward uses is
//     held by the evaluator, so it is never entered: the walk needs no lock.
//   - A cycle through a native node with owners outside the
//     path is not collected; being conservative is always safe.
#pragma once

#include <cstdint>

#include "tenora/tensor.h"

namespace tenora {

struct GcVisitor {
    virtual int payload(void* object) = 0;  // hooks, Function contexts, traces: a reference owned from C++
    virtual int wrapper(
        void* object) = 0;  // wrapper of a KEEP tensor that only the walked path and itself hold
    virtual ~GcVisitor() = default;
};

// Visits every Python object that is reachable from `root`'s wrapper through
// the engine and owned by this path alone. `root` is entered only if its
// wrapper holds the only count. Returns the visitor's first non-zero answer.
int walk_owned(Tensor* root, GcVisitor& visitor);

// Cuts history, gradient, hooks (tp_clear); never the memory.
void clear_autograd(Tensor* t);

// Python objects that C++ holds (hooks, contexts, traces,
// KEEP wrappers): while 0, the collector may skip the walk.
int64_t payload_count();
void count_payload(int delta);

}  // namespace tenora
