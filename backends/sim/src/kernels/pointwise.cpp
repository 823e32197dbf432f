// Pointwise ops: each is a function of elements, whose constraint says which dtypes it takes.
//   - Whole numbers wrap around: `raw` computes with them as unsigned 64-bit numbers.
//   - Half types arrive as float (element.h).
#include "kernels.h"

namespace tenora::sim {
namespace {

// What a result is stored as: the dtype that came in, else bool, or the type of a complex number's parts.
template <class T, class R>
using Stored = std::conditional_t<std::same_as<R, Wide<T>>, T, R>;

// A function with this member has no value for whole numbers where its last operand is zero.
template <class F>
concept Divides = requires { F::divides; };

template <class F, class T, size_t... i>
int32_t run(const tnr_call* call, std::index_sequence<i...>) {
    constexpr size_t last = sizeof...(i) - 1;
    using R = Stored<T, decltype(F{}((static_cast<void>(i), Wide<T>{})...))>;
    const T* in[] = {data_of<const T>(*call->in[i])...};
    const DLTensor& target = *call->out[0];
    bool refused = false;
    walk<last + 2>(shape_of(target), {strides_of(call, i)..., target.strides}, [&](const auto& at) {
        if constexpr (Divides<F> && Whole<T>) {
            refused = refused || in[last][at[last]] == 0;
            if (refused) return;
        }
        data_of<R>(target)[at[last + 1]] = convert<R>(F{}(widen(in[i][at[i]])...));
    });
    return refused ? refuse(call, TNR_ZERO_DIVISION, "%s", "integer division by zero") : int32_t{TNR_OK};
}

template <class F, size_t inputs>
int32_t pointwise(const tnr_call* call) {
    return visit(call->in[0]->dtype, [&]<class T>(T)
                     requires(takes<F, T, inputs>)
                 { return run<F, T>(call, std::make_index_sequence<inputs>()); });
}

// Remainder with the sign of the divisor, Python's rule. The lowest number has no quotient by -1.
struct Remainder {
    static constexpr bool divides = true;
    template <Real T>
    T operator()(T a, T b) const {
        if constexpr (Floating<T>) {
            const T rest = std::fmod(a, b);
            if (rest == 0) return std::copysign(T(0), b);
            return (rest < 0) != (b < 0) ? rest + b : rest;
        } else {
            const T rest = std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
            return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
        }
    }
};

// Quotient rounded down.
struct FloorDivide {
    static constexpr bool divides = true;
    template <Real T>
    T operator()(T a, T b) const {
        if constexpr (Whole<T>) {
            if (std::is_signed_v<T> && b == T(-1)) return T(-raw(a));
            return T(a / b - (a % b != 0 && (a < 0) != (b < 0)));
        } else {
            if (b == 0) return a / b;
            const T rest = std::fmod(a, b);  // of an infinite divisor, of the other sign too, a itself
            const T quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0));
            const T low = std::floor(quotient);
            if (quotient == 0) return std::copysign(T(0), a / b);
            return quotient - low > T(0.5) ? low + 1 : low;
        }
    }
};

// A whole number to a negative power is 1 / a ** -b, rounded towards zero.
struct Pow {
    template <Number T>
    T operator()(T a, T b) const {
        if constexpr (Complex<T>) {
            if (b == T{}) return T(1);
            return a == T{} && b.real() > 0 && b.imag() == 0 ? T{} : std::pow(a, b);
        } else if constexpr (Floating<T>) {
            return std::pow(a, b);
        } else {
            if (b < 0) return a == 1 ? T(1) : a == T(-1) ? T(b & 1 ? -1 : 1) : T(0);
            uint64_t result = 1, base = raw(a);
            for (auto n = raw(b); n; n >>= 1, base *= base)
                if (n & 1) result *= base;
            return T(result);
        }
    }
};

int32_t where(const tnr_call* call) {
    const DLTensor& target = *call->out[0];
    const int64_t bytes = target.dtype.bits / 8;
    walk<4>(shape_of(target), {strides_of(call, 0), strides_of(call, 1), strides_of(call, 2), target.strides},
            [&](const auto& at) {
                const int chosen = data_of<const bool>(*call->in[0])[at[0]] ? 1 : 2;
                const char* from = data_of<const char>(*call->in[chosen]) + at[size_t(chosen)] * bytes;
                std::copy_n(from, bytes, data_of<char>(target) + at[3] * bytes);
            });
    return TNR_OK;
}

constexpr uint32_t kPointwise = kAnyLayout | TNR_KERNEL_INPLACE;

template <size_t inputs, class F>
Kernel kernel(const char* op, F) {
    return {op, pointwise<F, inputs>, mask_of<F, inputs>(), kPointwise};
}

