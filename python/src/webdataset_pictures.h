// Decoding of pictures for headrace.webdataset, in threads or without, and arrays over what comes
// out. All need the GIL, which is released while pictures are decoded or waited for.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "bindings.h"
#include "stream/picture_threads.h"

namespace headrace::python {

/// PlainPictures with errors that are raised.
class Pictures {
 public:
  Pictures(const std::string& channels, bool floats, bool planes);

  const PlainPictures plain;
};

/// The array of one picture, which keeps all rows.
nb::object picture_array(const std::shared_ptr<PictureRows>& rows, size_t index);
/// The first `count` pictures as one array.
nb::object batch_array(const std::shared_ptr<PictureRows>& rows, size_t count);

/// Does jobs, which live until they are done or this has ended. Threads start with the first job.
class PictureWork {
 public:
  /// `pictures`: a Pictures. `threads`: 0 does each job when it is waited for.
  PictureWork(nb::object pictures, int threads);
  ~PictureWork();

  void ask(PictureJob& job);
  void wait(PictureJob& job);
  /// Lets go of all jobs; none may be asked for or waited for after that.
  void stop();
  bool floats() const { return pictures_.plain.floats(); }

 private:
  void check_process() const;

  const nb::object owner_;
  const Pictures& pictures_;
  const int count_;
  pid_t started_in_ = -1;
  std::unique_ptr<PictureThreads> threads_;
};

}  // namespace headrace::python
