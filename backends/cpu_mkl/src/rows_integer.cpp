// Integer and bool arithmetic. Overflow wraps: everything that may overflow is done in the unsigned type.
#include <initializer_list>
#include <type_traits>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// Narrow products are promoted to int and may overflow it; unsigned int wraps.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, Unsigned<T>>;

struct Neg {
    template <class T>
    static T apply(T x) {
        return static_cast<T>(Wide<T>(0) - static_cast<Wide<T>>(x));
    }
};
struct Abs {
    template <class T>
    static T apply(T x) {
        return x < 0 ? Neg::apply(x) : x;
    }
};
struct Sign {
    template <class T>
    static T apply(T x) {
        return static_cast<T>((x > 0) - (x < 0));
    }
};
struct Same {
    template <class T>
    static T apply(T x) {
        return x;
    }
};
struct Flip {
    template <class T>
    static T apply(T x) {
        return static_cast<T>(~x);
    }
};
struct Not {
    static uint8_t apply(uint8_t x) { return x == 0; }
};
struct Relu {
    template <class T>
    static T apply(T x) {
        return x < 0 ? T(0) : x;
    }
};

#define TENORA_WRAPPING(Name, sign)                                                      \
    struct Name {                                                                        \
        template <class T>                                                               \
        static T apply(T a, T b) {                                                       \
            return static_cast<T>(static_cast<Wide<T>>(a) sign static_cast<Wide<T>>(b)); \
        }                                                                                \
    };
TENORA_WRAPPING(Add, +)
TENORA_WRAPPING(Sub, -)
TENORA_WRAPPING(Mul, *)
TENORA_WRAPPING(BitAnd, &)
TENORA_WRAPPING(BitOr, |)
TENORA_WRAPPING(BitXor, ^)
#undef TENORA_WRAPPING

struct Square {
    template <class T>
    static T apply(T x) {
        return Mul::apply(x, x);
    }
};
struct Maximum {
    template <class T>
    static T apply(T a, T b) {
        return a > b ? a : b;
    }
};
struct Minimum {
    template <class T>
    static T apply(T a, T b) {
        return a < b ? a : b;
    }
};
struct Threshold {
    template <class T>
    static T apply(T g, T x) {
        return x > 0 ? g : T(0);
    }
};

