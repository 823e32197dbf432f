// A hand-written parser for signatures: `name(input: Tensor, dim: int[]? = None, *, dtype: dtype? = None) ->
// Tensor`.

#include "signature.h"

#include <cctype>
#include <cmath>
#include <deque>
#include <limits>

namespace tenora::python {

namespace {

struct Parser {
    const std::string& text;
    size_t at = 0;

    [[noreturn]] void wrong(const std::string& what) const {
        raise(PyExc_ValueError, "[register_op] bad signature: " + what + " at column " + std::to_string(at) +
                                    " of '" + text + "'.");
    }
    void blanks() {
        while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    }
    bool take(std::string_view token) {
        blanks();
        if (text.compare(at, token.size(), token) != 0) return false;
        at += token.size();
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) wrong("expected '" + std::string(token) + "'");
    }
    std::string word() {
        blanks();
        size_t begin = at;
        while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
            ++at;
        if (begin == at) wrong("expected a name");
        return text.substr(begin, at - begin);
    }
    bool at_number() {
        blanks();
        return at < text.size() &&
               (std::isdigit(static_cast<unsigned char>(text[at])) || text[at] == '-' || text[at] == '.');
    }
};

struct Literal {
    enum class Kind { None, Bool, Int, Float, Text, Span } kind = Kind::None;
    int64_t i = 0;
    double f = 0;
    std::string text;
    std::vector<int64_t> span;
};

Literal number(Parser& p) {
    Literal v;
    bool negative = p.take("-");
    if (p.take("inf")) {
        v.kind = Literal::Kind::Float;
        v.f = std::numeric_limits<double>::infinity();
    } else {
        p.blanks();
        size_t begin = p.at;
        bool floating = false;
        while (p.at < p.text.size()) {
            char c = p.text[p.at];
            bool exponent_sign = (c == '-' || c == '+') && p.at > begin &&
                                 (p.text[p.at - 1] == 'e' || p.text[p.at - 1] == 'E');
            if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != 'e' && c != 'E' &&
                !exponent_sign)
                break;
            floating |= c == '.' || c == 'e' || c == 'E';
            ++p.at;
        }
        std::string digits = p.text.substr(begin, p.at - begin);
        if (digits.empty()) p.wrong("expected a number");
        try {
            v.kind = floating ? Literal::Kind::Float : Literal::Kind::Int;
            if (floating)
                v.f = std::stod(digits);
            else
                v.i = std::stoll(digits);
        } catch (const std::exception&) {
            p.wrong("bad number '" + digits + "'");
        }
    }
    if (negative) {
        v.i = -v.i;
        v.f = -v.f;
    }
    return v;
}

Literal literal(Parser& p) {
    Literal v;
    if (p.at_number()) return number(p);
    if (p.take("None")) return v;
    bool yes = p.take("True");
    if (yes || p.take("False")) {
        v.kind = Literal::Kind::Bool;
        v.i = yes;
    } else if (p.take("inf")) {
        v.kind = Literal::Kind::Float;
        v.f = std::numeric_limits<double>::infinity();
    } else if (p.take("nan")) {
        v.kind = Literal::Kind::Float;
        v.f = std::numeric_limits<double>::quiet_NaN();
    } else if (p.take("'") || p.take("\"")) {
        char quote = p.text[p.at - 1];
        size_t end = p.text.find(quote, p.at);
        if (end == std::string::npos) p.wrong("text without an end");
        v.kind = Literal::Kind::Text;
        v.text = p.text.substr(p.at, end - p.at);
        p.at = end + 1;
    } else if (p.take("(") || p.take("[")) {
        const char* close = p.text[p.at - 1] == '(' ? ")" : "]";
        v.kind = Literal::Kind::Span;
        while (!p.take(close)) {
            Literal item = number(p);
            if (item.kind != Literal::Kind::Int) p.wrong("expected an integer");
            v.span.push_back(item.i);
            if (!p.take(",")) {
                p.expect(close);
                break;
            }
        }
    } else {
        p.wrong("expected a literal");
    }
    return v;
}

