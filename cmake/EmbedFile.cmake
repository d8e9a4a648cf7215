# Writes OUTPUT, a C++ source that holds the bytes of INPUT:
#   cmake -DINPUT=x.model -DOUTPUT=x.cpp -DNAMESPACE=lathe::tuner -DNAME=kShippedModel -P EmbedFile.cmake
file(READ "${INPUT}" bytes HEX)
file(SIZE "${INPUT}" size)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include <cstddef>

namespace ${NAMESPACE} {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}Size;
const unsigned char ${NAME}[] = {
${bytes}
};
const std::size_t ${NAME}Size = ${size};
}  // namespace ${NAMESPACE}
")
