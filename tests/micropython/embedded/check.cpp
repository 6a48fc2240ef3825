// What interpreter.hpp promises, one check a line; the first that fails ends the program.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "interpreter.hpp"

using pilotlight::Error;
using pilotlight::File;
using pilotlight::Interpreter;
using pilotlight::Value;

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            std::printf("line %d: %s\n", __LINE__, #condition);                                 \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

namespace {

bool is(const Error &error, const char *type, const char *part)
{
    const bool same = std::strcmp(error.type, type) == 0 && std::strstr(error.message, part) != nullptr;
    if (!same) {
        std::printf("got %s: %s\n", error.type, error.message);
    }
    return same;
}

template <typename Result> bool fails(const Result &result, const char *type, const char *part)
{
    return !result && is(result.error(), type, part);
}

struct Heap {
    explicit Heap(std::size_t bytes) : memory(std::malloc(bytes)), size(bytes) { std::memset(memory, 0xa5, bytes); }
    ~Heap() { std::free(memory); }
    void *memory;
    std::size_t size;
};

const char package[] = "value = 7\n";
const char module_text[] = "from package.inner import value\n\ndef twice(x):\n    return 2 * x\n";
const char raises[] = "def broken():\n    x = 1\n    raise OSError(5, 'here')\n";

std::vector<char> read_file(const char *name)
{
    std::vector<char> found;
    std::FILE *file = std::fopen(name, "rb");
    CHECK(file != nullptr);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
        found.push_back(static_cast<char>(c));
    }
    std::fclose(file);
    return found;
}

void values()
{
    Heap heap(512 * 1024);
    Interpreter python(heap.memory, heap.size);
    CHECK(python);
    Interpreter second(heap.memory, heap.size);
    CHECK(!second && is(second.error(), "RuntimeError", "running already"));

    CHECK(python.exec("a = 3\nb = 2.5\nc = 'text'\nd = None\ne = [1, [2, 3]]\nf = -2 ** 63\ng = 2 ** 63\n"));
    CHECK(*python.get("a")->to_int() == 3 && *python.get("b")->to_float() == 2.5 && *python.get("a")->to_float() == 3.0);
    auto text = python.get("c");
    CHECK(std::strcmp(*text->to_text(), "text") == 0 && *text->length() == 4);
    CHECK(python.get("d")->is_none() && !text->is_none() && !Value().is_none());
    CHECK(*python.get("e")->item(1)->item(0)->to_int() == 2);
    CHECK(*python.get("f")->to_int() == INT64_MIN);
    CHECK(fails(python.get("g")->to_int(), "OverflowError", ""));
    CHECK(fails(python.get("b")->to_int(), "TypeError", "float"));
    CHECK(fails(text->to_int(), "TypeError", "") && fails(text->to_float(), "TypeError", ""));
    CHECK(fails(python.eval("b'bytes'")->to_text(), "TypeError", ""));
    CHECK(fails(python.get("missing"), "NameError", "missing") && fails(text->get("missing"), "AttributeError", ""));
    CHECK(fails(python.get("e")->item(2), "IndexError", "") && fails(python.eval("{}")->item("k"), "KeyError", "k"));
    CHECK(fails(python.get("a")->length(), "TypeError", "") && fails(python.get("a")->call(), "TypeError", "callable"));
    CHECK(fails(python.import("nowhere"), "ImportError", "nowhere"));
    CHECK(python.set("h", INT64_MAX) && *python.eval("h == 2 ** 63 - 1")->to_bool());
    CHECK(python.set("h", -5) && *python.eval("h")->to_int() == -5);
    CHECK(python.set("h", true) && *python.eval("h is True")->to_bool());
    CHECK(python.set("h", 0.5f) && *python.eval("h")->to_float() == 0.5);
    CHECK(python.set("h", "word") && *python.eval("h == 'word'")->to_bool());
    CHECK(python.set("h", *text) && *python.eval("h is c")->to_bool());
    CHECK(!*python.eval("[]")->to_bool() && *python.eval("[0]")->to_bool());

    CHECK(python.exec("class Thing:\n    def sum(self, *xs):\n        return self.start + sum(xs)\n"));
    auto thing = python.call("Thing");
    CHECK(thing && thing->set("start", *python.eval("100")));
    CHECK(*thing->call_method("sum")->to_int() == 100 && *thing->call_method("sum", 1, 2.5, true)->to_float() == 104.5);
    CHECK(fails(thing->call_method("sum", "x"), "TypeError", "") && fails(thing->call_method("no"), "AttributeError", "no"));
    auto copy = thing->copy();
    CHECK(copy && *copy->get("start")->to_int() == 100);
    Value moved = std::move(*copy);
    CHECK(fails(copy->get("start"), "ValueError", "holds no value") && *moved.get("start")->to_int() == 100);

    interpreter_value items[40], list;
    for (int k = 0; k < 40; k++) {
        CHECK(interpreter_from_int(k, &items[k], nullptr));
    }
    CHECK(interpreter_from_list(40, items, &list, nullptr));
    for (const interpreter_value item : items) {
        interpreter_release(item);
        interpreter_release(item); // twice is harmless
    }
    CHECK(*Value(list).item(39)->to_int() == 39);
    Error error;
    CHECK(!interpreter_from_list(1, items, &list, &error) && is(error, "ValueError", "holds no value"));
    CHECK(!interpreter_exec("1 / 0", nullptr)); // nobody wants to know
}

void errors()
{
    Heap heap(512 * 1024);
    const File files[] = {{"raises.py", raises, sizeof raises - 1}};
    Interpreter::Options options;
    options.files = files;
    options.file_count = 1;
    Interpreter python(heap.memory, heap.size, options);
    auto made = python.exec("x = 1\n\ny = x / 0\n");
    CHECK(fails(made, "ZeroDivisionError", "divide") && std::strcmp(made.error().file, "<string>") == 0);
    CHECK(made.error().line == 3);
    auto inner = python.exec("import raises\nraises.broken()\n");
    CHECK(fails(inner, "OSError", "here") && std::strcmp(inner.error().file, "raises.py") == 0 && inner.error().line == 3);
    CHECK(fails(python.exec("def ("), "SyntaxError", "") && fails(python.eval("x +"), "SyntaxError", ""));
    CHECK(fails(python.exec("def f():\n    return f()\nf()"), "RuntimeError", "recursion"));
    CHECK(fails(python.exec("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()"), "E", ""));
    CHECK(fails(python.exec("raise SystemExit(3)"), "SystemExit", "3"));
    CHECK(fails(python.exec("raise ValueError('x' * 1000)"), "ValueError", "xxxx"));
    CHECK(std::strlen(python.exec("raise ValueError('x' * 1000)").error().message) == sizeof(Error().message) - 1);
    for (int k = 0; k < 20; k++) {
        CHECK(fails(python.exec("b = bytearray(1 << 24)"), "MemoryError", ""));
        CHECK(fails(python.exec("l = []\nwhile True:\n    l.append(bytearray(1000))"), "MemoryError", ""));
        CHECK(python.set("l", 0)); // no memory is left for the words of `l = 0`
    }
    CHECK(fails(python.exec("import torch\ntorch.ones(1, 4) @ torch.ones(3, 2)"), "RuntimeError", ""));
    CHECK(*python.eval("torch.ones(2, 2).sum()")->to_float() == 4.0);
}

std::string printed;

void keep(void *, const char *text, std::size_t bytes)
{
    printed.append(text, bytes);
    Error error;
    CHECK(!interpreter_exec("x = 1", &error) && is(error, "RuntimeError", "busy"));
    interpreter_stop(); // refused as well
}

void files()
{
    Heap heap(512 * 1024);
    const std::vector<char> saved = read_file("net.pt");
    void *memory = std::aligned_alloc(64, (saved.size() + 63) / 64 * 64);
    std::memcpy(memory, saved.data(), saved.size());
    const File all[] = {
        {"package/__init__.py", "", 0},
        {"package/inner.py", package, sizeof package - 1},
        {"module.py", module_text, sizeof module_text - 1},
        {"net.pt", memory, saved.size()},
        {"cut.pt", memory, saved.size() / 2},
    };
    Interpreter::Options options;
    options.files = all;
    options.file_count = 5;
    options.print = keep;
    Interpreter python(heap.memory, heap.size, options);
    auto module = python.import("module");
    CHECK(module && *module->get("value")->to_int() == 7 && *module->call_method("twice", 21)->to_int() == 42);
    CHECK(*python.import("package.inner")->get("value")->to_int() == 7);
    CHECK(*python.eval("open('module.py').readline() == 'from package.inner import value\\n'")->to_bool());
    CHECK(python.exec("with open('package/inner.py', 'rb') as f:\n    f.seek(-2, 2)\n    n = f.tell()\n    r = f.read()"));
    CHECK(*python.eval("(n, r) == (8, b'7\\n')")->to_bool());
    CHECK(fails(python.exec("f.seek(11)"), "OSError", "") && fails(python.exec("f.seek(-11, 2)"), "OSError", ""));
    CHECK(fails(python.exec("open('nothing')"), "OSError", "nothing"));
    CHECK(fails(python.exec("open('net.pt', 'wb')"), "OSError", ""));
    CHECK(python.exec("import sys\nprint('one', 2)\nprint('three', file=sys.stderr)") && printed == "one 2\nthree\n");

    auto state = python.load("net.pt");
    CHECK(state);
    auto weight = state->item("conv.weight");
    CHECK(weight && weight->tensor()->ndim == 3 && weight->tensor()->read_only);
    auto at = static_cast<const char *>(weight->tensor()->data);
    CHECK(at > memory && at < static_cast<const char *>(memory) + saved.size()); // used where the file has it
    CHECK(weight->elements<const float>(40));
    CHECK(fails(python.load("cut.pt"), "RuntimeError", "cannot be loaded"));
    CHECK(fails(python.load("none.pt"), "OSError", "none.pt"));
    auto bytes = python.bytes(memory, saved.size());
    CHECK(bytes && python.set("b", *bytes) && fails(python.exec("b[0] = 1"), "TypeError", ""));
    CHECK(*python.eval("list(__import__('torch').load(b)) == list(__import__('torch').load('net.pt'))")->to_bool());
    std::free(memory);
}

void scripts()
{
    Heap heap(512 * 1024);
    const std::vector<char> saved = read_file("counter.pt");
    void *memory = std::aligned_alloc(64, (saved.size() + 63) / 64 * 64);
    std::memcpy(memory, saved.data(), saved.size());
    const File all[] = {{"counter.pt", memory, saved.size()}, {"cut.pt", memory, saved.size() - 30}};
    Interpreter::Options options;
    options.files = all;
    options.file_count = 2;
    Interpreter python(heap.memory, heap.size, options);
    auto counter = python.load("counter.pt"); // torch.jit.load
    CHECK(counter);
    float x[3] = {1, 1, 1};
    auto tensor = python.tensor(x, {3});
    auto names = python.eval("['a', 'b']");
    for (int k = 1; k < 4; k++) {
        auto made = counter->call(*tensor, *names);
        CHECK(made && *made->length() == 2 && *made->item(1)->item("b")->to_int() == k);
        auto y = made->item(0);
        auto elements = y->elements<const float>(3);
        const float first = k > 1 ? 1.0f + static_cast<float>(k) : 1.0f;
        CHECK(elements && (*elements)[0] == first && (*elements)[2] == 4 * first);
    }
    CHECK(*counter->get("calls")->to_int() == 3);
    CHECK(!counter->call(*tensor) && !counter->call(*names, *names));
    CHECK(fails(python.load("cut.pt"), "RuntimeError", "cannot be loaded"));
    std::free(memory);
}

void tensors()
{
    Heap heap(512 * 1024);
    Interpreter python(heap.memory, heap.size);
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    auto t = python.tensor(numbers, {2, 3});
    CHECK(t && python.set("t", *t) && python.exec("import torch\nrow = t[1]\nt += 1"));
    CHECK(numbers[0] == 2 && numbers[5] == 7);
    numbers[3] = 40;
    CHECK(*python.eval("row[0].item() == 40 and t.sum().item() == 2 + 3 + 4 + 40 + 6 + 7")->to_bool());
    CHECK(python.exec("torch.mul(t, 2, out=t)\nrow[2] = -1\nt.t().copy_(t.t() + 0)") && numbers[3] == 80 && numbers[5] == -1);
    auto where = t->tensor();
    CHECK(where && where->data == numbers && where->ndim == 2 && where->sizes[1] == 3 && where->strides[0] == 3);
    CHECK(t->elements<float>(6) && t->elements<float>(6)->data == numbers);
    CHECK(fails(t->elements<float>(5), "ValueError", "5 elements, got one with 6"));
    CHECK(fails(t->elements<std::int32_t>(6), "TypeError", "expected a tensor of int32, got one of float32"));
    CHECK(fails(python.eval("t.t()")->elements<float>(6), "ValueError", "contiguous"));
    CHECK(python.eval("t.t()")->tensor()->strides[1] == 3);
    CHECK(fails(python.eval("3")->elements<float>(1), "TypeError", "expected a tensor, got int"));
    CHECK(fails(python.eval("3")->tensor(), "TypeError", "expected a tensor"));
    CHECK(fails(t->to_float(), "ValueError", "one element") && *python.eval("t[0, 0]")->to_float() == 4.0);
    CHECK(*python.eval("torch.tensor([[7]])")->to_int() == 7);

    auto y = python.eval("torch.arange(4.0).reshape(2, 2) * 3"); // memory of Python
    auto elements = y->elements<float>(4);
    CHECK(elements && (*elements)[3] == 9);
    (*elements)[3] = 1;
    CHECK(python.set("y", *y) && *python.eval("y.sum()")->to_float() == 10.0);
    CHECK(python.exec("y = None") && python.collect() && (*elements)[1] == 3); // the handle keeps it

    const float fixed[2] = {1, 2};
    auto r = python.tensor(fixed, {2});
    CHECK(r && python.set("r", *r) && fails(python.exec("r += 1"), "RuntimeError", "read-only") && fixed[0] == 1);
    std::uint8_t raw[16] = {0};
    CHECK(fails(python.tensor(reinterpret_cast<float *>(raw + 1), {1}), "ValueError", "multiple of 4"));
    CHECK(fails(python.tensor(static_cast<float *>(nullptr), {1}), "ValueError", "multiple of 4"));
    CHECK(python.tensor(static_cast<float *>(nullptr), {0, 5}) && python.tensor(numbers, {}));
    CHECK(fails(python.tensor(numbers, {-1}), "ValueError", "sizes") && fails(python.tensor(numbers, {1 << 30, 4}), "ValueError", "sizes"));
    interpreter_tensor wrong{};
    interpreter_value value;
    Error error;
    wrong.data = raw;
    wrong.ndim = 9;
    CHECK(!interpreter_from_tensor(&wrong, &value, &error) && is(error, "ValueError", "dimensions"));
    wrong.ndim = 1;
    wrong.dtype = static_cast<interpreter_dtype>(12);
    CHECK(!interpreter_from_tensor(&wrong, &value, &error) && is(error, "ValueError", "type"));
    void *data;
    CHECK(!interpreter_elements(t->handle(), static_cast<interpreter_dtype>(12), 6, &data, &error));

    alignas(8) unsigned char room[8] = {0};
    const char *names[] = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"};
    for (int k = INTERPRETER_BOOL; k <= INTERPRETER_FLOAT32; k++) {
        interpreter_tensor one{};
        one.data = room;
        one.dtype = static_cast<interpreter_dtype>(k);
        one.ndim = 1;
        one.sizes[0] = 1;
        CHECK(interpreter_from_tensor(&one, &value, nullptr));
        Value held(value);
        CHECK(python.set("z", held) && python.set("name", names[k]) && python.exec("z[0] = 1"));
        CHECK(*python.eval("z.dtype is getattr(torch, name)")->to_bool() && held.tensor()->dtype == k);
        std::memset(room, 0, sizeof room);
        CHECK(*python.eval("z[0].item() == 0")->to_bool());
    }
}

// Frames of different depths, below and above the one that started the interpreter.
__attribute__((noinline)) int deep(int depth, Interpreter &python, const Value &function)
{
    volatile char room[600];
    room[0] = static_cast<char>(depth);
    if (depth > 0) {
        return deep(depth - 1, python, function) + (room[0] != static_cast<char>(depth));
    }
    auto made = function.call(5);
    return made ? static_cast<int>(*made->item(4)->to_int()) : -1;
}

__attribute__((noinline)) void start_deep(int depth, void *heap, std::size_t size)
{
    volatile char room[4000];
    room[0] = 1;
    if (depth > 0) {
        start_deep(depth - 1, heap, size);
        CHECK(room[0] == 1);
        return;
    }
    const interpreter_options options = {heap, size, 0, nullptr, 0, nullptr, nullptr};
    CHECK(interpreter_start(&options, nullptr));
}

void many_calls()
{
    Heap heap(512 * 1024);
    Interpreter python(heap.memory, heap.size);
    CHECK(python.exec("import torch\ndef make(n):\n    return [torch.full((50,), float(k)).sum().long() // 50 * 1 for k in range(n)]\n"
                      "def add(x, y):\n    return x + y\n"));
    auto make = python.get("make");
    auto add = python.get("add");
    std::vector<Value> held;
    for (int k = 0; k < 200; k++) {
        auto made = make->call(3 + k % 5);
        CHECK(made);
        held.push_back(std::move(*made));
    }
    for (int k = 0; k < 20000; k++) {
        auto sum = add->call(k, 1);
        CHECK(sum && *sum->to_int() == k + 1);
        if (k % 1000 == 0) {
            CHECK(fails(add->call(1), "TypeError", "") && fails(add->call(1, "x"), "TypeError", ""));
            CHECK(deep(k / 200, python, *make) == 4);
        }
    }
    for (int k = 0; k < 200; k++) {
        CHECK(*held[static_cast<std::size_t>(k)].length() == static_cast<std::size_t>(3 + k % 5));
        CHECK(*held[static_cast<std::size_t>(k)].item(2)->to_int() == 2);
    }
    const std::size_t before = python.collect()->used;
    held.clear();
    CHECK(python.collect()->used + 50000 < before);
    std::thread other([&] { CHECK(deep(3, python, *make) == 4); }); // another stack, one thread at a time
    other.join();
    CHECK(deep(0, python, *make) == 4);
}

void restarts()
{
    Value left;
    interpreter_value old{};
    for (int k = 0; k < 40; k++) {
        Heap heap(static_cast<std::size_t>(96 + 16 * (k % 8)) * 1024);
        start_deep(k % 12, heap.memory, heap.size);
        Error error;
        CHECK(!interpreter_copy(old, &old, &error) && is(error, "ValueError", "holds no value"));
        CHECK(!interpreter_exec("marker", &error) && is(error, "NameError", "marker"));
        CHECK(interpreter_exec("import torch\nmarker = torch.zeros(10)\ntorch.set_printoptions(precision=2)\n"
                               "torch.manual_seed(3)\nr = torch.rand(4)", &error));
        CHECK(interpreter_get("marker", &old, nullptr));
        left = Value(old);
        if (k % 3 == 0) { // stopped after an error, and with all of its memory taken
            CHECK(!interpreter_exec("l = []\nwhile True:\n    l.append([1])", &error) && is(error, "MemoryError", ""));
        }
        interpreter_stop();
        interpreter_stop();
        CHECK(!interpreter_is_running());
        CHECK(!interpreter_exec("1", &error) && is(error, "RuntimeError", "no interpreter is running"));
    }
    for (const std::size_t bytes : {std::size_t(0), std::size_t(100), std::size_t(8191)}) {
        char small[8192];
        Interpreter python(small, bytes);
        CHECK(!python && is(python.error(), "ValueError", "heap is too small"));
    }
    char memory[8200];
    Interpreter python(memory + 3, 8192); // the smallest, anywhere
    CHECK(python && *python.eval("1 + 1")->to_int() == 2);
    CHECK(fails(python.import("torch.nn"), "MemoryError", ""));
}

} // namespace

int main()
{
    values();
    errors();
    files();
    scripts();
    tensors();
    many_calls();
    restarts();
    std::printf("ok\n");
    return 0;
}
