#include "headrace/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <compare>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "base/little_endian.h"
#include "base/try.h"
#include "base/units.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "HRAUDIT1";
constexpr size_t kHeaderBytes = 48, kBatchBytes = 24, kRowBytes = 24;
constexpr uint32_t kBatchMark = 'B';
constexpr size_t kMaxExamples = 10;

struct Position {
  uint64_t epoch = 0, offset = 0;
  auto operator<=>(const Position&) const = default;
};

struct Delivery {
  uint64_t epoch;
  uint32_t shard, sample;
  uint64_t digest;
  bool operator<(const Delivery& other) const {
    return std::tie(epoch, shard, sample) < std::tie(other.epoch, other.shard, other.sample);
  }
  bool same_sample(const Delivery& other) const {
    return epoch == other.epoch && shard == other.shard && sample == other.sample;
  }
};

/// One file: one start of one worker of one rank.
struct Session {
  uint32_t rank, world, worker, workers;
  uint64_t start_ns;
  Position from;
  std::string bytes;
  uint64_t attempt = 0;  // starts of the whole job are numbered in time
};

Error bad_file(const std::string& path, uint64_t offset, const std::string& problem) {
  return {.code = Code::kCorrupt,
          .message = "the audit file " + problem,
          .origin = {.shard = path, .offset = offset}};
}

Result<Session> read_session(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Session session{};
  session.bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (session.bytes.size() < kHeaderBytes || !session.bytes.starts_with(kMagic))
    return bad_file(path, 0, "has no header");
  const std::byte* at = as_bytes(session.bytes).data() + 8;
  session.rank = load_le<uint32_t>(at);
  session.world = load_le<uint32_t>(at + 4);
  session.worker = load_le<uint32_t>(at + 8);
  session.workers = load_le<uint32_t>(at + 12);
  session.start_ns = load_le<uint64_t>(at + 16);
  session.from = {load_le<uint64_t>(at + 24), load_le<uint64_t>(at + 32)};
  return session;
}

/// A job's start is one session of every worker of every rank: the n-th session of each in one
/// world belongs to the n-th start in that world. Starts are numbered by the clock of their first
/// session.
void number_attempts(std::vector<Session>& sessions) {
  std::ranges::sort(sessions, {}, &Session::start_ns);
  using Kind = std::pair<uint32_t, uint32_t>;  // world, workers
  std::map<std::tuple<Kind, uint32_t, uint32_t>, uint64_t> seen;
  std::map<std::tuple<Kind, uint64_t>, uint64_t> numbers;
  for (Session& s : sessions) {
    const Kind kind{s.world, s.workers};
    const uint64_t nth = seen[{kind, s.rank, s.worker}]++;
    s.attempt = numbers.try_emplace({kind, nth}, numbers.size()).first->second;
  }
}

struct Log {
  std::vector<Delivery> rows;
  std::map<uint64_t, uint64_t> padded;  // an epoch
  uint64_t forgotten = 0;
};

bool same_place(const Session& a, const Session& b) {
  return a.rank == b.rank && a.worker == b.worker;
}

bool same_shape(const Session& a, const Session& b) {
  return a.world == b.world && a.workers == b.workers;
}

/// The first position that a later attempt went on from: what lies behind it was delivered again.
/// Workers of a later attempt of the same shape went on each from its own place.
Position rolled_back_to(const Session& session, const std::vector<Session>& all) {
  Position first{~uint64_t{0}, ~uint64_t{0}};
  for (const Session& other : all)
    if (other.attempt > session.attempt &&
        (same_place(session, other) || !same_shape(session, other)))
      first = std::min(first, other.from);
  return first;
}

/// Adds the batches of a session. A batch cut off by a crash is the end of the file.
void read_batches(const Session& session, Position limit, Log& log) {
  const ByteView bytes = as_bytes(session.bytes);
  size_t at = kHeaderBytes;
  while (at + kBatchBytes <= bytes.size() && load_le<uint32_t>(&bytes[at]) == kBatchMark) {
    const uint64_t rows = load_le<uint32_t>(&bytes[at + 4]);
    const Position position{load_le<uint64_t>(&bytes[at + 8]), load_le<uint64_t>(&bytes[at + 16])};
    at += kBatchBytes;
    if (rows * kRowBytes > bytes.size() - at) return;
    for (uint64_t i = 0; i < rows; ++i, at += kRowBytes) {
      const std::byte* row = &bytes[at];
      if (position >= limit) {
        ++log.forgotten;
      } else if (load_le<uint32_t>(row + 12) != 0) {
        ++log.padded[position.epoch];
      } else {
        log.rows.push_back({position.epoch, load_le<uint32_t>(row + 4), load_le<uint32_t>(row + 8),
                            load_le<uint64_t>(row + 16)});
      }
    }
  }
}

void add_example(AuditReport::Epoch& epoch, const Dataset& set, SampleId id, const char* what) {
  if (epoch.examples.size() >= kMaxExamples) return;
  const auto key = set.key(id);
  epoch.examples.push_back(std::string(what) + (key.ok() ? *key : std::string("?")) + " (shard " +
                           std::to_string(id.shard) + ", sample " + std::to_string(id.sample) +
                           ")");
}

/// Walks the data set and the sorted deliveries of one epoch side by side.
AuditReport::Epoch check_epoch(std::span<const Delivery> rows, const Dataset& set) {
  AuditReport::Epoch epoch;
  epoch.epoch = rows.front().epoch;
  epoch.delivered = rows.size();
  size_t at = 0;
  for (uint64_t i = 0; i < set.size(); ++i) {
    const SampleId id = set.locate(i);
    if (at == rows.size() || rows[at].shard != id.shard || rows[at].sample != id.sample) {
      ++epoch.missing;
      add_example(epoch, set, id, "missing: ");
      continue;
    }
    for (++at; at < rows.size() && rows[at].same_sample(rows[at - 1]); ++at) {
      ++epoch.duplicates;
      add_example(epoch, set, id, "twice: ");
    }
  }
  epoch.duplicates += rows.size() - at;  // rows of samples that the data set does not have
  return epoch;
}

