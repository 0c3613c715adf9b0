// A few threads for work that waits for a disk, so that neither callers nor the fetcher's thread
// do. Tasks run in the order in which they are due. The threads start with the first of them.
//
// Thread-safety: every method may be called from any thread, tasks included. Destroyed, it drops
// what has not begun and waits for what has; a task may drop the last reference to it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace headrace {

class IoThreads {
 public:
  using Task = std::function<void()>;

  explicit IoThreads(unsigned threads);  // 1 or more
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  void post(Task task) { post_after(std::chrono::milliseconds(0), std::move(task)); }
  void post_after(std::chrono::milliseconds delay, Task task);

 private:
  struct Queue;
  static void work(Queue& queue);

  const unsigned count_;
  const std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_;  // guarded by the queue's mutex until the end
};

}  // namespace headrace
