// A value a process has of its own. After fork() the child makes another, because threads, mutexes
// and locks on files did not come along; the parent's is left as it is, neither used nor destroyed.
//
// Thread-safety: get() may be called from any thread at once.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>

namespace headrace {

template <typename T>
class PerProcess {
 public:
  PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  ~PerProcess() {
    const pid_t here = ::getpid();
    for (Node* node = newest_.load(); node != nullptr;) {
      Node* const next = node->next;
      if (node->process == here) std::unique_ptr<Node>(node).reset();
      node = next;
    }
  }

  /// This process's, from `make()` (a std::unique_ptr<T>) when there is none yet.
  template <typename Make>
  T& get(const Make& make) const {
    const pid_t here = ::getpid();
    if (T* known = find(here)) return *known;
    auto node = std::make_unique<Node>(here, make());
    // No mutex: a fork while another thread held it would leave it locked for ever.
    for (Node* newest = newest_.load();;) {
      if (T* known = find(here)) return *known;  // another thread was first
      node->next = newest;
      if (newest_.compare_exchange_weak(newest, node.get())) return *node.release()->value;
    }
  }

  /// Anyone's for which `is_settled` is true: one that nobody changes any more, so that it needs no
  /// mutex and no thread. nullptr if there is none.
  template <typename Settled>
  T* find_settled(const Settled& is_settled) const {
    for (Node* node = newest_.load(); node != nullptr; node = node->next)
      if (is_settled(*node->value)) return node->value.get();
    return nullptr;
  }

  /// This process's, or nullptr.
  T* find() const { return find(::getpid()); }

 private:
  struct Node {
    Node(pid_t of, std::unique_ptr<T> made) : process(of), value(std::move(made)) {}
    const pid_t process;
    const std::unique_ptr<T> value;
    Node* next = nullptr;
  };

  T* find(pid_t process) const {
    for (Node* node = newest_.load(); node != nullptr; node = node->next)
      if (node->process == process) return node->value.get();
    return nullptr;
  }

  mutable std::atomic<Node*> newest_{nullptr};
};

}  // namespace headrace