uint64_t count_changed(std::vector<Delivery> rows) {
  std::ranges::sort(rows, {}, [](const Delivery& d) { return std::tuple(d.shard, d.sample); });
  uint64_t changed = 0;
  for (size_t i = 1; i < rows.size(); ++i)
    changed += rows[i].shard == rows[i - 1].shard && rows[i].sample == rows[i - 1].sample &&
               rows[i].digest != rows[i - 1].digest;
  return changed;
}

}  // namespace

Result<std::unique_ptr<AuditWriter>> AuditWriter::open(const std::string& folder,
                                                       const AuditStart& start) {
  static std::atomic<uint64_t> count{0};
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string path = folder + "/" + std::to_string(start.rank) + "-" +
                           std::to_string(start.worker) + "-" + std::to_string(getpid()) + "-" +
                           std::to_string(count++) + ".audit";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return Error{.code = errno == EACCES || errno == EROFS ? Code::kDenied : Code::kFailure,
                 .message = "cannot create the audit file: " + std::string(std::strerror(errno)),
                 .origin = {.shard = path}};
  std::unique_ptr<AuditWriter> writer(new AuditWriter(file, path));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string header = kMagic;
  for (const uint32_t number : {start.rank, start.world, start.worker, start.workers})
    append_le(header, number);
  append_le(header, static_cast<uint64_t>(
                        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
  append_le(header, start.epoch);
  append_le(header, start.offset);
  if (::write(file, header.data(), header.size()) != static_cast<ssize_t>(header.size()))
    return Error{.code = errno == ENOSPC ? Code::kNoSpace : Code::kFailure,
                 .message = "cannot write the audit file: " + std::string(std::strerror(errno)),
                 .origin = {.shard = path}};
  return writer;
}

AuditWriter::~AuditWriter() { ::close(file_); }

Status AuditWriter::append(const Batch& batch, uint64_t offset,
                           const std::vector<uint64_t>& digests) {
  // Of a document that steps cut, the piece with its beginning counts.
  const auto counts = [&](size_t i) {
    return batch.packed.pieces.empty() || batch.packed.pieces[i].begins();
  };
  uint32_t rows = 0;
  for (size_t i = 0; i < batch.rows.size(); ++i) rows += counts(i) ? 1U : 0U;
  std::string record;
  record.reserve(kBatchBytes + kRowBytes * rows);
  append_le(record, kBatchMark);
  append_le(record, rows);
  append_le(record, batch.epoch);
  append_le(record, offset);
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (!counts(i)) continue;
    const RowOrigin& row = batch.rows[i];
    append_le(record, row.set);
    append_le(record, row.id.shard);
    append_le(record, row.id.sample);
    append_le(record, uint32_t{row.padded});
    append_le(record, digests[i]);
  }
  if (::write(file_, record.data(), record.size()) != static_cast<ssize_t>(record.size()))
    return Error{.code = errno == ENOSPC ? Code::kNoSpace : Code::kFailure,
                 .message = "cannot write the audit file: " + std::string(std::strerror(errno)),
                 .origin = {.shard = path_}};
  return {};
}

Result<AuditReport> check_audit(const std::vector<std::string>& folders, const Dataset& set) {
  std::vector<Session> sessions;
  for (const std::string& folder : folders) {
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(folder, problem)) {
      if (entry.path().extension() != ".audit") continue;
      HR_TRY(sessions.emplace_back(), read_session(entry.path().string()));
    }
    if (problem)
      return Error{.code = Code::kNotFound,
                   .message = "cannot read the audit folder: " + problem.message(),
                   .origin = {.shard = folder}};
  }
  number_attempts(sessions);

  Log log;
  for (const Session& session : sessions)
    read_batches(session, rolled_back_to(session, sessions), log);
  std::sort(log.rows.begin(), log.rows.end());

  AuditReport report;
  report.files = sessions.size();
  report.forgotten = log.forgotten;
  for (auto begin = log.rows.begin(); begin != log.rows.end();) {
    const auto end = std::find_if(begin, log.rows.end(),
                                  [&](const Delivery& d) { return d.epoch != begin->epoch; });
    AuditReport::Epoch& epoch = report.epochs.emplace_back(check_epoch({begin, end}, set));
    epoch.padded = log.padded[epoch.epoch];
    begin = end;
  }
  report.changed = count_changed(std::move(log.rows));
  return report;
}

bool AuditReport::passed() const {
  if (changed > 0) return false;
  for (size_t i = 0; i < epochs.size(); ++i)
    if (epochs[i].duplicates > 0 || (epochs[i].missing > 0 && i + 1 < epochs.size())) return false;
  return true;
}

std::string AuditReport::to_string() const {
  std::string text;
  for (const Epoch& e : epochs) {
    text += "epoch " + std::to_string(e.epoch) + ": " + format_count(e.delivered) +
            " samples delivered, " + format_count(e.missing) + " missing, " +
            format_count(e.duplicates) + " twice";
    if (e.padded > 0) text += ", " + format_count(e.padded) + " padded rows";
    text += "\n";
    for (const std::string& example : e.examples) text += "  " + example + "\n";
  }
  if (forgotten > 0)
    text += format_count(forgotten) + " rows were delivered and rolled back by a restart\n";
  if (changed > 0) text += format_count(changed) + " samples came with different bytes\n";
  text += passed() ? "audit passed\n" : "audit FAILED\n";
  return text;
}

}  // namespace headrace
