// Number slots and comparison: slot -> dispatch, no argument tuple between. Anything that is not an exact
// Tensor, float or int takes the slow road: subclasses, NumPy numbers, foreign types with `__tenora_op__`.

#include <cstring>

#include "construct.h"
#include "operators.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

Operator operators[size_t(Slot::Count)];

namespace {

constexpr const char* kSlotNames[] = {
    "add",    "sub",    "mul",  "truediv",  "floordiv",  "mod",  "pow",  "matmul",  "and",  "or",  "xor",
    "lshift", "rshift", "neg",  "abs",      "invert",    "lt",   "le",   "eq",      "ne",   "gt",  "ge",
    "iadd",   "isub",   "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor"};
static_assert(std::size(kSlotNames) == size_t(Slot::Count));

inline bool quick_operand(PyObject* o, Operand& x) {
    if (is_exact_tensor(o)) {
        x.tensor = impl_of(o);
        return true;
    }
    if (PyFloat_CheckExact(o)) {
        x.scalar = Scalar::from_float(PyFloat_AS_DOUBLE(o));
        x.has_scalar = true;
        return true;
    }
    return false;
}

enum class Found { Yes, No, Foreign };

Found slow_operand(PyObject* o, Operand& x) {
    if (quick_operand(o, x)) return Found::Yes;
    if (has_tenora_op(o)) return Found::Foreign;
    if (is_tensor(o)) {
        x.tensor = impl_of(o);
        return Found::Yes;
    }
    if (!to_scalar(o, &x.scalar)) return Found::No;
    x.has_scalar = true;
    return Found::Yes;
}

PyObject* run_slot(const Operator& op, std::span<const Operand> in) {
    TensorRef out;
    call(op.id, in, op.info->signature->defaults, &out);
    return wrap(std::move(out));
}

PyObject* binary_slow(const Operator& op, PyObject* a, PyObject* b) {
    if (!op.info) return Py_NewRef(Py_NotImplemented);
    Operand in[2];
    Found first = named(op.info->signature->name, [&] { return slow_operand(a, in[0]); });
    Found second = first == Found::No
                       ? Found::No
                       : named(op.info->signature->name, [&] { return slow_operand(b, in[1]); });
    if (first == Found::Foreign || second == Found::Foreign) {
        PyObject* args[] = {a, b};
        return call_foreign(op.function, first == Found::Foreign ? a : b, args, 2, nullptr);
    }
    if (first == Found::No || second == Found::No) return Py_NewRef(Py_NotImplemented);
    return run_slot(op, in);
}

template <Slot S>
PyObject* binary(PyObject* a, PyObject* b) {
    return guarded([&]() -> PyObject* {
        const Operator& op = operators[size_t(S)];
        Operand in[2];
        if (!op.info || !quick_operand(a, in[0]) || !quick_operand(b, in[1])) return binary_slow(op, a, b);
        return run_slot(op, in);
    });
}

template <Slot S>
PyObject* inplace(PyObject* self, PyObject* other) {
    return guarded([&]() -> PyObject* {
        const Operator& op = operators[size_t(S)];
        Operand in[2];
        if (!op.info || !is_tensor(self)) return Py_NewRef(Py_NotImplemented);
        if (named(op.info->signature->name, [&] { return slow_operand(other, in[1]); }) != Found::Yes)
            return Py_NewRef(Py_NotImplemented);
        in[0] = Operand(impl_of(self));
        call_inplace(op.id, impl_of(self), in, op.info->signature->defaults);
        track_if_needed(self);
        return Py_NewRef(self);
    });
}

template <Slot S>
PyObject* unary(PyObject* self) {
    return guarded([&]() -> PyObject* {
        const Operator& op = operators[size_t(S)];
        if (!op.info)
            raise(PyExc_TypeError, std::string("no op stands behind the operator ") + kSlotNames[size_t(S)]);
        Operand in[1] = {Operand(impl_of(self))};
        if (has_tenora_op(self)) return call_foreign(op.function, self, &self, 1, nullptr);
        return run_slot(op, in);
    });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
    if (modulo != Py_None) return Py_NewRef(Py_NotImplemented);
    return binary<Slot::Pow>(a, b);
}

PyObject* inplace_power(PyObject* a, PyObject* b, PyObject* modulo) {
    if (modulo != Py_None) return Py_NewRef(Py_NotImplemented);
    return inplace<Slot::IPow>(a, b);
}

PyObject* positive(PyObject* self) { return Py_NewRef(self); }

int tensor_bool(PyObject* self) {
    return guarded_int([&] {
        Tensor* t = impl_of(self);
        if (t->numel != 1) {
            raise_kind(ErrorKind::Runtime, "value", "bool",
                       "truth value is ambiguous: got " + describe(t) +
                           ", expected one element. Use .any() or .all().");
        }
        PyRef value = PyRef::steal(item_object(t));
        return PyObject_IsTrue(value.get());
    });
}

PyObject* tensor_int(PyObject* self) {
    return guarded([&] {
        PyRef value = PyRef::steal(item_object(impl_of(self)));
        return check(PyNumber_Long(value.get()));
    });
}

PyObject* tensor_float(PyObject* self) {
    return guarded([&] {
        PyRef value = PyRef::steal(item_object(impl_of(self)));
        return check(PyNumber_Float(value.get()));
    });
}

PyObject* tensor_index(PyObject* self) {
    return guarded([&] {
        Tensor* t = impl_of(self);
        bool integral = is_integral(t->dtype) || t->dtype == DType::Bool;
        if (!integral || t->numel != 1) {
            raise_kind(ErrorKind::Type, "dtype", "index",
                       "only integer tensors of one element are indices: got " + describe(t) +
                           ", expected one of these. Take one element, or cast it.");
        }
        PyRef value = PyRef::steal(item_object(t));
        return check(PyNumber_Index(value.get()));
    });
}

PyNumberMethods number_methods() {
    PyNumberMethods n = {};
    n.nb_add = binary<Slot::Add>;
    n.nb_subtract = binary<Slot::Sub>;
    n.nb_multiply = binary<Slot::Mul>;
    n.nb_true_divide = binary<Slot::TrueDiv>;
    n.nb_floor_divide = binary<Slot::FloorDiv>;
    n.nb_remainder = binary<Slot::Mod>;
    n.nb_power = power;
    n.nb_matrix_multiply = binary<Slot::MatMul>;
    n.nb_and = binary<Slot::And>;
    n.nb_or = binary<Slot::Or>;
    n.nb_xor = binary<Slot::Xor>;
    n.nb_lshift = binary<Slot::LShift>;
    n.nb_rshift = binary<Slot::RShift>;
    n.nb_negative = unary<Slot::Neg>;
    n.nb_absolute = unary<Slot::Abs>;
    n.nb_invert = unary<Slot::Invert>;
    n.nb_positive = positive;
    n.nb_inplace_add = inplace<Slot::IAdd>;
    n.nb_inplace_subtract = inplace<Slot::ISub>;
    n.nb_inplace_multiply = inplace<Slot::IMul>;
    n.nb_inplace_true_divide = inplace<Slot::ITrueDiv>;
    n.nb_inplace_floor_divide = inplace<Slot::IFloorDiv>;
    n.nb_inplace_remainder = inplace<Slot::IMod>;
    n.nb_inplace_power = inplace_power;
    n.nb_inplace_matrix_multiply = inplace<Slot::IMatMul>;
    n.nb_inplace_and = inplace<Slot::IAnd>;
    n.nb_inplace_or = inplace<Slot::IOr>;
    n.nb_inplace_xor = inplace<Slot::IXor>;
    n.nb_bool = tensor_bool;
    n.nb_int = tensor_int;
    n.nb_float = tensor_float;
    n.nb_index = tensor_index;
    return n;
}

}  // namespace

