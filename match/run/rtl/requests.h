// Kernel calls: firmware in one memory, which each of them finds as it was loaded.
//
// Requests on stdin, answers on stdout, little-endian and back to back. A request: address and number of bytes to write
// before reset, those bytes, address and number of bytes to read at the end, most cycles to run (all uint32). An answer:
// status, cycles between the marks START and STOP (uint32), the bytes read.
#ifndef MATCH_RTL_REQUESTS_H
#define MATCH_RTL_REQUESTS_H

#include <cstdio>
#include <fstream>
#include <iterator>

#include "machine.h"

// A store here marks a point of the program.
class Marks : public Devices {
  public:
    bool load(uint32_t, uint32_t *) override { return false; }

    bool store(uint32_t address, uint32_t word, uint64_t cycle) override
    {
        if (address != MARKS) return false;
        if (word == START) started_ = cycle;
        if (word == STOP) cycles = static_cast<uint32_t>(cycle - started_);
        ended = word == END;
        return true;
    }

    uint32_t cycles = 0;

  private:
    enum : uint32_t { MARKS = 0x80000000u, START = 1, STOP = 2, END = 3 };
    uint64_t started_ = 0;
};

inline bool read_stdin(void *target, size_t bytes)
{
    return bytes == 0 || std::fread(target, 1, bytes, stdin) == bytes;
}

inline int serve(const char *image)
{
    constexpr uint32_t BOOT = 0x80u, BYTES = 4u << 20;
    std::ifstream file(image, std::ios::binary);
    const std::vector<uint8_t> firmware((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (firmware.empty() || firmware.size() > BYTES - BOOT) return 2;
    uint32_t place[2];
    while (read_stdin(place, sizeof place)) {
        Memory memory;
        memory.add(0, BYTES, 0);
        std::memcpy(memory.at(BOOT, static_cast<uint32_t>(firmware.size())), firmware.data(), firmware.size());
        uint32_t result[3];
        uint8_t *const request = memory.at(place[0], place[1]);
        if (request == nullptr || !read_stdin(request, place[1]) || !read_stdin(result, sizeof result)) return 2;
        const uint8_t *const read = memory.at(result[0], result[1]);
        if (read == nullptr) return 2;
        Marks marks;
        const Stop stop = Machine(&memory, &marks).run(BOOT, result[2]);
        const uint32_t answer[2] = {static_cast<uint32_t>(stop), marks.cycles};
        std::fwrite(answer, sizeof answer, 1, stdout);
        std::fwrite(read, 1, result[1], stdout);
        std::fflush(stdout);
    }
    return 0;
}

#endif
