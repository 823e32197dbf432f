// `x[key]` and `x[key] = value`, parsed natively and turned into recorded ops.
//   - x[3] is `select`. Ints, slices, None and Ellipsis alone are `basic_index`, one view.
//   - With tensors, lists, arrays or bools in the key: first the basic part as a view in which they stand as
//   whole dimensions, then
//     `index` (or `index_put` in place on that view).
//   - basic_index's code: Ellipsis = 0 | None = 1 | int = 2, i | slice = 3, start, stop, step; INT64_MIN =
//   absent.
//   - Whatever finds a mistake says `index`, or its own name: the program wrote neither, so at the end it is
//   told as getitem, setitem or delitem.

#include "tensor_index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "construct.h"
#include "op_function.h"
#include "operators.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"
#include "tenora/tape.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

template <class F>
auto item_errors(const char* name, F&& f) {
    try {
        return f();
    } catch (Error& error) {
        tell_as(error, name, PartTold::No);
        throw;
    }
}

constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();
NamedOp select_op{"select"}, basic_op{"basic_index"}, index_op{"index"}, put_op{"index_put"},
    masked_fill_op{"masked_fill"};

struct Key {
    std::vector<int64_t> code;  // of basic_index
    bool basic_work = false;    // the code does more than keep every dimension
    bool advanced = false;
    std::vector<TensorRef> entries;  // operands of index: null = whole dimension
    bool ellipsis = false;
    int64_t consumed = 0;  // dimensions of x that items other than the Ellipsis take
};

int64_t slice_bound(PyObject* o) {
    if (o == Py_None) return kAbsent;
    if (!PyIndex_Check(o)) {
        raise_kind(ErrorKind::Type, "type", "index",
                   "bad bound of a slice: got " + type_name(o) + ", expected an integer or None.");
    }
    PyRef index = own(PyNumber_Index(o));
    int overflow = 0;
    int64_t v =
        PyLong_AsLongLongAndOverflow(index.get(), &overflow);  // Python clips bounds that are too large
    if (overflow) return overflow > 0 ? std::numeric_limits<int64_t>::max() : kAbsent + 1;
    if (v == -1 && PyErr_Occurred()) throw_python();
    return v == kAbsent ? kAbsent + 1 : v;
}

void add_whole(Key& key) { key.code.insert(key.code.end(), {3, kAbsent, kAbsent, kAbsent}); }

void add_slice(Key& key, PyObject* o) {
    auto* slice = reinterpret_cast<PySliceObject*>(o);
    PyRef held = PyRef::borrow(o);
    int64_t start = slice_bound(slice->start), stop = slice_bound(slice->stop);
    int64_t step = slice_bound(slice->step);
    if (step == 0)
        raise_kind(ErrorKind::Value, "index", "index",
                   "slice step cannot be zero: got 0, expected another number. Leave it out for 1.");
    key.basic_work |= start != kAbsent || stop != kAbsent || (step != kAbsent && step != 1);
    key.code.insert(key.code.end(), {3, start, stop, step});
    key.entries.emplace_back();
    ++key.consumed;
}

void add_int(Key& key, int64_t i) {
    key.code.insert(key.code.end(), {2, i});
    key.basic_work = true;
    ++key.consumed;
}

// A bool is a mask of a new dimension: an index of one element or none, which broadcasts with the others.
void add_bool(Key& key, bool value) {
    key.code.push_back(1);
    key.basic_work = true;
    key.advanced = true;
    int64_t count = value, zero = 0;
    key.entries.push_back(new_tensor({&count, 1}, DType::I64, Device{}));
    if (count) std::memcpy(key.entries.back()->dl.data, &zero, sizeof zero);
}

// uint8 was the dtype of masks before bool was.
bool is_mask(const Tensor* t) { return t->dtype == DType::Bool || t->dtype == DType::U8; }

void add_tensor(Key& key, TensorRef t) {
    bool taken = is_mask(t.get()) || t->dtype == DType::I64 || t->dtype == DType::I32;
    if (!taken && (t->rank() || !is_integral(t->dtype))) {
        raise_kind(ErrorKind::Index, "dtype", "index",
                   "a tensor used as an index has the wrong dtype: got " + describe(t.get()) +
                       ", expected int64, int32, bool or uint8. Cast it with .to(tenora.int64).");
    }
    if (t->rank() == 0) {
        PyRef number = PyRef::steal(item_object(t.get()));
        if (is_mask(t.get())) {
            int truth = PyObject_IsTrue(number.get());
            check_status(truth);
            return add_bool(key, truth != 0);
        }
        return add_int(key, int64_argument(number.get(), "index"));
    }
    if (t->dtype == DType::U8) {
        warn_of_byte_mask("indexing");
        t = convert(std::move(t), DType::Bool, Device(t->device));
    }
    int whole = is_mask(t.get()) ? t->rank() : 1;
    for (int i = 0; i < whole; ++i) add_whole(key);
    key.consumed += whole;
    key.advanced = true;
    key.entries.push_back(std::move(t));
}