template <class T>
concept Any = true;
template <class T>
concept Ordered = Real<T> || std::same_as<T, bool>;

}  // namespace

void add_pointwise(Kernels& k) {
    k.push_back(kernel<1>("neg", []<Number T>(T x) { return T(-raw(x)); }));
    k.push_back(kernel<1>("abs", []<Number T>(T x) { return magnitude(x); }));
    k.push_back(kernel<1>("sign", []<Ordered T>(T x) { return T((x > T(0)) - (x < T(0))); }));
    k.push_back(kernel<1>("exp", []<Inexact T>(T x) { return std::exp(x); }));
    k.push_back(kernel<1>("log", []<Inexact T>(T x) { return std::log(x); }));
    k.push_back(kernel<1>("sqrt", []<Inexact T>(T x) { return std::sqrt(x); }));
    k.push_back(kernel<1>("sin", []<Inexact T>(T x) { return std::sin(x); }));
    k.push_back(kernel<1>("cos", []<Inexact T>(T x) { return std::cos(x); }));
    k.push_back(kernel<1>("tanh", []<Inexact T>(T x) { return std::tanh(x); }));
    k.push_back(kernel<1>("erf", []<Floating T>(T x) { return std::erf(x); }));
    k.push_back(kernel<1>("floor", []<Ordered T>(T x) { return Floating<T> ? T(std::floor(x)) : x; }));
    k.push_back(kernel<1>("ceil", []<Ordered T>(T x) { return Floating<T> ? T(std::ceil(x)) : x; }));
    k.push_back(kernel<1>("trunc", []<Ordered T>(T x) { return Floating<T> ? T(std::trunc(x)) : x; }));
    k.push_back(kernel<1>("round", []<Ordered T>(T x) { return Floating<T> ? T(std::nearbyint(x)) : x; }));
    k.push_back(kernel<1>("logical_not", []<Any T>(T x) { return x == T{}; }));
    k.push_back(kernel<1>("bitwise_not",
                          []<std::integral T>(T x) { return T(std::same_as<T, bool> ? !x : ~raw(x)); }));
    k.push_back(kernel<1>("isnan", []<Any T>(T x) { return x != x; }));
    k.push_back(kernel<2>("add", Plus{}));
    k.push_back(kernel<2>("sub", []<Number T>(T a, T b) { return T(raw(a) - raw(b)); }));
    k.push_back(kernel<2>("mul", Times{}));
    k.push_back(kernel<2>("div", []<Inexact T>(T a, T b) { return a / b; }));
    k.push_back(kernel<2>("pow", Pow{}));
    k.push_back(kernel<2>("remainder", Remainder{}));
    k.push_back(kernel<2>("floor_divide", FloorDivide{}));
    k.push_back(kernel<2>("copysign", []<Floating T>(T a, T b) { return std::copysign(a, b); }));
    k.push_back(kernel<2>("atan2", []<Floating T>(T a, T b) { return std::atan2(a, b); }));
    k.push_back(
        kernel<2>("maximum", []<Ordered T>(T a, T b) { return a != a || a > b ? a : b; }));  // NaN wins
    k.push_back(kernel<2>("minimum", []<Ordered T>(T a, T b) { return a != a || a < b ? a : b; }));
    k.push_back(kernel<2>("eq", []<Any T>(T a, T b) { return a == b; }));
    k.push_back(kernel<2>("ne", []<Any T>(T a, T b) { return a != b; }));
    k.push_back(kernel<2>("lt", []<Ordered T>(T a, T b) { return a < b; }));
    k.push_back(kernel<2>("le", []<Ordered T>(T a, T b) { return a <= b; }));
    k.push_back(kernel<2>("gt", []<Ordered T>(T a, T b) { return a > b; }));
    k.push_back(kernel<2>("ge", []<Ordered T>(T a, T b) { return a >= b; }));
    k.push_back(kernel<2>("logical_and", []<Any T>(T a, T b) { return a != T{} && b != T{}; }));
    k.push_back(kernel<2>("logical_or", []<Any T>(T a, T b) { return a != T{} || b != T{}; }));
    k.push_back(kernel<2>("logical_xor", []<Any T>(T a, T b) { return (a != T{}) != (b != T{}); }));
    k.push_back(kernel<2>("bitwise_and", []<std::integral T>(T a, T b) { return T(a & b); }));
    k.push_back(kernel<2>("bitwise_or", []<std::integral T>(T a, T b) { return T(a | b); }));
    k.push_back(kernel<2>("bitwise_xor", []<std::integral T>(T a, T b) { return T(a ^ b); }));
    k.push_back({"where", where, TNR_MASK(TNR_BOOL), kPointwise});
}

}  // namespace tenora::sim
