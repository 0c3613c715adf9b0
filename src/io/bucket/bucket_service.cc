#include "io/bucket/bucket_service.h"

#include <future>

#include "base/try.h"

namespace headrace {

HttpCall nothing_to_ask() {
  HttpCall nothing;
  nothing.request.method.clear();
  return nothing;
}

Result<HttpResponse> send_to(const BucketService& service, Fetcher& fetcher,
                             const std::function<HttpCall()>& make) {
  constexpr int kMostRecoveries = 3;
  for (int recoveries = 0;; ++recoveries) {
    HR_CHECK(service.ready());
    HR_TRY(HttpResponse answer, fetcher.send(make()));
    answer = service.truth(std::move(answer));
    if (answer.is_success() || recoveries == kMostRecoveries || !service.recover(answer))
      return answer;
  }
}

std::vector<Result<HttpResponse>> send_all(Fetcher& fetcher, std::vector<HttpCall> calls) {
  std::vector<std::promise<Result<HttpResponse>>> promises(calls.size());
  for (size_t i = 0; i < calls.size(); ++i)
    fetcher.start(std::move(calls[i]), [&promise = promises[i]](Result<HttpResponse> answer) {
      promise.set_value(std::move(answer));
    });
  std::vector<Result<HttpResponse>> answers;
  answers.reserve(promises.size());
  for (auto& promise : promises) answers.push_back(promise.get_future().get());
  return answers;
}

}  // namespace headrace
