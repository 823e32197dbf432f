// From Python arguments to operands and attributes, without allocation for ordinary calls.
#pragma once

#include <cstddef>
#include <vector>

#include "signature.h"

namespace tenora::python {

// Memory of one call. Inline room for ordinary calls; longer lists go to vectors.
struct Arguments {
    static constexpr int kOperands = 8, kAttributes = 12, kInts = 64;
    alignas(Operand) std::byte room[kOperands * sizeof(Operand)];  // written by bind as far as it is used
    Attr attributes[kMaxParams];
    int64_t ints_inline[kInts];
    int ints_used = 0;
    Operand* operands = reinterpret_cast<Operand*>(room);
    int n_operands = 0;
    int n_attributes = 0;
    bool tensors_as_numbers = true;  // a tensor without dims is read where a number is expected
    std::vector<Operand> operands_long;
    std::vector<std::unique_ptr<int64_t[]>> ints_long;
    std::vector<PyRef> held;      // temporaries that operands and strings point at
    PyObject* foreign = nullptr;  // borrowed: an argument whose type has __tenora_op__
    PyObject* out = nullptr;      // borrowed: out=

    std::span<const Operand> in() const { return {operands, size_t(n_operands)}; }
    std::span<const Attr> attr() const { return {attributes, size_t(n_attributes)}; }
    int64_t* ints(size_t count);
};

enum class Fit : uint8_t { Yes, No, Foreign };

// Why a signature did not fit: for the error text.
struct Misfit {
    const Param* param = nullptr;
    PyObject* given = nullptr;  // borrowed
    std::string what;
};

// Binds positional (args) and keyword (kwnames, values behind args) arguments. `allow_out`: out= is taken
// aside.
Fit bind(const Signature& s, PyObject* const* args, size_t n_args, PyObject* kwnames, bool allow_out,
         Arguments& a, Misfit& why);

// Conversions of single values; No when the type is wrong, exceptions for everything else (overflow, raising
// __index__).
bool has_tenora_op(PyObject* o);
bool is_number(PyObject* o);               // Python or NumPy number, bool included
bool to_scalar(PyObject* o, Scalar* out);  // weak
void drop_zero_imaginary(Scalar& s);       // 2 + 0j becomes 2.0
bool to_int64(PyObject* o, int64_t* out);  // int and objects with __index__, not bool
int64_t int64_argument(PyObject* o, const char* what);
std::vector<int64_t> ints_argument(PyObject* o, const char* op,
                                   const char* what);         // an int, or a sequence of them
std::string wrong_type(const Param& param, PyObject* given);  // which item, where it is one of several ints
Fit to_attribute(const Param& param, PyObject* o, Arguments& a, Attr* out);
Attr attribute_argument(const Param& param, PyObject* o, Arguments& a, const char* op);  // throws TypeError
PyObject* attribute_object(const Attr& attr, ParamType type);                            // back to Python
PyObject* attribute_object(const Attr& attr);                                            // by its kind
PyObject* scalar_object(const Scalar& s);

}  // namespace tenora::python
