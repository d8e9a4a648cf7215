#include "codegen/llvm/archive.h"

#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include "lathe/error.h"

namespace lathe::codegen::cpu {

std::string archive(const std::vector<ArchiveMember>& members) {
  std::vector<::llvm::NewArchiveMember> list;
  for (const ArchiveMember& m : members)
    list.emplace_back(::llvm::MemoryBufferRef(::llvm::StringRef(m.content.data(), m.content.size()), m.name));
#if LLVM_VERSION_MAJOR >= 18
  constexpr auto index = ::llvm::SymtabWritingMode::NormalSymtab;
#else
  constexpr bool index = true;
#endif
  auto made =
      ::llvm::writeArchiveToBuffer(list, index, ::llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                   /*Thin=*/false);
  if (!made) throw InternalError("no static library: " + ::llvm::toString(made.takeError()));
  return (*made)->getBuffer().str();
}

}  // namespace lathe::codegen::cpu
