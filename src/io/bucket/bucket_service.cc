#include "io/bucket/bucket_service.h"

#include "base/try.h"

namespace headrace {

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

}  // namespace headrace
