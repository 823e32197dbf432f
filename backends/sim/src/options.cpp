#include "options.h"

#include <charconv>
#include <map>

namespace tenora::sim {
namespace {

bool whole(const std::string& text, int64_t* value) {
    const char* end = text.data() + text.size();
    return std::from_chars(text.data(), end, *value).ptr == end && !text.empty() && *value >= 0;
}

}  // namespace

bool set(Options& options, const std::string& name, const std::string& value, std::string* error) {
    static const std::map<std::string, Policy> policies = {
        {"eager", Policy::Eager}, {"lazy", Policy::Lazy}, {"random", Policy::Random}, {"pct", Policy::Pct}};
    static const std::map<std::string, int64_t Options::*> numbers = {
        {"devices", &Options::devices},
        {"memory", &Options::memory},
        {"fail_allocation", &Options::fail_allocation},
        {"fail_kernel", &Options::fail_kernel},
        {"lose_device", &Options::lose_device}};
    auto wrong = [&](const std::string& text) {
        *error = text;
        return false;
    };
    int64_t number = 0;
    if (name == "policy") {
        if (!policies.contains(value)) return wrong("policy is one of eager, lazy, random, pct");
        options.policy = policies.at(value);
    } else if (name == "without") {
        options.without = value;
    } else if (name == "probe") {
        return true;  // the package's affair
    } else if (name != "seed" && !numbers.contains(name)) {
        return wrong("there is no option of this name");
    } else if (!whole(value, &number)) {
        return wrong(name + " is a whole number of at least 0");
    } else if (name == "seed") {
        options.seed = uint64_t(number);
    } else {
        options.*numbers.at(name) = number;
    }
    return true;
}

}  // namespace tenora::sim