TensorRef index_from_sequence(PyObject* o, Device device) {
    TensorRef t = tensor_from_object(o, DType::None, Device{}, false);
    bool narrow = is_integral(t->dtype) && !(t->dtype == DType::U8 && is_ndarray(o));
    if (narrow || (t->numel == 0 && is_floating(t->dtype)))  // arrays of int16, x[[]]
        t = convert(std::move(t), DType::I64, Device{});
    return convert(std::move(t), DType::None, device);
}

void add_item(Key& key, PyObject* o, Tensor* self) {
    int64_t i;
    if (PySlice_Check(o)) return add_slice(key, o);
    if (o == Py_None) {
        key.code.push_back(1);
        key.basic_work = true;
        key.entries.emplace_back();
        return;
    }
    if (PyBool_Check(o)) return add_bool(key, o == Py_True);
    if (is_tensor(o)) return add_tensor(key, TensorRef(impl_of(o)));
    if (is_ndarray(o) || PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o))
        return add_tensor(key, index_from_sequence(o, self->device));
    if (named("index", [&] { return to_int64(o, &i); })) return add_int(key, i);
    Scalar s;
    if (is_number(o) && to_scalar(o, &s) && s.kind == Scalar::Kind::Bool) return add_bool(key, s.i != 0);
    bool text = PyUnicode_Check(o) || PyBytes_Check(o);
    raise_kind(text ? ErrorKind::Type : ErrorKind::Index, "type", "index",
               "bad index: got " + type_name(o) +
                   ", expected ints, slices, None, ..., bools, tensors, lists or arrays.");
}

bool numpy_bool(PyObject* o) {
    Scalar s;
    return !PyLong_Check(o) && is_number(o) && to_scalar(o, &s) && s.kind == Scalar::Kind::Bool;
}

int64_t dims_of(PyObject* o) {
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || numpy_bool(o)) return 0;
    if (is_tensor(o)) return is_mask(impl_of(o)) ? impl_of(o)->rank() : 1;
    return 1;
}

// A list of more than numbers names several dimensions, as a tuple does: NumPy's old heuristic, which PyTorch
// has.
bool acts_as_tuple(PyObject* o) {
    constexpr Py_ssize_t kLong = 32;
    if (!PyList_Check(o) || PyList_GET_SIZE(o) >= kLong) return false;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(o); ++k) {
        PyObject* item = PyList_GET_ITEM(o, k);
        if (is_tensor(item) || PySequence_Check(item) || PySlice_Check(item) || item == Py_Ellipsis ||
            item == Py_None)
            return true;
    }
    return false;
}

// What stands behind a second Ellipsis finds no dimension, as in PyTorch, unless both stand for none.
void add_ellipsis(Key& key, PyObject* tuple, Py_ssize_t at, int64_t rest) {
    for (Py_ssize_t k = at + 1; key.ellipsis && rest && k < PyTuple_GET_SIZE(tuple); ++k) {
        if (PyTuple_GET_ITEM(tuple, k) != Py_Ellipsis)
            raise_kind(
                ErrorKind::Index, "index", "index",
                "a second Ellipsis leaves no dimension: got an index behind it, expected none. Use one "
                "Ellipsis.");
    }
    for (int64_t i = 0; !key.ellipsis && i < rest; ++i) {
        add_whole(key);
        key.entries.emplace_back();
    }
    key.ellipsis = true;
}

