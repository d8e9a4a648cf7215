#pragma once
// Lowered programs by hand, and running them.

#include <cstring>
#include <vector>

#include "codegen/llvm/compile.h"
#include "lathe/program.h"

namespace lathe::codegen_test {

using codegen::cpu::LoadedCode;
using codegen::cpu::Machine;
using codegen::cpu::Options;

inline Stmt store(const Buffer& buffer, Expr value, Expr index, Expr mask = {}, bool streaming = false) {
  return make_stmt<Store>(buffer, std::move(value), std::vector<Expr>{std::move(index)}, std::move(mask),
                          streaming);
}
inline Expr masked_load(const Buffer& buffer, Expr index, Expr mask) {
  return Expr(new Load(buffer, {std::move(index)}, std::move(mask)));
}
inline Stmt loop(const Var& var, Expr extent, Stmt body, ForKind kind = ForKind::Serial) {
  return make_stmt<For>(var, std::move(extent), kind, std::move(body));
}
inline Param input(const Buffer& buffer) { return {ParamRole::Input, buffer, {}}; }
inline Param output(const Buffer& buffer) { return {ParamRole::Output, buffer, {}}; }
inline Param size(const Var& var) { return {ParamRole::Size, {}, var}; }

/// The machines that every value test runs on: all that this CPU has, and the oldest of its family. The
/// second has no FMA, no F16C, no rounding instruction, and 16-byte vectors.
inline const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    const Machine host = codegen::cpu::host_machine();
    std::vector<Machine> list{host};
    if (host.triple.rfind("x86_64", 0) == 0) list.push_back({host.triple, "x86-64", ""});
    return list;
  }();
  return all;
}

inline LoadedCode compile(const Program& program, const Machine& machine, const Options& options = {}) {
  return codegen::cpu::load(codegen::cpu::compile_lowered(program, machine, options),
                            options.symbol.empty() ? codegen::cpu::kernel_symbol(program) : options.symbol);
}

/// Memory at a 64-byte boundary.
template <class T>
class Array {
 public:
  explicit Array(std::size_t n, T value = T{}) : storage_(n * sizeof(T) + 64), n_(n) {
    auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = reinterpret_cast<T*>((address + 63) / 64 * 64);
    if (n < (std::size_t{1} << 40))
      std::fill_n(data_, n, value);  // the bound quiets a false warning of GCC 12
  }
  Array(std::initializer_list<T> values) : Array(values.size()) {
    std::copy(values.begin(), values.end(), data_);
  }
  Array(const Array& other) : Array(other.n_) { std::copy(other.begin(), other.end(), data_); }
  Array& operator=(const Array& other) {
    Array copy(other);
    storage_.swap(copy.storage_);
    data_ = copy.data_;
    n_ = copy.n_;
    return *this;
  }
  T* data() { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + n_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return n_; }

 private:
  std::vector<char> storage_;
  T* data_;
  std::size_t n_;
};

/// Calls the kernel; returns its code.
template <class... T>
std::int32_t run(const LoadedCode& code, std::vector<std::int64_t> scalars, Array<T>&... arrays) {
  void* buffers[] = {static_cast<void*>(arrays.data())...};
  return code.function()(buffers, scalars.data());
}

}  // namespace lathe::codegen_test
