#pragma once
// Immutable, reference-counted nodes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace lathe {

/// Base of all shared immutable nodes. The count is intrusive and atomic: programs are shared between
/// threads.
class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

 private:
  template <class T>
  friend class Ref;
  mutable std::atomic<std::uint32_t> references_{0};
};

namespace detail {
/// Deletes a node that nobody refers to, and what then nobody refers to, in bounded stack: a chain of nodes may be longer
/// than the stack is deep.
void destroy(const Node* node) noexcept;
}  // namespace detail

/// Owning pointer to a node. Comparison is identity; structural equality is `structural_equal`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(const T* node) : node_(node) { retain(); }
  Ref(const Ref& other) : node_(other.node_) { retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<const U*, const T*> Ref(const Ref<U>& other) : node_(other.get()) {
    retain();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() { release(); }

  const T* get() const { return node_; }
  const T* operator->() const { return node_; }
  const T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool defined() const { return node_ != nullptr; }
  /// Is this the only owner? Then a pass may reuse the node's parts.
  bool unique() const { return node_ && node_->references_.load(std::memory_order_relaxed) == 1; }
  bool same_as(const Ref& other) const { return node_ == other.node_; }

 private:
  void retain() {
    if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (node_ && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) detail::destroy(node_);
  }
  const T* node_ = nullptr;
};

/// Hash and order by identity, for tables that are never iterated over.
template <class T>
struct IdentityHash {
  std::size_t operator()(const Ref<T>& ref) const { return std::hash<const void*>()(ref.get()); }
};
template <class T>
struct IdentityEqual {
  bool operator()(const Ref<T>& a, const Ref<T>& b) const { return a.get() == b.get(); }
};

}  // namespace lathe
