#include "stress/workers/pcie_worker.h"

#include <algorithm>
#include <cstring>

#include "core/result.h"

namespace sharewell::stress {
namespace {

constexpr int kThreads = 2;
constexpr auto kHalf = static_cast<std::size_t>(kPcieMostPiece);
constexpr unsigned kBlockingSync = 4;  // CU_CTX_SCHED_BLOCKING_SYNC: waiting takes no CPU
constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING: apart from the default stream
constexpr double kLeastCopy = 4096;    // bytes

// The GPU's primary context, held as long as a worker lives.
class HeldContext {
 public:
  static core::Result<std::shared_ptr<HeldContext>> Hold(std::shared_ptr<const CudaDriver> driver,
                                                         const CudaGpu& gpu) {
    auto held = std::make_shared<HeldContext>();
    // Refused when the context is in use with other flags: then waiting costs some CPU, no more.
    driver->PrimaryContextSetFlags(gpu.device, kBlockingSync);
    if (const auto status = driver->PrimaryContextRetain(&held->context_, gpu.device);
        status != 0) {
      return core::FailedError("GPU {} gives no context: {}", gpu.pci_bus_id,
                               driver->Words(status));
    }
    held->driver_ = std::move(driver);
    held->device_ = gpu.device;
    return held;
  }
  HeldContext() = default;
  ~HeldContext() {
    if (driver_ != nullptr) driver_->PrimaryContextRelease(device_);
  }
  HeldContext(const HeldContext&) = delete;
  HeldContext& operator=(const HeldContext&) = delete;

  const CudaDriver& driver() const { return *driver_; }
  CudaDriver::Context context() const { return context_; }

 private:
  std::shared_ptr<const CudaDriver> driver_;
  CudaDriver::Device device_ = 0;
  CudaDriver::Context context_ = nullptr;
};

class PcieWorker : public Worker {
 public:
  PcieWorker(std::shared_ptr<HeldContext> held, PcieDirection direction)
      : held_(std::move(held)), direction_(direction) {}

  ~PcieWorker() override {
    const CudaDriver& d = held_->driver();
    d.ContextSetCurrent(held_->context());
    for (const CudaDriver::Stream stream : {in_, out_}) {
      if (stream != nullptr) d.StreamDestroy(stream);
    }
    if (host_ != nullptr) d.HostFree(host_);
    if (device_ != 0) d.MemFree(device_);
  }

  core::Result<void> Prepare() override {
    const CudaDriver& d = held_->driver();
    CudaDriver::Status status = d.ContextSetCurrent(held_->context());
    if (status == 0) status = d.StreamCreate(&in_, kNonBlocking);
    if (status == 0) status = d.StreamCreate(&out_, kNonBlocking);
    if (status == 0) status = d.MemAlloc(&device_, 2 * kHalf);
    if (status == 0) status = d.HostAlloc(&host_, 2 * kHalf, 0);
    if (status != 0) {
      return core::FailedError("the GPU gives no buffers to copy between: {}", d.Words(status));
    }
    std::memset(host_, 0x5a, 2 * kHalf);
    return {};
  }

  core::Result<double> Do(double amount) override {
    const bool both = direction_ == PcieDirection::kBoth;
    const double each = std::clamp(both ? amount / 2 : amount, kLeastCopy, kPcieMostPiece);
    const auto bytes = static_cast<std::size_t>(each);
    const CudaDriver& d = held_->driver();
    // Each way has its own half of the buffers, so that both copies can run at once.
    CudaDriver::Status status = 0;
    if (direction_ != PcieDirection::kToHost) status = d.CopyToDevice(device_, host_, bytes, in_);
    if (status == 0 && direction_ != PcieDirection::kToDevice) {
      status = d.CopyToHost(static_cast<std::byte*>(host_) + kHalf, device_ + kHalf, bytes, out_);
    }
    if (status == 0 && direction_ != PcieDirection::kToHost) status = d.StreamSynchronize(in_);
    if (status == 0 && direction_ != PcieDirection::kToDevice) status = d.StreamSynchronize(out_);
    if (status != 0) return core::FailedError("a copy over PCIe failed: {}", d.Words(status));
    return static_cast<double>(both ? 2 * bytes : bytes);
  }

 private:
  std::shared_ptr<HeldContext> held_;
  PcieDirection direction_;
  CudaDriver::Stream in_ = nullptr;
  CudaDriver::Stream out_ = nullptr;
  CudaDriver::DeviceMemory device_ = 0;
  void* host_ = nullptr;
};

}  // namespace

core::Result<PcieWorkersMade> PcieWorkers(const std::string& library, int gpu,
                                          PcieDirection direction, const std::vector<int>& cpus) {
  const auto driver = CudaDriver::Open(library);
  RETURN_IF_ERROR(driver);
  const auto found = FindGpu(**driver, gpu);
  RETURN_IF_ERROR(found);
  const auto held = HeldContext::Hold(*driver, *found);
  RETURN_IF_ERROR(held);
  PcieWorkersMade made{{}, *found};
  for (int i = 0; i < kThreads; ++i) {
    made.workers.push_back({std::make_unique<PcieWorker>(*held, direction), cpus});
  }
  return made;
}

}  // namespace sharewell::stress