PyNumberMethods tensor_number = number_methods();

PyObject* tensor_richcompare(PyObject* a, PyObject* b, int op) {
    return guarded([&]() -> PyObject* {
        const Operator& slot = operators[size_t(Slot::Lt) + size_t(op)];
        Operand in[2];
        // NumPy leaves both sides of == to us; without an answer Python would compare identities in silence.
        if ((op == Py_EQ || op == Py_NE) && is_tensor(a) && is_ndarray(b)) {
            PyRef other = PyRef::steal(wrap(tensor_from_ndarray(b, false)));
            return binary_slow(slot, a, other.get());
        }
        if (!slot.info || !quick_operand(a, in[0]) || !quick_operand(b, in[1]))
            return binary_slow(slot, a, b);
        return run_slot(slot, in);
    });
}

void set_operator(const std::string& slot, PyObject* op_function) {
    for (size_t i = 0; i < size_t(Slot::Count); ++i) {
        if (slot != kSlotNames[i]) continue;
        if (!is_op_function(op_function)) {
            raise_kind(ErrorKind::Type, "type", "set_operator",
                       "expected an OpFunction: got " + type_name(op_function) + ".");
        }
        OpId id = (*reinterpret_cast<OpFunctionObject*>(op_function)->ops)[0];
        const OpInfo& info = op_info(id);
        int wanted = i >= size_t(Slot::Neg) && i <= size_t(Slot::Invert) ? 1 : 2;
        if (info.signature->n_operands != wanted || info.signature->n_out != 1) {
            raise_kind(ErrorKind::Value, "op", "set_operator",
                       "'" + op(id).spec.name + "' does not fit the operator " + slot + ".");
        }
        PyObject* old = operators[i].function;
        operators[i] = Operator{id, &info, Py_NewRef(op_function)};
        Py_XDECREF(old);
        return;
    }
    raise_kind(ErrorKind::Value, "op", "set_operator", "unknown operator slot: got '" + slot + "'.");
}

const OpInfo& NamedOp::get() {
    if (!available()) raise_kind(ErrorKind::Runtime, "op", name, "the op is not registered. Import tenora.");
    return *info;
}

bool NamedOp::available() {
    if (!info) info = find_op_info(name);
    return info != nullptr;
}

}  // namespace tenora::python
