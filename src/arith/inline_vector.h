#pragma once
// A vector of trivially copyable elements whose first N live inside the object: sums and term lists are
// small, are made by the thousand, and must not allocate.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace lathe::arith {

template <class T, std::uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector& other) { assign(other); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      size_ = 0;
      assign(other);
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      free_heap();
      take(other);
    }
    return *this;
  }
  ~InlineVector() { free_heap(); }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void insert(std::size_t at, T value) {
    reserve(size_ + 1);
    T* d = data();
    std::memmove(static_cast<void*>(d + at + 1), d + at, (size_ - at) * sizeof(T));
    d[at] = value;
    ++size_;
  }
  void erase(std::size_t at) {
    T* d = data();
    std::memmove(static_cast<void*>(d + at), d + at + 1, (size_ - at - 1) * sizeof(T));
    --size_;
  }

 private:
  T* data() { return heap_ ? heap_ : reinterpret_cast<T*>(inline_); }
  const T* data() const { return heap_ ? heap_ : reinterpret_cast<const T*>(inline_); }
  void reserve(std::uint32_t wanted) {
    if (wanted <= capacity_) return;
    const std::uint32_t capacity = wanted < 2 * capacity_ ? 2 * capacity_ : wanted;
    T* grown = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::memcpy(static_cast<void*>(grown), data(), size_ * sizeof(T));
    free_heap();
    heap_ = grown;
    capacity_ = capacity;
  }
  void assign(const InlineVector& other) {
    reserve(other.size_);
    std::memcpy(static_cast<void*>(data()), other.data(), other.size_ * sizeof(T));
    size_ = other.size_;
  }
  void take(InlineVector& other) {
    heap_ = other.heap_;
    capacity_ = other.capacity_;
    size_ = other.size_;
    if (!heap_) std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    other.heap_ = nullptr;
    other.capacity_ = N;
    other.size_ = 0;
  }
  void free_heap() {
    if (heap_) ::operator delete(heap_);
    heap_ = nullptr;
    capacity_ = N;
  }

  std::uint32_t size_ = 0, capacity_ = N;
  T* heap_ = nullptr;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace lathe::arith
