// Temporary folders that samples are unpacked into for a command.
//
//   SCRATCH/headrace-map-Xy3k9Q/     one a job, locked while the job lives
//     0/  1/  …                      one a thread: sample.jpg, sample.cls, what the command leaves
//     0.log  1.log  …                what the commands say
//
// A killed job leaves its folder; the next one on that scratch removes folders that nobody has
// locked. Thread-safety: SandboxRoot from one thread; a Sandbox belongs to one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "io/file.h"
#include "job/map/step.h"

namespace headrace {

/// Owns the folder and removes it in the end.
class SandboxRoot {
 public:
  /// Removes what killed jobs left under the local folder `scratch`. A command of theirs may
  /// outlive them by a moment, with the lock or a last file; later calls find that folder.
  static void sweep(const std::string& scratch);
  /// Under the local folder `scratch`, which is swept before.
  static Result<SandboxRoot> create(const std::string& scratch);
  SandboxRoot(SandboxRoot&&) = default;
  SandboxRoot& operator=(SandboxRoot&&) = delete;
  ~SandboxRoot();

  const std::string& path() const { return path_; }

 private:
  SandboxRoot(std::string path, File lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  File lock_;
};

class Sandbox {
 public:
  /// `number`: of the thread.
  static Result<Sandbox> create(const SandboxRoot& root, unsigned number);

  const std::string& folder() const { return folder_; }
  /// For the command's words.
  int log() const { return log_.get(); }

  /// Removes what is there, and puts the sample's fields there as `sample.FIELD`.
  Status unpack(const MapSample& sample);
  /// What was left: `sample.FIELD` of the sample itself, `sample-NAME.FIELD` of more samples, with
  /// the keys KEY-NAME; sorted by name and field. All other files are the command's own affair.
  Result<std::vector<MapSample>> collect(const std::string& key) const;
  /// The last lines of the log, as one.
  std::string last_words() const;

 private:
  Sandbox(std::string folder, File log) : folder_(std::move(folder)), log_(std::move(log)) {}

  std::string folder_;
  File log_;
};

/// The last lines of a text, as one.
std::string last_lines(std::string_view text);

}  // namespace headrace
