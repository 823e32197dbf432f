// Shape rules of views: new shape, strides and absolute offset over the storage of operand 0.
#include <algorithm>
#include <limits>

#include "geometry.h"
#include "rules.h"

namespace tenora {
namespace {

struct Source {
    Tensor* t;
    std::span<const int64_t> shape, strides;
    int64_t rank;
};

Source source(Infer& c) {
    Tensor* t = tensor_in(c, 0, "input");
    c.out[0].offset = t->offset;
    return {t, t->shape(), t->strides(), t->rank()};
}

void push(OutMeta& m, int64_t size, int64_t stride) {
    m.shape[m.rank] = size;
    m.strides[m.rank++] = stride;
}

void room(const Infer& c, int64_t rank) {
    if (rank > kMaxRank)
        refuse(c, ErrorKind::Runtime, "shape", "too many dimensions: got ", rank, ", expected at most ",
               kMaxRank, ". Flatten some dimensions.");
}

void copy_geometry(OutMeta& m, const Source& s) {
    m.rank = 0;
    for (int64_t i = 0; i < s.rank; ++i) push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
}

void alias_rule(Infer& c) {
    Source s = source(c);
    copy_geometry(c.out[0], s);
}

void view(Infer& c) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    m.rank = infer_size(c, span_attr(c, 0, "size"), s.t->numel, m.shape);
    if (!view_strides(s.shape, s.strides, {m.shape, size_t(m.rank)}, m.strides))
        refuse(c, ErrorKind::Runtime, "shape", "size is not compatible with the layout: got ",
               std::span<const int64_t>(m.shape, size_t(m.rank)), " for ", describe(s.t), " with strides ",
               s.strides, ", expected dimensions that lie together in memory. Use reshape(...) instead.");
}

void permute(Infer& c) {
    Source s = source(c);
    auto dims = span_attr(c, 0, "dims");
    if (int64_t(dims.size()) != s.rank)
        refuse(c, ErrorKind::Runtime, "dim", "wrong number of dimensions: got ", dims, ", expected ", s.rank,
               " of them for ", describe(s.t), ". Name every dimension once.");
    uint64_t seen = 0;
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (int64_t d : dims) {
        int64_t dim = wrap_dim(c, d, s.rank);
        if (seen >> dim & 1)
            refuse(c, ErrorKind::Runtime, "dim", "dimension appears twice: got ", dims,
                   ", expected a permutation. Name every dimension once.");
        seen |= 1ull << dim;
        push(m, s.shape[size_t(dim)], s.strides[size_t(dim)]);
    }
}

void swap_dims(Infer& c, int64_t a, int64_t b) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    copy_geometry(m, s);
    a = wrap_dim(c, a, s.rank);
    b = wrap_dim(c, b, s.rank);
    if (!s.rank) return;
    std::swap(m.shape[a], m.shape[b]);
    std::swap(m.strides[a], m.strides[b]);
}

void transpose(Infer& c) { swap_dims(c, int_attr(c, 0, "dim0"), int_attr(c, 1, "dim1")); }

void t_rule(Infer& c) {
    Source s = source(c);
    if (s.rank > 2)
        refuse(c, ErrorKind::Runtime, "shape", "too many dimensions: got ", describe(s.t),
               ", expected at most 2. Use transpose(dim0, dim1).");
    if (s.rank < 2) return copy_geometry(c.out[0], s);
    swap_dims(c, 0, 1);
}

// `size` broadcast from s; -1 keeps a size.
void expand_to(Infer& c, std::span<const int64_t> size) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    room(c, int64_t(size.size()));
    int64_t lead = int64_t(size.size()) - s.rank;
    if (lead < 0)
        refuse(c, ErrorKind::Runtime, "shape", "too few sizes: got ", size, ", expected at least ", s.rank,
               " for ", describe(s.t), ". Give a size for every dimension.");
    m.rank = 0;
    for (int64_t i = 0; i < int64_t(size.size()); ++i) {
        int64_t want = size[size_t(i)], have = i < lead ? 1 : s.shape[size_t(i - lead)];
        if (want == -1 && i >= lead) want = have;
        if (want < 0 || (want != have && have != 1))
            refuse(c, ErrorKind::Runtime, "shape", "cannot expand: got ", describe(s.t), " to ", size,
                   ", expected ", have == 1 ? "a size of 0 or more" : "the existing size", " in dimension ",
                   i, ". Only dimensions of size 1 expand.");
        push(m, want, want == have && i >= lead ? s.strides[size_t(i - lead)] : 0);
    }
    check_shape(c, {m.shape, size_t(m.rank)});
}

