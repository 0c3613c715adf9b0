#include "io/cache/io_threads.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace headrace {

using Clock = std::chrono::steady_clock;

// Shared with the threads, because one of them may outlive the object (see the destructor).
struct IoThreads::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::multimap<Clock::time_point, Task> due;  // equal times keep their order
  bool ended = false;
};

IoThreads::IoThreads(unsigned threads) : count_(threads), queue_(std::make_shared<Queue>()) {}

IoThreads::~IoThreads() {
  std::multimap<Clock::time_point, Task> dropped;  // destroyed outside of the lock
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->ended = true;
    dropped.swap(queue_->due);
  }
  queue_->changed.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();  // its task held the last reference; it ends when that returns
    else
      thread.join();
  }
}

void IoThreads::post_after(std::chrono::milliseconds delay, Task task) {
  const std::shared_ptr<Queue> queue = queue_;  // the task may be the end of this object
  {
    const std::lock_guard lock(queue->mutex);
    queue->due.emplace(Clock::now() + delay, std::move(task));
    while (threads_.size() < count_) threads_.emplace_back([queue] { work(*queue); });
  }
  queue->changed.notify_one();
}

void IoThreads::work(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  while (!queue.ended) {
    if (queue.due.empty()) {
      queue.changed.wait(lock);
      continue;
    }
    const auto first = queue.due.begin();
    if (const auto when = first->first; when > Clock::now()) {
      queue.changed.wait_until(lock, when);
      continue;
    }
    Task task = std::move(first->second);
    queue.due.erase(first);
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace headrace
