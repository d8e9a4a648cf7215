#include "lathe/error.h"

#include <algorithm>
#include <cctype>
#include <mutex>

#include "support/error_codes/code.h"

namespace lathe {

struct Error::State {
  Message render;
  std::once_flag once;
  std::string text;
};

namespace {

/// A text that quotes input may quote anything: a zero byte would end it, an escape sequence would act on a terminal.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t') {
      out += c;
    } else {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
  }
  return out;
}

}  // namespace

Error::Error(Message message) : state_(std::make_shared<State>()) { state_->render = std::move(message); }

const char* Error::what() const noexcept {
  try {
    std::call_once(state_->once, [this] { state_->text = printable(state_->render()); });
    return state_->text.c_str();
  } catch (...) {
    return "(the text of this error could not be rendered)";
  }
}

namespace {

Message with_code(Code code, Message message) {
  return [code, message = std::move(message)] {
    return message() + "  [" + std::string(describe(code).id) + "]";
  };
}

}  // namespace

UserError::UserError(Code code, Message message) : Error(with_code(code, std::move(message))), code_(code) {}

UserError::UserError(Code code, std::string message)
    : UserError(code, Message([text = std::move(message)] { return text; })) {}

InternalError::InternalError(std::string message, Site site)
    : Error([text = std::move(message), site] {
        return "internal error: " + text + " (" + site.file_name() + ":" + std::to_string(site.line()) +
               "). This is a bug of Lathe; please report it with the program and its trace.";
      }) {}

const std::vector<CodeInfo>& error_catalogue() {
  static const std::vector<CodeInfo> catalogue = [] {
    std::vector<CodeInfo> all = {
#define LATHE_ERROR_CODE(id, title, cause, way_out) {code::named(#id), "LTH-" #id, title, cause, way_out},
#include "support/error_codes/build.def"
#include "support/error_codes/codegen.def"
#include "support/error_codes/files.def"
#include "support/error_codes/interp.def"
#include "support/error_codes/records.def"
#include "support/error_codes/runtime.def"
#include "support/error_codes/schedule.def"
#include "support/error_codes/target.def"
#include "support/error_codes/te.def"
#include "support/error_codes/tuner.def"
#include "support/error_codes/workloads.def"
#undef LATHE_ERROR_CODE
    };
    std::sort(all.begin(), all.end(), [](const CodeInfo& a, const CodeInfo& b) { return a.id < b.id; });
    return all;
  }();
  return catalogue;
}

const CodeInfo& describe(Code code) {
  for (const CodeInfo& info : error_catalogue()) {
    if (info.code == code) return info;
  }
  throw InternalError("error code without an entry");
}

const CodeInfo* find_code(std::string_view id) {
  auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
  };
  for (const CodeInfo& info : error_catalogue()) {
    if (same(info.id, id) || same(info.id.substr(4), id)) return &info;
  }
  return nullptr;
}

}  // namespace lathe