void base_type(Parser& p, Param& param) {
    std::string name = p.word();
    bool item_optional = (name == "Tensor") && p.text.compare(p.at, 3, "?[]") == 0;
    if (item_optional) ++p.at;
    bool list = p.take("[]");
    if (name == "Tensor")
        param.type = list ? ParamType::TensorList : ParamType::Tensor;
    else if (name == "int")
        param.type = list ? ParamType::IntList : ParamType::Int;
    else if (list)
        p.wrong("only Tensor[] and int[] are lists");
    else if (name == "Scalar")
        param.type = ParamType::Scalar;
    else if (name == "float" || name == "real")
        param.type = ParamType::Float;
    else if (name == "bool")
        param.type = ParamType::Bool;
    else if (name == "dtype")
        param.type = ParamType::DType;
    else if (name == "device")
        param.type = ParamType::Device;
    else if (name == "str")
        param.type = ParamType::String;
    else if (name == "Generator")
        param.type = ParamType::Generator;
    else
        p.wrong("unknown type '" + name + "'");
    param.optional |= item_optional;
    param.real = name == "real";
}

void type(Parser& p, Param& param) {
    bool parenthesis = p.take("(");
    base_type(p, param);
    if (p.take("?")) param.optional = true;
    while (p.take("|")) {
        if (p.take("None")) {
            param.optional = true;
        } else {
            Param other;
            base_type(p, other);
            if (param.type != ParamType::Tensor || (other.type != ParamType::Scalar && !other.real))
                p.wrong("only `Tensor | Scalar` and `Tensor | real` may be joined");
            param.type = ParamType::TensorOrScalar;
            param.real = other.real;
            if (p.take("?")) param.optional = true;
        }
    }
    if (parenthesis) {
        p.expect(")");
        if (p.take("?")) param.optional = true;
    }
}

Scalar literal_scalar(const Literal& v) {
    if (v.kind == Literal::Kind::Bool) return Scalar::from_bool(v.i != 0);
    return v.kind == Literal::Kind::Int ? Scalar::from_int(v.i) : Scalar::from_float(v.f);
}

void set_default(Parser& p, Signature& s, Param& param, const Literal& v) {
    using Kind = Literal::Kind;
    param.has_default = true;
    bool numeric = v.kind == Kind::Int || v.kind == Kind::Float || v.kind == Kind::Bool;
    if (v.kind == Kind::None) {
        param.optional = true;
        param.attribute = attr_none();
    } else if (param.type == ParamType::TensorOrScalar && numeric) {
        param.operand = Operand(literal_scalar(v));
    } else if (param.type == ParamType::Scalar && numeric) {
        param.attribute = attr_scalar(literal_scalar(v));
    } else if (param.type == ParamType::Int && v.kind == Kind::Int) {
        param.attribute = attr_int(v.i);
    } else if (param.type == ParamType::Float && (v.kind == Kind::Int || v.kind == Kind::Float)) {
        param.attribute = attr_float(v.kind == Kind::Int ? double(v.i) : v.f);
    } else if (param.type == ParamType::Bool && v.kind == Kind::Bool) {
        param.attribute = attr_bool(v.i != 0);
    } else if (param.type == ParamType::String && v.kind == Kind::Text) {
        s.strings.push_back(v.text);
        param.attribute = attr_string(s.strings.back());
    } else if (param.type == ParamType::IntList && (v.kind == Kind::Span || v.kind == Kind::Int)) {
        s.spans.push_back(v.kind == Kind::Int ? std::vector<int64_t>{v.i} : v.span);
        param.attribute = attr_span(s.spans.back());
    } else {
        p.wrong("the default of '" + param.name + "' does not fit its type");
    }
}

