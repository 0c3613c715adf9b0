// Threads that decode pictures ahead of whoever wants them, in the order of asking.
//
// Ownership: jobs belong to the caller and live until they are done or the threads have ended.
// Thread-safety: ask() and wait() from any thread. After fork() the threads are the parent's: a
// child must leave the object alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "stream/picture_rows.h"
#include "stream/plain_pictures.h"

namespace headrace {

/// One picture to decode. `file` is held by the caller meanwhile; the rest may be looked at after
/// wait().
struct PictureJob {
  ByteView file;
  /// Where the picture is wanted; none, or rows of another shape: it gets a row of its own.
  std::shared_ptr<PictureRows> rows = {};
  size_t index = 0;
  bool decoded = false;  ///< it lies in its row; false: ask Pillow
  bool done = false;

  void decode(const PlainPictures& pictures, Scratch& scratch);
};

class PictureThreads {
 public:
  /// `pictures` outlives the threads.
  PictureThreads(const PlainPictures& pictures, int count);
  /// What waits is not decoded any more.
  ~PictureThreads();
  PictureThreads(const PictureThreads&) = delete;
  PictureThreads& operator=(const PictureThreads&) = delete;

  void ask(PictureJob& job);
  void wait(const PictureJob& job);

 private:
  void work();

  const PlainPictures& pictures_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable ready_;
  std::deque<PictureJob*> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headrace
