#include "report/prediction/prediction.h"

#include <fmt/format.h>

#include "json/value.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using advice::PredictionRow;
using advice::SpeedRow;
using predict::Figure;

using Value = core::Estimated<>;

Value Scaled(const Value& value, double unit) {
  return core::Changed(value, [unit](double x) { return x * unit; });
}

// Rates are better when larger, so their upper bound comes from the shorter step.
Value Inverse(const Value& value) {
  return {{1 / value.median, 1 / value.high, 1 / value.low}, value.source};
}

struct Entry {
  std::string key;  // "gpu_util": percent and units in the key
  std::string words;
  Value value;
  std::string (*show)(double);
  predict::Widening widened = {};
};

std::string ShowPercent(double percent) { return Percent(percent / 100); }
std::string ShowBytes(double bytes) { return Size(core::Bytes(bytes)); }
std::string ShowRate(double bytes) { return Rate(core::BytesPerSecond(bytes)); }
std::string ShowPlain(double value) { return Number(value, value < 10 ? 2 : 1); }
// Steps are told apart by less than Duration() shows.
std::string ShowTime(double seconds) {
  if (seconds >= 10) return Duration(core::Seconds(seconds));
  return seconds >= 1 ? Number(seconds, 2) + " s"
                      : Number(seconds * 1e3, seconds < 0.01 ? 2 : 1) + " ms";
}
std::string ShowWatts(double watts) { return Number(watts, 0) + " W"; }
std::string ShowJoules(double joules) { return Number(joules, 1) + " J"; }

std::vector<Entry> EntriesOf(const PredictionRow& row, std::optional<double> price) {
  const auto& p = row.prediction;
  const Value step = row.StepSeconds();
  const auto learnt = [&](std::string key, std::string words, Figure figure, const Value& value,
                          std::string (*show)(double)) {
    return Entry{std::move(key), std::move(words), value, show, p.widened[predict::Index(figure)]};
  };
  const auto share = [&](std::string key, std::string words, Figure figure) {
    return learnt(std::move(key), std::move(words), figure, Scaled(p[figure], 100), ShowPercent);
  };
  const auto plain = [&](std::string key, std::string words, Figure figure,
                         std::string (*show)(double)) {
    return learnt(std::move(key), std::move(words), figure, p[figure], show);
  };
  std::vector<Entry> out = {
      share("gpu_util", "GPU busy", Figure::kBusy),
      share("sm_activity", "SM activity", Figure::kSm),
      share("dram_activity", "device memory activity", Figure::kDram),
      {"l2_activity", "L2 activity", Scaled(p.l2, 100), ShowPercent},
      share("tensor_activity", "tensor activity", Figure::kTensor),
      plain("gpu_memory_bytes", "GPU memory", Figure::kMemory, ShowBytes),
      plain("allocator_peak_bytes", "allocator's peak", Figure::kReserved, ShowBytes),
      plain("pcie_bytes_per_second", "PCIe", Figure::kPcie, ShowRate),
      learnt("steps_per_second", "steps a second", Figure::kStepSeconds, Inverse(step), ShowPlain),
      learnt("step_seconds", "a step", Figure::kStepSeconds, step, ShowTime),
      plain("busy_seconds_per_step", "GPU time a step", Figure::kBusySeconds, ShowTime),
      plain("cpu_cores", "CPU cores", Figure::kCores, ShowPlain),
      plain("host_memory_bytes", "host memory", Figure::kHostMemory, ShowBytes),
      {"host_bandwidth_bytes_per_second", "host memory traffic", p.host_bandwidth, ShowRate},
      {"disk_bytes_per_second", "disk", p.disk, ShowRate},
      plain("power_watts", "power", Figure::kPower, ShowWatts),
      learnt("energy_joules_per_step", "energy a step", Figure::kStepSeconds, p.energy,
             ShowJoules)};
  if (price) {
    // An hour's price over the steps of that hour, for all GPUs.
    const double each = *price * row.ask.gpus / 3600 * 1000;
    out.push_back(learnt("cost_per_1000_steps", "cost of 1,000 steps", Figure::kStepSeconds,
                         Scaled(step, each), ShowPlain));
  }
  return out;
}

// Whom it is from, and what its bounds were widened for.
std::string SourceInWords(const Entry& entry) {
  const std::string_view source = core::NameOf(entry.value.source);
  switch (entry.widened.cause) {
    case predict::Widening::Cause::kNone:
      break;
    case predict::Widening::Cause::kModel:
      return fmt::format("{}, bounds x {:g} for the model", source, entry.widened.factor);
    case predict::Widening::Cause::kGpu:
      return fmt::format("{}, bounds x {:g} for the GPU", source, entry.widened.factor);
  }
  return std::string(source);
}

std::string Nearest(const predict::Prediction& prediction) {
  std::string out;
  for (const auto& near : prediction.nearest) {
    out += fmt::format("{}{} ({:.2f})", out.empty() ? "" : "; ", near.name, near.distance);
  }
  return out;
}

