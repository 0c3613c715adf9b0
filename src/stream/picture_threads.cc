#include "stream/picture_threads.h"

namespace headrace {

void PictureJob::decode(const PlainPictures& pictures, Scratch& scratch) {
  decoded = pictures.decode(file, scratch, [&](const std::vector<size_t>& shape) {
    std::byte* row = rows ? rows->row(index, shape) : nullptr;
    if (row != nullptr) return row;
    rows = std::make_shared<PictureRows>(1, pictures.floats());
    index = 0;
    return rows->row(0, shape);
  });
}

PictureThreads::PictureThreads(const PlainPictures& pictures, int count) : pictures_(pictures) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

PictureThreads::~PictureThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PictureThreads::ask(PictureJob& job) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&job);
  }
  asked_.notify_one();
}

void PictureThreads::wait(const PictureJob& job) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&job] { return job.done; });
}

void PictureThreads::work() {
  Scratch scratch;
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    PictureJob* job = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    job->decode(pictures_, scratch);
    lock.lock();
    job->done = true;
    ready_.notify_all();
  }
}

}  // namespace headrace
