// Function pointers that the Python binding pushes into the engine: all that the engine
// knows of Python. Each may be called from any thread; implementations take the GIL
// themselves. A null pointer means "not available": the engine then raises a clear error
// (trace, call_formula, ...) or does nothing (keep_*, payloads). A hook fails by throwing
// Error (or a subclass that carries the fetched exception): exceptions may change threads.
#pragma once

#include <cstdint>
#include <string>

#include "tenora/program.h"

namespace tenora {

struct TraceRequest {
    const Op& op;
    bool vjp;                     // else composite
    uint64_t needs;               // see needs_bit
    std::span<const Operand> in;  // kinds are what matters: operand_kind(in[i], result)
    const Tensor* result;         // null for a composite
    std::span<const Attr> attr;   // only structural values may be used
};

enum class HookKind : int { Tensor = 0, PostAccumulate = 1 };
enum class NodeHookKind : int { Pre = 0, Post = 1 };

struct EngineHooks {
    ProgramRef (*trace)(const TraceRequest&) = nullptr;
    // dynamic formulas: gradients, operands, results in; one gradient per operand out
    void (*call_formula)(const Op&, uint64_t needs, std::span<Tensor* const> tensors, std::span<const Attr>,
                         std::span<TensorRef> out) = nullptr;
    void (*call_function)(const Op&, std::span<const Operand>, std::span<const Attr>,
                          TensorRef* out) = nullptr;  // Implementation::Function
    void (*keep_retain)(Tensor*) = nullptr;
    void (*keep_release)(Tensor*) = nullptr;  // queues when the GIL is not held
    void (*release_payload)(void*) = nullptr;
    // Node with a Python payload: backward of an autograd.Function.
    // grads: one per output, null = undefined; out: one per input
    void (*run_python_node)(Node*, std::span<Tensor* const> grads, bool create_graph,
                            std::span<TensorRef> out) = nullptr;
    void (*free_python_node)(Node*) = nullptr;  // the graph was freed after a backward without retain_graph
    // hooks of a tensor: kind Tensor may replace `grad`; PostAccumulate
    // gets the leaf as `owner`. owner may be null (it died)
    void (*run_hooks)(void* payload, int kind, Tensor* owner, TensorRef& grad) = nullptr;
    // hooks of a node: Pre may replace gradients of its outputs (grad_outputs), Post those of its inputs
    void (*run_node_hooks)(void* payload, NodeHookKind kind, Node* node, std::span<TensorRef> grad_inputs,
                           std::span<TensorRef> grad_outputs) = nullptr;
    // saved_tensors_hooks: a payload instead of a tensor that the tape saves, and back
    void* (*pack_saved)(Tensor*) = nullptr;
    TensorRef (*unpack_saved)(void* payload) = nullptr;
    BackendId (*choose_backend)(uint8_t space) = nullptr;  // none chosen yet: discovery, loading, or an error
    void* (*release_gil)() = nullptr;                      // returns a token, null when not held
    void (*acquire_gil)(void* token) = nullptr;
    void* (*capture_trace)() = nullptr;  // anomaly mode: user's line, as a payload
    std::string (*format_trace)(void* payload) = nullptr;
    void (*warn)(const char* category, const std::string& text) = nullptr;
};
EngineHooks& hooks();

}  // namespace tenora
