#include "queued_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tenora::sim {
namespace {

constexpr size_t kMostPieces = 1 << 16;

size_t bytes_of(const DLTensor& t) { return t.dtype.bits / 8u; }

}  // namespace

QueuedCall::QueuedCall(const tnr_call& call, const Memory& memory) : call_(call) {
    for (int i = 0; i < call.n_in; ++i)
        in_.push_back(keep(call.in[i], call.host_scalar_mask >> i & 1, memory));
    for (int i = 0; i < call.n_out; ++i) out_.push_back(keep(call.out[i], false, memory));
    for (int i = 0; i < call.n_attr; ++i) keep(call.attr[i]);
    call_.in = in_.data();
    call_.out = out_.data();
    call_.attr = attributes_.data();
    call_.workspace = memory.storage(static_cast<char*>(call.workspace));
}

const DLTensor* QueuedCall::keep(const DLTensor* tensor, bool host_scalar, const Memory& memory) {
    if (!tensor) return nullptr;
    DLTensor& kept = tensors_.emplace_back(*tensor);
    auto& dims = numbers_.emplace_back(tensor->shape, tensor->shape + tensor->ndim);
    dims.insert(dims.end(), tensor->strides, tensor->strides + tensor->ndim);
    kept.shape = dims.data();
    kept.strides = dims.data() + tensor->ndim;
    if (host_scalar)
        kept.data = std::memcpy(scalars_.emplace_back().data(), tensor->data, bytes_of(*tensor));
    else
        kept.data = memory.storage(static_cast<char*>(tensor->data));
    return &kept;
}

void QueuedCall::keep(const tnr_attr& attr) {
    tnr_attr& kept = attributes_.emplace_back(attr);
    if (attr.kind == TNR_ATTR_SPAN)
        kept.value.span = numbers_.emplace_back(attr.value.span, attr.value.span + attr.count).data();
    else if (attr.kind == TNR_ATTR_STRING)
        kept.value.string = texts_.emplace_back(attr.value.string, attr.count).data();
}

int32_t QueuedCall::run(tnr_kernel_fn kernel, char* error, size_t error_size) {
    call_.error = error;
    call_.error_size = error_size;
    try {
        return kernel(&call_);
    } catch (const std::exception& exception) {
        std::snprintf(error, error_size, "%s", exception.what());
        return TNR_ERROR;
    }
}

std::vector<Range> footprint(const DLTensor& t) {
    const size_t item = bytes_of(t);
    auto begin = reinterpret_cast<uintptr_t>(t.data);
    struct Dim {
        size_t size, step;  // in bytes
    };
    std::vector<Dim> dims;
    for (int d = 0; d < t.ndim; ++d) {
        if (t.shape[d] == 0) return {};
        if (t.shape[d] == 1 || t.strides[d] == 0) continue;
        dims.push_back({size_t(t.shape[d]), size_t(std::llabs(t.strides[d])) * item});
        if (t.strides[d] < 0) begin -= (dims.back().size - 1) * dims.back().step;
    }
    std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.step < b.step; });
    size_t piece = item, pieces = 1, extent = item;
    std::vector<Dim> outer;
    for (const Dim& dim : dims) {
        extent += (dim.size - 1) * dim.step;
        if (outer.empty() && dim.step <= piece) {
            piece += (dim.size - 1) * dim.step;
        } else {
            outer.push_back(dim);
            pieces = std::min(pieces, kMostPieces) * std::min(dim.size, kMostPieces + 1);
        }
    }
    if (pieces > kMostPieces) return {{begin, begin + extent}};
    std::vector<Range> ranges = {{begin, begin + piece}};
    for (const Dim& dim : outer) {
        for (size_t i = 0, n = ranges.size(); i < n; ++i)
            for (size_t k = 1; k < dim.size; ++k)
                ranges.push_back({ranges[i].begin + k * dim.step, ranges[i].end + k * dim.step});
    }
    return ranges;
}

}  // namespace tenora::sim
