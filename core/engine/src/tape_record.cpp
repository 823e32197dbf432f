// Recording of a call: which Program its gradient needs, what that reads, where gradients go.

#include <algorithm>
#include <cstring>
#include <vector>

#include "tape_internal.h"
#include "tenora/error.h"
#include "tenora/gc_walk.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

// A call seen through the numbering of its gradient Program: gradients, operands, results.
struct Recording {
    const Op& op;
    const Program& program;
    std::span<const Operand> in;
    std::span<const Attr> attr;
    std::span<Tensor* const> out;

    Tensor* tensor(size_t slot) const {
        slot -= out.size();
        return slot < in.size() ? in[slot].tensor : out[slot - in.size()];
    }
    Tensor* existing(size_t slot) const {
        if (Tensor* t = tensor(slot)) return t;
        fail(ErrorKind::Runtime, "program", op.display(),
             "its gradient formula reads operand " + std::to_string(slot - out.size()) +
                 ", which is a number or absent in this call. Check the op's formula.");
    }
    bool is_result(size_t slot) const { return slot >= out.size() + in.size(); }
    Attr attribute(size_t slot) const {
        if (slot < attr.size()) return attr[slot];
        const Operand& o = in[slot - attr.size()];
        return !o.tensor && o.has_scalar ? attr_scalar(o.scalar) : attr_none();
    }
};

size_t data_bytes(const Attr& a) {
    if (a.kind == TNR_ATTR_SPAN) return a.count * sizeof(int64_t);
    return a.kind == TNR_ATTR_STRING ? (a.count + 7) & ~size_t(7) : 0;
}

NodeSizes measure(const Recording& r) {
    NodeSizes s;
    s.n_out = uint16_t(r.out.size());
    s.n_edges = uint16_t(r.in.size());
    for (uint16_t slot : r.program.data_inputs) s.n_saved += slot >= r.out.size();
    for (uint16_t slot : r.program.meta_inputs)
        if (slot >= r.out.size()) s.meta_bytes += meta_size(r.existing(slot)), s.n_meta++;
    if (r.out.size() > 1)  // undefined gradients of some outputs become zeros
        for (Tensor* t : r.out) s.meta_bytes += meta_size(t);
    s.n_attr = uint16_t(r.program.attr_inputs.size());
    for (uint16_t slot : r.program.attr_inputs) s.data_bytes += data_bytes(r.attribute(slot));
    return s;
}

// saved_tensors_hooks: the node keeps what the user's pack function made of the tensor.
void pack(Saved& s, Tensor* t, uint32_t flags = 0) {
    TensorRef bare = detach(t);
    s.packed = new Packed{.payload = hooks().pack_saved(bare.get()),
                          .dtype = t->dtype,
                          .device = t->device,
                          .shape = {t->shape().begin(), t->shape().end()}};
    s.flags = flags | Saved::kPacked;
    count_payload(1);
}

void save(Saved& s, const Recording& r, size_t slot, const Edge* edges) {
    Tensor* t = r.program.dynamic ? r.tensor(slot) : r.existing(slot);
    if (!t) return;  // a number or absent: its place stays empty
    if (t->inference) [[unlikely]]
        fail(ErrorKind::Runtime, "inference", r.op.display(),
             "Inference tensors cannot be saved for backward. Clone it outside "
             "inference mode to get a normal tensor, and use that in autograd.");
    s.version = t->version();
    if (r.is_result(slot)) {
        if (modes().saved_hooks) [[unlikely]]
            return pack(s, t, Saved::kResult);
        s.tensor = alias(t).take();  // without history: no cycle through this node
        s.flags = Saved::kResult;
        return;
    }
    if (modes().saved_hooks) [[unlikely]]
        return pack(s, t);
    s.tensor = t;
    s.flags = edges[slot - r.out.size()].leaf() == t ? Saved::kBorrowed : Saved::kOwned;
    if (s.flags == Saved::kBorrowed) return;
    t->retain();
    t->storage->saved.store(true, std::memory_order_relaxed);
}

