// Pictures as WebDataset's image specs want them: whole, as numpy arrays of the picture's own size.
//
// Only what is known to equal Pillow's result value for value is decoded here; for the rest, and
// for damaged files, the answer is None and the package asks Pillow, so that odd pictures come out,
// and fail, as they always did.
//
// PicturesAhead decodes the pictures of the next samples in threads while the caller works:
//
//   iterator --> [sample | sample | sample | sample] --> (sample, {field: array})
//                     threads decode their pictures, without the GIL
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bindings.h"
#include "codec/decoder.h"

namespace headrace::python {
namespace {

uint32_t big_endian(ByteView bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

/// A JPEG file of gray or YCbCr pictures. Format: ITU-T T.81, annex B.
bool is_plain_jpeg(ByteView file, bool gray_wanted) {
  size_t at = 2;
  while (at + 10 <= file.size()) {
    if (file[at] != std::byte{0xff}) return false;
    const auto marker = static_cast<uint8_t>(file[at + 1]);
    if (marker == 0xff) {
      ++at;
      continue;
    }
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      const uint32_t depth = big_endian(file, at + 4, 1);
      const uint32_t components = big_endian(file, at + 9, 1);
      // Pillow makes gray of the RGB values, a decoder takes the file's own luma.
      return depth == 8 && (components == 1 || (components == 3 && !gray_wanted));
    }
    at += 2 + big_endian(file, at + 2, 2);
  }
  return false;
}

/// A PNG file of 8 bits a channel, no palette and no transparent colour. Format: PNG, clause 5.
bool is_plain_png(ByteView file) {
  if (file.size() < 33 || file[24] != std::byte{8} || file[25] == std::byte{3}) return false;
  size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::string_view type = as_text(file).substr(at + 4, 4);
    if (type == "IDAT") return true;
    if (type == "tRNS") return false;
    at += 12 + size_t{big_endian(file, at, 4)};
  }
  return false;
}

bool is_plain_picture(ByteView file, bool gray_wanted) {
  const std::string_view head = as_text(file).substr(0, 16);
  if (head.starts_with("\xff\xd8\xff")) return is_plain_jpeg(file, gray_wanted);
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return is_plain_png(file);
  return head.starts_with("RIFF") && head.substr(8, 4) == "WEBP" && !gray_wanted;
}

/// A decoded picture that becomes a numpy array.
struct Pixels {
  std::unique_ptr<std::byte[]> bytes;
  std::vector<size_t> shape;
  bool floats = false;  ///< float32, else uint8
};

/// v / 255, rounded to float32 once, as numpy divides. (A recipe's unit range multiplies, as
/// torch.)
const std::array<float, 256>& unit_range() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> made{};
    for (size_t v = 0; v < made.size(); ++v) made[v] = static_cast<float>(v) / 255.0F;
    return made;
  }();
  return values;
}

/// What a spec asks for. Immutable, any number of threads may use it.
class Pictures {
 public:
  Pictures(const std::string& channels, bool floats, bool planes) {
    ImageSpec spec;
    spec.channels = channels == "l"     ? Channels::gray
                    : channels == "rgb" ? Channels::rgb
                                        : Channels::rgba;
    spec.layout = planes ? Layout::chw : Layout::hwc;
    spec.upright = false;
    gray_ = channels == "l";
    planes_ = planes;
    floats_ = floats;
    decoder_ = unwrap(make_decoder({"image", {"image"}, spec, std::nullopt}));
  }

  /// Nothing: Pillow should have a look.
  std::optional<Pixels> decode(ByteView file, Scratch& scratch) const {
    if (!is_plain_picture(file, gray_)) return std::nullopt;
    Result<DynamicRow> row = decoder_->decode_dynamic(file, {}, scratch);
    if (!row.ok()) return std::nullopt;
    Pixels pixels;
    pixels.shape.assign(row->shape.begin(), row->shape.end());
    if (gray_) pixels.shape.erase(planes_ ? pixels.shape.begin() : pixels.shape.end() - 1);
    const size_t count = row->bytes.size();
    pixels.floats = floats_;
    pixels.bytes =
        std::make_unique_for_overwrite<std::byte[]>(count * (floats_ ? sizeof(float) : 1));
    if (!floats_) {
      std::memcpy(pixels.bytes.get(), row->bytes.data(), count);
      return pixels;
    }
    auto* values = reinterpret_cast<float*>(pixels.bytes.get());
    for (size_t i = 0; i < count; ++i)
      values[i] = unit_range()[static_cast<uint8_t>(row->bytes[i])];
    return pixels;
  }

 private:
  std::unique_ptr<Decoder> decoder_;
  bool gray_ = false;
  bool floats_ = false;
  bool planes_ = false;
};

nb::object to_array(Pixels pixels) {
  std::byte* bytes = pixels.bytes.release();
  const nb::capsule owner(bytes,
                          [](void* held) noexcept { delete[] static_cast<std::byte*>(held); });
  const auto dtype = pixels.floats ? nb::dtype<float>() : nb::dtype<uint8_t>();
  return nb::cast(nb::ndarray<nb::numpy>(bytes, pixels.shape.size(), pixels.shape.data(), owner,
                                         nullptr, dtype));
}

ByteView view_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::object decode_one(const Pictures& pictures, const nb::bytes& file) {
  std::optional<Pixels> pixels;
  {
    nb::gil_scoped_release unlocked;
    thread_local Scratch scratch;
    pixels = pictures.decode(view_of(file), scratch);
  }
  return pixels ? to_array(std::move(*pixels)) : nb::none();
}

