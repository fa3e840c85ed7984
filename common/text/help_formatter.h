#ifndef MUSTER_COMMON_TEXT_HELP_FORMATTER_H_
#define MUSTER_COMMON_TEXT_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/text/reflow.h"

namespace muster {

// A formatter of CLI11's help with lines of kHelpWidth. It breaks the lines of all texts.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return Reflow(CLI::Formatter::make_description(app), kHelpWidth);
  }
  std::string make_footer(const CLI::App* app) const override {
    return Reflow(CLI::Formatter::make_footer(app), kHelpWidth);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return InColumn(option->get_description());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             InColumn(command->get_description()), column_width_);
    return out.str();
  }

 protected:
  // Breaks a text that stands beside the names.
  std::string InColumn(const std::string& text) const {
    return Reflow(text, kHelpWidth - column_width_);
  }
};

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_HELP_FORMATTER_H_
