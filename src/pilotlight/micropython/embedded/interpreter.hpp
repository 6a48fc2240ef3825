// MicroPython with `import torch` inside a C++ program: C++17, without exceptions, RTTI and the C++ heap.
//
//     alignas(16) static unsigned char heap[256 * 1024];
//     pilotlight::Interpreter python(heap, sizeof heap);
//     auto net = python.import("net");
//     if (!net) { report(net.error().message); }
//
// Every function that can fail gives a Result: a value, or the error that Python raised.
#ifndef INTERPRETER_HPP
#define INTERPRETER_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "interpreter.h"

namespace pilotlight {

using Error = interpreter_error;
using File = interpreter_file;
using DType = interpreter_dtype;

// The type of elements that C++ has, as torch names it.
template <typename T> struct dtype_of;
template <> struct dtype_of<bool> : std::integral_constant<DType, INTERPRETER_BOOL> {};
template <> struct dtype_of<std::uint8_t> : std::integral_constant<DType, INTERPRETER_UINT8> {};
template <> struct dtype_of<std::int8_t> : std::integral_constant<DType, INTERPRETER_INT8> {};
template <> struct dtype_of<std::int16_t> : std::integral_constant<DType, INTERPRETER_INT16> {};
template <> struct dtype_of<std::int32_t> : std::integral_constant<DType, INTERPRETER_INT32> {};
template <> struct dtype_of<std::int64_t> : std::integral_constant<DType, INTERPRETER_INT64> {};
template <> struct dtype_of<float> : std::integral_constant<DType, INTERPRETER_FLOAT32> {};

// Elements in memory: of a torch tensor, or of the program.
template <typename T> struct Span {
    T *data = nullptr;
    std::size_t count = 0;

    T *begin() const { return data; }
    T *end() const { return data + count; }
    T &operator[](std::size_t k) const { return data[k]; }
    std::size_t size() const { return count; }
};

// A value, or an error. Ask which before `value()`.
template <typename T> class Result {
public:
    explicit operator bool() const { return fine_; }
    bool ok() const { return fine_; }
    const Error &error() const { return error_; }
    T &value() { return value_; }
    const T &value() const { return value_; }
    T value_or(T other) && { return fine_ ? std::move(value_) : std::move(other); }
    T &operator*() { return value_; }
    T *operator->() { return &value_; }

    // From a function of interpreter.h, which gets the addresses of the value and of the error.
    template <typename Function> static Result from(Function function)
    {
        Result made;
        made.fine_ = function(&made.value_, &made.error_);
        return made;
    }
    static Result failed(const Error &error)
    {
        Result made;
        made.error_ = error;
        return made;
    }

private:
    T value_{};
    Error error_{};
    bool fine_ = false;
};

template <> class Result<void> {
public:
    explicit operator bool() const { return fine_; }
    bool ok() const { return fine_; }
    const Error &error() const { return error_; }

    template <typename Function> static Result from(Function function)
    {
        Result made;
        made.fine_ = function(&made.error_);
        return made;
    }

private:
    Error error_{};
    bool fine_ = false;
};

// A handle of a Python object, which lives as long as the handle.
class Value {
public:
    Value() = default;
    explicit Value(interpreter_value handle) : handle_(handle) {}
    Value(Value &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Value &operator=(Value &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;
    ~Value() { interpreter_release(handle_); }

    interpreter_value handle() const { return handle_; }
    bool is_none() const { return interpreter_is_none(handle_); }
    Result<Value> copy() const { return made([&](auto *to, auto *error) { return interpreter_copy(handle_, to, error); }); }

    // Attributes, items, len()
    Result<Value> get(const char *name) const
    {
        return made([&](auto *to, auto *error) { return interpreter_get_attr(handle_, name, to, error); });
    }
    Result<void> set(const char *name, const Value &value) const
    {
        return Result<void>::from([&](auto *error) { return interpreter_set_attr(handle_, name, value.handle_, error); });
    }
    template <typename Key> Result<Value> item(const Key &key) const;
    Result<std::size_t> length() const
    {
        return Result<std::size_t>::from([&](auto *to, auto *error) { return interpreter_length(handle_, to, error); });
    }

    // Arguments are values, numbers and texts.
    template <typename... Arguments> Result<Value> call(const Arguments &...arguments) const;
    template <typename... Arguments> Result<Value> call_method(const char *name, const Arguments &...arguments) const;

    Result<bool> to_bool() const
    {
        return Result<bool>::from([&](auto *to, auto *error) { return interpreter_to_bool(handle_, to, error); });
    }
    Result<std::int64_t> to_int() const
    {
        return Result<std::int64_t>::from([&](auto *to, auto *error) { return interpreter_to_int(handle_, to, error); });
    }
    Result<double> to_float() const
    {
        return Result<double>::from([&](auto *to, auto *error) { return interpreter_to_float(handle_, to, error); });
    }
    // Valid as long as the value is held.
    Result<const char *> to_text() const
    {
        return Result<const char *>::from(
            [&](auto *to, auto *error) { return interpreter_to_text(handle_, to, nullptr, error); });
    }

    // The elements of a tensor where they are: of that type, contiguous, and that many.
    template <typename T> Result<Span<T>> elements(std::size_t count) const
    {
        return Result<Span<T>>::from([&](Span<T> *to, auto *error) {
            void *data = nullptr;
            const bool fine
                = interpreter_elements(handle_, dtype_of<std::remove_const_t<T>>::value, count, &data, error);
            *to = Span<T>{static_cast<T *>(data), fine ? count : 0};
            return fine;
        });
    }
    // Type, sizes, strides and elements of any tensor.
    Result<interpreter_tensor> tensor() const
    {
        return Result<interpreter_tensor>::from(
            [&](auto *to, auto *error) { return interpreter_to_tensor(handle_, to, error); });
    }

    // From a function of interpreter.h that makes a value.
    template <typename Function> static Result<Value> made(Function function)
    {
        return Result<Value>::from([&](Value *to, Error *error) { return function(&to->handle_, error); });
    }

private:
    interpreter_value handle_{};
};

// What a call takes: a value that stays the caller's, or a number or text that becomes one for the call.
class Argument {
public:
    Argument(const Value &value) : handle_(value.handle()), fine_(true) {}
    Argument(bool number) : owned_(true), fine_(interpreter_from_bool(number, &handle_, &error_)) {}
    Argument(const char *text) : owned_(true), fine_(interpreter_from_text(text, &handle_, &error_)) {}
    template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Argument(T number)
        : owned_(true), fine_(interpreter_from_int(static_cast<std::int64_t>(number), &handle_, &error_))
    {
    }
    template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
    Argument(T number) : owned_(true), fine_(interpreter_from_float(static_cast<double>(number), &handle_, &error_))
    {
    }
    Argument(const Argument &) = delete;
    Argument &operator=(const Argument &) = delete;
    ~Argument()
    {
        if (owned_) {
            interpreter_release(handle_);
        }
    }

    bool ok() const { return fine_; }
    const Error &error() const { return error_; }
    interpreter_value handle() const { return handle_; }

private:
    interpreter_value handle_{};
    Error error_{};
    bool owned_ = false, fine_;
};

template <typename Key> Result<Value> Value::item(const Key &key) const
{
    const Argument argument(key);
    if (!argument.ok()) {
        return Result<Value>::failed(argument.error());
    }
    return made([&](auto *to, auto *error) { return interpreter_get_item(handle_, argument.handle(), to, error); });
}

namespace detail {

// Arguments as handles: `function(count, handles)`, unless one of them could not be made.
template <typename Function, typename... Arguments>
Result<Value> with_handles(Function function, const Arguments &...arguments)
{
    constexpr std::size_t count = sizeof...(arguments);
    const Argument all[] = {Argument(arguments)..., Argument(false)}; // one more: there are no empty arrays
    interpreter_value handles[count + 1];
    for (std::size_t k = 0; k < count; k++) {
        if (!all[k].ok()) {
            return Result<Value>::failed(all[k].error());
        }
        handles[k] = all[k].handle();
    }
    return function(count, handles);
}

} // namespace detail

template <typename... Arguments> Result<Value> Value::call(const Arguments &...arguments) const
{
    return detail::with_handles(
        [&](std::size_t count, const interpreter_value *handles) {
            return made(
                [&](auto *to, auto *error) { return interpreter_call(handle_, count, handles, to, error); });
        },
        arguments...);
}

template <typename... Arguments> Result<Value> Value::call_method(const char *name, const Arguments &...arguments) const
{
    return detail::with_handles(
        [&](std::size_t count, const interpreter_value *handles) {
            return made([&](auto *to, auto *error) {
                return interpreter_call_method(handle_, name, count, handles, to, error);
            });
        },
        arguments...);
}

// Bytes of the heap.
struct HeapUse {
    std::size_t used = 0, free = 0;
};

// The interpreter runs as long as this object lives; there is one at a time. Values end with it.
class Interpreter {
public:
    struct Options {
        const File *files = nullptr;
        std::size_t file_count = 0;
        void (*print)(void *context, const char *text, std::size_t bytes) = nullptr;
        void *context = nullptr;
        std::size_t stack_bytes = 0;
    };

    Interpreter(void *heap, std::size_t heap_bytes, const Options &options)
    {
        const interpreter_options all
            = {heap, heap_bytes, options.stack_bytes, options.files, options.file_count, options.print, options.context};
        started_ = interpreter_start(&all, &error_);
    }
    Interpreter(void *heap, std::size_t heap_bytes) : Interpreter(heap, heap_bytes, Options()) {}
    Interpreter(const Interpreter &) = delete;
    Interpreter &operator=(const Interpreter &) = delete;
    ~Interpreter()
    {
        if (started_) {
            interpreter_stop();
        }
    }

    explicit operator bool() const { return started_; }
    const Error &error() const { return error_; } // why it did not start

    Result<void> exec(const char *source)
    {
        return Result<void>::from([&](auto *error) { return interpreter_exec(source, error); });
    }
    Result<Value> eval(const char *expression)
    {
        return Value::made([&](auto *to, auto *error) { return interpreter_eval(expression, to, error); });
    }
    Result<Value> import(const char *module)
    {
        return Value::made([&](auto *to, auto *error) { return interpreter_import(module, to, error); });
    }
    Result<Value> get(const char *name)
    {
        return Value::made([&](auto *to, auto *error) { return interpreter_get(name, to, error); });
    }
    Result<void> set(const char *name, const Argument &value)
    {
        return Result<void>::from([&](auto *error) {
            if (!value.ok()) {
                *error = value.error();
                return false;
            }
            return interpreter_set(name, value.handle(), error);
        });
    }
    template <typename... Arguments> Result<Value> call(const char *name, const Arguments &...arguments)
    {
        auto function = get(name);
        return function ? function->call(arguments...) : std::move(function);
    }
    Result<Value> load(const char *file)
    {
        return Value::made([&](auto *to, auto *error) { return interpreter_load(file, to, error); });
    }
    // Read-only bytes of the program.
    Result<Value> bytes(const void *data, std::size_t count)
    {
        return Value::made([&](auto *to, auto *error) { return interpreter_from_bytes(data, count, to, error); });
    }
    // A tensor over elements of the program, without a copy; read-only if these are const.
    template <typename T> Result<Value> tensor(T *data, std::initializer_list<std::int32_t> sizes)
    {
        using Element = std::remove_const_t<T>;
        interpreter_tensor given{};
        given.data = const_cast<Element *>(data);
        given.dtype = dtype_of<Element>::value;
        given.read_only = std::is_const_v<T>;
        given.ndim = static_cast<int>(sizes.size());
        int k = 0;
        for (const std::int32_t size : sizes) {
            if (k < INTERPRETER_MAX_DIMS) {
                given.sizes[k++] = size;
            }
        }
        return Value::made([&](auto *to, auto *error) { return interpreter_from_tensor(&given, to, error); });
    }
    Result<HeapUse> collect()
    {
        return Result<HeapUse>::from(
            [&](HeapUse *to, auto *error) { return interpreter_collect(&to->used, &to->free, error); });
    }

private:
    Error error_{};
    bool started_ = false;
};

} // namespace pilotlight

#endif
