// Runs firmware on one CV32E40P with ideal memories: every request is granted at once and answered a cycle later.
//
// The argument is the firmware's image, loaded at the boot address. Requests on stdin, answers on stdout, little-endian and
// back to back. A request: address and number of bytes to write before reset, those bytes, address and number of bytes
// to read at the end, most cycles to run (all uint32). An answer: status, cycles between the marks START and STOP
// (uint32), the bytes read.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "Vcv32e40p_core.h"
#include "verilated.h"

namespace {

constexpr uint32_t kMemoryBytes = 4u << 20;
constexpr uint32_t kMarks = 0x80000000u;  // a store here marks a point of the program
constexpr uint32_t kBoot = 0x80u;

enum Mark : uint32_t { START = 1, STOP = 2, END = 3 };
enum Status : uint32_t { OK = 0, TOO_LONG = 1, BAD_ADDRESS = 2 };

bool read_bytes(void *target, size_t bytes)
{
    return bytes == 0 || std::fread(target, 1, bytes, stdin) == bytes;
}

class Machine {
  public:
    explicit Machine(const std::vector<uint8_t> &firmware) : memory_(kMemoryBytes, 0)
    {
        std::memcpy(at(kBoot), firmware.data(), firmware.size());
    }

    uint8_t *at(uint32_t address) { return memory_.data() + address; }

    Status run(uint32_t most_cycles, uint32_t *cycles)
    {
        VerilatedContext context;
        Vcv32e40p_core core(&context);
        core.boot_addr_i = kBoot;
        core.instr_gnt_i = 1;
        core.data_gnt_i = 1;
        uint32_t started = 0;
        for (uint32_t cycle = 0; cycle < most_cycles; cycle++) {
            core.rst_ni = cycle >= 4;
            core.fetch_enable_i = cycle >= 8;
            core.clk_i = 0;
            core.eval();
            const bool fetches = core.rst_ni && core.instr_req_o;
            const bool accesses = core.rst_ni && core.data_req_o;
            uint32_t instruction = 0, data = 0;
            if (fetches && !load(core.instr_addr_o, &instruction)) return BAD_ADDRESS;
            if (accesses && core.data_addr_o == kMarks) {
                if (core.data_wdata_o == START) started = cycle;
                if (core.data_wdata_o == STOP) *cycles = cycle - started;
                if (core.data_wdata_o == END) return OK;
            } else if (accesses && core.data_we_o) {
                if (!store(core.data_addr_o, core.data_wdata_o, core.data_be_o)) return BAD_ADDRESS;
            } else if (accesses && !load(core.data_addr_o, &data)) {
                return BAD_ADDRESS;
            }
            core.clk_i = 1;
            core.eval();
            core.instr_rvalid_i = fetches;
            core.instr_rdata_i = instruction;
            core.data_rvalid_i = accesses;
            core.data_rdata_i = data;
        }
        return TOO_LONG;
    }

  private:
    bool load(uint32_t address, uint32_t *word)
    {
        address &= ~3u;
        if (address >= kMemoryBytes) return false;
        std::memcpy(word, at(address), 4);
        return true;
    }

    bool store(uint32_t address, uint32_t word, uint32_t enabled)
    {
        address &= ~3u;
        if (address >= kMemoryBytes) return false;
        for (uint32_t byte = 0; byte < 4; byte++) {
            if (enabled >> byte & 1u) *at(address + byte) = static_cast<uint8_t>(word >> 8 * byte);
        }
        return true;
    }

    std::vector<uint8_t> memory_;
};

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<uint8_t> firmware((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    uint32_t place[2];
    while (read_bytes(place, sizeof place)) {
        auto machine = std::make_unique<Machine>(firmware);
        uint32_t result[3];
        if (uint64_t{place[0]} + place[1] > kMemoryBytes) return 2;
        if (!read_bytes(machine->at(place[0]), place[1]) || !read_bytes(result, sizeof result)) return 2;
        if (uint64_t{result[0]} + result[1] > kMemoryBytes) return 2;
        uint32_t answer[2] = {0, 0};
        answer[0] = machine->run(result[2], &answer[1]);
        std::fwrite(answer, sizeof answer, 1, stdout);
        std::fwrite(machine->at(result[0]), 1, result[1], stdout);
        std::fflush(stdout);
    }
    return 0;
}
