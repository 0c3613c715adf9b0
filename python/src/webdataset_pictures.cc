#include "webdataset_pictures.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace headrace::python {
namespace {

nb::object array_over(const std::shared_ptr<PictureRows>& rows, size_t first,
                      const std::vector<size_t>& shape) {
  const nb::capsule owner(new std::shared_ptr<PictureRows>(rows), [](void* held) noexcept {
    const std::unique_ptr<std::shared_ptr<PictureRows>> ends(
        static_cast<std::shared_ptr<PictureRows>*>(held));
  });
  const auto dtype = rows->floats() ? nb::dtype<float>() : nb::dtype<uint8_t>();
  return nb::cast(
      nb::ndarray<nb::numpy>(rows->at(first), shape.size(), shape.data(), owner, nullptr, dtype));
}

nb::object decode_one(const Pictures& pictures, const nb::bytes& file) {
  PictureJob job{{static_cast<const std::byte*>(file.data()), file.size()}};
  {
    nb::gil_scoped_release unlocked;
    thread_local Scratch scratch;
    job.decode(pictures.plain, scratch);
  }
  return job.decoded ? picture_array(job.rows, job.index) : nb::none();
}

}  // namespace

Pictures::Pictures(const std::string& channels, bool floats, bool planes)
    : plain(unwrap(PlainPictures::make(channels, floats, planes))) {}

nb::object picture_array(const std::shared_ptr<PictureRows>& rows, size_t index) {
  return array_over(rows, index, rows->shape());
}

nb::object batch_array(const std::shared_ptr<PictureRows>& rows, size_t count) {
  std::vector<size_t> shape = rows->shape();
  shape.insert(shape.begin(), count);
  return array_over(rows, 0, shape);
}

PictureWork::PictureWork(nb::object pictures, int threads)
    : owner_(std::move(pictures)), pictures_(nb::cast<const Pictures&>(owner_)), count_(threads) {}

PictureWork::~PictureWork() { stop(); }

void PictureWork::stop() {
  if (threads_ && started_in_ != getpid()) (void)threads_.release();  // they are the parent's
  nb::gil_scoped_release unlocked;
  threads_.reset();
}

void PictureWork::ask(PictureJob& job) {
  if (count_ == 0) return;
  if (!threads_) {
    started_in_ = getpid();
    threads_ = std::make_unique<PictureThreads>(pictures_.plain, count_);
  }
  check_process();
  threads_->ask(job);
}

void PictureWork::wait(PictureJob& job) {
  check_process();
  nb::gil_scoped_release unlocked;
  if (threads_) return threads_->wait(job);
  thread_local Scratch scratch;
  job.decode(pictures_.plain, scratch);
}

void PictureWork::check_process() const {
  if (threads_ && started_in_ != getpid())
    throw std::runtime_error("an iteration cannot go on after fork(); start a new one");
}

void bind_webdataset_pictures(nb::module_& module) {
  nb::class_<Pictures>(module, "Pictures", "Decodes pictures to arrays, as an image spec says.")
      .def(nb::init<const std::string&, bool, bool>(), nb::arg("channels"), nb::arg("floats"),
           nb::arg("planes"))
      .def("decode", &decode_one, nb::arg("file"));
}

}  // namespace headrace::python