// Whether it fits: even its upper bound, only its median, or neither.
std::string_view Fits(const PredictionRow& row) {
  const Value& memory = row.prediction[Figure::kMemory];
  if (memory.high <= row.gpu_memory.value) return "yes";
  return memory.median <= row.gpu_memory.value ? "perhaps" : "no";
}

void WriteRow(json::Writer& out, const PredictionRow& row, std::optional<double> price) {
  out.Field("model", row.ask.model);
  out.Field("batch", row.ask.batch);
  out.Field("precision", row.ask.precision);
  out.Field("workers", row.ask.workers);
  out.Field("gpu", row.ask.gpu);
  out.Field("optimizer", row.ask.optimizer);
  out.Field("gpus", row.ask.gpus);
  for (const Entry& entry : EntriesOf(row, price)) {
    out.Field(entry.key + "_p50", entry.value.median);
    out.Field(entry.key + "_p05", entry.value.low);
    out.Field(entry.key + "_p95", entry.value.high);
    out.Field(entry.key + "_source", core::NameOf(entry.value.source));
    out.Field(entry.key + "_widened", entry.widened.factor);
  }
  out.Field("bound", predict::NameOf(row.prediction.bound));
  out.Field("fits", Fits(row));
  out.Field("model_known", row.prediction.model_known);
  out.Field("gpu_known", row.prediction.gpu_known);
  out.Field("precision_native", row.prediction.precision_native);
  out.Field("uncosted_nodes", row.uncosted);
  out.Field("nearest", Nearest(row.prediction));
  const advice::PredictedHost& host = row.ask.host;
  out.Field("host", host.here ? "this machine" : "reference");
  out.Field("host_time", host.time);
  out.Field("host_launches_per_second", host.launches);
  out.Field("reference_launches_per_second",
            ValueIf(host.reference_launches > 0, host.reference_launches));
}

void WriteRow(json::Writer& out, const SpeedRow& row) {
  out.TextOrNull("group", row.ask.group);
  out.TextOrNull("model", row.ask.model);
  out.TextOrNull("profile", row.ask.profile);
  out.Field("batch", row.ask.batch);
  out.Field("precision", row.ask.precision);
  out.Field("workers", row.ask.workers);
  out.Field("gpu", row.ask.gpu);
  out.Field("sm_share", row.ask.sm_share);
  out.Field("speed_p50", row.speed.median);
  out.Field("speed_p05", row.speed.low);
  out.Field("speed_p95", row.speed.high);
  out.Field("speed_source", core::NameOf(row.speed.source));
  out.Field("demand_source",
            core::NameOf(row.demand_measured ? core::Source::kObserved : core::Source::kPredicted));
  out.Field("memory_fits", row.fits);
}

// `write` writes the members of a row.
template <class Rows, class Write>
std::string AsJson(const Rows& rows, Write write) {
  return JsonReport([&](json::Writer& out) {
    out.List("predictions", rows, [&](const auto& row) { out.Object([&] { write(out, row); }); });
  });
}

// The same members as columns.
template <class Rows, class Write>
std::string AsCsv(const Rows& rows, Write write) {
  std::string header;
  std::string body;
  for (const auto& row : rows) {
    const auto parsed =
        json::Document::Parse(json::ObjectLine([&](json::Writer& out) { write(out, row); }));
    const bool first = header.empty();
    CsvText line("");
    for (const auto& [key, value] : json::RootOf(parsed).members()) {
      if (first) header += fmt::format("{}{}", header.empty() ? "" : ",", key);
      if (const auto number = value.Number()) {
        line.Field(*number);
      } else if (const auto flag = value.Bool()) {
        line.Field(*flag ? "true" : "false");
      } else {
        line.Field(std::string(value.Text().value_or("")));
      }
    }
    line.EndRow();
    body += std::move(line).Take().substr(1);  // its empty header
  }
  return header + "\n" + body;
}

std::string HostWords(const advice::PredictedHost& host) {
  if (!host.here) {
    return "the one that was learnt on; on the machine that trains, `sharewell doctor --calibrate` "
           "rescales to it";
  }
  if (host.time == 1) return "this machine, about as fast as the one that was learnt on";
  return fmt::format("this machine, which takes {:.2f} times as long as the one that was learnt on",
                     host.time);
}

std::string Called(const advice::PredictionAsk& ask) {
  const std::string& name = ask.profile.empty() ? ask.model : ask.profile;
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

}  // namespace