// Division of the lowest number by -1 wraps; the machine instruction would trap.
struct DivTrunc {
    template <class T>
    static T apply(T a, T b) {
        if constexpr (std::is_signed_v<T>) {
            if (b == T(-1)) return Neg::apply(a);
        }
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T>
    static T apply(T a, T b) {
        if constexpr (std::is_signed_v<T>) {
            if (b == T(-1)) return 0;
            const T r = static_cast<T>(a % b);
            return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
        } else {
            return static_cast<T>(a % b);
        }
    }
};
struct Fmod {
    template <class T>
    static T apply(T a, T b) {
        if constexpr (std::is_signed_v<T>) {
            if (b == T(-1)) return 0;
        }
        return static_cast<T>(a % b);
    }
};
// Shifts that are negative or as wide as the type leave nothing, or the sign.
template <class T>
bool within(T places) {
    return static_cast<Unsigned<T>>(places) < sizeof(T) * 8;
}
struct ShiftLeft {
    template <class T>
    static T apply(T a, T b) {
        return within(b) ? static_cast<T>(static_cast<Wide<T>>(a) << b) : T(0);
    }
};
struct ShiftRight {
    template <class T>
    static T apply(T a, T b) {
        return static_cast<T>(within(b) ? a >> b : a < 0 ? -1 : 0);
    }
};
struct FloorDivide {
    template <class T>
    static T apply(T a, T b) {
        const T quotient = DivTrunc::apply(a, b);
        return Remainder::apply(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    }
};

struct Pow {
    template <class T>
    static T apply(T base, T exponent) {
        if constexpr (std::is_signed_v<T>) {
            // 1 / base ** -exponent, rounded towards zero.
            if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
        }
        Wide<T> result = 1, factor = static_cast<Wide<T>>(base);
        for (Unsigned<T> e = static_cast<Unsigned<T>>(exponent); e; e = static_cast<Unsigned<T>>(e >> 1)) {
            if (e & 1) result *= factor;
            factor *= factor;
        }
        return static_cast<T>(result);
    }
};

// Refuses a zero divisor before anything is written.
template <class Op, class T>
int32_t division_row(void* out, const void* a, const void* b, int64_t n, int sides) {
    const T* divisor = static_cast<const T*>(b);
    const int64_t count = sides == kRightScalar ? (n > 0) : n;
    bool zero = false;
    for (int64_t i = 0; i < count; ++i) zero |= divisor[i] == 0;
    return zero ? TNR_ZERO_DIVISION : binary_row<Op, T>(out, a, b, n, sides);
}

template <class T>
void fill_signless(Tables& t, tnr_dtype d) {
    t.binary[static_cast<int>(Binary::add)][d] = binary_row<Add, T>;
    t.binary[static_cast<int>(Binary::sub)][d] = binary_row<Sub, T>;
    t.binary[static_cast<int>(Binary::mul)][d] = binary_row<Mul, T>;
    t.binary[static_cast<int>(Binary::bitwise_and)][d] = binary_row<BitAnd, T>;
    t.binary[static_cast<int>(Binary::bitwise_or)][d] = binary_row<BitOr, T>;
    t.binary[static_cast<int>(Binary::bitwise_xor)][d] = binary_row<BitXor, T>;
    t.unary[static_cast<int>(Unary::neg)][d] = unary_row<Neg, T>;
    t.unary[static_cast<int>(Unary::bitwise_not)][d] = unary_row<Flip, T>;
    t.unary[static_cast<int>(Unary::square)][d] = unary_row<Square, T>;
    for (Unary op : {Unary::floor, Unary::ceil, Unary::trunc, Unary::round}) {
        t.unary[static_cast<int>(op)][d] = unary_row<Same, T>;
    }
}

template <class T>
void fill_signed(Tables& t, tnr_dtype d) {
    t.unary[static_cast<int>(Unary::abs)][d] = unary_row<Abs, T>;
    t.unary[static_cast<int>(Unary::sign)][d] = unary_row<Sign, T>;
    t.unary[static_cast<int>(Unary::relu)][d] = unary_row<Relu, T>;
    t.binary[static_cast<int>(Binary::maximum)][d] = binary_row<Maximum, T>;
    t.binary[static_cast<int>(Binary::minimum)][d] = binary_row<Minimum, T>;
    t.binary[static_cast<int>(Binary::threshold_backward)][d] = binary_row<Threshold, T>;
    t.binary[static_cast<int>(Binary::pow)][d] = binary_row<Pow, T>;
    t.binary[static_cast<int>(Binary::floor_divide)][d] = division_row<FloorDivide, T>;
    t.binary[static_cast<int>(Binary::remainder)][d] = division_row<Remainder, T>;
    t.binary[static_cast<int>(Binary::fmod)][d] = division_row<Fmod, T>;
    t.binary[static_cast<int>(Binary::bitwise_left_shift)][d] = binary_row<ShiftLeft, T>;
    t.binary[static_cast<int>(Binary::bitwise_right_shift)][d] = binary_row<ShiftRight, T>;
}

template <class Signed>
[[maybe_unused]] void fill_pair(Tables& t, tnr_dtype signed_dtype, tnr_dtype unsigned_dtype) {
    using U = Unsigned<Signed>;
    fill_signless<U>(t, signed_dtype);
    fill_signless<U>(t, unsigned_dtype);
    fill_signed<Signed>(t, signed_dtype);
    fill_signed<U>(t, unsigned_dtype);
}

[[maybe_unused]] void fill_bool(Tables& t) {
    const auto set = [&](Binary op, BinaryRow row) { t.binary[static_cast<int>(op)][TNR_BOOL] = row; };
    for (Binary op : {Binary::add, Binary::maximum, Binary::bitwise_or}) set(op, binary_row<BitOr, uint8_t>);
    for (Binary op : {Binary::mul, Binary::minimum, Binary::bitwise_and})
        set(op, binary_row<BitAnd, uint8_t>);
    set(Binary::bitwise_xor, binary_row<BitXor, uint8_t>);
    for (Unary op : {Unary::abs, Unary::floor, Unary::ceil, Unary::trunc, Unary::round, Unary::sign}) {
        t.unary[static_cast<int>(op)][TNR_BOOL] = unary_row<Same, uint8_t>;
    }
    t.unary[static_cast<int>(Unary::bitwise_not)][TNR_BOOL] = unary_row<Not, uint8_t>;
}

}  // namespace

// AVX-512 gains nothing here that AVX2 does not give.
void fill_integer(Tables& t) {
#if defined(__AVX512F__)
    static_cast<void>(t);
#else
    fill_pair<int8_t>(t, TNR_I8, TNR_U8);
    fill_pair<int16_t>(t, TNR_I16, TNR_U16);
    fill_pair<int32_t>(t, TNR_I32, TNR_U32);
    fill_pair<int64_t>(t, TNR_I64, TNR_U64);
    fill_bool(t);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
