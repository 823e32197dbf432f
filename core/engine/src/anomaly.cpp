// Anomaly mode: the first node whose gradient has a NaN is an error that names the op and the user's line.
// And what any error of a backward says about the forward call it belongs to.

#include "backward.h"
#include "tenora/failure.h"
#include "tenora/hooks.h"

namespace tenora {

namespace {

TellMore tell_more = nullptr;

// NaN is the value that differs from itself; ops `ne` and `any` tell without a loop over the data here.
bool has_nan(Tensor* t) {
    static const Op* ne = find_op("ne");
    static const Op* any = find_op("any");
    if (!ne || !any || !is_differentiable(t->dtype) || t->numel == 0) return false;
    Operand pair[2] = {Operand(t), Operand(t)};
    TensorRef differs, found;
    call_raw(ne->id, pair, {}, &differs);
    Attr attrs[4] = {attr_none(), attr_bool(false), attr_none(), attr_none()};  // dim, keepdim
    Operand operand(differs.get());
    call_raw(any->id, {&operand, 1}, {attrs, size_t(any->spec.n_attr)}, &found);
    if (!space(found->device).host_accessible()) found = to_device(found.get(), Device{}, false);
    return *static_cast<const uint8_t*>(found->dl.data) != 0;
}

}  // namespace

void check_finite(Node* n, std::span<TensorRef> grads) {
    for (size_t i = 0; i < grads.size(); ++i)
        if (grads[i] && has_nan(grads[i].get()))
            fail(ErrorKind::Runtime, "anomaly", n->name(),
                 "Function '" + std::string(n->name()) + "' returned nan values in its " + std::to_string(i) +
                     "th output. Look at the forward call below.");
}

void explain_failure(Error& error, Node* n, bool anomaly) {
    if (error.op.empty()) error.op = n->name();
    error.message += "\nThis happened while the gradient of " + std::string(n->name()) + " was computed.";
    NodeSide* s = n->side.load(std::memory_order_acquire);
    if (s && s->trace && hooks().format_trace)
        error.message += "\nThe forward call was made here:\n" + hooks().format_trace(s->trace);
    else if (!anomaly)
        error.message += " Anomaly mode shows where the forward call was made.";
    if (tell_more && !(s && s->trace)) tell_more(error, n);  // a trace names the module already
}

void set_tell_more(TellMore function) { tell_more = function; }

}  // namespace tenora