void expand(Infer& c) { expand_to(c, span_attr(c, 0, "size")); }
void expand_as(Infer& c) { expand_to(c, tensor_in(c, 1, "other")->shape()); }

void squeeze(Infer& c) {
    Source s = source(c);
    uint64_t chosen = ~0ull;
    if (has_attr(c, 0)) {
        chosen = 0;
        for (int64_t d : span_attr(c, 0, "dim")) {
            uint64_t bit = 1ull << wrap_dim(c, d, s.rank);
            if (chosen & bit)
                refuse(c, ErrorKind::Runtime, "dim", "dimension appears twice: got ", span_attr(c, 0, "dim"),
                       ", expected distinct dimensions. Name each dimension once.");
            chosen |= bit;
        }
    }
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (int64_t i = 0; i < s.rank; ++i)
        if (s.shape[size_t(i)] != 1 || !(chosen >> i & 1)) push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
}

void unsqueeze(Infer& c) {
    Source s = source(c);
    room(c, s.rank + 1);
    int64_t dim = wrap_dim(c, int_attr(c, 0, "dim"), s.rank + 1);
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (int64_t i = 0; i <= s.rank; ++i) {
        if (i == dim) push(m, 1, i < s.rank ? s.shape[size_t(i)] * s.strides[size_t(i)] : 1);
        if (i < s.rank) push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
    }
}

int64_t sized_dim(Infer& c, const Source& s, int64_t dim) {
    if (!s.rank)
        refuse(c, ErrorKind::Index, "dim", "a 0-d tensor has no dimension to index: got ", describe(s.t),
               ", expected at least one dimension. Use item() or unsqueeze(0).");
    return wrap_dim(c, dim, s.rank);
}

void select(Infer& c) {
    Source s = source(c);
    int64_t dim = sized_dim(c, s, int_attr(c, 0, "dim")), index = int_attr(c, 1, "index");
    int64_t size = s.shape[size_t(dim)];
    if (index < -size || index >= size)
        refuse(c, ErrorKind::Index, "index", "index out of range: got ", index, ", expected ", -size, " to ",
               size - 1, " for dimension ", dim, " of ", describe(s.t),
               ". Use an index inside the dimension.");
    if (index < 0) index += size;
    OutMeta& m = c.out[0];
    m.rank = 0;
    m.offset += index * s.strides[size_t(dim)];
    for (int64_t i = 0; i < s.rank; ++i)
        if (i != dim) push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
}

constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();

// Python's slice arithmetic; a negative step walks backwards.
void push_slice(Infer& c, OutMeta& m, int64_t size, int64_t stride, int64_t start, int64_t stop,
                int64_t step) {
    if (step == 0)
        refuse(c, ErrorKind::Value, "index",
               "slice step is zero: got 0, expected a non-zero step. Use a step of 1.");
    if (step == kAbsent) step = 1;
    bool back = step < 0;
    auto bound = [&](int64_t v, int64_t absent) {
        if (v == kAbsent) return absent;
        if (v < 0) return std::max<int64_t>(v + size, back ? -1 : 0);
        return std::min<int64_t>(v, back ? size - 1 : size);
    };
    start = bound(start, back ? size - 1 : 0);
    stop = bound(stop, back ? -1 : size);
    int64_t span = back ? start - stop : stop - start;
    int64_t magnitude = back ? (step == kAbsent + 1 ? std::numeric_limits<int64_t>::max() : -step) : step;
    int64_t count = span > 0 ? 1 + (span - 1) / magnitude : 0;
    if (count || !back) m.offset += start * stride;  // an empty window lies where it begins
    push(m, count, count > 1 ? stride * step : stride);
}

int64_t optional_int(Infer& c, size_t i, const char* name) {
    return has_attr(c, i) ? int_attr(c, i, name) : kAbsent;
}

void slice(Infer& c) {
    Source s = source(c);
    int64_t dim = sized_dim(c, s, int_attr(c, 0, "dim"));
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (int64_t i = 0; i < s.rank; ++i) {
        if (i != dim)
            push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
        else
            push_slice(c, m, s.shape[size_t(i)], s.strides[size_t(i)], optional_int(c, 1, "start"),
                       optional_int(c, 2, "end"), optional_int(c, 3, "step"));
    }
}

