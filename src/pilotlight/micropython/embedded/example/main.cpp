// Runs a PyTorch model in MicroPython: its code is net.py, its weights are net.pt. The same model as TorchScript, which
// has its code in it, is script.pt. All are in the program's memory.
#include "interpreter.hpp"
#include "platform.h"

extern "C" {
extern const unsigned char net_py[], net_py_end[], net_pt[], net_pt_end[], script_pt[], script_pt_end[]; // files.S
}

namespace {

alignas(16) unsigned char heap[192 * 1024];

void print(void *, const char *text, std::size_t bytes) { platform_print(text, bytes); }

template <std::size_t size> void say(const char (&text)[size]) { platform_print(text, size - 1); }

void say_text(const char *text)
{
    std::size_t bytes = 0;
    while (text[bytes]) {
        bytes++;
    }
    platform_print(text, bytes);
}

int fail(const pilotlight::Error &error)
{
    say_text(error.type);
    say(": ");
    say_text(error.message);
    say("\n");
    return 1;
}

} // namespace

int main()
{
    const pilotlight::File files[] = {
        {"net.py", net_py, static_cast<std::size_t>(net_py_end - net_py)},
        {"net.pt", net_pt, static_cast<std::size_t>(net_pt_end - net_pt)},
        {"script.pt", script_pt, static_cast<std::size_t>(script_pt_end - script_pt)},
    };
    pilotlight::Interpreter::Options options;
    options.files = files;
    options.file_count = 3;
    options.print = print;
    pilotlight::Interpreter python(heap, sizeof heap, options);
    if (!python) {
        return fail(python.error());
    }
    auto module = python.import("net");
    if (!module) {
        return fail(module.error());
    }
    auto net = module->call_method("load", "net.pt");
    if (!net) {
        return fail(net.error());
    }

    auto script = python.load("script.pt");
    if (!script) {
        return fail(script.error());
    }

    static float samples[64]; // what a sensor would write; the tensor is over this memory
    auto x = python.tensor(samples, {1, 1, 64});
    if (!x) {
        return fail(x.error());
    }
    for (int run = 0; run < 3; run++) {
        for (int k = 0; k < 64; k++) {
            samples[k] = static_cast<float>((k * (run + 2)) % 16 - 8) / 8.0f;
        }
        auto y = net->call(*x);
        if (!y) {
            return fail(y.error());
        }
        auto scores = y->elements<const float>(3); // where Python has them
        if (!scores) {
            return fail(scores.error());
        }
        auto z = script->call(*x);
        auto same = z ? z->elements<const float>(3) : decltype(scores)::failed(z.error());
        if (!same) {
            return fail(same.error());
        }
        int best = 0;
        for (int k = 1; k < 3; k++) {
            best = (*scores)[static_cast<std::size_t>(k)] > (*scores)[static_cast<std::size_t>(best)] ? k : best;
        }
        const char digit[] = {static_cast<char>('0' + best), '\n'};
        const bool equal = (*same)[0] == (*scores)[0] && (*same)[1] == (*scores)[1] && (*same)[2] == (*scores)[2];
        if (auto shown = python.set("scores", *y); !shown) {
            return fail(shown.error());
        }
        if (auto shown = python.exec("print(scores)"); !shown) {
            return fail(shown.error());
        }
        say("best: ");
        platform_print(digit, sizeof digit);
        say_text(equal ? "TorchScript gives the same\n" : "TorchScript gives something else\n");
    }
    const auto wrong = net->call(1); // an error is a value
    return wrong ? 1 : (fail(wrong.error()), 0);
}