void parameters(Parser& p, Signature& s) {
    bool keyword_only = false;
    p.expect("(");
    while (!p.take(")")) {
        if (p.take("*")) {
            if (keyword_only) p.wrong("a second '*'");
            keyword_only = true;
        } else {
            Param param;
            param.name = p.word();
            param.keyword_only = keyword_only;
            p.expect(":");
            type(p, param);
            if (p.take("=")) set_default(p, s, param, literal(p));
            if (s.variadic && is_operand(param.type)) p.wrong("a list must be the last tensor parameter");
            s.variadic |= param.type == ParamType::TensorList;
            param.slot = is_operand(param.type) ? s.n_operands++ : s.n_attributes++;
            param.interned = own(PyUnicode_InternFromString(param.name.c_str())).release();
            s.params.push_back(std::move(param));
            if (s.params.size() > kMaxParams) p.wrong("too many parameters");
        }
        if (!p.take(",")) {
            p.expect(")");
            break;
        }
    }
}

void results(Parser& p, Signature& s) {
    if (!p.take("->")) return;
    bool several = p.take("(");
    s.n_out = 0;
    do {
        std::string name = p.word();
        if (several && p.take(":")) name = p.word();  // (values: Tensor, indices: Tensor)
        if (name == "None" && !several) return;
        if (name != "Tensor") p.wrong("a result must be a Tensor");
        ++s.n_out;
    } while (several && p.take(","));
    if (several) p.expect(")");
    if (s.n_out > kMaxOutputs) p.wrong("too many results");
}

void finish(Signature& s) {
    int attributes_positional = 0;
    for (size_t i = 0; i < s.params.size(); ++i) {
        Param& param = s.params[i];
        if (!param.keyword_only) {
            s.n_positional = int(i) + 1;
            if (!is_operand(param.type)) {
                ++attributes_positional;
                s.varargs = param.type == ParamType::IntList ? int(i) : -1;
            }
        }
        if (!is_operand(param.type)) {
            s.defaults.push_back(param.has_default ? param.attribute : attr_none());
            s.attribute_names.push_back(PyUnicode_AsUTF8(param.interned));
        }
    }
    if (attributes_positional != 1 || s.varargs != s.n_positional - 1) s.varargs = -1;
}

}  // namespace

const char* type_text(ParamType t) {
    static const char* names[] = {"Tensor",
                                  "Tensor or number",
                                  "list of Tensor",
                                  "number",
                                  "int",
                                  "float",
                                  "bool",
                                  "dtype",
                                  "device",
                                  "str",
                                  "ints",
                                  "Generator"};
    return names[size_t(t)];
}

Signature* parse_signature(const std::string& text) {
    auto s = std::make_unique<Signature>();
    s->text = text;
    s->spans.reserve(kMaxParams);  // defaults point into them
    s->strings.reserve(kMaxParams);
    Parser p{s->text};
    s->name = p.word();
    parameters(p, *s);
    results(p, *s);
    p.blanks();
    if (p.at != text.size()) p.wrong("something is left over");
    finish(*s);
    return s.release();
}

// ---- table of OpInfo, indexed by OpId (written under the GIL)
// ---------------------------------------------------------

namespace {
std::deque<OpInfo> infos;
PyObject* op_loader = nullptr;

void load_op(std::string_view name) {
    if (!op_loader) return;
    PyObject* done = PyObject_CallFunction(op_loader, "s#", name.data(), Py_ssize_t(name.size()));
    if (!done) throw_python();
    Py_DECREF(done);
}
}  // namespace

void set_op_loader(PyObject* callable) { Py_XSETREF(op_loader, Py_NewRef(callable)); }

OpInfo& op_info(OpId id) {
    if (id >= infos.size() || !infos[id].signature) {
        raise(PyExc_RuntimeError, "[" + std::string(op(id).display()) +
                                      "] the op has no signature: it was not registered from Python.");
    }
    return infos[id];
}

const OpInfo* find_op_info(std::string_view name) {
    Op* found = find_op(name);
    if (!found && announced_op(name)) {
        load_op(name);
        found = find_op(name);
    }
    if (!found || found->id >= infos.size() || !infos[found->id].signature) return nullptr;
    return &infos[found->id];
}

void add_op_info(OpInfo info) {
    if (info.id >= infos.size()) infos.resize(size_t(info.id) + 1);
    infos[info.id] = std::move(info);
}

}  // namespace tenora::python