void narrow(Infer& c) {
    Source s = source(c);
    int64_t dim = sized_dim(c, s, int_attr(c, 0, "dim")), start = int_attr(c, 1, "start");
    int64_t length = int_attr(c, 2, "length"), size = s.shape[size_t(dim)];
    if (start < -size || start > size)
        refuse(c, ErrorKind::Index, "index", "start out of range: got ", start, ", expected ", -size, " to ",
               size, " for dimension ", dim, " of ", describe(s.t), ". Start inside the dimension.");
    if (start < 0) start += size;
    if (length < 0 || length > size - start)
        refuse(c, ErrorKind::Runtime, "shape", "length out of range: got start ", start, " and length ",
               length, ", expected a length of 0 to ", size - start, " in dimension ", dim, " of size ", size,
               ". Choose a shorter length.");
    copy_geometry(c.out[0], s);
    c.out[0].shape[dim] = length;
    c.out[0].offset += start * s.strides[size_t(dim)];
}

void diagonal(Infer& c) {
    Source s = source(c);
    int64_t offset = int_attr(c, 0, "offset");
    int64_t a = sized_dim(c, s, int_attr(c, 1, "dim1")), b = sized_dim(c, s, int_attr(c, 2, "dim2"));
    if (a == b)
        refuse(c, ErrorKind::Runtime, "dim", "diagonal dimensions are identical: got ", a, " and ", b,
               ", expected two different ones. Pass dim1 != dim2.");
    int64_t rows = s.shape[size_t(a)], columns = s.shape[size_t(b)];
    int64_t count = offset >= 0 ? std::min(rows, columns > offset ? columns - offset : 0)
                                : std::min(rows > -offset ? rows + offset : 0, columns);
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (int64_t i = 0; i < s.rank; ++i)
        if (i != a && i != b) push(m, s.shape[size_t(i)], s.strides[size_t(i)]);
    push(m, count, s.strides[size_t(a)] + s.strides[size_t(b)]);
    if (count) m.offset += offset >= 0 ? offset * s.strides[size_t(b)] : -offset * s.strides[size_t(a)];
}

void as_strided(Infer& c) {
    Source s = source(c);
    auto size = span_attr(c, 0, "size"), stride = span_attr(c, 1, "stride");
    if (size.size() != stride.size())
        refuse(c, ErrorKind::Runtime, "shape", "sizes and strides differ in number: got ", size, " and ",
               stride, ", expected as many of one as of the other. Give a stride for every size.");
    check_shape(c, size);
    OutMeta& m = c.out[0];
    m.offset = has_attr(c, 2) ? int_attr(c, 2, "storage_offset") : s.t->offset;
    m.rank = 0;
    for (size_t i = 0; i < size.size(); ++i) push(m, size[i], stride[i]);
    check_inside(c, m, s.t->storage->bytes / size_of(s.t->dtype));
}

// Windows of `size` elements every `step` along a dimension; the
// place in the window is a new last dimension.
void unfold(Infer& c) {
    Source s = source(c);
    room(c, s.rank + 1);
    int64_t dim = wrap_dim(c, int_attr(c, 0, "dimension"), s.rank), size = int_attr(c, 1, "size");
    int64_t step = int_attr(c, 2, "step"), length = s.rank ? s.shape[size_t(dim)] : 1;
    int64_t stride = s.rank ? s.strides[size_t(dim)] : 1;
    if (size < 0 || size > length)
        refuse(c, ErrorKind::Runtime, "shape", "window out of range: got size ", size, ", expected 0 to ",
               length, " in dimension ", dim, " of ", describe(s.t), ". Choose a smaller window.");
    if (step <= 0)
        refuse(c, ErrorKind::Runtime, "shape", "step is not positive: got ", step,
               ", expected 1 or more. Step forward.");
    OutMeta& m = c.out[0];
    copy_geometry(m, s);
    if (s.rank) {
        m.shape[dim] = (length - size) / step + 1;
        m.strides[dim] = m.shape[dim] > 1 ? stride * step : stride;
    }
    push(m, size, stride);
}