void fill_edges(Edge* edges, uint64_t needs, std::span<const Operand> in) {
    for (size_t i = 0; i < in.size(); ++i)
        if (Tensor* t = in[i].tensor; t && needs_bit(needs, i)) edges[i] = edge_of(t);
}

void fill_attrs(Node* n, const Recording& r, char* data) {
    Attr* kept = n->attrs();
    for (uint16_t slot : r.program.attr_inputs) {
        Attr a = r.attribute(slot);
        if (size_t bytes = data_bytes(a)) {
            std::memcpy(data, a.value.string, a.kind == TNR_ATTR_SPAN ? bytes : a.count);
            a.value.string = data;
            data += bytes;
        }
        *kept++ = a;
    }
}

void fill_saved(Node* n, const Recording& r) {
    if (modes().saved_hooks && n->n_saved) [[unlikely]]
        side(n);  // such a node goes the general way through backward
    Saved* saved = n->saved();
    for (uint16_t slot : r.program.data_inputs)
        if (slot >= r.out.size()) save(*saved++, r, slot, n->edges());
    SavedMeta* meta = n->metas();
    for (uint16_t slot : r.program.meta_inputs)
        if (slot >= r.out.size()) meta = write_meta(meta, r.tensor(slot));
    if (r.out.size() > 1)
        for (Tensor* t : r.out) meta = write_meta(meta, t);
    fill_attrs(n, r, reinterpret_cast<char*>(meta));
}

void fill_rare(Node* n) {
    if (modes().anomaly && hooks().capture_trace) set_payload(&side(n).trace, hooks().capture_trace());
    if (!space(n->device).host_order())
        if (Stream* stream = current_stream(n->device)) {
            stream->retain();
            side(n).stream = stream;
        }
}

bool complex_number(const Operand& o) {
    return !o.tensor && o.has_scalar && o.scalar.kind == Scalar::Kind::Complex;
}

// Attributes hold no complex numbers: a formula sees one as a 0-d tensor of the result's dtype.
NodeRef record_complex(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
                       std::span<const Attr> attr, std::span<Tensor* const> out) {
    std::vector<Operand> operands(in.begin(), in.end());
    std::vector<TensorRef> numbers;
    for (Operand& o : operands) {
        if (!complex_number(o)) continue;
        DType dtype = is_complex(out[0]->dtype) ? out[0]->dtype : DType::C128;
        numbers.push_back(new_tensor({}, dtype, out[0]->device));
        fill(numbers.back().get(), o.scalar);
        o = Operand(numbers.back().get());
    }
    return record_node(op, backend, needs, operands, attr, out);
}

NodeRef make_node(const Op& op, BackendId backend, const Program* program, uint64_t needs,
                  std::span<const Operand> in, std::span<const Attr> attr, std::span<Tensor* const> out) {
    Recording r{op, *program, in, attr, out};
    bool plain = !program->saves && out.size() == 1;  // edges are all there is
    NodeSizes sizes;
    if (plain)
        sizes.n_out = 1, sizes.n_edges = uint16_t(in.size());
    else
        sizes = measure(r);
    Node* n = new_node(sizes);
    NodeRef ref = NodeRef::steal(n);
    n->op = op.id;
    n->backend = backend;
    n->program = program;
    n->device = out.empty() ? Device{} : out[0]->device;
    const Tensor* first = in.empty() ? nullptr : in[0].tensor;
    if (first && first->device.space != n->device.space && backend != kNoBackend &&
        !tenora::backend(backend).serves(n->device.space))
        n->backend = kNoBackend;  // it sent the result elsewhere: the gradient begins there
    fill_edges(n->edges(), needs, in);
    if (!plain) fill_saved(n, r);
    if (modes().anomaly || n->device.space != 0) [[unlikely]]
        fill_rare(n);
    return ref;
}

}  // namespace