void parse_tuple(Key& key, PyObject* tuple, Tensor* self) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    std::vector<TensorRef> converted(static_cast<size_t>(n));
    int64_t named = 0;
    for (Py_ssize_t k = 0; k < n; ++k) {  // arrays and lists first: a mask takes as many dimensions as it has
        PyObject* o = PyTuple_GET_ITEM(tuple, k);
        if (is_ndarray(o) || PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) {
            converted[size_t(k)] = index_from_sequence(o, self->device);
            named += is_mask(converted[size_t(k)].get()) ? converted[size_t(k)]->rank() : 1;
        } else {
            named += dims_of(o);
        }
    }
    if (named > self->rank()) {
        raise_kind(ErrorKind::Index, "index", "index",
                   "too many indices: got " + std::to_string(named) + " for " + describe(self) +
                       ", expected at most " + std::to_string(self->rank()) + ". Leave some out.");
    }
    for (Py_ssize_t k = 0; k < n; ++k) {
        PyObject* o = PyTuple_GET_ITEM(tuple, k);
        if (converted[size_t(k)]) {
            add_tensor(key, converted[size_t(k)]);
        } else if (o == Py_Ellipsis) {
            add_ellipsis(key, tuple, k, self->rank() - named);
        } else {
            add_item(key, o, self);
        }
    }
}

void parse(Key& key, PyObject* o, Tensor* self) {
    if (PyTuple_Check(o)) return parse_tuple(key, o, self);
    if (acts_as_tuple(o)) {
        if (PyErr_WarnEx(PyExc_UserWarning,
                         "Using a non-tuple sequence for multidimensional indexing is deprecated: write "
                         "x[tuple(seq)] instead of x[seq], or x[tenora.tensor(seq)] for one index tensor.",
                         1) < 0)
            throw_python();
        PyRef items = own(PyList_AsTuple(o));
        return parse_tuple(key, items.get(), self);
    }
    PyRef single = own(PyTuple_Pack(1, o));
    parse_tuple(key, single.get(), self);
}

TensorRef basic_view(Tensor* self, const std::vector<int64_t>& code) {
    const OpInfo& info = basic_op.get();
    Operand in[1] = {Operand(self)};
    Attr attr[1] = {attr_span(code)};
    TensorRef out;
    call(info.id, in, attr, &out);
    return out;
}

TensorRef select_view(Tensor* self, int64_t index) {
    if (self->rank() == 0)
        raise_kind(ErrorKind::Index, "index", "index",
                   "a 0-d tensor cannot be indexed: got an index, expected none. Use .item().");
    Operand in[1] = {Operand(self)};
    Attr attr[2] = {attr_int(0), attr_int(index)};
    TensorRef out;
    call(select_op.get().id, in, attr, &out);
    return out;
}

std::vector<Operand> with_entries(std::initializer_list<Operand> first, Key& key) {
    while (!key.entries.empty() && !key.entries.back()) key.entries.pop_back();
    std::vector<Operand> in(first);
    for (const TensorRef& t : key.entries) in.push_back(t ? Operand(t.get()) : Operand());
    return in;
}

// What is assigned: a tensor as it is, a number by value, anything else converted to the target's dtype.
Operand value_operand(PyObject* value, Tensor* self, TensorRef& held) {
    if (is_tensor(value)) {
        held = TensorRef(impl_of(value));
        return Operand(held.get());
    }
    Scalar s;
    if (named("index", [&] { return to_scalar(value, &s); })) return Operand(s);
    held = tensor_from_object(value, self->dtype, self->device, false);
    return Operand(held.get());
}

// An assignment, unlike copy_, takes a value with more dimensions than its target where the first ones are 1.
Operand without_leading_ones(Operand value, int rank, TensorRef& held) {
    if (!value.tensor || value.tensor->rank() <= rank) return value;
    std::vector<int64_t> code;
    for (int d = 0; d < value.tensor->rank() - rank; ++d) {
        if (value.tensor->shape()[size_t(d)] != 1) return value;  // the op says what does not fit
        code.insert(code.end(), {2, 0});
    }
    held = basic_view(value.tensor, code);
    return Operand(held.get());
}

// The number of dimensions that index tensors and masks leave of a view.
int indexed_rank(Tensor* view, const Key& key) {
    int taken = 0, brought = 0;
    for (const TensorRef& t : key.entries) {
        if (!t) continue;
        bool mask = is_mask(t.get());
        taken += mask ? t->rank() : 1;
        brought = std::max(brought, mask ? 1 : t->rank());
    }
    return view->rank() - taken + brought;
}

// One number of another dtype, where a mask alone chooses, is assigned by value, as masked_fill does.
Operand number_for_mask(const Tensor* view, const Key& key, Operand value) {
    Tensor* t = value.tensor;
    auto chooses = [](const TensorRef& entry) { return bool(entry); };
    if (!t || t->dtype == view->dtype || t->numel != 1 || tracked(t)) return value;
    auto mask = std::ranges::find_if(key.entries, chooses);
    if (mask == key.entries.end() || (*mask)->dtype != DType::Bool) return value;
    if (std::any_of(mask + 1, key.entries.end(), chooses)) return value;
    PyRef number = PyRef::steal(item_object(t));
    Scalar s;
    return to_scalar(number.get(), &s) ? Operand(s) : value;
}