/// One picture to decode. `file` belongs to a sample that is held meanwhile.
struct PictureJob {
  nb::object field;
  ByteView file;
  std::optional<Pixels> pixels;
  bool done = false;
};

/// Threads that decode in the order of asking. Needs no GIL.
class PictureThreads {
 public:
  PictureThreads(const Pictures& pictures, int count) : pictures_(pictures) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }

  ~PictureThreads() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    asked_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void ask(PictureJob& job) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&job);
    }
    asked_.notify_one();
  }

  void wait(const PictureJob& job) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&job] { return job.done; });
  }

 private:
  void work() {
    Scratch scratch;
    std::unique_lock lock(mutex_);
    for (;;) {
      asked_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      PictureJob* job = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::optional<Pixels> pixels = pictures_.decode(job->file, scratch);
      lock.lock();
      job->pixels = std::move(pixels);
      job->done = true;
      ready_.notify_all();
    }
  }

  const Pictures& pictures_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable ready_;
  std::deque<PictureJob*> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Samples of an iterator, each with its decoded pictures. An error of the iterator comes after
/// the samples before it.
class PicturesAhead {
 public:
  PicturesAhead(nb::object samples, nb::object pictures, nb::object is_picture, int threads)
      : samples_(std::move(samples)),
        pictures_object_(std::move(pictures)),
        pictures_(nb::cast<const Pictures&>(pictures_object_)),
        is_picture_(std::move(is_picture)),
        count_(threads) {}

  ~PicturesAhead() {
    if (threads_ && owner_ != getpid()) (void)threads_.release();  // they are the parent's
    nb::gil_scoped_release unlocked;
    threads_.reset();
  }

  nb::tuple next() {
    start();
    while (!ended_ && ahead_.size() < depth()) fetch();
    if (ahead_.empty()) finish();
    Entry entry = std::move(ahead_.front());
    ahead_.pop_front();
    nb::dict ready;
    for (const std::unique_ptr<PictureJob>& job : entry.jobs) {
      {
        nb::gil_scoped_release unlocked;
        threads_->wait(*job);
      }
      if (job->pixels) ready[job->field] = to_array(std::move(*job->pixels));
    }
    return nb::make_tuple(entry.sample, ready);
  }

 private:
  struct Entry {
    nb::object sample;
    std::vector<nb::object> files;
    std::vector<std::unique_ptr<PictureJob>> jobs;
  };

  size_t depth() const { return 2 * static_cast<size_t>(count_) + 1; }

  void start() {
    if (!threads_) {
      owner_ = getpid();
      threads_ = std::make_unique<PictureThreads>(pictures_, count_);
    } else if (owner_ != getpid()) {
      throw std::runtime_error("an iteration cannot go on after fork(); start a new one");
    }
  }

  void fetch() {
    PyObject* item = PyIter_Next(samples_.ptr());
    if (item == nullptr) {
      ended_ = true;
      if (PyErr_Occurred()) error_.emplace();
      return;
    }
    Entry entry;
    entry.sample = nb::steal(item);
    if (PyDict_Check(entry.sample.ptr())) {
      PyObject* field = nullptr;
      PyObject* value = nullptr;
      Py_ssize_t place = 0;
      while (PyDict_Next(entry.sample.ptr(), &place, &field, &value))
        if (PyBytes_Check(value) && is_picture(field)) add(entry, field, value);
    }
    ahead_.push_back(std::move(entry));
    for (const std::unique_ptr<PictureJob>& job : ahead_.back().jobs) threads_->ask(*job);
  }

  static void add(Entry& entry, nb::handle field, nb::handle value) {
    auto job = std::make_unique<PictureJob>();
    job->field = nb::borrow(field);
    entry.files.push_back(nb::borrow(value));
    job->file = view_of(nb::borrow<nb::bytes>(value));
    entry.jobs.push_back(std::move(job));
  }

  bool is_picture(nb::handle field) {
    nb::object name = nb::borrow(field);
    const nb::object known = nb::steal(PyObject_CallMethod(kinds_.ptr(), "get", "O", name.ptr()));
    if (known.is_valid() && !known.is_none()) return known.is(nb::handle(Py_True));
    const bool yes = nb::cast<bool>(nb::bool_(is_picture_(name)));
    kinds_[name] = nb::bool_(yes);
    return yes;
  }

  [[noreturn]] void finish() {
    if (!error_) throw nb::stop_iteration();
    nb::python_error error = std::move(*error_);
    error_.reset();
    throw error;
  }

  const nb::object samples_;
  const nb::object pictures_object_;
  const Pictures& pictures_;
  const nb::object is_picture_;
  nb::dict kinds_;
  const int count_;
  pid_t owner_ = -1;
  std::deque<Entry> ahead_;
  bool ended_ = false;
  std::optional<nb::python_error> error_;
  std::unique_ptr<PictureThreads> threads_;  // goes first: it looks into `ahead_`
};

}  // namespace

void bind_webdataset_images(nb::module_& module) {
  nb::class_<Pictures>(module, "Pictures", "Decodes pictures to arrays, as an image spec says.")
      .def(nb::init<const std::string&, bool, bool>(), nb::arg("channels"), nb::arg("floats"),
           nb::arg("planes"))
      .def("decode", &decode_one, nb::arg("file"));

  nb::class_<PicturesAhead>(module, "PicturesAhead", "Samples with their pictures, decoded ahead.")
      .def(nb::init<nb::object, nb::object, nb::object, int>(), nb::arg("samples"),
           nb::arg("pictures"), nb::arg("is_picture"), nb::arg("threads"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &PicturesAhead::next);
}

}  // namespace headrace::python