NodeRef record_node(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
                    std::span<const Attr> attr, std::span<Tensor* const> out) {
    if (!out.empty() && std::any_of(in.begin(), in.end(), complex_number)) [[unlikely]]
        return record_complex(op, backend, needs, in, attr, out);
    const Tensor* first = out.empty() ? nullptr : out[0];
    const Program* program = vjp_program(op, make_key(op, needs, in, first, attr), needs, in, first, attr);
    if (in.size() > 0xffff) [[unlikely]]
        fail(ErrorKind::Value, "argument", op.display(),
             "more than 65535 operands in one recorded call. Split the call.");
    return make_node(op, backend, program, needs, in, attr, out);
}

void record_uniform(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
                    std::span<const Attr> attr, Tensor* result) {
    if (!(op.spec.output_differentiable & 1) || !is_differentiable(result->dtype)) return;
    if (is_complex(result->dtype) && std::any_of(in.begin(), in.end(), complex_number)) [[unlikely]] {
        result->node = record_complex(op, backend, needs, in, attr, {&result, 1}).take();
        return;
    }
    ProgramKey key{in.size() | needs << 4, 0};  // what make_key() would find out, at most two operands
    if (is_complex(result->dtype) || !attr.empty()) [[unlikely]]
        key = make_key(op, needs, in, result, attr);
    else
        for (size_t i = 0; i < in.size(); ++i)
            if (!in[i].tensor) key.operands |= uint64_t(kScalar) << (16 + 4 * i);
    const Program* program = vjp_program(op, key, needs, in, result, attr);
    NodeRef node = make_node(op, backend, program, needs, in, attr, {&result, 1});
    result->node = node.take();  // new, so there is nothing to replace
}

void record(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
            std::span<const Attr> attr, TensorRef* out, int n_out) {
    if (n_out == 1) {
        Tensor* result = out[0].get();
        if (!(op.spec.output_differentiable & 1) || !is_differentiable(result->dtype)) return;
        if (op.id == core_ops().as_strided) [[unlikely]]  // the user's offset counts from the storage's start
            return set_history(result, record_strided(backend, in[0].tensor, result), 0);
        set_history(result, record_node(op, backend, needs, in, attr, {&result, 1}), 0);
        return;
    }
    Tensor* results[kMaxOutputs];
    bool any = false;
    for (int i = 0; i < n_out; ++i) {
        results[i] = out[i].get();
        any = any || ((op.spec.output_differentiable >> i & 1) && is_differentiable(out[i]->dtype));
    }
    if (!any) return;
    NodeRef node = record_node(op, backend, needs, in, attr, {results, size_t(n_out)});
    for (int i = 0; i < n_out; ++i)
        if ((op.spec.output_differentiable >> i & 1) && is_differentiable(results[i]->dtype))
            set_history(results[i], node.get(), uint32_t(i));
}

NodeRef python_node(void* payload, std::span<Tensor* const> inputs, int n_out, std::string_view name) {
    NodeSizes sizes;
    sizes.n_out = uint16_t(n_out);
    sizes.n_edges = sizes.n_meta = uint16_t(inputs.size());
    for (Tensor* t : inputs) sizes.meta_bytes += meta_size(t);
    NodeRef ref = NodeRef::steal(new_node(sizes));
    Node* n = ref.get();
    n->flags.store(Node::kPython, std::memory_order_relaxed);
    SavedMeta* meta = n->metas();
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (tracked(inputs[i]) && is_differentiable(inputs[i]->dtype)) n->edges()[i] = edge_of(inputs[i]);
        meta = write_meta(meta, inputs[i]);
    }
    if (!inputs.empty()) n->device = inputs[0]->device;
    n->backend = kNoBackend;
    NodeSide& s = side(n);
    s.name = name;
    set_payload(&s.python, payload);
    if (modes().anomaly || n->device.space != 0) fill_rare(n);
    return ref;
}

}  // namespace tenora
