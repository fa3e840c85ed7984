#include "examples/digits/dataset.h"

#include <csv.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace digits {
namespace {

// Fixed, so that accuracies of runs with different seeds can be compared.
constexpr int kSplitSeed = 1998;
constexpr char kDataFile[] = "examples/digits/data/digits.csv.gz";

using Fields = std::vector<std::string>;

// Splits lines at their commas.
class LineParser {
 public:
  LineParser() { csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI); }
  ~LineParser() { csv_free(&parser_); }
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  absl::StatusOr<Fields> Parse(const std::string& line) {
    Fields fields;
    const bool parsed =
        csv_parse(&parser_, line.data(), line.size(), AddField, nullptr, &fields) == line.size() &&
        csv_fini(&parser_, AddField, nullptr, &fields) == 0;
    if (!parsed) return absl::InvalidArgumentError("a quoted value is not closed correctly");
    return fields;
  }

 private:
  static void AddField(void* text, size_t size, void* fields) {
    static_cast<Fields*>(fields)->emplace_back(static_cast<const char*>(text), size);
  }

  csv_parser parser_;
};

absl::StatusOr<int> ParseValue(absl::string_view what, const std::string& text, int max) {
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= 0 && value <= max) return value;
  return absl::InvalidArgumentError(absl::StrCat(what, " is '",
                                                 absl::CHexEscape(text.substr(0, 20)),
                                                 "', expected an integer from 0 to ", max));
}

absl::StatusOr<Image> ParseImage(const absl::StatusOr<Fields>& fields) {
  if (!fields.ok()) return fields.status();
  if (fields->size() != kPixels + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        fields->size(), " values, expected ", kPixels + 1, ": ", kPixels, " pixels and a label"));
  }
  Image image;
  for (int i = 0; i < kPixels; ++i) {
    const absl::StatusOr<int> pixel =
        ParseValue(absl::StrCat("pixel ", i + 1), (*fields)[i], kMaxIntensity);
    if (!pixel.ok()) return pixel.status();
    image.pixels[i] = static_cast<double>(*pixel) / kMaxIntensity;
  }
  const absl::StatusOr<int> label = ParseValue("the label", fields->back(), kClasses - 1);
  if (!label.ok()) return label.status();
  image.label = *label;
  return image;
}

// Reads the next line, without its Unix or Windows line end.
bool NextLine(std::ifstream* file, std::string* line) {
  if (!std::getline(*file, *line)) return false;
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return true;
}

}  // namespace

std::string DefaultDataFile() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.string() + ".runfiles/muster/" + kDataFile;
  return std::filesystem::exists(beside, error) ? beside.string() : kDataFile;
}

absl::StatusOr<std::vector<Image>> ReadImages(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", name));
  std::vector<Image> images;
  LineParser parser;
  std::string line;
  while (NextLine(&file, &line)) {
    absl::StatusOr<Image> image = ParseImage(parser.Parse(line));
    if (!image.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ":", images.size() + 1, ": ", image.status().message()));
    }
    images.push_back(*std::move(image));
  }
  if (file.bad()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
  if (images.size() < kHeldOutOneIn) {
    return absl::InvalidArgumentError(absl::StrCat(name, " holds ", images.size(),
                                                   " images, expected at least ", kHeldOutOneIn,
                                                   ": one in ", kHeldOutOneIn, " is held out"));
  }
  return images;
}

Dataset Split(std::vector<Image> images) {
  std::shuffle(images.begin(), images.end(), std::mt19937_64(kSplitSeed));
  const auto end_of_held_out = images.begin() + images.size() / kHeldOutOneIn;
  Dataset data;
  data.held_out.assign(images.begin(), end_of_held_out);
  data.training.assign(end_of_held_out, images.end());
  return data;
}

}  // namespace digits