// Items of the code: 0 Ellipsis, 1 None, 2 int (its value follows), 3 slice (start, stop, step follow).
int64_t items_consuming(Infer& c, std::span<const int64_t> code, int64_t* new_dims, bool* ellipsis) {
    int64_t consuming = 0;
    for (size_t i = 0; i < code.size();) {
        int64_t tag = code[i];
        size_t length = tag == 2 ? 2 : tag == 3 ? 4 : 1;
        if (tag < 0 || tag > 3 || i + length > code.size())
            refuse(c, ErrorKind::Value, "index", "malformed index code: got ", code,
                   ", expected items of tag 0 to 3. Encode the index anew.");
        if (tag == 0 && *ellipsis)
            refuse(c, ErrorKind::Index, "index",
                   "more than one Ellipsis: got 2, expected at most 1. Remove one.");
        *ellipsis |= tag == 0;
        *new_dims += tag == 1;
        consuming += tag >= 2;
        i += length;
    }
    return consuming;
}

// Where a number points in a dimension, counted from its front.
int64_t place_of(Infer& c, const Source& s, int64_t dim, int64_t index) {
    int64_t size = s.shape[size_t(dim)];
    if (index < -size || index >= size)
        refuse(c, ErrorKind::Index, "index", "index out of range: got ", index, ", expected ", -size, " to ",
               size - 1, " for dimension ", dim, " of ", describe(s.t), ". Use an index inside it.");
    return index < 0 ? index + size : index;
}

void basic_index(Infer& c) {
    Source s = source(c);
    auto code = span_attr(c, 0, "index");
    int64_t new_dims = 0;
    bool ellipsis = false;
    int64_t consuming = items_consuming(c, code, &new_dims, &ellipsis);
    if (consuming > s.rank)
        refuse(c, ErrorKind::Index, "index", "too many indices: got ", consuming, ", expected at most ",
               s.rank, " for ", describe(s.t), ". Remove some.");
    room(c, s.rank + new_dims);
    OutMeta& m = c.out[0];
    m.rank = 0;
    int64_t dim = 0;
    auto keep = [&](int64_t count) {
        for (; count > 0; --count, ++dim) push(m, s.shape[size_t(dim)], s.strides[size_t(dim)]);
    };
    for (size_t i = 0; i < code.size();) {
        switch (code[i]) {
            case 0:
                keep(s.rank - consuming);
                i += 1;
                break;
            case 1:
                push(m, 1, dim < s.rank ? s.shape[size_t(dim)] * s.strides[size_t(dim)] : 1);
                i += 1;
                break;
            case 2:
                m.offset += place_of(c, s, dim, code[i + 1]) * s.strides[size_t(dim)];
                ++dim;
                i += 2;
                break;
            default:
                push_slice(c, m, s.shape[size_t(dim)], s.strides[size_t(dim)], code[i + 1], code[i + 2],
                           code[i + 3]);
                ++dim;
                i += 4;
        }
    }
    keep(s.rank - dim);
}

// A reduced gradient seen with the shape of what was reduced.
void unreduce(Infer& c) {
    Source s = source(c);
    Tensor* like = tensor_in(c, 1, "like");
    int64_t rank = like->rank();
    uint64_t reduced = 0;
    if (has_attr(c, 0) && !(c.attr[0].kind == TNR_ATTR_SPAN && c.attr[0].count == 0)) {
        for (int64_t d : span_attr(c, 0, "dim")) reduced |= 1ull << wrap_dim(c, d, rank);
    } else {
        reduced = ~0ull;
    }
    bool keepdim = bool_attr(c, 1, false);
    OutMeta& m = c.out[0];
    m.rank = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < rank; ++i) {
        bool gone = reduced >> i & 1;
        if (gone && !keepdim) {
            push(m, like->shape()[size_t(i)], 0);
            continue;
        }
        if (at >= s.rank || s.shape[size_t(at)] != (gone ? 1 : like->shape()[size_t(i)]))
            refuse(c, ErrorKind::Runtime, "shape", "gradient does not fit: got ", describe(s.t), " for ",
                   describe(like), ", expected the reduced shape. Check dim and keepdim.");
        push(m, like->shape()[size_t(i)], gone ? 0 : s.strides[size_t(at)]);
        ++at;
    }
}