std::string PredictionTable(const PredictionRow& row, std::optional<double> price) {
  const auto& p = row.prediction;
  std::string text =
      fmt::format("{}, batch {}, {}, {} loader workers, {}, on {}{}\n\n", row.ask.model,
                  row.ask.batch, row.ask.precision, row.ask.workers, row.ask.optimizer,
                  row.ask.gpus > 1 ? fmt::format("{} ", row.ask.gpus) : "", row.ask.gpu);
  Table table({{"", Align::kLeft},
               {"median", Align::kRight},
               {"5 %", Align::kRight},
               {"95 %", Align::kRight},
               {"source", Align::kLeft}});
  for (const Entry& entry : EntriesOf(row, price)) {
    table.Row({entry.words, entry.show(entry.value.median), entry.show(entry.value.low),
               entry.show(entry.value.high), SourceInWords(entry)});
  }
  text += table.Text() + "\n";
  text += fmt::format("host: {}\n", HostWords(row.ask.host));
  text += fmt::format("held back by: {}\n", predict::NameOf(p.bound));
  text += fmt::format("fits in {} of {}: {}\n", ShowBytes(row.gpu_memory.value), row.ask.gpu,
                      Fits(row));
  text +=
      "allocator's peak: what cuDNN takes for a moment, where it is free, to search for "
      "algorithms. "
      "It works with less, so a job is placed by its GPU memory.\n";
  if (!p.nearest.empty()) text += fmt::format("nearest known: {}\n", Nearest(p));
  if (!p.model_known) {
    text +=
        "This model is unlike all that was learnt from: the bounds are wider, each as far as such "
        "models were off, and may still be wrong.\n";
  }
  if (!p.gpu_known) {
    text += fmt::format(
        "Nothing was learnt on {}: rates come from its catalogue facts, and their bounds are twice "
        "as wide. What a job holds in memory hardly depends on the GPU. `sharewell-lab train` "
        "learns "
        "from your own profiles.\n",
        row.ask.gpu);
  }
  if (!p.precision_native) {
    text += fmt::format(
        "{} does not compute in {}: frameworks take fp32 instead, and so do these figures. "
        "`sharewell gpus` tells what each GPU has.\n",
        row.ask.gpu, row.ask.precision);
  }
  if (row.uncosted > 0) {
    text += fmt::format("{} operator{} could not be costed: `sharewell inspect` lists them.\n",
                        row.uncosted, row.uncosted == 1 ? "" : "s");
  }
  if (row.ask.gpus > 1) {
    text += "Each GPU gets the batch; the exchange of gradients is assumed, not learnt.\n";
  }
  return text;
}

std::string PredictionsTable(const std::vector<PredictionRow>& rows) {
  Table table({{"model", Align::kLeft},
               {"batch", Align::kRight},
               {"precision", Align::kLeft},
               {"GPU", Align::kLeft},
               {"busy", Align::kRight},
               {"at most", Align::kRight},
               {"memory", Align::kRight},
               {"at most", Align::kRight},
               {"steps/s", Align::kRight},
               {"cores", Align::kRight},
               {"held back by", Align::kLeft},
               {"fits", Align::kLeft}});
  for (const PredictionRow& row : rows) {
    const auto& p = row.prediction;
    table.Row({Called(row.ask), std::to_string(row.ask.batch), row.ask.precision, row.ask.gpu,
               Percent(p[Figure::kBusy].median), Percent(p[Figure::kBusy].high),
               ShowBytes(p[Figure::kMemory].median), ShowBytes(p[Figure::kMemory].high),
               ShowPlain(1 / row.StepSeconds().median), ShowPlain(p[Figure::kCores].median),
               std::string(predict::NameOf(p.bound)), std::string(Fits(row))});
  }
  return table.Text();
}

std::string PredictionsJson(const std::vector<PredictionRow>& rows, std::optional<double> price) {
  return AsJson(rows,
                [&](json::Writer& out, const PredictionRow& row) { WriteRow(out, row, price); });
}

std::string PredictionsCsv(const std::vector<PredictionRow>& rows, std::optional<double> price) {
  return AsCsv(rows,
               [&](json::Writer& out, const PredictionRow& row) { WriteRow(out, row, price); });
}

std::string SpeedsTable(const std::vector<SpeedRow>& rows) {
  Table table({{"group", Align::kLeft},
               {"job", Align::kLeft},
               {"batch", Align::kRight},
               {"SM share", Align::kRight},
               {"speed", Align::kRight},
               {"5 %", Align::kRight},
               {"95 %", Align::kRight},
               {"source", Align::kLeft},
               {"memory fits", Align::kLeft}});
  std::string last;
  for (const SpeedRow& row : rows) {
    if (row.ask.group != last) table.Gap();
    last = row.ask.group;
    table.Row({row.ask.group, Called(row.ask), std::to_string(row.ask.batch),
               fmt::format("{:.0f} %", 100 * row.ask.sm_share), Number(row.speed.median, 2),
               Number(row.speed.low, 2), Number(row.speed.high, 2),
               std::string(core::NameOf(row.speed.source)), row.fits ? "yes" : "no"});
  }
  return table.Text() + "\nSpeed 1 is the job's pace alone on that GPU with all SMs.\n";
}

std::string SpeedsJson(const std::vector<SpeedRow>& rows) {
  return AsJson(rows, [](json::Writer& out, const SpeedRow& row) { WriteRow(out, row); });
}

std::string SpeedsCsv(const std::vector<SpeedRow>& rows) {
  return AsCsv(rows, [](json::Writer& out, const SpeedRow& row) { WriteRow(out, row); });
}

}  // namespace sharewell::report