void put(Tensor* view, Key& key, Operand value) {
    TensorRef narrowed;
    value = without_leading_ones(value, indexed_rank(view, key), narrowed);
    value = number_for_mask(view, key, value);
    bool one_mask = key.entries.size() == 1 && key.entries[0]->dtype == DType::Bool && value.has_scalar;
    // A mask of another shape is no mask of this tensor, though masked_fill would broadcast it.
    if (one_mask && masked_fill_op.available() && masked_fill_op.get().inplace_ok &&
        std::ranges::equal(key.entries[0]->shape(), view->shape())) {
        Operand in[3] = {Operand(view), Operand(key.entries[0].get()), value};
        return call_inplace(masked_fill_op.get().id, view, in, masked_fill_op.get().signature->defaults);
    }
    TensorRef held;
    if (value.has_scalar) {
        PyRef number = PyRef::steal(scalar_object(value.scalar));
        held = convert(tensor_from_scalar(number.get(), view->dtype), view->dtype, view->device);
        value = Operand(held.get());
    } else if (value.tensor->dtype != view->dtype) {
        raise_kind(ErrorKind::Runtime, "dtype", "index_put",
                   "source and target differ in dtype: got " + describe(value.tensor) + ", expected " +
                       std::string(info(view->dtype).name) + ".");
    }
    std::vector<Operand> in = with_entries({Operand(view), value}, key);
    call_inplace(put_op.get().id, view, in, put_op.get().signature->defaults);
}

TensorRef item(Tensor* t, PyObject* o) {
    if (PyLong_CheckExact(o)) return select_view(t, int64_argument(o, "index"));
    if (has_tenora_op(o))
        raise_kind(ErrorKind::Type, "type", "index",
                   "cannot index with " + type_name(o) + ": got one, expected a tensor. Unwrap it.");
    Key key;
    parse(key, o, t);
    TensorRef view;
    if (!key.advanced || key.basic_work) view = basic_view(t, key.code);
    if (!key.advanced) return view;
    Tensor* source = view ? view.get() : t;
    TensorRef out;
    std::vector<Operand> in = with_entries({Operand(source)}, key);
    call(index_op.get().id, in, index_op.get().signature->defaults, &out);
    return out;
}

void assign_to(Tensor* view, Operand value) {
    TensorRef narrowed;
    assign(view, without_leading_ones(value, view->rank(), narrowed));
}

void set_item(Tensor* t, PyObject* o, PyObject* value) {
    if (has_tenora_op(value))
        raise_kind(ErrorKind::Type, "type", "index",
                   "cannot assign " + type_name(value) + ": got one, expected a tensor. Unwrap it.");
    TensorRef held;
    Operand operand = value_operand(value, t, held);
    if (PyLong_CheckExact(o)) return assign_to(select_view(t, int64_argument(o, "index")).get(), operand);
    if (o == Py_False) return;  // no element, whatever the value's shape
    if (o == Py_True) return assign_to(basic_view(t, {1}).get(), operand);
    Key key;
    parse(key, o, t);
    TensorRef view = key.basic_work ? basic_view(t, key.code) : TensorRef(t);
    if (key.advanced) return put(view.get(), key, operand);
    assign_to(view.get(), operand);
}

PyObject* tensor_subscript(PyObject* self, PyObject* o) {
    return guarded([&] { return item_errors("getitem", [&] { return wrap(item(impl_of(self), o)); }); });
}

int tensor_assign_subscript(PyObject* self, PyObject* o, PyObject* value) {
    return guarded_int([&] {
        if (!value)
            raise_kind(
                ErrorKind::Type, "type", "delitem",
                "elements of a tensor cannot be deleted: got del x[...], expected a tensor that keeps its "
                "size. Make a new one of what is to stay.");
        TensorRef t(impl_of(self));  // the value's conversion may run Python code
        item_errors("setitem", [&] { set_item(t.get(), o, value); });
        track_if_needed(self);
        return 0;
    });
}

Py_ssize_t mapping_length(PyObject* self) { return tensor_sequence.sq_length(self); }

}  // namespace

PyObject* select_first(Tensor* t, int64_t index) {
    return item_errors("getitem", [&] { return wrap(select_view(t, index)); });
}

PyMappingMethods tensor_mapping = {mapping_length, tensor_subscript, tensor_assign_subscript};

}  // namespace tenora::python
