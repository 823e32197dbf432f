// Answers of kernels' `supports`, cached by signature: op, backend, dtypes, ranks, flags, attributes.
#include <cstring>
#include <shared_mutex>
#include <unordered_map>

#include "internal.h"

namespace tenora {

namespace {

struct Answer {
    bool yes;
    std::string reason;
};
std::shared_mutex answers_mutex;
std::unordered_map<std::string, Answer> answers;  // answers_mutex
// Attributes are part of a signature, so a program that sweeps over them could fill memory: then all are
// forgotten.
constexpr size_t kMostAnswers = 1 << 16;

template <class T>
void put(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_tensor(std::string& key, const DLTensor* t) {
    if (!t) {
        put(key, int32_t(-1));
        return;
    }
    put(key, t->ndim);
    put(key, t->dtype);
}

std::string signature(const Op& op, BackendId id, const tnr_call& call) {
    std::string key;
    put(key, op.id);
    put(key, id);
    put(key, uint16_t(call.flat | call.accumulate << 1));
    put(key, call.host_scalar_mask);
    put(key, call.n_in);
    for (int i = 0; i < call.n_in; ++i) put_tensor(key, call.in[i]);
    for (int i = 0; i < call.n_out; ++i) put_tensor(key, call.out[i]);
    for (int i = 0; i < call.n_attr; ++i) {
        const tnr_attr& a = call.attr[i];
        put(key, a.kind);
        put(key, a.dtype);
        put(key, a.count);
        if (a.kind == TNR_ATTR_SPAN)
            key.append(reinterpret_cast<const char*>(a.value.span), a.count * sizeof(int64_t));
        else if (a.kind == TNR_ATTR_STRING)
            key.append(a.value.string, a.count);
        else
            put(key, a.value.i64);
    }
    return key;
}

Answer ask(const KernelEntry& entry, const tnr_call& call) {
    SmallArray<DLTensor, 12> tensors(size_t(call.n_in) + call.n_out);
    SmallArray<const DLTensor*, 12> pointers(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const DLTensor* t = i < call.n_in ? call.in[i] : call.out[i - call.n_in];
        if (t) tensors[i] = *t;
        tensors[i].data = nullptr;  // data must not be read
        pointers[i] = t ? &tensors[i] : nullptr;
    }
    char reason[512];
    reason[0] = 0;
    tnr_call question = call;
    question.in = pointers.data();
    question.out = pointers.data() + call.n_in;
    question.error = reason;
    question.error_size = sizeof reason;
    question.stream = question.workspace = nullptr;
    bool yes = entry.supports(&question) == 1;
    return {yes, yes ? "" : reason[0] ? reason : "the kernel does not support this call"};
}

}  // namespace

void check_supports(const Op& op, BackendId id, const KernelEntry& entry, const tnr_call& call) {
    std::string key = signature(op, id, call);
    {
        std::shared_lock lock(answers_mutex);
        auto found = answers.find(key);
        if (found != answers.end()) {
            if (found->second.yes) return;
            throw Declined{found->second.reason};
        }
    }
    Answer answer = ask(entry, call);
    {
        std::unique_lock lock(answers_mutex);
        if (answers.size() >= kMostAnswers) answers.clear();
        answers.emplace(std::move(key), answer);
    }
    if (!answer.yes) throw Declined{answer.reason};
}

}  // namespace tenora