// A complex number is two real ones side by side: strides and
// offset count those. Of a real tensor: the tensor itself.
void part(Infer& c, int64_t which) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    copy_geometry(m, s);
    if (!is_complex(s.t->dtype)) {
        if (which)
            refuse(c, ErrorKind::Runtime, "dtype", "a real tensor has no imaginary part: got ", describe(s.t),
                   ", expected a complex dtype. Use zeros_like.");
        return;
    }
    m.offset = 2 * s.t->offset + which;
    for (int i = 0; i < m.rank; ++i) m.strides[i] *= 2;
}

void real_part(Infer& c) { part(c, 0); }
void imaginary_part(Infer& c) { part(c, 1); }

// A last dim of two: the real and the imaginary part.
void view_as_real(Infer& c) {
    Source s = source(c);
    if (!is_complex(s.t->dtype))
        refuse(c, ErrorKind::Runtime, "dtype", "only complex tensors have two parts: got ", describe(s.t),
               ", expected a complex dtype. Use the tensor itself.");
    room(c, s.rank + 1);
    part(c, 0);
    push(c.out[0], 2, 1);
}

// The reverse: pairs must lie where complex numbers can.
void view_as_complex(Infer& c) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    copy_geometry(m, s);
    if (s.rank < 1 || s.shape[size_t(s.rank - 1)] != 2)
        refuse(c, ErrorKind::Runtime, "shape", "the last dim must hold two parts: got ", describe(s.t),
               ", expected size 2 there. Stack the parts along a last dim.");
    --m.rank;
    bool pairs = s.strides[size_t(m.rank)] == 1 && s.t->offset % 2 == 0;
    for (int i = 0; i < m.rank; ++i) {
        pairs = pairs && (m.strides[i] % 2 == 0 || m.shape[i] <= 1);
        m.strides[i] /= 2;
    }
    if (!pairs)
        refuse(c, ErrorKind::Runtime, "stride", "the parts do not lie as complex numbers: got ",
               describe(s.t),
               " with strides or an offset that are not even, expected pairs. Call contiguous() first.");
    m.offset = s.t->offset / 2;
}

// The same bytes read as another dtype; where sizes differ the last dim grows or shrinks.
void view_dtype(Infer& c) {
    Source s = source(c);
    OutMeta& m = c.out[0];
    copy_geometry(m, s);
    int64_t from = int64_t(size_of(s.t->dtype)), to = int64_t(size_of(m.dtype));
    if (from == to) return;
    auto unfit = [&](const char* what, const std::string& expected) {
        refuse(c, ErrorKind::Runtime, "dtype", what, " to view ", s.t->dtype, " as ", m.dtype, ": got ",
               describe(s.t), " with strides ", s.strides, " and offset ", s.t->offset, ", expected ",
               expected, ". Make it contiguous, or cast it with .to(...).");
    };
    if (s.rank == 0) unfit("no dim can change its size", "at least one dim");
    int64_t last = s.rank - 1;
    if (m.strides[last] != 1) unfit("the last dim does not lie together", "stride 1 there");
    if (from > to) {
        int64_t parts = from / to;
        m.shape[last] *= parts;
        m.offset *= parts;
        for (int64_t i = 0; i < last; ++i) m.strides[i] *= parts;
        return;
    }
    int64_t parts = to / from;
    bool divides = m.shape[last] % parts == 0 && m.offset % parts == 0;
    for (int64_t i = 0; i < last; ++i) divides = divides && m.strides[i] % parts == 0;
    if (!divides)
        unfit("elements do not lie in groups",
              text("a last size, an offset and other strides that ", parts, " divides"));
    m.shape[last] /= parts;
    m.offset /= parts;
    for (int64_t i = 0; i < last; ++i) m.strides[i] /= parts;
}

const RuleName table[] = {
    {"real", real_part},
    {"imag", imaginary_part},
    {"view_as_real", view_as_real},
    {"view_as_complex", view_as_complex},
    {"alias", alias_rule},
    {"view", view},
    {"view_dtype", view_dtype},
    {"permute", permute},
    {"transpose", transpose},
    {"t", t_rule},
    {"expand", expand},
    {"expand_as", expand_as},
    {"squeeze", squeeze},
    {"unsqueeze", unsqueeze},
    {"select", select},
    {"slice", slice},
    {"narrow", narrow},
    {"diagonal", diagonal},
    {"as_strided", as_strided},
    {"basic_index", basic_index},
    {"unreduce", unreduce},
    {"unfold", unfold},
};

}  // namespace

std::span<const RuleName> view_shape_rules() { return table; }

}  // namespace tenora
