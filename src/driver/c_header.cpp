#include "driver/c_header.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "support/error_codes/codegen.h"

namespace lathe::driver {
namespace {

bool is_reserved(const std::string& word) {
  // Keywords of C and C++, whose programs both include the header.
  static const std::set<std::string> words = {
      "alignas", "alignof", "and",       "asm",      "auto",      "bool",     "break",    "case",
      "catch",   "char",    "class",     "const",    "constexpr", "continue", "decltype", "default",
      "delete",  "do",      "double",    "else",     "enum",      "explicit", "export",   "extern",
      "false",   "float",   "for",       "friend",   "goto",      "if",       "inline",   "int",
      "long",    "mutable", "namespace", "new",      "noexcept",  "not",      "nullptr",  "operator",
      "or",      "private", "protected", "public",   "register",  "restrict", "return",   "short",
      "signed",  "sizeof",  "static",    "struct",   "switch",    "template", "this",     "throw",
      "true",    "try",     "typedef",   "typename", "typeid",    "union",    "unsigned", "using",
      "virtual", "void",    "volatile",  "while",    "xor",       "main"};
  return words.count(word) > 0;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A parameter's name as an identifier, different from those before it.
std::string argument_name(const std::string& name, std::set<std::string>& taken) {
  std::string word = name;
  for (char& c : word)
    if (!is_word_character(c)) c = '_';
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) || is_reserved(word))
    word = "p_" + word;
  std::string chosen = word;
  for (int i = 2; !taken.insert(chosen).second; ++i) chosen = word + "_" + std::to_string(i);
  return chosen;
}

std::string c_type(DataType type) {
  if (type.is_bool()) return "uint8_t";
  if (type.is_float() && type.bits == 16) return "uint16_t";
  if (type.is_float()) return type.bits == 32 ? "float" : "double";
  return std::string(type.is_unsigned() ? "uint" : "int") + std::to_string(type.bits) + "_t";
}

bool is_written(const Param& param) {
  return param.role == ParamRole::Output || param.role == ParamRole::InOut;
}

/// As a macro's name.
std::string upper_case(const std::string& text) {
  std::string out;
  for (char c : text)
    out += is_word_character(c) ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : '_';
  return out;
}

std::string shape_text(const Buffer& buffer) {
  std::string text = "[";
  for (std::size_t d = 0; d < buffer->shape.size(); ++d)
    text += (d ? ", " : "") + to_string(buffer->shape[d]);
  return text + "]";
}

/// Text that may stand inside a C comment.
std::string comment_safe(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/"))
    text.replace(at, 2, "* /");
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// How many bytes the caller provides for what is prepared, where no run-time size decides.
std::string size_macros(const CKernel& kernel, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; kernel.prepares && i < names.size(); ++i) {
    const Param& param = kernel.shown->params[i];
    if (param.role != ParamRole::Output) continue;
    const std::optional<std::int64_t> bytes = as_int(param.buffer->shape[0]);
    if (!bytes) continue;
    const std::string base = kernel.name.substr(0, kernel.name.size() - std::string("_prepare").size());
    text += "#define " + upper_case(base + "_" + names[i]) + "_BYTES " + std::to_string(*bytes) + "\n";
  }
  return text;
}

std::string declarations(const CKernel& kernel) {
  const Program& program = kernel.shown;
  std::set<std::string> taken;
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Param& param : program->params) {
    names.push_back(argument_name(param.name(), taken));
    width = std::max(width, names.back().size());
  }
  std::string table, plain, tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Param& param = program->params[i];
    const std::string comma = i ? ", " : "";
    table += " *   " + padded(names[i], width) + "  ";
    if (!param.buffer) {
      table += padded("size", 8) + "  int64_t, 0 or more\n";
      plain += comma + "int64_t " + names[i];
      tensors += comma + "int64_t " + names[i];
      continue;
    }
    table +=
        padded(spelling(param.role), 8) + "  " + param.buffer->dtype.str() + " " + shape_text(param.buffer);
    if (param.buffer->alignment > param.buffer->dtype.bytes())
      table += ", aligned to " + std::to_string(param.buffer->alignment) + " bytes";
    table += "\n";
    plain += comma + (is_written(param) ? "" : "const ") + c_type(param.buffer->dtype) + "* " + names[i];
    tensors += comma + "const DLTensor* " + names[i];
  }
  if (names.empty()) plain = tensors = "void";
  const std::string once = kernel.prepares ? " *\n * Runs once, and again when a constant has changed: its "
                                             "outputs are what the kernel takes in\n"
                                             " * the constants' places.\n"
                                           : "";
  return "\n/* " + kernel.name + "\n *\n" + comment_safe(table) + once + " */\n" +
         size_macros(kernel, names) + "int32_t " + kernel.name + "(" + plain + ");\n" + "int32_t " +
         kernel.name + "_dlpack(" + tensors + ");\n" + "int32_t " + kernel.name +
         "_kernel(void* const* buffers, const int64_t* scalars);\n";
}

std::string guard_of(const std::string& module_name) {
  return "LATHE_KERNELS_" + upper_case(module_name) + "_H_";
}

}  // namespace

bool is_c_identifier(const std::string& name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), is_word_character) && !is_reserved(name);
}

void check_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!driver::is_c_identifier(name))
      throw UserError(code::C003,
                      "kernel \"" + name +
                          "\": a C function cannot have this name; nothing was written. Name the program by "
                          "letters, digits and underscores");
    for (const char* suffix : {"", "_dlpack", "_kernel"})
      if (!seen.insert(name + suffix).second)
        throw UserError(code::C003, "kernel \"" + name +
                                        "\": two functions of the object would be called \"" + name + suffix +
                                        "\"; nothing was written. Rename one of the programs");
  }
}

std::string c_header(const std::string& module_name, const std::string& targets,
                     const std::vector<CKernel>& kernels, const std::vector<std::string>& needs) {
  const std::string guard = guard_of(module_name);
  std::string also;
  for (const std::string& function : needs) also += (also.empty() ? "" : ", ") + function;
  std::string text =
      "/* " + module_name + ": kernels generated by Lathe for " + comment_safe(targets) +
      ". Do not edit.\n"
      " *\n"
      " * Link the object file beside this header with the library lathe::runtime" +
      (also.empty() ? "." : ", and with what defines " + also + ".") +
      "\n"
      " *\n"
      " * For each kernel NAME there are\n"
      " *   NAME         on plain pointers. Checks what it can see: null, alignment, overlap, negative "
      "sizes.\n"
      " *   NAME_dlpack  on DLPack tensors. Checks types, shapes, strides and device too.\n"
      " *   NAME_kernel  checks nothing: tensors' addresses, then sizes, each in the order of the "
      "parameters.\n"
      " * Tensors are compact and row-major. f16 and bf16 are passed as their bits, bool as one byte, 0 or "
      "1. An output\n"
      " * shares no byte with another parameter. All return 0, or a LATHE_ERROR_ code whose text "
      "lathe_last_error() has;\n"
      " * they never throw, abort or print, keep no state, and may run on many threads at once.\n"
      " */\n"
      "#ifndef " +
      guard + "\n#define " + guard +
      "\n\n#include <stdint.h>\n\n#include \"lathe/runtime/c_api.h\"\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (const CKernel& kernel : kernels) text += declarations(kernel);
  return text + "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* " + guard + " */\n";
}

}  // namespace lathe::driver
